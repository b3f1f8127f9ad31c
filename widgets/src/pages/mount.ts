// Makes the widgets of a page alive that has no kernel: the page of one widget, the page of a
// notebook, a deck of slides. What a widget shows and the module that shows it lie in the page.
import { LocalModel } from "../model/local_model";

interface Module {
  readonly render: (props: { model: LocalModel; el: HTMLElement; signal: AbortSignal }) => unknown;
}

const PLACES = "[data-gradviz-state]";
const modules = new Map<string, Promise<Module>>();

function read(id: string): unknown {
  return JSON.parse(document.getElementById(id)?.textContent ?? "null");
}

/** The module in an element of the page; widgets share it. */
function load(id: string): Promise<Module> {
  const known = modules.get(id);
  if (known) return known;
  const address = URL.createObjectURL(new Blob([String(read(id))], { type: "text/javascript" }));
  const loaded = import(address)
    .then((module) => module.default as Module)
    .finally(() => URL.revokeObjectURL(address));
  modules.set(id, loaded);
  return loaded;
}

/** Shows the widget of a place instead of its picture, which stays if the widget cannot be shown. */
async function mount(place: HTMLElement): Promise<void> {
  const { gradvizState = "", gradvizCode = "" } = place.dataset;
  const widget = await load(gradvizCode);
  const view = document.createElement("div");
  const model = new LocalModel(read(gradvizState) as Record<string, unknown>);
  await widget.render({ model, el: view, signal: new AbortController().signal });
  place.replaceChildren(view);
  place.style.overflow = "visible"; // a menu may reach beyond it
}

/** All places in order; one that is hidden, as on a slide that is not shown, when it is seen. */
function mountAll(): void {
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      void mount(target as HTMLElement);
    }
  });
  for (const place of document.querySelectorAll<HTMLElement>(PLACES)) {
    if (place.getClientRects().length) void mount(place);
    else seen.observe(place);
  }
}

mountAll();
