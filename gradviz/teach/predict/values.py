"""What a function returned as plain data: texts, numbers, lists and mappings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any, Final

import torch

from gradviz.capture import naming
from gradviz.model.forms.form import Form


def read(value: Any, form: Form) -> Any:
    """What a function returned, as a form reads it."""
    return READERS[form.reads](value)


def plain(value: Any) -> Any:
    """Tensors as their numbers, collections as lists, the rest as it is."""
    if naming.is_tensor(value):
        with torch.no_grad():
            return value.detach().cpu().tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, Set):
        return sorted(map(plain, value), key=str)
    if isinstance(value, (list, tuple)):
        return list(map(plain, value))
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    return str(value)


READERS: Final[dict[str, Callable[[Any], Any]]] = {"values": plain}
"""How a value is read, by ``Form.reads``."""
