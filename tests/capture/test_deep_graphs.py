from __future__ import annotations

import subprocess
import sys
import weakref
from typing import Any

import nbformat
import pytest
import torch
from nbclient import NotebookClient

import gradviz

PROGRAM = """
import sys, threading, weakref
import torch, gradviz

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * b, grad * a

def chain(count, step):
    y = start = torch.ones(1, requires_grad=True)
    probe = None
    for i in range(count):
        y = step(y, start)
        if i == 5:
            probe = weakref.ref(y.untyped_storage())
    return y, probe

count, step, ends = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
steps = {
    "multiply": lambda y, start: y * start,
    "function": Product.apply,
    "two ways": lambda y, start: y.sin() + y * start,
}
for how in ends:
    print(how, flush=True)
    y, probe = chain(count, steps[step])
    graph = gradviz.snapshot(y)
    assert len(graph) > count, len(graph)
    del graph
    if how == "main":
        del y
    elif how == "thread":
        box = [y]
        del y
        threading.stack_size(256 * 1024)
        thread = threading.Thread(target=box.clear)
        thread.start()
        thread.join()
    elif how == "looked at in a thread":
        threading.stack_size(256 * 1024)
        thread = threading.Thread(target=lambda: gradviz.snapshot(y))
        thread.start()
        thread.join()
        del y
    elif how == "after backward":
        y.backward()
        gradviz.snapshot(y)
        del y
    elif how == "at exit":
        sys.exit(0)
    elif how == "twice from the middle":
        middle, _ = chain(count, steps[step])
        end = middle * 2
        gradviz.snapshot(middle)
        gradviz.snapshot(end, y)
        del end, middle, y
    assert probe() is None
"""


def run(count: int, step: str, *ends: str) -> None:
    """Make a chain, look at it, and free it; once for each way in which it ends, in one process."""
    command = [sys.executable, "-c", PROGRAM, str(count), step, *ends]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-2000:])
    assert done.stdout.splitlines() == [*ends]


def test_a_graph_100_000_deep_is_freed_in_any_thread_and_at_exit() -> None:
    run(100_000, "multiply", "main", "thread", "at exit")


@pytest.mark.deepest
@pytest.mark.parametrize(
    "how", ["looked at in a thread", "after backward", "twice from the middle"]
)
def test_a_graph_100_000_deep_is_freed_whatever_was_done_with_it(how: str) -> None:
    run(100_000, "multiply", how)


@pytest.mark.deepest
@pytest.mark.parametrize("step", ["function", "two ways"])
def test_a_graph_100_000_deep_of_other_nodes_is_freed(step: str) -> None:
    run(100_000, step, "main")


@pytest.mark.deepest
@pytest.mark.parametrize("how", ["main", "thread"])
def test_a_graph_1_000_000_deep_is_freed(how: str) -> None:
    run(1_000_000, "multiply", how)


@pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13),
    reason="only torch 2.13 and newer free wrapped chains by recursion",
)
def test_without_the_breaks_a_bare_walk_kills_the_process_up_to_python_3_13() -> None:
    bare = """
import torch
y = torch.ones(1, requires_grad=True)
for _ in range(120_000):
    y = y * 2
node = y.grad_fn
while node is not None:
    node = node.next_functions[0][0] if node.next_functions else None
del y
"""
    done = subprocess.run([sys.executable, "-c", bare], capture_output=True, check=False)
    assert (done.returncode == 0) == (sys.version_info >= (3, 14))


def test_small_graphs_are_left_without_breaks() -> None:
    y = torch.ones(1, requires_grad=True)
    for _ in range(500):
        y = y * 2
    gradviz.snapshot(y)
    node = y.grad_fn
    while node is not None:
        metadata: Any = node.metadata
        assert "gradviz" not in metadata
        node = node.next_functions[0][0] if node.next_functions else None


def test_graphs_that_are_shallow_for_the_stack_die_at_once() -> None:
    y = torch.ones(1, requires_grad=True)
    probes = []
    for i in range(8000):
        y = y * 1.5
        if i % 1000 == 0:
            probes.append(weakref.ref(y.untyped_storage()))
    gradviz.snapshot(y)
    del y
    alive = [probe() for probe in probes]
    assert alive == [None] * len(probes)


def test_many_graphs_freed_at_one_line_leave_nothing_behind() -> None:
    probes = []
    for _ in range(6):
        y = torch.ones(1, requires_grad=True)
        for i in range(3000):
            y = y * 1.5
            if i == 0:
                probes.append(weakref.ref(y.untyped_storage()))
        gradviz.snapshot(y)
        del y
    assert [probe() for probe in probes] == [None] * 6


def test_an_interrupted_walk_leaves_a_graph_that_can_be_freed() -> None:
    interrupted = """
import signal
import torch, gradviz
y = torch.ones(1, requires_grad=True)
gradviz.snapshot(y * 2)  # imports what is imported late: once code of exec() was interrupted,
for _ in range(150_000):  # as in a dataclass, Python 3.11 ends with SIGINT, though caught
    y = y * 2
def interrupt(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
try:
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    gradviz.snapshot(y)
    print("was not interrupted")
except KeyboardInterrupt:
    print("interrupted")
del y
"""
    command = [sys.executable, "-c", interrupted]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr[-2000:]


@pytest.mark.deepest
@pytest.mark.parametrize("count", [100_000, 1_000_000])
def test_a_deep_graph_is_freed_in_a_notebook_kernel(count: int) -> None:
    cells = [
        f"import torch, gradviz\ny = torch.ones(1, requires_grad=True)\nfor _ in range({count}):\n"
        "    y = y * 1.0",
        "graph = gradviz.snapshot(y)\nprint(len(graph))",
        "del y",
        "print('alive')",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    printed = [output["text"] for cell in notebook.cells for output in cell["outputs"]]
    assert printed == [f"{count + 1}\n", "alive\n"]
