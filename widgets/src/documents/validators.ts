// Checks of single values; the documents put them together to checks of their fields.

export type Check = (value: unknown) => boolean;

export const text: Check = (value) => typeof value === "string";
export const whole: Check = (value) => Number.isInteger(value);
export const oneOf =
  (values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);
export const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
export const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
/** An object with these fields, and perhaps others. */
export const recordOf =
  (fields: Record<string, Check>): Check =>
  (value) =>
    isObject(value) && Object.entries(fields).every(([name, check]) => check(value[name]));
/** An object from any keys to values of one kind. */
export const mapOf =
  (check: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value).every(check);

/** Two texts. */
export const pair: Check = (value) => listOf(text)(value) && (value as unknown[]).length === 2;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
