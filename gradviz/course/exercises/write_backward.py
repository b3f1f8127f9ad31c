"""``backward()`` written by the learner: every node is called once, and leaves get their sum."""

from collections import Counter
from typing import Any

import torch

from gradviz.teach.repair.exercise import Exercise
from gradviz.teach.repair.program import Run
from gradviz.teach.repair.program import run as run_program


def forks(a, b):
    h = a * b
    first, second = h.unbind()
    return first * second + h.sum()


def doubles(a, b):
    h = (a * 2).exp()
    return (h * h + h * b).sum()


def by_torch(forward, a, b):
    loss = forward(a, b)
    loss.backward()


def called_as_torch_does(run: Run) -> None:
    """The nodes that torch's backward runs, each once and after those that hand it a gradient."""
    assert not run.has_backward, "A backward of torch ran here. Write one: call the nodes yourself."
    ran = run.returned
    is_listed = isinstance(ran, list) and all(hasattr(node, "next_functions") for node in ran)
    assert is_listed, "The program returns no list of nodes: append each node that you call to it."
    recording = run_program(by_torch, run.given).recording
    wanted = [recording.graph[node].name for node in recording.backward_order]
    _each_once(ran, [name.rpartition("::")[2] for name in wanted])
    _after_those_before(ran)
    leaves = {id(node.variable) for node in ran if hasattr(node, "variable")}
    is_own = leaves == {id(run.given["a"]), id(run.given["b"])}
    assert is_own, "The nodes are those of another graph, which does not end at `a` and `b`."
    gradients = [run.given[name].grad for name in "ab"]
    has_graph = any(gradient is not None and gradient.grad_fn for gradient in gradients)
    assert not has_graph, "Every `.grad` has a graph of its own: the calls were recorded."


def _each_once(ran: list[Any], wanted: list[str]) -> None:
    assert ran, "The list of the nodes that were called is empty."
    calls = Counter(map(id, ran))
    for node in ran:
        assert calls[id(node)] == 1, (
            f"`{_name(node)}` was called {calls[id(node)]} times, not once."
        )
    found = Counter(map(_name, ran))
    missing = [name for name in dict.fromkeys(wanted) if found[name] < Counter(wanted)[name]]
    for name in missing:
        all_of = Counter(wanted)[name]
        only = f"Only {found[name]} of {all_of} nodes `{name}` were called."
        raise AssertionError(only if found[name] else f"`{name}` was not called.")


def _after_those_before(ran: list[Any]) -> None:
    places = {id(node): place for place, node in enumerate(ran)}
    for node in ran:
        for following, _ in node.next_functions:
            is_late = following is None or places.get(id(following), -1) > places[id(node)]
            early = "" if is_late else f"`{_name(following)}` was called before `{_name(node)}`"
            assert is_late, f"{early}, which hands it a gradient."


def _name(node: Any) -> str:
    return str(node.name()).rpartition("::")[2]


exercise = Exercise(
    goal="The program calls each node of the graph once, so that `a.grad` and `b.grad` are those "
    "of torch, and returns the nodes in the order of the calls.",
    given=[
        {
            "forward": forks,
            "a": torch.tensor([2.0, 3.0], requires_grad=True),
            "b": torch.tensor([5.0, 7.0], requires_grad=True),
        },
        {
            "forward": doubles,
            "a": torch.tensor([0.0, 0.5, -1.0], requires_grad=True),
            "b": torch.tensor([1.0, -2.0, 3.0], requires_grad=True),
        },
    ],
    judged=("a", "a.grad", "b", "b.grad"),
    check=called_as_torch_does,
    hints=[
        "`next_functions` leads from node to node. When may a node be called that two others lead "
        "to?",
        "First list the nodes so that each comes before all that it leads to: put a node at the "
        "front of the list when everything behind it is listed. Then go through the list, and keep "
        "for each node the gradients that have arrived, one place for each of its inputs.",
        "A call is `node(*arrived[node])`, with `None` where nothing has arrived. It returns one "
        "tensor, or a tuple with a gradient for each entry of `next_functions`, which are pairs of "
        "a node, or `None`, and the place there. If the place is taken, add. Do it all under "
        "`torch.no_grad()`.",
    ],
    why="That is backward: an order in which each node comes after all that hand it a gradient, "
    "and a sum wherever two meet. torch counts edges instead of listing nodes, and frees what a "
    "node has saved as soon as it has run.",
    step=-1,
    by_hand=True,
)


@exercise.broken
def program(forward, a, b):
    loss = forward(a, b)
    ran = []
    node = loss.grad_fn
    node(torch.ones_like(loss))
    ran.append(node)
    # And now? node.next_functions leads on.
    return ran


