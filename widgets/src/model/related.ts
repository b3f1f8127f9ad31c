// Which ids belong together: the subject of a step, and ids that are highlighted together.
import { lineId, type Timeline } from "./timeline";

/** The subject of a step, in order of priority: the node that ran; what the caption names; the tensors
    that the step changed; what the line made. */
export function subjectsOf(timeline: Timeline, index: number): readonly string[] {
  const view = timeline.view(index);
  if (view.node !== null) return [view.node];
  if (view.kind === "start") return [];
  const told = (view.caption.details ?? view.caption.words).flatMap((part) =>
    typeof part === "string" ? [] : [part.id],
  );
  const nodes = outputsFirst(
    timeline,
    index,
    told.filter((id) => id.startsWith("n")),
  );
  const others = told.filter((id) => id.startsWith("t")).map((id) => timeline.itemOf(id) ?? id);
  if (nodes.length || others.length) return [...nodes, ...others];
  const changed = Object.entries(view.tensors).flatMap(([id, row]) => (row ? [id] : []));
  // A line in a loop makes more in every pass: the newest come from the last pass.
  const made = timeline.recording.links.lines[lineId(view).slice(5)] ?? [];
  return [...changed.map((id) => timeline.itemOf(id) ?? id), ...[...made].reverse()];
}

/** The nodes that none of the others uses, then the others. */
function outputsFirst(timeline: Timeline, index: number, nodes: readonly string[]) {
  const { items } = timeline.state(index);
  const used = new Set(nodes.flatMap((id) => items.get(id)?.next ?? []));
  return [...nodes.filter((id) => !used.has(id)), ...nodes.filter((id) => used.has(id))];
}

/** Ids that are highlighted together with one: a line with all that was made in it, a leaf's tensor. */
export function relatedTo(timeline: Timeline | undefined, lit: string): ReadonlySet<string> {
  const light = new Set(lit ? [lit] : []);
  if (!timeline || !lit) return light;
  const { lines } = timeline.recording.links;
  if (lit.startsWith("line:")) for (const id of lines[lit.slice(5)] ?? []) light.add(id);
  else for (const id of timeline.partnersOf(lit)) light.add(id);
  if (lit.startsWith("line:")) return light;
  for (const [line, ids] of Object.entries(lines)) {
    if (ids.some((id) => light.has(id))) light.add(`line:${line}`);
  }
  return light;
}
