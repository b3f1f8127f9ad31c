"""Calls that autograd refuses for what they are given."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.analysis.explaining import cures_calls
from gradviz.analysis.explaining.cures_cut import cures_of
from gradviz.analysis.explaining.cuts import Cut, follow
from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.kinds import index_in
from gradviz.analysis.explaining.operands import Given, given, line_of
from gradviz.analysis.explaining.paths import reachable, root_nodes
from gradviz.analysis.explaining.roots import Root, count_of_roots, root_at
from gradviz.analysis.explaining.words import plural, shape
from gradviz.model.explanation import Cause, Cure, Explanation
from gradviz.model.facts import TensorInfo
from gradviz.model.marks import Mark, MarkKind


def not_a_scalar(evidence: Evidence) -> Explanation:
    """Backward was to start at what is no single real number, and no gradient was given."""
    found = _bad_root(evidence)
    is_complex = "real" in evidence.raised.message or (found.dtype or "").startswith("complex")
    is_one = found.sizes is not None and _count(found.sizes) == 1
    count = "more than one element"
    if found.sizes is not None:
        count = f"{plural(_count(found.sizes), 'element')} (shape {shape(found.sizes)})"
    what = f"is complex ({found.dtype})" if is_complex and is_one else f"has {count}"
    info = found.info
    return Explanation(
        what=f"{found.words} {what}, and no gradient was given",
        why="backward starts with the gradient 1 of a single real number; of others it must be "
        "told how much each counts",
        variables=tuple(filter(None, (found.name,))),
        node=None if info is None else info.node,
        node_name=_node_name(info, evidence),
        causes=(Cause("backward", f"backward was to start at {found.words}", evidence.noticed),),
        cures=tuple(cures_calls.of_non_scalar(is_complex and is_one, evidence)),
        marks=_marks(info, "refused", f"it {what}"),
    )


def _bad_root(evidence: Evidence) -> Root:
    """The first root at which backward cannot start by itself."""
    roots = [root_at(place, evidence) for place in range(count_of_roots(evidence))]
    bad = [r for r in roots if r.sizes is not None and _count(r.sizes) != 1]
    bad += [r for r in roots if (r.dtype or "").startswith("complex")]
    return next(iter((*bad, *roots)), root_at(0, evidence))


def _count(sizes: tuple[int, ...]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def no_derivative(evidence: Evidence) -> Explanation:
    """``requires_grad`` of a tensor of integers."""
    tensors = given(evidence)
    found = tensors[0] if tensors else None
    target = cures_calls.bound_name(evidence) if found is None else found.name
    words = target or "the tensor"
    dtype = f"is {found.dtype}" if found is not None and found.dtype else "has integers or booleans"
    made = None if found is None else line_of(found.key, evidence)
    made = made if found is not None else evidence.noticed
    causes = [Cause("other", f"{words} {dtype}", made)] if made is not None else []
    return Explanation(
        what=f"{words} {dtype}, and cannot require grad",
        why="a derivative tells what a small change does; only floating point and complex numbers "
        "can change a little",
        variables=tuple(filter(None, (target,))),
        causes=tuple(causes),
        cures=tuple(cures_calls.of_integers(target, evidence)),
        marks=_marks(found.info if found else None, "refused", f"it {dtype}"),
    )


def non_leaf_flag(evidence: Evidence) -> Explanation:
    """``requires_grad`` of a tensor that an operation has made."""
    found = next(iter(given(evidence)), Given(None, None, None))
    name = _node_name(found.info, evidence)
    made = line_of(found.key, evidence)
    by = f": {name} made it" if name else ""
    causes = [Cause("other", f"{found.words} was made by an operation", made)] if made else []
    return Explanation(
        what=f"{found.words} is not a leaf{by}, so its requires_grad cannot be set",
        why="whether the result of an operation requires grad follows from what went in",
        variables=tuple(filter(None, (found.name,))),
        node=found.info.node if found.info else None,
        node_name=name,
        causes=tuple(causes),
        cures=tuple(cures_calls.of_flag(found.name, evidence)),
        marks=_marks(found.info, "refused", "it is not a leaf"),
    )


def numpy(evidence: Evidence) -> Explanation:
    """A tensor that requires grad was to become an array."""
    found = next(iter(given(evidence)), Given(None, None, None))
    is_on_device = evidence.raised.type == "TypeError"
    if is_on_device and found.info is not None and not found.info.requires_grad:
        return Explanation(
            kind="other",
            what=f"{found.words} is not in the memory of the host, where arrays of numpy are",
            variables=tuple(filter(None, (found.name,))),
        )
    name = _node_name(found.info, evidence)
    return Explanation(
        what=f"{found.words} requires grad, and an array of numpy cannot",
        why="numpy records nothing: the graph would end there without a word",
        variables=tuple(filter(None, (found.name,))),
        node=found.info.node if found.info else None,
        node_name=name,
        causes=(Cause("other", f"{found.words} was to become an array", evidence.noticed),),
        cures=tuple(cures_calls.of_numpy(found, is_on_device, evidence)),
        marks=_marks(found.info, "refused", "it requires grad"),
    )


def deepcopy(evidence: Evidence) -> Explanation:
    """A tensor that an operation has made was to be copied with its history."""
    found = next(iter(given(evidence)), Given(None, None, None))
    name = _node_name(found.info, evidence)
    made = line_of(found.key, evidence)
    by = f": {name} made it" if name else ""
    causes = [Cause("other", f"{found.words} was made by an operation", made)] if made else []
    return Explanation(
        what=f"{found.words} is not a leaf{by}, so deepcopy cannot copy it",
        why="its graph would have to be copied too, up to the leaves",
        variables=tuple(filter(None, (found.name,))),
        node=found.info.node if found.info else None,
        node_name=name,
        causes=tuple(causes),
        cures=tuple(cures_calls.of_deepcopy(found.name, evidence)),
        marks=_marks(found.info, "refused", "it is not a leaf"),
    )


def other_shape(evidence: Evidence) -> Explanation:
    """The gradient given to backward has another shape than the root."""
    place = index_in(evidence.raised.message) or 0
    root = root_at(place, evidence)
    tensors = given(evidence)
    count = len(tensors) // 2
    gradient = tensors[count + place] if len(tensors) == 2 * count and count else None
    if gradient is None or gradient.sizes is None or root.sizes is None:
        what = f"the gradient given for {root.words} has another shape than {root.words}"
    else:
        what = (
            f"the gradient given for {root.words} has shape {shape(gradient.sizes)}, "
            f"but {root.words} has shape {shape(root.sizes)}"
        )
    names = (gradient.name if gradient is not None else None, root.name)
    info = root.info
    return Explanation(
        what=what,
        why="each element of the root needs its own gradient to start with",
        variables=tuple(filter(None, names)),
        node=None if info is None else info.node,
        node_name=_node_name(info, evidence),
        causes=(Cause("backward", "the gradient was given here", evidence.noticed),),
        cures=tuple(cures_calls.of_gradient(root, gradient, evidence)),
        marks=_marks(info, "refused", "its gradient must have its shape"),
    )


def unused(evidence: Evidence) -> Explanation:
    """``autograd.grad`` was asked for the gradient of something the root does not depend on."""
    root = root_at(0, evidence)
    found = _unreached(evidence)
    words = "an input" if found is None else found.words
    no_flag = found is not None and found.info is not None and not found.info.requires_grad
    what = f"{root.words} does not depend on {words}: no way leads there in the graph"
    if no_flag:
        what = f"{words} does not require grad, so it has no gradient"
    key = None if found is None else found.key
    trail = follow(root.keys, evidence) if evidence.is_recorded else None
    cuts = [cut for cut in (trail.cuts if trail is not None else ()) if key in cut.tensors]
    causes = [Cause("cut", f"{cut.call} cut {words} off", cut.at) for cut in cuts]
    if found is not None and not causes and (made := line_of(key, evidence)) is not None:
        what_of = f"{words} was made here, and nothing that {root.words} depends on used it"
        causes.append(Cause("other", what_of, made))
    return Explanation(
        what=what,
        why="grad() gives a gradient for every input it is asked for, unless told otherwise",
        variables=tuple(filter(None, (found.name if found else None, root.name))),
        causes=tuple(causes),
        cures=tuple(_of_unused(found, no_flag, cuts, evidence))[:2],
        unknown=() if found is not None else ("which of the inputs it is",),
        marks=_marks(found.info if found else None, "unreached", "no way leads here"),
    )


def _unreached(evidence: Evidence) -> Given | None:
    """The input that the backward could not come to."""
    nodes = reachable(root_nodes(evidence), evidence)
    tensors = given(evidence)
    if evidence.backward is not None:
        asked: tuple[str, ...] = evidence.backward[1].inputs
        tensors = [one for one in tensors if one.key in asked]
    else:
        tensors = tensors[1:]
    missed = [
        one
        for one in tensors
        if one.info is None or one.info.node is None or one.info.node not in nodes
    ]
    return missed[0] if missed else None


def _of_unused(
    found: Given | None, no_flag: bool, cuts: list[Cut], evidence: Evidence
) -> Iterator[Cure]:
    if no_flag and found is not None and found.name is not None:
        yield from cures_calls.ask_for(found.name, line_of(found.key, evidence), evidence)
        return
    for cut in cuts:
        yield from cures_of(cut, evidence)
    yield from cures_calls.of_unused(evidence)


def _node_name(info: TensorInfo | None, evidence: Evidence) -> str | None:
    node = evidence.history.node(None if info is None else info.node, evidence.step)
    return None if node is None else node.name


def _marks(info: TensorInfo | None, kind: MarkKind, words: str) -> tuple[Mark, ...]:
    return () if info is None else (Mark(info.id, kind, words),)