@exercise.solution
def depth_first(forward, a, b):
    loss = forward(a, b)
    ran = []

    def visit(node):
        if node not in ran:
            for following, _ in node.next_functions:
                if following is not None:
                    visit(following)
            ran.insert(0, node)

    visit(loss.grad_fn)
    arrived = {node: [None] * len(node._input_metadata) for node in ran}
    arrived[loss.grad_fn][loss.output_nr] = torch.ones_like(loss)
    with torch.no_grad():
        for node in ran:
            returned = node(*arrived[node])
            returned = returned if isinstance(returned, tuple) else (returned,)
            for (following, place), gradient in zip(node.next_functions, returned):
                if following is not None and gradient is not None:
                    before = arrived[following][place]
                    arrived[following][place] = gradient if before is None else before + gradient
    return ran


@exercise.solution
def counted(forward, a, b):
    loss = forward(a, b)
    nodes, edges = [loss.grad_fn], {}
    for node in nodes:
        for following, _ in node.next_functions:
            if following is not None and following not in nodes:
                nodes.append(following)
            edges[following] = edges.get(following, 0) + 1
    arrived = {node: [None] * len(node._input_metadata) for node in nodes}
    arrived[loss.grad_fn][loss.output_nr] = torch.ones_like(loss)
    ready = [loss.grad_fn]
    with torch.no_grad():
        for node in ready:
            returned = node(*arrived[node])
            returned = returned if isinstance(returned, tuple) else (returned,)
            for (following, place), gradient in zip(node.next_functions, returned):
                if following is not None:
                    before = arrived[following][place]
                    arrived[following][place] = gradient if before is None else before + gradient
                    edges[following] -= 1
                    ready += [following] if edges[following] == 0 else []
    return ready


@exercise.solution
def in_the_order_of_torch(forward, a, b):
    loss = forward(a, b)
    ready, ran, edges, arrived = [loss.grad_fn], [], {}, {loss.grad_fn: {0: torch.ones_like(loss)}}
    nodes = [loss.grad_fn]
    for node in nodes:
        for following, _ in node.next_functions:
            nodes += [following] if following is not None and following not in nodes else []
            edges[following] = edges.get(following, 0) + 1
    while ready:
        node = max(ready, key=lambda one: one._sequence_nr())
        ready.remove(node)
        ran.append(node)
        with torch.no_grad():
            returned = node(*map(arrived[node].get, range(len(node._input_metadata))))
        returned = returned if isinstance(returned, tuple) else (returned,)
        for (following, place), gradient in zip(node.next_functions, returned):
            if following is not None:
                places = arrived.setdefault(following, {})
                places[place] = places[place] + gradient if place in places else gradient
                edges[following] -= 1
                ready += [following] if edges[following] == 0 else []
    return ran


@exercise.wrong_fix(
    "The gradients are right, since leaves add up; but a node is called once for each path that "
    "leads to it. With twenty forks one after the other that is a million calls. Wait until all "
    "gradients of a node have arrived, add them, and call it once."
)
def along_every_path(forward, a, b):
    loss = forward(a, b)
    ran = []

    def call(node, place, gradient):
        arrived = [None] * len(node._input_metadata)
        arrived[place] = gradient
        ran.append(node)
        returned = node(*arrived)
        returned = returned if isinstance(returned, tuple) else (returned,)
        for (following, number), handed_on in zip(node.next_functions, returned):
            if following is not None and handed_on is not None:
                call(following, number, handed_on)

    with torch.no_grad():
        call(loss.grad_fn, 0, torch.ones_like(loss))
    return ran


def listed(root):
    nodes = []

    def visit(node):
        if node not in nodes:
            for following, _ in node.next_functions:
                if following is not None:
                    visit(following)
            nodes.insert(0, node)

    visit(root)
    return nodes


def call_all(loss, meet):
    nodes = listed(loss.grad_fn)
    arrived = {node: [None] * len(node._input_metadata) for node in nodes}
    arrived[loss.grad_fn][0] = torch.ones_like(loss)
    for node in nodes:
        returned = node(*arrived[node])
        returned = returned if isinstance(returned, tuple) else (returned,)
        for (following, place), gradient in zip(node.next_functions, returned):
            if following is not None and gradient is not None:
                arrived[following][place] = meet(arrived[following][place], gradient)
    return nodes


@exercise.wrong_fix(
    "Where two gradients meet, the second one is put in place of the first. They belong to two "
    "paths, and the gradient is the sum over the paths."
)
def replaced(forward, a, b):
    with torch.enable_grad():
        loss = forward(a, b)
    with torch.no_grad():
        return call_all(loss, lambda before, gradient: gradient)


@exercise.wrong_fix(
    "The calls were recorded, since nodes compute with operations of torch: now each `.grad` has a "
    "graph that holds all of them. So torch turns recording off while its nodes run."
)
def recorded(forward, a, b):
    loss = forward(a, b)
    return call_all(
        loss, lambda before, gradient: gradient if before is None else before + gradient
    )


@exercise.wrong_fix(
    "That is the engine of torch. Here you are to do what it does: call the nodes yourself."
)
def asked_torch(forward, a, b):
    loss = forward(a, b)
    loss.backward()
    return listed(loss.grad_fn)
