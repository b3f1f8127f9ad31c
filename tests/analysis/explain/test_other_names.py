"""What was written through another name of a tensor is explained with both."""

from __future__ import annotations

from tests.analysis.explain.silent_running import run_recorded


def test_an_explanation_names_the_name_through_which_a_saved_tensor_was_written() -> None:
    before = 'w = torch.ones(2, requires_grad=True) * 1\nparams, box = {"w": w}, [w]'
    for line, words in (
        ('params["w"].mul_(2)', 'mul_ wrote w through its other name params["w"]: version 0'),
        ('params["w"] *= 2', 'wrote w through its other name params["w"]: version 0'),
        ("torch.mul(w, 2, out=box[0])", "mul wrote w through its other name box[0]: version 0"),
        ("w.mul_(2)", "mul_ wrote w: version 0"),
        ('w.mul_(params["w"])', "mul_ wrote w: version 0"),
    ):
        text = f"y = (w * w).sum()\nwith torch.no_grad():\n    {line}\ny.backward()\n"
        (explanation,) = run_recorded(text, before).explanations
        assert words in str(explanation), line


def test_a_refused_write_of_a_leaf_names_it_too() -> None:
    before = 'w = torch.ones(2, requires_grad=True)\nparams = {"w": w}'
    for line in ('params["w"].add_(1)', 'params["w"] += 1', 'params["w"][0] = 1'):
        (explanation,) = run_recorded(line, before).explanations
        assert 'w through its other name params["w"]' in str(explanation), line
