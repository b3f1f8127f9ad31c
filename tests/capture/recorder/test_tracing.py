"""Which lines and functions the tracers tell of, on every Python of this machine, without torch."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.pythons import ROOT, VERSIONS, python

STAND_INS: Final = """
import contextlib, runpy, sys, types

def stand_in(name, **names):
    module = sys.modules[name] = types.ModuleType(name)
    vars(module).update(names)
    above, _, last = name.rpartition(".")
    if above:
        setattr(sys.modules[above], last, module)

program, checkout = sys.argv[1:]
for name in ("gradviz", "gradviz.capture", "gradviz.capture.recorder"):
    stand_in(name, __path__=[checkout + "/" + name.replace(".", "/")])
stand_in(
    "gradviz.capture.autograd",
    unseen=contextlib.nullcontext,
    never_compiled=lambda function: function,
    sequence_number=lambda: 0,
    code_of=lambda function: getattr(function, "__code__", None),
    in_recording=lambda: False,
    is_exporting=lambda: False,
)
stand_in("torch", __file__="/torch/__init__.py", __path__=[], Tensor=type("T", (), {}), Size=tuple)
stand_in("torch.nn", Module=type("Module", (), {}), Parameter=object)
stand_in("torch.overrides", __file__="overrides.py", resolve_name=str)
runpy.run_path(program, run_name="__main__")
"""
"""What tracing needs of torch: where nothing is seen, the next node's number, other threads."""
PROGRAM: Final = Path(__file__).with_name("traced_programs.py")

