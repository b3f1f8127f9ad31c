"""The progress of work that takes long, at the lower edge of a notebook's page.

It is no output of a cell: outputs are stored, and a line that says how far something was when it
ran would make two runs of one notebook differ.
"""

from __future__ import annotations

import anywidget
import traitlets

_ESM = """
export default {
  initialize({ model }) {
    const line = document.createElement("div");
    line.className = "gv-progress";
    line.setAttribute("role", "status");
    line.style.cssText =
      "position:fixed;left:50%;bottom:2rem;transform:translateX(-50%);z-index:10000;" +
      "padding:4px 12px;border:1px solid #888;border-radius:4px;font:13px system-ui,sans-serif;" +
      "background:var(--jp-layout-color1,#fff);color:var(--jp-ui-font-color1,#222)";
    const write = () => { line.textContent = model.get("text"); };
    model.on("change:text", write);
    write();
    document.body.append(line);
    return () => line.remove();
  },
};
"""


class ProgressLine(anywidget.AnyWidget):
    """A line that is seen while it is open, without being displayed in a cell."""

    _esm = _ESM
    text = traitlets.Unicode("").tag(sync=True)

    def show(self, text: str) -> None:
        """Show a line in place of the one before."""
        self.text = text

    def end(self) -> None:
        """Remove the line."""
        self.close()
