// A person has run a cell of a notebook, and its output appears, maybe below the window: it is
// scrolled into view, once, and only as far as needed.

/** What a person does that says where they want to be. */
const OWN_WAY = ["wheel", "touchmove", "pointerdown", "keydown"] as const;
/** Notebooks scroll too when a cell has run; they are done by then. */
const SETTLED_MS = 120;

/** Run counts for which it was done, by cell: once for each run. */
const done = new WeakMap<Element, string>();

/** Scrolls a widget into view if its cell has just been run, unless the person goes elsewhere. */
export function showAfterRun(root: HTMLElement, signal: AbortSignal): void {
  if (!("ResizeObserver" in globalThis) || !navigator.userActivation?.hasBeenActive) return;
  // A player inside another widget: what is above it has been scrolled to.
  if (root.parentElement?.closest(".gradviz-repair-player")) return;
  const attempt = new AbortController();
  const end = () => {
    attempt.abort();
    observer.disconnect();
    clearTimeout(timer);
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const observer = new ResizeObserver(() => {
    if (!root.offsetHeight || timer !== undefined) return;
    timer = setTimeout(() => {
      const cell = root.closest<HTMLElement>(".jp-Notebook .jp-CodeCell");
      if (cell && hasJustRun(cell)) root.scrollIntoView({ block: "nearest" });
      end();
    }, SETTLED_MS);
  });
  observer.observe(root);
  signal.addEventListener("abort", end, { once: true });
  for (const name of OWN_WAY) {
    document.addEventListener(name, end, { capture: true, passive: true, signal: attempt.signal });
  }
}

/** Whether this run of a cell is new, and the person is still there: at the cell, or at the next, to
    which notebooks go on. Of a page that is only opened or scrolled this is not so. */
function hasJustRun(cell: HTMLElement): boolean {
  const count = countOf(cell);
  if (!count || done.get(cell) === count) return false;
  done.set(cell, count);
  const cells = [...(cell.closest(".jp-Notebook")?.querySelectorAll(".jp-Cell") ?? [])];
  const active = cells.findIndex((each) => each.matches(".jp-mod-active"));
  const at = cells.indexOf(cell);
  // Counts of other cells say nothing: they may be stored, from when the notebook was written.
  return active === at || active === at + 1;
}

/** "3", "*" while it runs, "" if it has not run. */
function countOf(cell: Element): string {
  return cell.querySelector(".jp-InputPrompt")?.textContent?.replace(/[^\d*]/g, "") ?? "";
}
