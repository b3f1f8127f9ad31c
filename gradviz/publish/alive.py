"""Puts widgets into a page: what each shows, and once the module that shows it.

A place in the page names a state and a module, both of which lie in the page;
``widgets/src/pages/mount.ts`` makes it alive. Widgets of other libraries need a kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gradviz.notebook_check.rules import WIDGET
from gradviz.notebook_check.stored_widgets import States
from gradviz.view.documents.digest import MIME
from gradviz.view.documents.graph import expand
from gradviz.view.export.page import TRAITS, front_end, inert
from gradviz.view.text import xml

NEEDS_KERNEL: Final = (
    '<p class="gradviz-needs">This control needs a kernel: run the notebook to use it.</p>'
)


@dataclass(slots=True)
class Alive:
    """The widgets of one page.

    Attributes:
        states: What the page knows of each widget, as JSON.
        styles: Style sheets of the widgets, each once.
        questions: How many of them are questions.
        others: How many widgets of other libraries there are.
    """

    states: list[str] = field(default_factory=list)
    styles: dict[str, None] = field(default_factory=dict)
    questions: int = 0
    others: int = 0
    _modules: dict[str, str] = field(default_factory=dict)

    def replace(self, notebook: Any, states: States) -> None:
        """Puts a place for a widget where an output is one, and nothing else than HTML there.

        Args:
            notebook: Its outputs are changed.
            states: The traits of its widgets, by their ids.
        """
        for cell in notebook.cells:
            for output in cell.get("outputs", ()):
                data = output.get("data", {})
                view = data.pop(WIDGET, None)
                data.pop(MIME, None)
                if view is None:
                    continue
                state = states.get(view.get("model_id", ""), {})
                still = data.get("text/html", "")
                if isinstance(state.get("wire"), Mapping) and "_front_end" in state:
                    output["data"] = {"text/html": self._place(state, still)}
                else:
                    self.others += 1
                    output["data"] = {"text/html": still + NEEDS_KERNEL}

    def elements(self) -> str:
        """The elements that carry states and modules, and the script that mounts them."""
        if not self.states:
            return ""
        parts = [
            f'<script type="application/json" id="gradviz-state-{number}">{state}</script>'
            for number, state in enumerate(self.states, 1)
        ]
        parts += [
            f'<script type="application/json" id="{name}">{inert(code)}</script>'
            for code, name in self._modules.items()
        ]
        parts.append(f'<script type="module">{front_end("page.js")}</script>')
        return "\n".join(parts)

    def _place(self, state: Mapping[str, Any], still: str) -> str:
        traits = {name: state.get(name, value) for name, value in TRAITS.items()}
        self.states.append(inert({**traits, "selected": "", "wire": state["wire"]}))
        self.styles.setdefault(state.get("_css", ""))
        new = f"gradviz-code-{len(self._modules) + 1}"
        code = self._modules.setdefault(state["_front_end"], new)
        self.questions += expand(dict(state["wire"])).get("kind") == "question"
        name = f"gradviz-state-{len(self.states)}"
        return f'<div data-gradviz-state="{name}" data-gradviz-code="{xml(code)}">{still}</div>'
