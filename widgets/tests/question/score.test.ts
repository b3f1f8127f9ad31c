import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import widget from "../../src/index";
import { compressed } from "../support/compressed";
import { FakeModel } from "../support/model";

const seal = async (answer: object) => (await compressed(answer)).deflate;
const question = (id: string) => ({
  format: 1,
  kind: "question",
  title: "Question",
  summary: "Which?",
  text: "Which?",
  question: "Which `one`?",
  program: { first: 1, lines: ["x = 1"] },
  form: { kind: "choose", options: ["a", "b"] },
  id,
  digest: "sha256-0",
  sealed: "",
  test: "quiz",
});
const ids = ["quiz/one", "quiz/two", "quiz/three"];
const form = { kind: "choose", options: ["a", "b"] };
const judged = (see: string) => ({ form, key: "a", named: ["a"], about: `About "${see}".`, see });
const score = async () => ({
  format: 1,
  kind: "test score",
  title: "score of quiz",
  summary: "",
  text: "",
  test: "quiz",
  items: ids.map((id) => ({ id, digest: "sha256-0", question: `Which of \`${id}\`?` })),
  sealed: await seal({ items: ids.map(judged) }),
});

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  localStorage.clear();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  document.body.replaceChildren();
});

const mount = (wire: object) => {
  const el = document.body.appendChild(document.createElement("div"));
  const end = widget.render({ model: new FakeModel({ wire }), el });
  const one = <T extends Element = HTMLElement>(selector: string) =>
    el.querySelector<T>(selector) as T;
  const button = (name: string) =>
    [...el.querySelectorAll("button")].find(
      ({ textContent }) => textContent === name,
    ) as HTMLElement;
  const said = () => one("[role=status]").textContent;
  return { el, end, one, button, said };
};
const choose = (of: ReturnType<typeof mount>, value: string) =>
  of.one(`input[value=${value}]`).click();

const textOf = (file: Blob) =>
  new Promise<string>((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.readAsText(file);
  });

describe("a test", () => {
  it("keeps an answer at once, which can be changed, and says nothing of it", async () => {
    const one = mount(question("quiz/one"));
    expect(one.said()).toBe("");
    expect(one.button("Check")).toBeUndefined();
    choose(one, "b");
    choose(one, "a");
    expect(one.said()).toMatch(/^Your answer is kept/);
    expect(localStorage.getItem("gradviz:question:quiz/one:sha256-0")).toBe('["a"]');
    expect(one.el.querySelector(".is-right, .is-wrong")).toBeNull();
    const again = mount(question("quiz/one"));
    expect(again.one<HTMLInputElement>("input[value=a]").checked).toBe(true);
  });

  it("is judged at the end, once, and shows what each wrong answer points at, but no key", async () => {
    const [one, two] = [mount(question("quiz/one")), mount(question("quiz/two"))];
    const at = mount(await score());
    choose(one, "a");
    choose(two, "b");
    expect(at.said()).toBe("2 of 3 questions are answered. What is not answered counts as wrong.");
    expect(at.button("Save my answers (CSV)").hidden).toBe(true);
    at.button("Show the score").click();
    await vi.waitFor(() => expect(at.said()).toBe("1 of 3 right."));
    const rows = [...at.el.querySelectorAll("tr")].map(({ textContent }) => textContent);
    expect(rows.slice(1)).toEqual([
      "✓ right1. Which of quiz/one?",
      '✗ wrong2. Which of quiz/two?About "quiz/two".quiz/two',
      '– not answered3. Which of quiz/three?About "quiz/three".quiz/three',
    ]);
    expect(one.said()).toMatch(/^The test is over/);
    expect(one.one(".gradviz-answers").hasAttribute("inert")).toBe(true);
    expect(mount(await score()).button("Show the score").hidden).toBe(true);
  });

  it("is saved as a file, and begins again", async () => {
    const two = mount(question("quiz/two"));
    const at = mount(await score());
    choose(two, "b");
    at.button("Show the score").click();
    await vi.waitFor(() => expect(at.said()).toBe("0 of 3 right."));
    const saved: Blob[] = [];
    vi.stubGlobal("URL", {
      createObjectURL: (file: Blob) => saved.push(file) && "blob:it",
      revokeObjectURL: () => {},
    });
    let name = "";
    vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (
      this: HTMLAnchorElement,
    ) {
      name = this.download;
    });
    at.button("Save my answers (CSV)").click();
    expect(name).toBe("quiz-answers.csv");
    const [file] = saved;
    expect((await textOf(file as Blob)).split("\r\n").slice(0, 3)).toEqual([
      '"test","question","digest","result","answer","about","see"',
      '"quiz","quiz/one","sha256-0","open","","About ""quiz/one"".","quiz/one"',
      '"quiz","quiz/two","sha256-0","wrong","""b""","About ""quiz/two"".","quiz/two"',
    ]);
    at.button("Forget my answers and begin again").click();
    expect(at.said()).toMatch(/^0 of 3/);
    expect(two.said()).toBe("");
    expect(two.one(".gradviz-answers").hasAttribute("inert")).toBe(false);
    expect(localStorage.length).toBe(0);
  });

  it("counts nothing that belongs to other questions of that name", async () => {
    localStorage.setItem("gradviz:test:quiz", '{"gradviz:question:quiz/old:sha256-9": "a"}');
    const at = mount(await score());
    expect(at.said()).toMatch(/^0 of 3/);
    expect(localStorage.length).toBe(0);
  });

  it("says so where the browser keeps nothing, and when it is damaged", async () => {
    expect(mount({ ...(await score()), items: 7 }).el.textContent).toContain(
      "this score is damaged",
    );
    const damaged = mount({ ...(await score()), sealed: await seal({ items: [] }) });
    damaged.button("Show the score").click();
    await vi.waitFor(() => expect(damaged.said()).toContain("the keys of this test are damaged"));
    const denied = () => {
      throw new Error("denied");
    };
    vi.stubGlobal("localStorage", { getItem: denied, setItem: denied, removeItem: denied });
    const at = mount(await score());
    at.button("Show the score").click();
    expect(at.said()).toBe("this browser keeps nothing, so no answers can be counted");
  });

  it("is forgotten with all other answers", async () => {
    const one = mount(question("quiz/one"));
    const at = mount(await score());
    choose(one, "a");
    at.button("Show the score").click();
    await vi.waitFor(() => expect(at.said()).toBe("1 of 3 right."));
    const forget = mount({ format: 1, kind: "answered questions", text: "" });
    forget.button("Forget all answers").click();
    expect(at.said()).toMatch(/^0 of 3/);
    expect(one.said()).toBe("");
    expect(localStorage.length).toBe(0);
  });
});
