"""The threads that Python has not started are found and traced while others come and go."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="from Python 3.12 on one call traces all threads"
)

PROGRAM = """
import ctypes, sys, threading
from gradviz.capture.recorder.tracers import engine_threads

libc, begun, is_over = ctypes.CDLL(None), [], False

@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def body(_):
    begun.append(1)
    return 0

def start_threads():
    while not is_over:
        idents = [ctypes.c_ulong() for _ in range(8)]
        for ident in idents:
            libc.pthread_create(ctypes.byref(ident), None, body, None)
        for ident in idents:
            libc.pthread_join(ident, None)

sys.setswitchinterval(1e-6)
for _ in range(4):
    threading.Thread(target=start_threads, daemon=True).start()
threads = engine_threads.EngineThreads(lambda *_: None)
rounds, most = 0, 0
while rounds < 2000 or len(begun) < 1000:
    rounds += 1
    found = threads._find()
    most = max(most, len(found))
    states = [state for state, traces in found.items() if traces is None]
    engine_threads._trace(states, threads._address)
    threads._take_out()
is_over = True
print("found some" if most else "found none")
"""


def test_threads_that_end_meanwhile_do_no_harm() -> None:
    command = [sys.executable, "-X", "faulthandler", "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "found some\n"), done.stderr[-3000:]
