// Which items a query finds.
import type { Item } from "../documents/graph";

/** Items with all words of a query, in any order; first the one whose id it is. */
export function findItems(items: readonly Item[], query: string): readonly Item[] {
  const typed = query.trim().toLowerCase();
  if (!typed) return [];
  const words = typed.split(/\s+/);
  const found = items.filter(({ find }) => words.every((word) => find.includes(word)));
  const own = found.find(({ id }) => id === typed);
  return own ? [own, ...found.filter((item) => item !== own)] : found;
}
