"""The progress of work that takes long, at the lower edge of a notebook's page.

It is no output of a cell: outputs are stored, and a line that says how far something was when it
ran would make two runs of one notebook differ.
"""

from __future__ import annotations

import sys
from typing import Any

import anywidget
import traitlets

from gradviz.model.progress import ProgressDisplay, terminal

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


def progress_display(is_alone: bool = True) -> ProgressDisplay | None:
    """Where somebody who waits can see how far it is: the notebook, else the terminal.

    ``None`` where nobody waits: what runs a notebook by itself says that it answers no ``input()``,
    and asks for no insides of folds.

    Args:
        is_alone: Whether nothing else writes to the terminal meanwhile.
    """
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return terminal() if is_alone else None
    asked = kernel.get_parent()
    is_of_widget = asked.get("header", {}).get("msg_type") == "comm_msg"
    is_seen = is_of_widget or asked.get("content", {}).get("allow_stdin")
    return ProgressLine() if is_seen else None
