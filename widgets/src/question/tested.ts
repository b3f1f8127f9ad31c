// A question of a test: what is answered is kept at once and can be changed; nothing is shown after
// it. score.ts judges it at the end.
import type { QuestionDocument } from "../documents/question";
import { html, makeLive } from "../lib/dom";
import { Tooltip } from "../lib/tooltip";
import { formOf } from "./forms/table";
import { frame, program } from "./frame";
import { Progress } from "./progress";
import { TestState } from "./test_state";

const KEPT = "Your answer is kept.";
const OVER = "The test is over: its score is at the end.";

export function mountTested(
  root: HTMLElement,
  question: QuestionDocument,
  signal: AbortSignal,
  prefix: string,
): void {
  const [progress, test] = [new Progress(question), new TestState(question.test ?? "")];
  const status = html("p", { class: "gradviz-question-status", role: "status" });
  const tooltip = new Tooltip(root, signal);
  const [live, announce] = makeLive();
  const say = () => {
    const words = field.answer() === undefined ? "" : KEPT;
    status.textContent = test.counted ? OVER : words;
  };
  const changed = () => {
    const answer = field.answer();
    progress.keep(answer === undefined ? [] : [answer]);
    say();
    TestState.answered();
  };
  const field = formOf(question.form).make(
    { prefix, signal, tooltip, announce, submit: () => {}, changed },
    question.form,
  );
  const show = () => {
    const kept = test.counted?.[progress.place] ?? progress.tries.at(-1);
    field.show(kept);
    // What was kept by another version may fit no more.
    if (kept !== undefined && field.answer() === undefined) field.show(undefined);
    answers?.toggleAttribute("inert", test.counted !== undefined);
    say();
  };
  const foot = [status, html("span", { class: "gradviz-question-note is-quiet" }, NOTE)];
  const code = program(question.program);
  root.append(frame(question.question, code, field, `${prefix}-question`, foot));
  root.append(tooltip.element, live);
  const answers = root.querySelector(".gradviz-answers");
  Progress.onForgotten(show, signal);
  TestState.onTurned(show, signal);
  show();
}

const NOTE = "Judged at the end of the test. Until then you can change your answer.";
