"""Programs as people write them, to be run by Python and by ``gradviz run``."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, eq=False)
class AsPython:
    """Files of a folder, and the words after ``python`` that run them."""

    name: str
    files: dict[str, str | bytes]
    words: tuple[str, ...] = ("train.py",)
    stdin: str = ""
    status: int = 0
    python: tuple[str, ...] = ()
    """Options of Python itself."""
    links: dict[str, str] = field(default_factory=dict)
    hides_a_module: bool = False
    """Whether it has a module with the name of one that torch imports."""

    def __str__(self) -> str:
        return self.name


ALL: list[AsPython] = []


def add(name: str, text: str | bytes | dict[str, str | bytes], *words: str, **more: object) -> None:
    files = text if isinstance(text, dict) else {"train.py": text}
    ALL.append(AsPython(name, files, words or ("train.py",), **more))  # type: ignore[arg-type]


# --- what a script finds ----------------------------------------------------------------------

SEEN = """
import sys, builtins, atexit, threading, os
print(sorted((name, type(value).__name__) for name, value in globals().items()))
print(__file__, sys.argv, sys.path[:2], __builtins__ is builtins, __spec__ and __spec__.name)
print(__package__, type(__loader__).__name__, sys.modules["__main__"].__dict__ is globals())
print(os.getcwd(), threading.current_thread() is threading.main_thread(), __name__)
atexit.register(lambda: print("at exit", "__file__" in globals(), "__cached__" in globals()))
"""
add("words after the script are its own", SEEN, "train.py", "--record", "-m", "x", "--", "-h")
add("a path with dots", {"a/train.py": SEEN, "b/x": ""}, "b/../a/train.py")
add("a path that begins with a dot", SEEN, "./train.py")
add("a link to the script", {"a/train.py": SEEN}, "linked.py", links={"linked.py": "a/train.py"})
add("no folder in front", SEEN, python=("-P",))
add("a folder with __main__", {"folder/__main__.py": SEEN}, "folder", "1")
add("a module of a package", {"p/__init__.py": "print('p')", "p/q.py": SEEN}, "-m", "p.q", "--html")
add("a package as a module", {"p/__init__.py": "", "p/__main__.py": SEEN}, "-m", "p", "x")
add("a module beside the script", {"train.py": "import queue, helper", "helper.py": SEEN})
add(
    "a module that hides one of Python's own",
    {"train.py": "import argparse, re; print(argparse.mine)", "argparse.py": "mine = 1"},
    hides_a_module=True,
)
add(
    "relative imports",
    {
        "p/__init__.py": "",
        "p/model.py": "from dataclasses import dataclass\n@dataclass\nclass Net:\n    n: int = 2\n",
        "p/train.py": "from .model import Net\nprint(Net(), __package__)",
    },
    *("-m", "p.train"),
)
add(
    "a relative import in a script",
    {"train.py": "from .model import x", "model.py": "x = 1"},
    status=1,
)
add("a latin script", "# coding: latin-1\nprint(ascii('é'))".encode("latin-1"))
add("a script with a mark and long line ends", b"\xef\xbb\xbfprint(1)\r\n\x0cprint('''a\r\nb''')")

# --- how it ends ------------------------------------------------------------------------------

for number, end in enumerate(("3", "None", "'a reason'", "True", "(1, 2)")):
    add(
        f"sys.exit(main()) {number}",
        f"import sys\ndef main():\n    return {end}\nif __name__ == '__main__': sys.exit(main())",
        status={0: 3, 1: 0}.get(number, 1),
    )
add("ended at once", "import os, sys\nprint(1, flush=True)\nos._exit(5)", status=5)
add(
    "an error from another one",
    """
def load(path):
    try:
        return {}[path]
    except KeyError as error:
        error.add_note("a note")
        raise ValueError(f"no {path}") from error
load("x")
""",
    status=1,
)
add(
    "an error while another is handled, and a group",
    """
try:
    1 / 0
except ZeroDivisionError:
    raise ExceptionGroup("two", [ValueError(1), TypeError(2)])
""",
    status=1,
)
add("no Python", "def f(:\n    pass", status=1)
add("no Python in what is imported", {"train.py": "import helper", "helper.py": "x ="}, status=1)
add("an error of a module", {"p/q.py": "print(1)\nraise ValueError(2)"}, "-m", "p.q", status=1)
add("no such module", {"train.py": ""}, "-m", "no.such", status=1)
add("a folder without __main__", {"folder/x.py": ""}, "folder", status=1)
add("an assertion that is left out", "assert False\nprint(1)", python=("-O",))
add(
    "Ctrl-C",
    "import signal\nsignal.raise_signal(signal.SIGINT)",
    status=-2,
)
add("a signal", "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)", status=-15)
add(
    "a hook of its own",
    """
import sys, traceback
def shown(kind, value, tb):
    print("HOOK", value, kind.__name__, len(traceback.extract_tb(tb)), value.__traceback__ is tb)
    print(traceback.format_exc(), sys.last_value is value, sys.last_traceback is tb)
sys.excepthook = shown
def f(depth):
    try:
        return f(depth + 1)
    except RecursionError:
        return depth
def g():
    raise ValueError(f(1))
g()
""",
    status=1,
)
add(
    "a hook that exits",
    "import sys\nsys.excepthook = lambda *_: sys.exit(7)\nraise ValueError",
    status=7,
)
add(
    "a thread that is still running",
    """
import threading, atexit
def work():
    threading.main_thread().join()
    print("worked", sorted(n for n in globals() if n.startswith("w")))
