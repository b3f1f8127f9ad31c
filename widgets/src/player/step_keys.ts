// The keys that go from step to step.
import type { PanelContext } from "../panel_context";
import { moveInside, moveOut } from "./inside";
import type { StepCursor } from "./step_cursor";

type Acts = Readonly<Record<string, () => void>>;

/** Those that act wherever the focus is, and those that mean something else in the graph. */
export function stepKeys(
  context: PanelContext,
  cursor: StepCursor,
): Record<"anywhere" | "stepping", Acts> {
  const [back, forward] = [-1, 1].map((by) => () => cursor.go(cursor.place + by)) as [
    () => void,
    () => void,
  ];
  const inside = { ">": () => moveInside(context, cursor), "<": () => moveOut(context, cursor) };
  const ends = { Home: () => cursor.go(0), End: () => cursor.go(cursor.last) };
  return {
    anywhere: { "[": back, ",": back, "]": forward, ".": forward, ...inside },
    stepping: { ArrowLeft: back, ArrowRight: forward, ...ends },
  };
}
