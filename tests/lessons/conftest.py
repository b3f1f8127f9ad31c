"""Lessons that run in this process leave it as it was."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def _default_device() -> Iterator[None]:
    """Some pages choose the default device, which is one of the whole process."""
    yield
    torch.set_default_device(None)
