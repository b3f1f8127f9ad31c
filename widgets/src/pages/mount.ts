// Makes the widgets of a page alive that has no kernel: the page of one widget, the page of a
// notebook, a deck of slides. What a widget shows and the module that shows it lie in the page.
import { moduleOf } from "../lib/code_module";
import { LocalModel } from "../model/local_model";

const PLACES = "[data-gradviz-state]";

function read(id: string): unknown {
  return JSON.parse(document.getElementById(id)?.textContent ?? "null");
}

/** Shows the widget of a place instead of its picture, which stays if the widget cannot be shown. */
async function mount(place: HTMLElement): Promise<void> {
  const { gradvizState = "", gradvizCode = "" } = place.dataset;
  const widget = await moduleOf(String(read(gradvizCode)));
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
