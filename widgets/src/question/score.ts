// The score of a test: what was answered in this browser is judged when a person asks for it, once.
// It shows no key, so that the test can be taken again. Nothing of it needs a kernel.
import { checkScore, type JudgedItem, type ScoreItem, unsealedItems } from "../documents/score";
import { action } from "../lib/button";
import { focusable, html } from "../lib/dom";
import { download } from "../lib/download";
import { inlineCode } from "../lib/inline_code";
import type { Model } from "../model/store";
import { formOf } from "./forms/table";
import { Progress } from "./progress";
import { type Answers, TestState } from "./test_state";

const NOTE =
  "The keys are in this page, encoded, not secret. Answers stay in this browser; nothing is sent.";

/** One item, judged. */
interface Judged extends ScoreItem, JudgedItem {
  readonly answer: unknown;
  readonly is: "right" | "wrong" | "open";
}

/** Fills `root` with the score of a test. Throws when it cannot be shown. */
export function mountScore(root: HTMLElement, model: Model, signal: AbortSignal): void {
  const wire = checkScore(model.get("wire"));
  root.setAttribute("aria-label", `score of ${wire.test}`);
  const test = new TestState(wire.test);
  const places = wire.items.map((item) => new Progress(item));
  const status = html("p", { class: "gradviz-question-status", role: "status" });
  const result = focusable(html("div", { class: "gradviz-score", hidden: true }), -1);
  let judged: readonly Judged[] = [];

  const end = action("Show the score", async () => {
    try {
      test.end(given(places));
      result.focus({ preventScroll: true });
    } catch (error) {
      status.textContent = wordsOf(error);
    }
  });
  end.classList.add("is-primary");
  const save = action("Save my answers (CSV)", () => {
    const file = new Blob([csvOf(wire.test, judged)], { type: "text/csv" });
    download(file, `${wire.test}-answers.csv`);
  });
  const again = action("Forget my answers and begin again", () => {
    for (const place of places) place.keep([]);
    test.begin();
    end.focus();
  });

  const show = async () => {
    const counted = test.counted;
    const isOver = counted !== undefined;
    end.hidden = isOver;
    save.hidden = !isOver;
    again.hidden = !isOver;
    result.hidden = !isOver;
    if (!isOver) {
      const open = places.filter(({ tries }) => !tries.length).length;
      const [done, all] = [places.length - open, places.length];
      const rest = open ? " What is not answered counts as wrong." : "";
      status.textContent = `${done} of ${all} questions are answered.${rest}`;
      return;
    }
    try {
      judged = judge(wire.items, await unsealedItems(wire), places, counted);
      if (signal.aborted) return;
      const right = judged.filter(({ is }) => is === "right").length;
      status.textContent = `${right} of ${judged.length} right.`;
      result.replaceChildren(table(judged));
    } catch (error) {
      status.textContent = wordsOf(error);
    }
  };

  // What was counted for other questions of that name is no score of these.
  const known = new Set(places.map(({ place }) => place));
  if (Object.keys(test.counted ?? {}).some((place) => !known.has(place))) test.begin();
  const heading = html(
    "div",
    { class: "gradviz-question-words" },
    `Score of the test ${wire.test}`,
  );
  const note = html("span", { class: "gradviz-question-note is-quiet" }, NOTE);
  const foot = html("div", { class: "gradviz-question-foot" }, status, end, save, again, note);
  root.append(html("div", { class: "gradviz-question" }, heading, foot, result));
  const showNow = () => void show();
  TestState.onAnswered(showNow, signal);
  TestState.onTurned(showNow, signal);
  Progress.onForgotten(showNow, signal);
  showNow();
}

function given(places: readonly Progress[]): Answers {
  const answered = places.filter(({ tries }) => tries.length);
  return Object.fromEntries(answered.map((place) => [place.place, place.tries.at(-1)]));
}

function judge(
  items: readonly ScoreItem[],
  keys: readonly JudgedItem[],
  places: readonly Progress[],
  answers: Answers,
): Judged[] {
  return items.map((item, i) => {
    const [key, place] = [keys[i] as JudgedItem, places[i]?.place ?? ""];
    const answer = answers[place];
    if (answer === undefined) return { ...item, ...key, answer, is: "open" };
    const { right } = formOf(key.form).judge(key.form, key.key, answer, key.named);
    return { ...item, ...key, answer, is: right ? "right" : "wrong" };
  });
}

const MARKS = { right: "✓ right", wrong: "✗ wrong", open: "– not answered" };

function table(judged: readonly Judged[]): HTMLElement {
  const head = ["", "Question", "Look again at", "Lesson"].map((words, i) =>
    i ? html("th", { scope: "col" }, words) : html("td"),
  );
  const rows = judged.map(({ question, about, see, is }, i) => {
    const told = is === "right" ? ["", ""] : [about, see];
    return html(
      "tr",
      { class: is === "right" ? "is-right" : "is-wrong" },
      html("td", {}, html("span", { class: "gradviz-verdict" }, MARKS[is])),
      html("th", { scope: "row" }, `${i + 1}. `, ...inlineCode(question)),
      ...told.map((words) => html("td", {}, ...inlineCode(words))),
    );
  });
  return html("table", {}, html("tr", {}, ...head), ...rows);
}

/** The answers as a file that `gradviz score` reads. */
function csvOf(test: string, judged: readonly Judged[]): string {
  const head = ["test", "question", "digest", "result", "answer", "about", "see"];
  const rows = judged.map(({ id, question, digest, is, answer, about, see }) => [
    ...[test, id || question, digest, is],
    // As JSON it never begins as a formula does.
    ...[answer === undefined ? "" : JSON.stringify(answer), about, see],
  ]);
  const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
  return `\ufeff${[head, ...rows].map((row) => `${row.map(quoted).join(",")}\r\n`).join("")}`;
}

const wordsOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
