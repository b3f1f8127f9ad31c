// A deck of slides: reveal.js with slides as large as the window, and widgets that keep their keys.
import Reveal from "reveal.js";

const WIDGET = "[data-gradviz-state]";
/** Cells whose widget may be beside their code. */
const BESIDE = ".gradviz-slide.is-beside .jp-CodeCell";
/** What a presenter's remote control sends: it turns the slide wherever the focus is. */
const REMOTE = new Set(["PageUp", "PageDown"]);
/** The lowest that a widget gets, in pixels; below that the slide scrolls. */
const LEAST = 300;
/** The lowest that a picture gets below its code: else it is beside it. */
const LEAST_BELOW = 480;
/** The smallest that text is set, in percent. */
const SMALLEST = 60;

/** Makes all of a slide be in the window: a widget gets the height that is left, below its code or
 * beside it, and where that is not enough the text is set smaller. */
function fitIn(slide: HTMLElement): void {
  const content = slide.querySelector<HTMLElement>(".gradviz-slide");
  if (!content) return;
  for (let size = 100; size >= SMALLEST; size -= 5) {
    content.style.fontSize = size === 100 ? "" : `${size}%`;
    for (const isBeside of [false, true]) {
      content.classList.toggle("is-beside", isBeside);
      if (share(slide, content) >= (isBeside ? LEAST : LEAST_BELOW)) return;
    }
  }
}

/** Tells the widgets of a slide how high they may be, and returns it; 0 if the rest is too high. */
function share(slide: HTMLElement, content: HTMLElement): number {
  const places = [...slide.querySelectorAll<HTMLElement>(WIDGET)];
  if (!places.length) return slide.scrollHeight <= slide.clientHeight ? LEAST_BELOW : 0;
  for (const place of places) place.hidden = true;
  const { paddingTop, paddingBottom } = getComputedStyle(slide);
  const free =
    slide.clientHeight - Number.parseFloat(paddingTop) - Number.parseFloat(paddingBottom);
  const rest = content.offsetHeight;
  // Code that a widget is beside takes nothing from its height.
  const beside = new Set(places.map((place) => place.closest<HTMLElement>(BESIDE)));
  const saved = [...beside].reduce((sum, cell) => sum + heightOfCode(cell), 0);
  const room = Math.floor((free - rest + saved) / places.length) - 8;
  for (const place of places) place.hidden = false;
  slide.style.setProperty("--slide-room", `${Math.max(LEAST, room)}px`);
  return rest <= free ? room : 0;
}

/** By how much a cell is higher than what it shows. */
function heightOfCode(cell: HTMLElement | null): number {
  if (!cell || getComputedStyle(cell).display !== "grid") return 0;
  const output = cell.querySelector<HTMLElement>(".jp-OutputArea");
  return cell.offsetHeight - (output?.offsetHeight ?? 0);
}

/** While a widget has the focus, keys are the widget's; Escape leaves it. */
function isForDeck({ key }: KeyboardEvent): boolean {
  return REMOTE.has(key) || !document.activeElement?.closest(WIDGET);
}

const element = document.querySelector<HTMLElement>(".reveal");
if (element) {
  const deck = new Reveal(element, {
    width: "100%",
    height: "100%",
    margin: 0,
    minScale: 1,
    maxScale: 1,
    center: false,
    transition: "none",
    backgroundTransition: "none",
    hash: true,
    slideNumber: "c/t",
    // One key goes through all slides, also those that are below each other.
    navigationMode: "linear",
    scrollActivationWidth: 0,
    keyboardCondition: isForDeck,
  });
  const fitNow = () => {
    const slide = deck.getCurrentSlide();
    if (slide instanceof HTMLElement) fitIn(slide);
  };
  deck.on("ready", fitNow);
  deck.on("resize", fitNow);
  deck.on("slidechanged", () => {
    // What had the focus is on a slide that is gone.
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    fitNow();
  });
  void deck.initialize();
}
