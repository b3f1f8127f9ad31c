"""Random programs are the same in each run, and have as long as a busy machine needs; Ctrl-C ends
what tests start, as in a terminal."""

import gc
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "tests",
    deadline=None,
    derandomize=True,
    database=None,
    # The phase that explains traces what runs, as a debugger does: then other things are alive.
    phases=[phase for phase in Phase if phase is not Phase.explain],
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")

# What a shell starts in the background ignores it, and so would all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def signals_end_what_runs() -> Iterator[None]:
    """No callback of the garbage collector: Python ignores what a signal's handler raises in one.

    A signal that comes while the collector runs is handled in the callback that follows, such as
    the one hypothesis places. What is raised there is printed and lost.
    """
    callbacks = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = callbacks
