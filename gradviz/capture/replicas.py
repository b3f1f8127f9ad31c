"""Which parameters DistributedDataParallel reduces, read from where it raised an error."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType

from gradviz.capture import autograd, naming
from gradviz.capture.installed_files import is_users
from gradviz.capture.stacks import traceback_entries


def reduced_by(error: BaseException) -> tuple[str, ...]:
    """Names of the parameters in the order in which the message numbers them.

    DistributedDataParallel is found as ``self`` of a frame of the traceback, else among the
    variables of the user's frames.

    Args:
        error: What was raised; other errors than those of torch's own type have no names.

    Returns:
        The names; empty if it is not there, there are several, or its parameters have changed.
    """
    if type(error) is not RuntimeError:
        return ()
    frames = [entry.tb_frame for entry in traceback_entries(error.__traceback__)]
    for values in (_own(frames), _variables(frames), _globals(frames)):
        replica = autograd.replica_in(values)
        if replica is not None:
            return autograd.reduced_names(replica)
    return ()


def _own(frames: list[FrameType]) -> Iterator[object]:
    for frame in frames:
        if frame.f_code.co_varnames[:1] == ("self",):
            yield from (v for name, v in naming.local_variables(frame) if name == "self")


def _variables(frames: list[FrameType]) -> Iterator[object]:
    for frame in frames:
        if is_users(frame.f_code.co_filename):
            yield from (value for _, value in naming.local_variables(frame))


def _globals(frames: list[FrameType]) -> Iterator[object]:
    for frame in frames:
        if is_users(frame.f_code.co_filename):
            yield from list(frame.f_globals.values())
