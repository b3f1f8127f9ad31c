"""The facts of a node, a tensor and a saved tensor, each worded once.

Callers choose facts by key, and a form of each: beside its label, short, or long. The words are
the terms of PyTorch, the same in pictures, texts, tables and comparisons.
"""

from gradviz.model.facts.common import hook_fact
from gradviz.model.facts.fact import Fact, Facts, FactValue, Key, Maker, Row, Surroundings, Values
from gradviz.model.facts.nodes import Made, NodeFacts, NodeKey, argument_of, node_facts
from gradviz.model.facts.saved import SlotFacts, SlotKey, slot_facts
from gradviz.model.facts.tensors import FLAGS, TensorFacts, TensorKey, tensor_facts

__all__ = [
    "FLAGS",
    "Fact",
    "FactValue",
    "Facts",
    "Key",
    "Made",
    "Maker",
    "NodeFacts",
    "NodeKey",
    "Row",
    "SlotFacts",
    "SlotKey",
    "Surroundings",
    "TensorFacts",
    "TensorKey",
    "Values",
    "argument_of",
    "hook_fact",
    "node_facts",
    "slot_facts",
    "tensor_facts",
]
