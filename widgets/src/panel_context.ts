// What every panel of one view gets.

import type { Tooltip } from "./lib/tooltip";
import type { Store } from "./model/store";

export interface PanelContext {
  readonly store: Store;
  /** Aborts when the view closes, and removes every listener and observer. */
  readonly signal: AbortSignal;
  /** The prefix of every id in this view. */
  readonly prefix: string;
  readonly tooltip: Tooltip;
  /** Says one sentence in the polite live region. */
  announce(sentence: string): void;
}
