"""Read what an audit needs: parameters by path, their place in the graph, their ``.grad``, and
what an optimizer holds. Nothing is changed, and nothing is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

import torch

from gradviz.capture import autograd, naming
from gradviz.capture.audit.arguments import given_losses, given_modules, given_parameters
from gradviz.capture.audit.hooks import PLAIN, Effect, effect_of
from gradviz.capture.audit.neighbours import Neighbours, look_around
from gradviz.capture.audit.optimizer import (
    checked,
    groups_of,
    members,
    moves_without_gradient,
    optimizer_facts,
)
from gradviz.capture.deep_graphs import make_safe_to_free
from gradviz.capture.gradients import gradient_of
from gradviz.capture.modules import NamedParts
from gradviz.capture.roots import Root, place
from gradviz.capture.tensors import Known, Tensors
from gradviz.capture.traversal import read_walked, walk
from gradviz.model.audit_input import (
    Alias,
    AuditInput,
    Gradient,
    LossFacts,
    OtherPath,
    ParameterFacts,
)
from gradviz.model.collector import no_collection


def audit_facts(
    loss: Any,
    model: Any,
    optimizer: Any,
    names: Mapping[str, torch.Tensor] | None,
    frame: FrameType | None,
    values: bool | None = None,
) -> AuditInput:
    """Read everything; :func:`gradviz.audit` is the public door.

    Args:
        loss: A tensor, or lists and dicts of them.
        model: A module, tensors, or lists and dicts of them.
        optimizer: An optimizer of torch or ``None``.
        names: Names that come before those found.
        frame: Frame whose variables give names.
        values: Whether numbers are read; ``None``: up to a budget.
    """
    given = naming.given_names(names)
    losses = list(given_losses("loss", loss))
    paths = list(given_parameters("", "model", model))
    known_optimizer = checked(optimizer)
    with autograd.unseen(), no_collection():
        modules = list(given_modules("", model))
        reader = _AuditReader(losses, paths, modules, known_optimizer, given, frame, values)
        return reader.read()


class _AuditReader:
    """Reads once.

    Args:
        losses: Tensors by their place in the call.
        paths: Parameters by path.
        modules: The outermost modules by path.
        optimizer: The optimizer, if any.
        given: Names that were given.
        frame: Frame whose variables give names.
        values: Whether numbers are read; ``None``: up to a budget.
    """

    def __init__(
        self,
        losses: list[naming.Named],
        paths: list[naming.Named],
        modules: list[NamedParts],
        optimizer: torch.optim.Optimizer | None,
        given: list[naming.Named],
        frame: FrameType | None,
        values: bool | None,
    ) -> None:
        self._losses = losses
        self._modules = modules
        self._values = values
        self._optimizer = optimizer
        self._given = given
        variables = [] if frame is None else naming.namespace(frame)
        self._named = [*given, *naming.named_tensors(variables)]
        self._names_of: dict[int, list[str]] = {}
        for name, tensor in self._named:
            names = self._names_of.setdefault(id(tensor), [])
            if name not in names:
                names.append(name)
        self._paths: dict[int, tuple[torch.Tensor, list[str]]] = {}
        for path, tensor in paths:
            self._paths.setdefault(id(tensor), (tensor, []))[1].append(path)
        self._known: dict[int, Known] = {}

    def read(self) -> AuditInput:
        """The facts."""
        roots: list[Root | None] = [
            place(where, tensor) if tensor.requires_grad or autograd.is_dead(tensor) else None
            for where, tensor in self._losses
        ]
        started = [root for root in roots if root is not None]
        nodes, entries, index = walk([root.node for root in started])
        try:
            around = self._around(nodes, index)
            self._choose(started, around)
            tensors = Tensors(list(self._known.values()), index, self._values, zeros=True)
            places = [(index[root.node], root.output_nr) for root in started]
            graph = read_walked(places, nodes, entries, tensors, index, self._modules)
            functions = [
                at for at, node in enumerate(nodes) if autograd.plan_of(type(node)).is_function
            ]
            effects = list(_effects(nodes, tensors.shown))
            given = tuple(_given(nodes))
        finally:
            make_safe_to_free(nodes, entries)
        with autograd.arithmetic():
            parameters = tuple(self._parameters())
        ids = {key: known.id for key, known in self._known.items()}
        count = iter(range(len(started)))
        numbers = [None if root is None else next(count) for root in roots]
        optimizer = None
        if self._optimizer is not None:
            own = [(paths[0], tensor) for tensor, paths in self._paths.values()]
            with autograd.arithmetic():
                optimizer = optimizer_facts(self._optimizer, own, self._names_of, ids)
        return AuditInput(
            tuple(self._loss(i, number, ids) for i, number in enumerate(numbers)),
            parameters,
            graph,
            tuple(f"n{at}" for at in functions),
            optimizer,
            tuple(self._alias(*found, ids) for found in around.aliases),
            tuple(_carrier(*found, tensors) for found in around.carriers),
            around.has_looked,
            bool(self._modules),
            tuple(name for name, effect in effects if effect in ("gives", "changes")),
            tuple(name for name, effect in effects if effect == "changes"),
            given,
        )

    def _around(self, nodes: list[Any], index: dict[Any, int]) -> Neighbours:
        reached = {
            id(autograd.variable_of(node))
            for node in nodes
            if autograd.plan_of(type(node)).is_accumulator
        }
        parameters = [tensor for tensor, _ in self._paths.values()]
        wanted = sum(
            1 << i
            for i, tensor in enumerate(parameters)
            if tensor.requires_grad and id(tensor) not in reached
        )
        own = [("", tensor) for _, tensor in self._losses]
        return look_around([*self._named, *own], index, parameters, wanted)

    def _choose(self, roots: Sequence[Root], around: Neighbours) -> None:
        """Which tensors may be shown, and which are shown in any case."""
        self._show(self._given)
        self._show([("", tensor) for _, tensor in self._losses])
        self._show([("", tensor) for tensor, _ in self._paths.values()])
        for without, of, _ in around.aliases:
            self._show([without, of])
        self._show(self._named, asked=False)
        if self._optimizer is not None:
            self._show([("", tensor) for *_, tensor in members(self._optimizer)], asked=False)
        for root in roots:
            self._known[id(root.tensor)].is_root = True

    def _show(self, named: Sequence[naming.Named], asked: bool = True) -> None:
        for _, tensor in named:
            known = self._known.get(id(tensor))
            if known is None:
                name = next(iter(self._names_of.get(id(tensor), ())), None)
                if id(tensor) in self._paths:  # as in the table
                    name = self._paths_of(id(tensor))[0]
                self._known[id(tensor)] = Known(tensor, name, asked)
            else:
                known.is_asked_for = known.is_asked_for or asked

    def _parameters(self) -> Iterator[ParameterFacts]:
        groups: dict[int, int] = {}
        if self._optimizer is not None:
            own = [(paths[0], tensor) for tensor, paths in self._paths.values()]
            groups = groups_of(self._optimizer, own)
        for key, (tensor, _) in self._paths.items():
            known = self._known[key]
            names = tuple(self._names_of.get(key, ()))
            summary, grad = known.grad_summary, None
            if known.grad is not None:
                is_unread = self._values is False or (summary is not None and summary.is_unread)
                grad = gradient_of(known.grad, known.grad_statistics, is_unread)
            takers = [
                f"the hook {autograd.describe_hook(hook)}"
                for kind, hook in autograd.tensor_hooks(tensor)
                if kind == "post_accumulate_grad" and effect_of(hook) == "own"
            ]
            yield ParameterFacts(
                self._paths_of(key),
                names,
                known.id,
                None if torch.nn.parameter.is_lazy(tensor) else autograd.shape_of(tensor),
                autograd.dtype_of(tensor),
                autograd.device_of(tensor),
                grad,
                tuple(takers),
                groups.get(key),
                self._is_moving(groups.get(key), tensor, grad),
            )

    def _paths_of(self, key: int) -> tuple[str, ...]:
        """What a parameter is called: a name that was given, its paths in the model; if its path
        is a place in a list, the name of a variable before that."""
        given = [name for name, tensor in self._given if id(tensor) == key]
        own = [path for path in self._paths[key][1] if path]
        if not own or own[0].startswith("["):
            given += self._names_of.get(key, ())[:1]
        return tuple(dict.fromkeys([*given, *own])) or ("the parameter",)

    def _is_moving(
        self, group: int | None, tensor: torch.Tensor, grad: Gradient | None
    ) -> bool | None:
        if self._optimizer is None or group is None or grad is None or not grad.is_zero:
            return None
        return moves_without_gradient(self._optimizer, group, tensor)

    def _loss(self, place: int, number: int | None, ids: Mapping[int, str]) -> LossFacts:
        where, tensor = self._losses[place]
        names = tuple(self._names_of.get(id(tensor), ()))
        return LossFacts(names[0] if names else where, names, ids[id(tensor)], number)

    def _alias(
        self, without: naming.Named, of: naming.Named, mask: int, ids: Mapping[int, str]
    ) -> Alias:
        return Alias(without[0], ids[id(without[1])], of[0], ids[id(of[1])], _places(mask))


def _carrier(named: naming.Named, mask: int, tensors: Tensors) -> OtherPath:
    name, tensor = named
    storage = autograd.storage_of(tensor)
    number = None if storage is None else tensors.storages.number_of(storage[0], tensor)
    return OtherPath(name, None if number is None else f"s{number}", _places(mask))


def _effects(nodes: Sequence[Any], known: Sequence[Known]) -> Iterator[tuple[str, Effect]]:
    """The user's code that runs in a backward, with what it may do to the ``.grad`` of tensors."""
    done: dict[tuple[int, ...], Any] = {}
    for name, function, *given in _user_code(nodes, known):
        held = [one for ctx in given for one in vars(ctx).values() if type(one) not in PLAIN]
        if (key := (id(function), *map(id, held))) not in done:
            done[key] = function, held
            effect = effect_of(function, *given)
            if effect:
                yield name, effect