EXPECTED: Final[dict[str, list[str]]] = {
    "a = 1\nb = (a +\n 1)\nfor i in range(2):\n    a += i": [
        "line 1",
        "line 2",
        "line 4",
        "line 5",
        "line 4",
        "line 5",
        "line 4",
        "ends",
    ],
    "def f(x):\n    y = x + 1\n    return y\nz = f(1) + f(2)": [
        "line 1",
        "begins f",
        "line 2",
        "line 3",
        "begins f",
        "line 2",
        "line 3",
        "line 4",
        "ends",
    ],
    "a = watched(1)\ntry:\n    watched(-1)\nexcept ValueError as error:\n    a = 2": [
        "enters watched",
        "leaves watched: 2",
        "line 1",
        "line 2",
        "enters watched",
        "leaves watched: error",
        "line 3 caught ValueError",
        "line 4",
        "line 5",
        "ends",
    ],
    "def f():\n    raise KeyError(1)\ntry:\n    f()\nexcept KeyError:\n    a = 1\nb = 2": [
        "line 1",
        "line 3",
        "begins f",
        "line 4 caught KeyError",
        "line 5",
        "line 6",
        "line 7",
        "ends",
    ],
    "def f():\n    a = 1\n    return watched(-a)\nf()": [
        "line 1",
        "begins f",
        "line 2",
        "enters watched",
        "leaves watched: error",
        "line 3 fails with ValueError at <module>:4 f:3",
    ],
    "try:\n    1 / 0\nfinally:\n    a = 1": [
        "line 1",
        "line 2 caught ZeroDivisionError",
        "line 4 fails with ZeroDivisionError at <module>:2",
    ],
    "def f():\n    yield 1\n    yield 2\nfor x in f():\n    y = x": [
        "line 1",
        "begins f",
        "line 2",
        "line 4",
        "line 5",
        "begins f",
        "line 3",
        "line 4",
        "line 5",
        "line 4",
        "ends",
    ],
    "def f():\n"
    "    try:\n"
    "        yield 1\n"
    "    finally:\n"
    "        a = 1\n"
    "g = f()\n"
    "next(g)\n"
    "g.close()\n"
    "b = 1": [
        "line 1",
        "line 6",
        "begins f",
        "line 2",
        "line 3",
        "line 7",
        "begins f",
        "line 8",
        "line 9",
        "ends",
    ],
    "def f():\n"
    "    got = yield 1\n"
    "    yield got\n"
    "g = f()\n"
    "next(g)\n"
    "x = g.send(5)\n"
    "try:\n"
    "    g.throw(KeyError)\n"
    "except KeyError:\n"
    "    x = 2": [
        "line 1",
        "line 4",
        "begins f",
        "line 2",
        "line 5",
        "begins f",
        "line 3",
        "line 6",
        "line 7",
        "line 8 caught KeyError",
        "line 9",
        "line 10",
        "ends",
    ],
    "def f():\n"
    "    yield from [1, 2]\n"
    "    return 3\n"
    "def g():\n"
    "    x = yield from f()\n"
    "    told(str(x))\n"
    "y = list(g())": [
        "line 1",
        "line 4",
        "begins g",
        "begins f",
        "line 2",
        "line 5",
        "begins f",
        "line 3",
        "begins g",
        "3",
        "line 6",
        "line 7",
        "ends",
    ],
    "a = [x for x in [1, 2]]\nb = (lambda: 1)()\nc = sum(x for x in a)": [
        "line 1",
        "line 2",
        "line 3",
        "ends",
    ],
    "def f():\n    return 1\na = not_watched(f)": [
        "line 1",
        "begins f",
        "line 2",
        "line 3",
        "ends",
    ],
    "class A:\n    x = 1\n    def f(self):\n        return self.x\na = A().f()": [
        "begins A",
        "line 1",
        "line 2",
        "line 3",
        "line 1",
        "begins f",
        "line 4",
        "line 5",
        "ends",
    ],
    "with __import__('contextlib').suppress(KeyError):\n    {}[1]\na = 1": [
        "line 1",
        "line 2 caught KeyError",
        "line 1",
        "line 3",
        "ends",
    ],
    "class Wait:\n"
    "    def __await__(self):\n"
    "        yield\n"
    "async def f():\n"
    "    await Wait()\n"
    "    return 1\n"
    "a = drive(f())": [
        "begins Wait",
        "line 1",
        "line 2",
        "line 1",
        "line 4",
        "begins f",
        "begins __await__",
        "line 3",
        "line 5",
        "begins f",
        "line 6",
        "line 7",
        "ends",
    ],
    "x = next(iter([]), 1)\nfor i in iter([1]):\n    pass": [
        "line 1",
        "line 2",
        "line 3",
        "line 2",
        "ends",
    ],
    "def f(n):\n    return f(n - 1) if n else 0\na = f(2)": [
        "line 1",
        "begins f",
        "begins f",
        "begins f",
        "line 2",
        "line 2",
        "line 2",
        "line 3",
        "ends",
    ],
    "try:\n"
    "    try:\n"
    "        1 / 0\n"
    "    except KeyError:\n"
    "        a = 1\n"
    "except ZeroDivisionError:\n"
    "    b = 2": [
        "line 1",
        "line 2",
        "line 3 caught ZeroDivisionError",
        "line 4",
        "line 6",
        "line 7",
        "ends",
    ],
    "try:\n"
    "    raise ExceptionGroup('g', [KeyError(1), ValueError(2)])\n"
    "except* KeyError:\n"
    "    a = 1\n"
    "except* ValueError:\n"
    "    b = 2\n"
    "c = 3": [
        "line 1",
        "line 2 caught ExceptionGroup",
        "line 3",
        "line 4",
        "line 5",
        "line 6",
        "line 7",
        "ends",
    ],
    "match [1, 2]:\n    case [a, b]:\n        c = a\n    case _:\n        c = 0": [
        "line 1",
        "line 2",
        "line 3",
        "ends",
    ],
    "def f():\n"
    "    thing = Thing()\n"
    "    seen = weakref.ref(thing)\n"
    "    thing = None\n"
    "    told(f'gone: {seen() is None}')\n"
    "f()": [
        "line 1",
        "begins f",
        "line 2",
        "line 3",
        "line 4",
        "gone: True",
        "line 5",
        "line 6",
        "ends",
    ],
    "def f():\n"
    "    thing = Thing()\n"
    "    seen = weakref.ref(thing)\n"
    "    del thing\n"
    "    return seen\n"
    "a = f()() is None\n"
    "told(f'gone: {a}')": [
        "line 1",
        "begins f",
        "line 2",
        "line 3",
        "line 4",
        "line 5",
        "line 6",
        "gone: True",
        "line 7",
        "ends",
    ],
    "def f():\n"
    "    told('in a thread')\n"
    "thread = threading.Thread(target=f)\n"
    "thread.start()\n"
    "thread.join()\n"
    "a = 1": [
        "line 1",
        "line 3",
        "in a thread",
        "line 4",
        "line 5",
        "line 6",
        "ends",
    ],
    "signal_soon()\n"
    "try:\n"
    "    time.sleep(5)\n"
    "except KeyboardInterrupt:\n"
    "    told('caught')\n"
    "a = 1": [
        "line 1",
        "line 2",
        "line 3 caught KeyboardInterrupt",
        "line 4",
        "caught",
        "line 5",
        "line 6",
        "ends",
    ],
    "signal_soon()\ntime.sleep(5)": [
        "line 1",
        "line 2 fails with KeyboardInterrupt at <module>:2",
    ],
    "def f():\n    while True:\n        watched(1)\nsignal_soon()\ntime.sleep(5)": [
        "line 1",
        "line 4",
        "line 5 fails with KeyboardInterrupt at <module>:5",
    ],
    "import warnings\nassert True\na = 1; b = 2\nif a: b = 3": [
        "line 1",
        "line 2",
        "line 3",
        "line 4",
        "ends",
    ],
    "raise SystemExit(1)": [
        "line 1 fails with SystemExit at <module>:1",
    ],
}

