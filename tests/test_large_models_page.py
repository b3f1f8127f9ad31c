from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "large_models.md"


def test_the_programs_of_the_page_run_and_print_sizes() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {"__name__": "page"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for block in blocks:
            exec(compile(block, PAGE.name, "exec"), names)
    peak, *modules, device, kept = printed.getvalue().splitlines()
    assert re.fullmatch(
        r"The peak is \d\d\.\d GiB at step \d+.*; at the end nothing is kept\.", peak
    )
    assert [re.sub(r"\d+ MiB", "… MiB", line) for line in modules] == [
        "model.3.self_attn … MiB",
        "model.2.self_attn … MiB",
    ]
    assert (device, kept) == ("fake cpu", "64 bytes")
