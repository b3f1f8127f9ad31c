"""Look and compute without the user's modes and subclasses noticing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.utils._python_dispatch import _disable_current_modes


@contextmanager
def unseen() -> Iterator[None]:
    """Hide reads from the user's modes and tensor subclasses (F2.12).

    Reading a saved output of a node runs one ``detach``, which dispatch modes would see.
    """
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        yield


@contextmanager
def arithmetic() -> Iterator[None]:
    """Compute on the user's tensors unseen by their modes and unrecorded by autograd."""
    with unseen(), torch.no_grad(), _disable_current_modes():
        yield
