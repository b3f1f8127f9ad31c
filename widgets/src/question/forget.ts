// What gradviz.predict.reset() shows: a button that forgets what was answered in this browser. The
// view alone forgets nothing, since a page may show it again at any time.
import { action } from "../lib/button";
import { html } from "../lib/dom";
import { Progress } from "./progress";

export const ANSWERED = "answered questions";

export function mountForget(root: HTMLElement): void {
  root.setAttribute("aria-label", ANSWERED);
  const status = html("p", { role: "status" }, "What was answered is kept in this browser.");
  const button = action("Forget all answers", () => {
    const count = Progress.forgetAll();
    status.textContent = `${count} ${count === 1 ? "answer is" : "answers are"} forgotten.`;
  });
  const foot = html("div", { class: "gradviz-question-foot" }, button, status);
  root.append(html("div", { class: "gradviz-question" }, foot));
}
