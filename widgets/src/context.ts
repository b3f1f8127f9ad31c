// What every panel of one view gets.
import type { Store } from "./store";
import type { Tooltip } from "./tooltip";

export interface Context {
  readonly store: Store;
  /** Ends when the view goes away; every listener and observer hangs on it. */
  readonly signal: AbortSignal;
  /** Starts every id of this view. */
  readonly prefix: string;
  readonly tooltip: Tooltip;
  /** Says one sentence in the polite live region. */
  announce(sentence: string): void;
}
