// Words with code between backticks.
import { html } from "./dom";

export function inlineCode(words: string): (Node | string)[] {
  return words
    .split(/`([^`]+)`/)
    .map((part, i) => (i % 2 ? html("code", {}, part) : part))
    .filter((part) => part !== "");
}
