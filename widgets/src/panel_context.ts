// What every panel of one view gets.

import type { Tooltip } from "./lib/tooltip";
import type { Store } from "./model/store";

export interface PanelContext {
  readonly store: Store;
  /** Ends when the view goes away; every listener and observer hangs on it. */
  readonly signal: AbortSignal;
  /** Starts every id of this view. */
  readonly prefix: string;
  readonly tooltip: Tooltip;
  /** Says one sentence in the polite live region. */
  announce(sentence: string): void;
}
