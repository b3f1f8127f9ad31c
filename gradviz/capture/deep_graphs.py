"""Free deep graphs safely after they were read.

NOTE [Deep graphs]
Since torch 2.13 a node that Python has touched keeps its Python wrapper for life, and dropping
a chain of such nodes recurses ``THPCppFunction_dealloc -> ~Node -> decref -> ...`` with about
208 bytes of C stack per level and no guard: with an 8 MB stack the process dies with a
segmentation fault when a chain of about 41,000 nodes is freed, with 512 KB at 2,300. Touching
``grad_fn`` or ``next_functions`` from any Python code is enough; torch 2.12 and older free
iteratively and are not concerned, nor is Python 3.14, which watches the C stack while it frees.
Looking must not crash the program later, so:

* Every walk over more than ``SMALL`` nodes leaves *breaks* in the graph. A break is an object
  in ``node.metadata`` (torch's own per-node dictionary, the one anomaly mode uses) that holds
  the node's successors. It is set on each node that has a successor outside its block of
  ``BLOCK`` sequence numbers. Along an edge sequence numbers fall, and an edge where they do not
  gets a break too, so no path runs past more than ``BLOCK`` nodes without meeting one; this
  needs no depth computation and repeated walks set the same breaks.
* A node that is freed drops its edges first and its metadata last. So when a break is freed it is
  the last to hold the successors, and the recursion has come to rest: what the first break of a
  cascade held, and what the breaks below it hand over, it drops in a loop, one block after the
  other. The stack never holds more than two blocks.

All of it happens inside the statement that drops the graph, in whatever thread that is, so
nothing lives longer than it would have. No stack limit is changed and no node is left out. The
alternative, raising ``RLIMIT_STACK``, is inherited by child processes, does nothing for threads,
and depends on the room below the stack.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Sequence
from typing import Any, Final

from gradviz.capture import autograd

SMALL: Final = 1_000
"""Graphs up to this many nodes are not touched: they are shallow for any stack."""
BLOCK: Final = 256
"""Longest run of nodes without a break."""

_cascade = threading.local()


class _Break:
    """Holds the successors of a node; see NOTE [Deep graphs]."""

    __slots__ = ("successors",)

    def __init__(self, successors: list[Any]) -> None:
        self.successors: list[Any] | None = successors

    # The defaults keep what is needed alive while the interpreter shuts down.
    def __del__(self, cascade: Any = _cascade, interrupt: Any = _thread.interrupt_main) -> None:
        blocks: list[list[Any] | None] | None = getattr(cascade, "blocks", None)
        if blocks is not None:
            blocks.append(self.successors)
            self.successors = None
            return
        blocks = cascade.blocks = [self.successors]
        self.successors = None
        interrupted = False
        while blocks:
            try:
                blocks.pop()
            except KeyboardInterrupt:  # torch frees to the end, and only then Ctrl-C counts
                interrupted = True
        cascade.blocks = None
        if interrupted:
            interrupt()


def make_safe_to_free(
    nodes: Sequence[Any], entries: Sequence[Sequence[tuple[int, int] | None]], more: int = 0
) -> None:
    """Leave breaks in a graph whose nodes have been touched; see NOTE [Deep graphs].

    Args:
        nodes: All nodes a walk has touched.
        entries: ``(place in nodes, output number)`` or ``None`` per entry of
            ``next_functions`` of each node; nodes that an interrupted walk has not expanded
            are missing at the end.
        more: How many nodes that are behind these were touched by earlier walks.

    Nothing is done for torch 2.12 and older, or up to ``SMALL`` nodes.
    """
    if not autograd.WRAPPERS_LIVE_AS_LONG_AS_NODES or len(nodes) + more <= SMALL:
        return
    number = list(map(autograd.sequence_nr, nodes))
    no_number = autograd.NO_SEQUENCE_NR
    for at, row in enumerate(entries):
        mine = number[at]
        for entry in row:
            if entry is None:
                continue
            theirs = number[entry[0]]
            if theirs == no_number:
                continue
            if theirs >= mine or theirs // BLOCK != mine // BLOCK:
                successors = [nodes[e[0]] for e in row if e is not None]
                autograd.keep_with_node(nodes[at], "gradviz", _Break, successors)
                break
