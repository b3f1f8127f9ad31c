// Which of the boxes that are seen are joined: values go through the rims of opened boxes. Pure.

import type { Item } from "../documents/graph";
import type { Composition, PlacedLink } from "./composition";

export interface Joined {
  readonly next: readonly string[];
  readonly prev: readonly string[];
}

/** Per card and per frame those that its values come from and go to. */
export function joinedIn({ parts }: Composition): ReadonlyMap<string, Joined> {
  const frames = new Set(parts.flatMap((part) => (part.kind === "frame" ? [part.id] : [])));
  const links = parts.filter((part) => part.kind === "link");
  const ahead = new Map<string, string[]>();
  const behind = new Map<string, string[]>();
  const put = (way: Map<string, string[]>, from: string, to: string) =>
    way.set(from, [...(way.get(from) ?? []), to]);
  for (const placed of links) {
    const [tail, head] = [endOf(placed, "tail", frames), endOf(placed, "head", frames)];
    put(ahead, tail, head);
    put(behind, head, tail);
  }
  const reached = (way: ReadonlyMap<string, readonly string[]>, starts: readonly string[]) => {
    const seen = new Set<string>();
    const todo = [...starts];
    const found = new Set<string>();
    for (let at = todo.shift(); at !== undefined; at = todo.shift()) {
      for (const to of way.get(at) ?? []) {
        if (seen.has(to)) continue;
        seen.add(to);
        // Ports are gone through; cards are where it ends.
        if (isPort(to)) todo.push(to);
        else found.add(to);
      }
    }
    return [...found];
  };
  const ports = (id: string, way: "in" | "out", of: ReadonlyMap<string, unknown>) =>
    [...of.keys()].filter((key) => key.startsWith(`${id} ${way} `));
  const made = new Map<string, Joined>();
  for (const part of parts) {
    if (part.kind === "link") continue;
    const { id } = part;
    const isCard = part.kind === "card";
    made.set(id, {
      next: reached(behind, isCard ? [id] : ports(id, "in", behind)),
      prev: reached(ahead, isCard ? [id] : ports(id, "out", ahead)),
    });
  }
  return made;
}

/** Items with the neighbours that are seen in place of their own. */
export function withJoined(
  items: readonly Item[],
  joined: ReadonlyMap<string, Joined>,
): readonly Item[] {
  return items.map((item) => {
    const own = joined.get(item.id);
    return own ? { ...item, ...own } : item;
  });
}

function endOf(
  { link, fold }: PlacedLink,
  end: "tail" | "head",
  frames: ReadonlySet<string>,
): string {
  const [id, port] = link[end];
  if (id === "") return `${fold} ${end === "tail" ? "in" : "out"} ${port}`;
  return frames.has(id) ? `${id} ${end === "tail" ? "out" : "in"} ${port}` : id;
}

/** Ids have no spaces. */
const isPort = (end: string) => end.includes(" ");
