"""Objects of the model read by one presentation, put in use where the package is put together."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gradviz
from gradviz.model import Comparison, Explanation, Graph, Memory, Node, Recording
from gradviz.model import presentation as presenting
from gradviz.model.presentation import Presentation, Printed
from gradviz.view.contents.parts_of import parts_of
from gradviz.view.outlines.text_of import text_of
from tests.each import each

PACKAGE = Path(gradviz.__file__).parent
GRAPH = Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)])


@pytest.fixture
def bare() -> Iterator[None]:
    before = presenting.in_use()
    presenting.use(Presentation)
    yield
    presenting.use(lambda: before)


def test_the_model_alone_prints_the_repr() -> None:
    code = (
        "import sys, types\n"
        "package = types.ModuleType('gradviz')\n"
        "package.__path__ = [sys.argv[1]]\n"
        "sys.modules['gradviz'] = package\n"
        "from gradviz.model import Explanation, Graph, Node, Recording\n"
        "graph = Graph.of([Node('n0', 'SinBackward0', (None,))], [('n0', 0)])\n"
        "recording = Recording.empty()\n"
        "for one in (graph, recording, Explanation()):\n"
        "    assert str(one) == repr(one), one\n"
        "assert recording.all_steps[0].caption == 'start'\n"
        "assert recording.explanations == ()\n"
        "assert Explanation()._repr_mimebundle_() == {'text/plain': repr(Explanation())}\n"
        "import gradviz.view.outlines.text_of, gradviz.view.widgets.explanation\n"
        "import gradviz.view.widgets.player\n"
        "assert str(graph) == repr(graph), 'importing the view has changed it'\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(PACKAGE)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_is_in_use_is_asked_for_everything(bare: None) -> None:
    class Loud(Presentation):
        def text(self, thing: object) -> str:
            return f"text of {type(thing).__name__}"

        def caption(self, recording: Recording, index: int) -> str:
            return f"caption of step {index}"

        def explanations(self, recording: Recording) -> tuple[Explanation, ...]:
            return (Explanation("other", step=0),)

    assert str(GRAPH) == repr(GRAPH)
    presenting.use(Loud)
    recording = Recording.empty()
    assert str(GRAPH) == "text of Graph"
    assert str(recording) == "text of Recording"
    assert recording.all_steps[0].caption == "caption of step 0"
    assert recording.explanations == (Explanation("other", step=0),)
    assert recording.explanations[0]._repr_mimebundle_() == {"text/plain": "text of Explanation"}


PRINTED = {
    "graph": GRAPH,
    "recording": Recording.empty(),
    "explanation": Explanation(),
    "memory": Memory("memory", (), (), None, (), ()),
    "comparison": Comparison("comparison", (), (), GRAPH, (), ()),
}


@each("kind", PRINTED)
def test_everything_that_prints_has_a_text_in_the_view(kind: str) -> None:
    one = PRINTED[kind]
    assert isinstance(one, Printed)
    assert str(one) == text_of(one) != repr(one)


def test_the_text_of_anything_else_is_its_repr() -> None:
    assert text_of(Node("n0", "x", ())) == repr(Node("n0", "x", ()))
    with pytest.raises(TypeError, match="Node is none of what has parts"):
        parts_of(Node("n0", "x", ()))


def test_one_file_puts_a_presentation_in_use() -> None:
    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for item in ast.walk(ast.parse(path.read_text()))
        if isinstance(item, ast.ImportFrom)
        and item.module == "gradviz.model.presentation"
        and "use" in [alias.name for alias in item.names]
    ]
    assert found == ["__init__.py"]