F: Final = "def f(x):\n    y = x + 1\n    return y\n"
BLOCKS: Final[dict[str, list[str]]] = {
    F + "with block: f(1)": ["begins f", "line 2", "line 3", "line 4", "ends"],
    F + "with block:\n    f(1)": ["begins f", "line 2", "line 3", "line 5", "ends"],
    F + "with block: a = 1; f(a); b = [f(x) for x in (1, 2)]; c = f(b[0])\nd = f(1)": [
        *["begins f", "line 2", "line 3"] * 4,
        "line 4",
        "ends",
    ],
    F + "with block, contextlib.nullcontext(): f(1)": [
        "begins f",
        "line 2",
        "line 3",
        "line 4",
        "ends",
    ],
    F + "with (block,\n    contextlib.nullcontext()): f(1)": [
        "begins f",
        "line 2",
        "line 3",
        "line 4",
        "ends",
    ],
    F + "def g():\n    with block: return f(1)\ng()": [
        "begins f",
        "line 2",
        "line 3",
        "line 5",
        "ends",
    ],
    F + "with contextlib.ExitStack() as s: s.enter_context(block); f(1)": [
        "begins f",
        "line 2",
        "line 3",
        "line 4",
        "ends",
    ],
    "def f(x): y = x + 1; return y\nwith block: f(1); f(2)": [
        "begins f",
        "line 1",
        "begins f",
        "line 1",
        "line 2",
        "ends",
    ],
    "def f(x):\n    raise ValueError\nwith block: f(1)": ["begins f", "line 2 fails"],
    "with block: raise ValueError": ["line 1 fails"],
    "def f(x):\n    raise ValueError\nwith block, contextlib.suppress(ValueError): f(1)\na = 1": [
        "begins f",
        "line 3 caught ValueError",
        "ends",
    ],
    F
    + "with block:\n    for x in (1, 2): f(x); f(x)\n"
    + "    if f(1): f(2)\n    k = lambda: f(1)\n    k()": [
        *["begins f", "line 2", "line 3"] * 4,
        "line 5",
        *["begins f", "line 2", "line 3"] * 2,
        "line 6",
        "line 7",
        "begins f",
        "line 2",
        "line 3",
        "line 8",
        "ends",
    ],
}
"""Blocks of a ``with``, several on the line of their head."""


@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_tells_the_same_lines(version: str) -> None:
    path = python(version)
    if path is None:
        pytest.skip(f"there is no Python {version} on this machine")
    told = subprocess.run(
        [path, "-W", "error", "-c", STAND_INS, str(PROGRAM), str(ROOT)],
        input=json.dumps([list(EXPECTED), list(BLOCKS)]),
        capture_output=True,
        text=True,
        check=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    expected = EXPECTED | BLOCKS
    assert dict(zip(expected, json.loads(told.stdout), strict=True)) == expected
