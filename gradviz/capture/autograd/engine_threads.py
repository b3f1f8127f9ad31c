"""Threads that torch's engine has for accelerators; see NOTE [Threads of the engine]."""

from __future__ import annotations

from contextlib import suppress

import torch

from gradviz.capture.autograd.own_thread import in_own_thread


def engine_threads() -> int:
    """How many threads the engine has, or will have, for the accelerators that are in use.

    It has one per device (F5.08). No device is initialised by asking.
    """
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is None:
        return 0
    module = torch.get_device_module(accelerator)
    is_in_use = getattr(module, "is_initialized", module.is_available)()
    return int(module.device_count()) if is_in_use else 0


def start_engine_threads() -> None:
    """Let torch start these threads, which it does in the first backward of a process.

    That backward is run in a thread of its own, so that no mode, no recording and no sequence
    number of the caller's sees it.
    """
    with suppress(RuntimeError):  # a process that was forked after its parent had used them
        in_own_thread(_run_backward)


def _run_backward() -> None:
    with torch.enable_grad():
        x = torch.zeros((), device="cpu", requires_grad=True)
        roots, gradients = (x.view(()),), (torch.ones((), device="cpu"),)
    torch.autograd.Variable._execution_engine.run_backward(
        roots, gradients, False, False, (x,), allow_unreachable=True, accumulate_grad=False
    )
