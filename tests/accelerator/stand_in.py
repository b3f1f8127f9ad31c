"""Loads the stand-in for CUDA; to be imported before torch, which is then told that it has CUDA.

Tensors on ``"cuda"`` lie in the host's memory, and the CPU computes with them, but everything that
autograd does with a device is torch's own: backward runs on the engine's thread for that device.
On a machine with a real GPU nothing is loaded, and the same tests run on that.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
import time
from typing import Any, Final

from tests.accelerator.build import library

if "torch" in sys.modules:
    raise ImportError("the stand-in has to be loaded before torch is imported")
_library: Final = ctypes.CDLL(str(library()), mode=ctypes.RTLD_GLOBAL)
import torch  # noqa: E402

for _name in ("waits", "bytes", "most_bytes"):
    getattr(_library, f"stand_in_{_name}").restype = ctypes.c_int64


def waits() -> int:
    """How often the host has waited for the device."""
    return int(_library.stand_in_waits())


def bytes_in_use() -> int:
    """Bytes that tensors on the device occupy now."""
    return int(_library.stand_in_bytes())


def most_bytes() -> int:
    """The most that they have occupied since the start or :func:`forget_most_bytes`."""
    return int(_library.stand_in_most_bytes())


def forget_most_bytes() -> None:
    """Count the most bytes anew, from what is in use now."""
    _library.stand_in_forget_most_bytes()


def allow_bytes(count: int) -> None:
    """Run out of memory above so many bytes; 0 is no limit."""
    _library.stand_in_allow_bytes(ctypes.c_int64(count))


class _Properties:
    """What ``torch.cuda.get_device_properties`` says."""

    name = "stand-in"
    major, minor = 8, 0
    multi_processor_count = 1
    total_memory = 1 << 30


def _stands_in() -> None:
    """Answer for ``torch.cuda``, whose functions in C are not there without CUDA."""
    answers: dict[str, Any] = {
        "_lazy_call": lambda function, **_: None,
        "_lazy_init": lambda: None,
        "current_device": lambda: 0,
        "device_count": lambda: 1,
        "empty_cache": lambda: None,
        "get_device_capability": lambda device=None: (8, 0),
        "get_device_name": lambda device=None: "stand-in",
        "get_device_properties": lambda device=None: _Properties,
        "get_rng_state": lambda device=None: torch.get_rng_state(),
        "get_rng_state_all": lambda: [torch.get_rng_state()],
        "get_sync_debug_mode": lambda: 0,
        "init": lambda: None,
        "is_available": lambda: True,
        "is_bf16_supported": lambda *_, **__: True,
        "is_current_stream_capturing": lambda: False,
        "is_initialized": lambda: True,
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
        "max_memory_allocated": lambda device=None: most_bytes(),
        "memory_allocated": lambda device=None: bytes_in_use(),
        "memory_reserved": lambda device=None: bytes_in_use(),
        "reset_peak_memory_stats": lambda device=None: forget_most_bytes(),
        "set_rng_state": lambda state, device=None: None,
        "set_rng_state_all": lambda states: None,
        "synchronize": lambda device=None: _library.stand_in_wait(),
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)


def _clone(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    whole = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
    return whole.clone().untyped_storage()


_stands_in()
# torch copies storages of another device by a function that the stand-in does not have.
torch.UntypedStorage.clone = _clone  # type: ignore[method-assign,assignment]
# torch's device thread may still let go of a graph while Python ends, which aborts the process.
atexit.register(time.sleep, 0.2)
