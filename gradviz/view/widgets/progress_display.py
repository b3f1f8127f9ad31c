"""Where the progress of work that takes long is shown. Nothing is loaded for it that is not used:
neither for a terminal, nor where nobody waits."""

from __future__ import annotations

import sys
from typing import Any

from gradviz.model.progress import ProgressDisplay, terminal


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
    if not is_seen:
        return None
    from gradviz.view.widgets.progress_line import ProgressLine

    return ProgressLine()