def _user_code(nodes: Sequence[Any], known: Sequence[Known]) -> Iterator[tuple[Any, ...]]:
    """Names of what runs, functions, and what these are called with beside tensors."""
    hooks: list[Any] = []
    for at, node in enumerate(nodes):
        plan = autograd.plan_of(type(node))
        if plan.is_function:
            name = f"{autograd.name_of(node)} (n{at})"
            yield name, autograd.backward_of(node), node
        hooks += autograd.node_hooks(node)
        hooks += autograd.unpack_hooks(node, plan)
        leaf = autograd.variable_of(node) if plan.is_accumulator else None
        hooks += [] if leaf is None else [hook for _, hook in autograd.tensor_hooks(leaf)]
    for one in known:
        if one.node is not None:
            hooks += [hook for _, hook in autograd.tensor_hooks(one.tensor)]
    for hook in hooks:
        for one in autograd.module_hooks_in(hook) or [hook]:
            yield f"the hook {autograd.describe_hook(one)}", one


def _given(nodes: Sequence[Any]) -> Iterator[tuple[str, tuple[bool, ...]]]:
    """Compiled functions, each with the inputs to which its backward gives a gradient."""
    for at, node in enumerate(nodes):
        found = autograd.given_when_compiled(node)
        if found is not None:
            yield f"n{at}", found


def _places(mask: int) -> tuple[int, ...]:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)
