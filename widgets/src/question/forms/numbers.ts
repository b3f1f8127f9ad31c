// Numbers that a person types: 6, 1/3, [1, 2], tensor([1., 2.]), None. gradviz/model/forms/numbers.py
// reads the same, and compares with the same tolerances, those of torch.testing.

/** A number, "nan", "inf" or "-inf", null for None, or a list of them. */
export type Value = number | string | null | readonly Value[];

const RTOL = 1.3e-6;
const ATOL = 1e-5;
const NUMBER = "[+-]?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:e[+-]?[0-9]+)?";
const TOKEN = new RegExp(`(?:${NUMBER}(?:/${NUMBER})?|[+-]?(?:nan|inf)|none|[[\\](),])`, "iy");
const TENSOR = /^(?:torch\.)?tensor\((.*?)(?:,\s*[a-z_]+=[^[\]]*)?\)$/is;
const CLOSING: Readonly<Record<string, string>> = { "[": "]", "(": ")" };

/** What was typed; undefined if it cannot be read. */
export function readValue(typed: string): Value | undefined {
  const text = typed.trim();
  const tokens = tokensOf((TENSOR.exec(text)?.[1] ?? text).trim());
  if (!tokens?.length) return undefined;
  const found = valuesOf(tokens, 0, "");
  if (!found || found.rest !== tokens.length) return undefined;
  return found.values.length > 1 || tokens.at(-1) === "," ? found.values : found.values[0];
}

function tokensOf(text: string): string[] | undefined {
  const tokens: string[] = [];
  for (let place = 0; place < text.length; ) {
    TOKEN.lastIndex = place;
    const token = TOKEN.exec(text)?.[0];
    if (token === undefined) return undefined;
    tokens.push(token);
    place += token.length;
    while (/[ \t\n\r]/.test(text[place] ?? "")) place += 1;
  }
  return tokens;
}

/** Values with commas between them, up to the bracket that closes them or the end. */
function valuesOf(
  tokens: readonly string[],
  from: number,
  closing: string,
): { readonly values: Value[]; readonly rest: number } | undefined {
  const values: Value[] = [];
  let place = from;
  while (place < tokens.length && tokens[place] !== closing) {
    const token = tokens[place] as string;
    const closes = CLOSING[token];
    if (closes) {
      const inner = valuesOf(tokens, place + 1, closes);
      if (!inner || inner.rest >= tokens.length) return undefined;
      values.push(inner.values);
      place = inner.rest;
    } else {
      const value = oneOf(token);
      if (value === undefined) return undefined;
      values.push(value);
    }
    place += 1;
    if (place < tokens.length && tokens[place] !== closing) {
      if (tokens[place] !== ",") return undefined;
      place += 1;
    }
  }
  return { values, rest: place };
}

function oneOf(token: string): Value | undefined {
  const word = token.toLowerCase();
  if (word === "none") return null;
  if (/^[\]),]$/.test(word)) return undefined;
  if (/nan$/.test(word)) return "nan";
  if (/inf$/.test(word)) return word.startsWith("-") ? "-inf" : "inf";
  const [number, divisor = "1"] = token.split("/");
  if (Number(divisor) === 0) return undefined;
  return plain(Number(number) / Number(divisor));
}

function plain(value: number): Value {
  if (Number.isFinite(value)) return value;
  return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

/** Whether two values are equal within the tolerances, and of one shape. */
export function isSame(key: Value, typed: Value): boolean {
  if (Array.isArray(key) || Array.isArray(typed)) {
    if (!Array.isArray(key) || !Array.isArray(typed) || key.length !== typed.length) return false;
    return key.every((one, i) => isSame(one, typed[i]));
  }
  if (typeof key !== "number" || typeof typed !== "number") return key === typed;
  return Math.abs(typed - key) <= ATOL + RTOL * Math.abs(key);
}
