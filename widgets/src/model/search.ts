// Which items a query finds.
import type { Item } from "../documents/graph";

/** Items with all words of a query, in any order; first the one whose id it is, boxes that stand for
    others last. */
export function findItems(items: readonly Item[], query: string): readonly Item[] {
  const typed = query.trim().toLowerCase();
  if (!typed) return [];
  const words = typed.split(/\s+/);
  const found = items.filter(({ find }) => words.every((word) => find.includes(word)));
  const place = (item: Item) => (item.id === typed ? 0 : isBox(item) ? 2 : 1);
  return found.sort((one, other) => place(one) - place(other));
}

/** Whether an item stands for others, which are found themselves. */
export function isBox({ kind }: Item): boolean {
  return kind === "fold";
}

/** How many are found, boxes apart: "7", "7 + 1 box", "2 boxes"; "0" for none. */
export function countWords(nodes: number | string, boxes: number): string {
  const apart = boxes ? `${boxes} ${boxes === 1 ? "box" : "boxes"}` : "";
  return nodes && apart ? `${nodes} + ${apart}` : apart || String(nodes);
}
