// Which items a query finds.
import type { Item } from "../documents/graph";

export function findItems(items: readonly Item[], query: string): readonly Item[] {
  const wanted = query.trim().toLowerCase();
  return wanted ? items.filter((item) => item.find.includes(wanted)) : [];
}
