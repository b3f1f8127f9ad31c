"""``gradviz.make_dot``: what code that was written for torchviz calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from torch import Tensor

from gradviz.capture import naming
from gradviz.capture.drawn_outputs import drawn_outputs
from gradviz.model.arguments import checked, flag
from gradviz.model.errors import NamesError
from gradviz.model.formatting import a_kind
from gradviz.model.progress import working
from gradviz.view.export.torchviz_dot import DotDrawing, torchviz_dot


def make_dot(
    var: Any,
    params: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]] | None = None,
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
) -> DotDrawing:
    """Draw a graph as ``torchviz.make_dot`` does: the same call, the same boxes and edges.

    Where code says ``from torchviz import make_dot``, ``from gradviz import make_dot`` does. What
    differs: saved tensors are read without running a hook; graphs of any depth are drawn, also
    after backward, with what is freed or modified said in the boxes; ids are the same in each run;
    a leaf that is also saved stays blue; and tensors have the names of your variables where
    ``params`` has none. :func:`show` shows more.

    Args:
        var: A tensor that requires grad, or a tuple, list or dict of them.
        params: Names of tensors, as ``dict(model.named_parameters())``.
        show_attrs: Whether nodes have the numbers and sizes that they saved.
        show_saved: Whether saved tensors are drawn; those of custom Functions always are.
        max_attr_chars: Characters that are shown of each number or size.

    Returns:
        A ``graphviz.Digraph``, with ``source`` and ``render()``. Boxes are blue for leaves, orange
        for saved tensors, green for what was passed, and dark green for what that is a view of.

    Raises:
        NotATensorError, NoGraphError, NamesError, GraphBusyError: As :func:`snapshot`.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.ones(2, requires_grad=True)
        >>> drawing = gradviz.make_dot((w * 3).sum(), params={"w": w})
        >>> [line.strip() for line in drawing.body if "AccumulateGrad" in line or "->" in line]
        ['n0 -> t0', 'n1 -> n0', 'n2 -> n1', 't1 -> n2', 'n2 [label=AccumulateGrad]']
    """
    try:
        names = None if params is None else dict(params)
    except (TypeError, ValueError):
        raise NamesError(
            f"params is {a_kind(params)}, not names of tensors: "
            "gradviz.make_dot(loss, params=dict(model.named_parameters()))"
        ) from None
    flag("show_attrs", show_attrs)
    flag("show_saved", show_saved)
    checked("max_attr_chars", max_attr_chars, int, "a number of characters: max_attr_chars=50")
    with working("make_dot"):
        graph, outputs = drawn_outputs(var, names, naming.caller())
        return torchviz_dot(graph, outputs, show_attrs, show_saved, max_attr_chars)
