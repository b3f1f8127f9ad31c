"""Which node or tensor of a recording a live object is, after the recording has ended."""

from __future__ import annotations

from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.capture.recorder.earlier import EARLIER
from gradviz.model import Recording


class LiveIds:
    """The ids that a recording gave to objects which still exist.

    Nodes are found by their sequence numbers, leaves and tensors without a graph by their storage,
    other tensors by the node and its output that they are.

    Args:
        recording: One of the last recordings of this session; of others nothing is found.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._known = EARLIER.remembered(recording)

    def of_node(self, node: Any) -> str | None:
        """The id of a node, ``None`` if the recording does not know it."""
        if (leaf := getattr(node, "variable", None)) is not None:
            return self._recording.graph.leaf_nodes.get(self.of_tensor(leaf) or "")
        number = autograd.sequence_nr(node)
        return None if self._known is None else self._known.nodes.get(number)

    def of_tensor(self, tensor: torch.Tensor) -> str | None:
        """The id of a tensor, ``None`` if the recording does not know it, or several like it."""
        with autograd.unseen():
            node, found = tensor.grad_fn, autograd.storage_of(tensor)
        rows = self._recording.graph.tensors
        if node is not None:
            at = self.of_node(node), tensor.output_nr
            return next((row.id for row in rows if (row.node, row.output_nr) == at), None)
        if found is None or self._known is None:
            return None
        storage, sizes = self._known.storages.get(found[0]), tuple(tensor.shape)
        facts = storage, sizes, tensor.requires_grad
        like = [r.id for r in rows if (r.storage, r.shape, r.requires_grad) == facts]
        return like[0] if len(like) == 1 else None
