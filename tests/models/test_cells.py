"""A step of training in a cell: its own lines are recorded, and none of the packages it uses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import gradviz
from gradviz.model.events import OptimizerStepped
from tests.models.gallery import EACH, Model

LINES = ["optimizer.zero_grad()", "loss = forward()", "loss.backward()", "optimizer.step()"]


class Shell:
    """An IPython with the extension, and the recordings that its cells show."""

    def __init__(self, folder: Path) -> None:
        config = Config()
        config.HistoryManager.enabled = False
        new: Any = InteractiveShell
        self.ip = new(config=config, ipython_dir=str(folder))
        self.recordings: list[gradviz.Recording] = []

    def run(self, cell: str) -> gradviz.Recording:
        self.ip.run_cell(cell).raise_error()
        return self.recordings[-1]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    made = Shell(tmp_path_factory.mktemp("ipython"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gradviz.api.show", lambda one, **_: made.recordings.append(one))
        patch.setattr(InteractiveShell, "_instance", made.ip)
        made.ip.extension_manager.load_extension("gradviz")
        yield made
        made.ip.extension_manager.unload_extension("gradviz")


@pytest.mark.parametrize("model", EACH)
def test_a_cell_has_its_own_lines_and_none_of_a_package(model: Model, shell: Shell) -> None:
    built = model.build()
    optimizer = torch.optim.SGD(built.model.parameters(), lr=0.1)
    shell.ip.push({"forward": built.loss, "optimizer": optimizer})
    recording = shell.run("\n".join(["%%gradviz", *LINES]))
    lines = [step for step in recording if step.kind == "line"]
    assert [step.code.line(step.line) for step in lines if step.code and step.line] == LINES
    files = {code.name.partition(":")[0] for code in recording.codes}
    assert files <= {"cell", *(path.name for path in Path(__file__).parent.glob("*.py"))}
    assert any(isinstance(event, OptimizerStepped) for event in lines[-1].events)
