"""A question has the same picture, key and digest on every device."""

from __future__ import annotations

from tests.accelerator import device  # isort: skip  # before torch

from typing import Any

import pytest
import torch

from gradviz.teach.predict.in_picture import in_picture
from gradviz.teach.predict.predict import form_of
from gradviz.teach.predict.question_run import run

assert device.NAME


@pytest.mark.parametrize("form", [{"click": "node"}, {"edges": "all"}])
def test_a_picture_and_its_key_are_the_same_on_a_device(form: dict[str, str]) -> None:
    def of(place: str) -> tuple[Any, Any, int | None]:
        def program() -> str:
            a = torch.tensor(2.0, requires_grad=True, device=place)
            b = torch.tensor(3.0, requires_grad=True, device=place)
            y = a * b
            y.backward()
            return "MulBackward0"

        made = in_picture(form_of(form, {}), run(program), None, None)
        return dict(made.form.drawing()), made.key, made.step

    assert of("cpu") == of("cuda")
