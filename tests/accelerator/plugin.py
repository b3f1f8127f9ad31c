"""pytest plugin (``-p tests.accelerator.plugin``): tests run on ``"cuda"``, stand-in or real GPU.

With ``--on-device`` everything that programs make without naming a device lies on it, in each
test and in what the test collects.
"""

from __future__ import annotations

import pytest

from tests.accelerator import device  # before anything that imports torch
from tests.accelerator.limits import reason_why_not


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--on-device", action="store_true", help="tensors lie on cuda unless a program says else"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--on-device"):
        device.use_by_default()


def pytest_report_header() -> str:
    return f"device: {device.NAME}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        reason = reason_why_not(item.nodeid)
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=f"not on the {device.NAME}: {reason}"))