threading.Thread(target=work).start()
atexit.register(print, "at exit")
print("main ends")
raise ValueError
""",
    status=1,
)
add(
    "an error in a thread",
    """
import threading
t = threading.Thread(target=lambda: 1 / 0, name="worker")
t.start(); t.join()
print("after")
""",
)
add(
    "what is freed at the end",
    """
from functools import partial
class Held:
    def __init__(self, name): self.name = name
    def __del__(self): print("freed", self.name)
class Failing: __del__ = partial(int, "no number")
a, b, d = Held("a"), Held("b"), Failing()
def f():
    c = Held("c")
    raise ValueError
f()
""",
    status=1,
)

# --- what programs do -------------------------------------------------------------------------

add(
    "argparse with help",
    """
import argparse
parser = argparse.ArgumentParser(description="Train.")
parser.add_argument("--lr", type=float, default=0.1)
print(parser.parse_args())
""",
    "train.py",
    "--help",
)
add(
    "argparse with an error",
    """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.parse_args()
""",
    "train.py",
    "--lr",
    "x",
    status=2,
)
add(
    "dataclasses, pickle and hints",
    """
from __future__ import annotations
import dataclasses, pickle, typing, copy, inspect, sys
@dataclasses.dataclass
class Settings:
    lr: float = 0.1
    sizes: list[int] = dataclasses.field(default_factory=list)
a = pickle.loads(pickle.dumps(Settings(2.0, [1])))
print(a, copy.deepcopy(a), typing.get_type_hints(Settings), Settings.__module__)
print(inspect.getsource(Settings).count("lr"), inspect.getmodule(Settings).__name__)
import __main__
print(__main__.Settings is Settings, sys.modules[Settings.__module__].a is a)
""",
)
add(
    "logging",
    {
        "train.py": """
import logging, sys, helper
logging.basicConfig(stream=sys.stdout, level=logging.DEBUG,
    format="%(levelname)s %(name)s %(module)s %(filename)s:%(lineno)d %(funcName)s %(processName)s")
log = logging.getLogger(__name__)
def main():
    log.info("x"); helper.f()
    try:
        1 / 0
    except ZeroDivisionError:
        log.exception("failed")
main()
""",
        "helper.py": "import logging\ndef f(): logging.getLogger(__name__).warning('y')",
    },
)
add(
    "input",
    "print(input('name? '), input())\nimport sys; print(sys.stdin.read())",
    stdin="a\nb\nc\n",
)
add("input that ends", "input()", status=1)
add(
    "warnings",
    {
        "train.py": """
import warnings, helper
warnings.warn("old", DeprecationWarning)
def f(): warnings.warn("mine", UserWarning, stacklevel=2)
f(); helper.f()
""",
        "helper.py": "import warnings\ndef f(): warnings.warn('x', FutureWarning, stacklevel=2)",
    },
)
add("warnings as errors", "import warnings\nwarnings.warn('x')", python=("-W", "error"), status=1)
add(
    "asyncio",
    """
import asyncio
async def main():
    await asyncio.sleep(0)
    print("here")
    raise ValueError("there")
asyncio.run(main())
""",
    status=1,
)
add(
    "unittest",
    """
import unittest
class Tests(unittest.TestCase):
    def test_one(self): self.assertEqual(1, 1)
if __name__ == "__main__":
    unittest.main(verbosity=0, argv=["train.py", "-q"], testRunner=unittest.TextTestRunner(
        stream=open("log", "w"), verbosity=0))
""",
)
add(
    "doctest",
    '''
def f():
    """
    >>> f()
    1
    """
    return 2
import doctest
print(doctest.testmod())
''',
)
add(
    "a script that runs itself again",
    """
import subprocess, sys
if len(sys.argv) == 1:
    print(subprocess.run([sys.executable, *sys.argv, "again"], capture_output=True, text=True))
else:
    print(sys.argv)
""",
)
add(
    "a script that takes the place of itself",
    """
import os, sys
print(len(sys.argv), flush=True)
if len(sys.argv) == 1:
    os.execv(sys.executable, [sys.executable, __file__, "again"])
""",
)
add(
    "processes by fork",
    """
import os, sys
child = os.fork()
if not child:
    print("child"); sys.exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
)
for method in ("spawn", "fork", "forkserver"):
    add(
        f"a pool by {method}",
        f"""
import multiprocessing, sys
def double(x): return x * 2
class Kept:
    def __init__(self, x): self.x = x
def held(kept): return kept.x, __name__ == "__main__", sys.argv
if __name__ == "__main__":
    context = multiprocessing.get_context("{method}")
    with context.Pool(1) as pool:
        print(pool.map(double, range(3)), pool.map(held, [Kept(1)]))
""",
        "train.py",
        "--lr",
        "1",
    )
add(
    "a pool of a module by spawn",
    {
        "p/__init__.py": "",
        "p/q.py": """
import multiprocessing
from . import r
def double(x): return r.two * x, __name__
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(double, range(3)))
""",
        "p/r.py": "two = 2",
    },
    "-m",
    "p.q",
)

QUICK = {
    "words after the script are its own",
    "a link to the script",
    "a module of a package",
    "a module that hides one of Python's own",
    "sys.exit(main()) 2",
    "an error from another one",
    "Ctrl-C",
    "a hook of its own",
    "a thread that is still running",
    "dataclasses, pickle and hints",
    "input",
}
"""Those that run each time; the others take their time together."""
