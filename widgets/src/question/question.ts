// A question: program and controls; Check, a second try, then the key, why what was answered is
// wrong, and the player of the run. Nothing of it needs a kernel.
import { checkQuestion, isQuestion, type SealedAnswer, unsealed } from "../documents/question";
import { action } from "../lib/button";
import { focusable, html, makeLive, under } from "../lib/dom";
import { inlineCode } from "../lib/inline_code";
import { Tooltip } from "../lib/tooltip";
import { LocalModel } from "../model/local_model";
import type { Model, MountInside } from "../model/store";
import type { FormKind } from "./forms/form";
import { formOf } from "./forms/table";
import { frame, program } from "./frame";
import { Progress } from "./progress";
import { mountTested } from "./tested";

const MOST_TRIES = 2;
const AGAIN = "Not what torch says. Try once more.";
const SEALED = "torch's answer is in this page, encoded, not secret.";

/** Fills `root` with the question of a model. Throws when it cannot be shown. */
export function mountQuestion(
  root: HTMLElement,
  model: Model,
  signal: AbortSignal,
  prefix: string,
  mountInside: MountInside,
): void {
  const wire = model.get("wire");
  if (!isQuestion(wire)) throw new Error("there is no question to show");
  const question = checkQuestion(wire);
  root.dataset.form = question.form.kind;
  root.setAttribute("aria-label", question.title);

  if (question.test) {
    mountTested(root, question, signal, prefix);
    return;
  }
  const form = formOf(question.form);
  const progress = new Progress(question);
  const status = html("p", { class: "gradviz-question-status", role: "status" });
  const tooltip = new Tooltip(root, signal);
  const [live, announce] = makeLive();
  const result = focusable(html("div", { class: "gradviz-question-result", hidden: true }), -1);
  let tries: readonly unknown[] = [];
  let isDone = false;
  /** Ends the player. */
  let shown = new AbortController();
  signal.addEventListener("abort", () => shown.abort(), { once: true });

  const submit = () => check.click();
  const field = form.make(
    { prefix, signal, tooltip, announce, submit, changed: () => changed() },
    question.form,
  );
  const check = action("Check", () => {
    const answer = field.answer();
    if (canCheck()) void judge([...tries, answer], true);
  });
  check.classList.add("is-primary");
  const restart = action("Start again", () => {
    progress.keep([]);
    start();
    root.querySelector<HTMLElement>(".gradviz-answers :is(input, button, select)")?.focus();
  });
  const canCheck = () => {
    const answer = field.answer();
    const last = tries.at(-1);
    const isOther = !tries.length || JSON.stringify(answer) !== JSON.stringify(last);
    return !isDone && answer !== undefined && isOther;
  };
  const changed = () => {
    check.setAttribute("aria-disabled", String(!canCheck()));
  };
  const start = () => {
    shown.abort();
    tries = [];
    isDone = false;
    field.show(undefined);
    result.replaceChildren();
    result.hidden = true;
    status.textContent = "";
    check.hidden = false;
    restart.hidden = true;
    changed();
  };

  const judge = async (answers: readonly unknown[], isNew: boolean) => {
    try {
      const answer = await unsealed(question);
      if (signal.aborted) return;
      const verdicts = answers.map((one) =>
        form.judge(question.form, answer.key, one, Object.keys(answer.sentences)),
      );
      const last = verdicts.at(-1);
      tries = answers;
      if (isNew) progress.keep(tries);
      isDone = last?.right === true || tries.length >= MOST_TRIES;
      restart.hidden = false;
      if (!isDone) {
        status.textContent = AGAIN;
        changed();
        return;
      }
      check.hidden = true;
      field.reveal(answer.key, tries.at(-1));
      status.textContent = last?.right ? "✓ Right." : "✗ Not what torch says.";
      const parts = new Set(verdicts.flatMap(({ wrong }) => wrong));
      shown = new AbortController();
      const player = html("div");
      mountInside(new LocalModel({ wire: answer.player }, model), player, shown.signal);
      result.replaceChildren(...explanation(form, answer, parts), player);
      result.hidden = false;
      if (isNew) {
        result.focus({ preventScroll: true });
        // What torch says is on the screen, with as much of the question as there is room for.
        result.firstElementChild?.scrollIntoView?.({ block: "nearest" });
      }
    } catch (error) {
      status.textContent = error instanceof Error ? error.message : String(error);
    }
  };

  const begin = () => {
    start();
    const kept = progress.tries;
    if (!kept.length) return;
    field.show(kept.at(-1));
    // What was kept by another version may fit no more.
    if (field.answer() === undefined) start();
    else void judge(kept, false);
  };
  root.append(
    frame(question.question, program(question.program), field, `${prefix}-question`, [
      check,
      restart,
      status,
      html("span", { class: "gradviz-question-note is-quiet" }, SEALED),
    ]),
    result,
    tooltip.element,
    live,
  );
  Progress.onForgotten(start, signal);
  begin();
}

/** The key, and a sentence for each part that was wrong. */
function explanation(
  form: FormKind,
  answer: SealedAnswer,
  wrong: ReadonlySet<string>,
): HTMLElement[] {
  const { key_lines, sentences, why, printed, key } = answer;
  const lines = key_lines.map((line) => html("div", {}, ...inlineCode(line)));
  const words = (form.told?.(key) ?? []).map((part) => sentences[part]).concat(why);
  const told = words.filter((each) => each).map((each) => html("p", {}, ...inlineCode(each ?? "")));
  const made = [under("torch's answer", "gradviz-question-key", ...lines, ...told)];
  const why_not = [...wrong].filter((part) => sentences[part]);
  if (why_not.length) {
    const items = why_not.map((part) => {
      const name = html("b", {}, ...inlineCode(part));
      return html("li", {}, name, ": ", ...inlineCode(sentences[part] ?? ""));
    });
    made.push(under("Why not", "gradviz-question-why", html("ul", {}, ...items)));
  }
  if (printed) {
    const text = focusable(html("pre", { class: "gradviz-text" }, printed), 0);
    made.push(under("Printed", "", text));
  }
  return [html("div", { class: "gradviz-question-told" }, ...made)];
}
