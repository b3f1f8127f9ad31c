// Keywords and comments of Python source: enough to read a lesson, not a parser.

export interface Token {
  readonly kind: "" | "comment" | "string" | "keyword";
  readonly text: string;
}

const TOKEN =
  /(#.*$)|([rbfuRBFU]{0,2}(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))|\b(False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield)\b/g;
const KINDS = ["comment", "string", "keyword"] as const;

/** The line in pieces; put together they are the line again. */
export function tokensOf(line: string): Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const found of line.matchAll(TOKEN)) {
    const [text, ...groups] = found;
    if (found.index > end) tokens.push({ kind: "", text: line.slice(end, found.index) });
    tokens.push({ kind: KINDS[groups.findIndex((group) => group !== undefined)] ?? "", text });
    end = found.index + text.length;
  }
  if (end < line.length) tokens.push({ kind: "", text: line.slice(end) });
  return tokens;
}
