// Checks of single values; the documents put them together to checks of their fields.

/** Whether a value is a `T`. */
export interface CheckOf<T> {
  (value: unknown): boolean;
  readonly of?: T;
}
export type Check = CheckOf<unknown>;
/** The type that a check is for. */
export type Checked<C extends Check> = C extends CheckOf<infer T> ? T : never;

export const text: CheckOf<string> = (value) => typeof value === "string";
export const whole: CheckOf<number> = (value) => Number.isInteger(value);
export const flag: CheckOf<boolean> = (value) => typeof value === "boolean";
export const oneOf =
  <const T>(values: readonly T[]): CheckOf<T> =>
  (value) =>
    values.includes(value as T);
export const orNull =
  <T>(check: CheckOf<T>): CheckOf<T | null> =>
  (value) =>
    value === null || check(value);
export const listOf =
  <T>(check: CheckOf<T>): CheckOf<readonly T[]> =>
  (value) =>
    Array.isArray(value) && value.every((one) => check(one));
type Checks = Readonly<Record<string, Check>>;
type Fields<F extends Checks> = { readonly [K in keyof F]: Checked<F[K]> };
/** An object with these fields, with some that may be absent, and perhaps others. */
export const recordOf =
  <F extends Checks, O extends Checks = Record<never, Check>>(
    fields: F,
    optional?: O,
  ): CheckOf<Fields<F> & Partial<Fields<O>>> =>
  (value) =>
    isObject(value) &&
    Object.entries(fields).every(([name, check]) => check(value[name])) &&
    Object.entries(optional ?? {}).every(
      ([name, check]) => value[name] === undefined || check(value[name]),
    );
/** An object from any keys to values of one kind. */
export const mapOf =
  <T>(check: CheckOf<T>): CheckOf<Readonly<Record<string, T>>> =>
  (value) =>
    isObject(value) && Object.values(value).every(check);

/** Two texts. */
export const pair: CheckOf<readonly [string, string]> = (value) =>
  listOf(text)(value) && (value as unknown[]).length === 2;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
