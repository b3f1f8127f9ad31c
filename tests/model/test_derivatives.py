"""How a node computes gradients, in words and in numbers; tests/truth compares it with torch."""

from __future__ import annotations

import math
from typing import Any

from gradviz.model import Node, SavedTensor
from gradviz.model.derivatives import gradient_of, table, words_of
from gradviz.model.derivatives.arithmetic import Numbers, numbers_of
from gradviz.model.derivatives.expression import (
    GRAD,
    Expression,
    function,
    grad_of,
    let,
    saved,
    where,
)
from tests.each import each

SELF, OTHER, RESULT = saved("self"), saved("other"), saved("result")

TEXTS = {
    "grad × other": GRAD * OTHER,
    "-grad × self / other²": -GRAD * SELF / OTHER**2,
    "grad × (1 - result²)": GRAD * (1 - RESULT**2),
    "grad / (2 × result)": GRAD / (2 * RESULT),
    "grad - (self - other)": GRAD - (SELF - OTHER),
    "grad / (self / other)": GRAD / (SELF / OTHER),
    "3 × grad": GRAD * 3,
    "self^0.5": SELF**0.5,
    "(grad × self)⁻¹": (GRAD * SELF) ** -1,
    "grad @ otherᵀ": GRAD @ OTHER.mT,
    "(grad × self)ᵀ @ other": (GRAD * SELF).mT @ OTHER,
    "grad × cos(self)": GRAD * function("cos", SELF),
    "|self - other|": function("abs", SELF - OTHER),
    "grad where result > 0, else 0": where(RESULT.above(0), GRAD, 0),
    "grad where -1 < self < 1, else 0": where(SELF.above(-1) & SELF.below(1), GRAD, 0),
    "0 where self = 0 and other ≥ 0, else grad": where(SELF.equals(0) & OTHER.at_least(0), 0, GRAD),
    "grad summed to (3,)": GRAD.apply("summed to", (3,)),
    "grad × other, summed to (3,)": (GRAD * OTHER).apply("summed to", (3,)),
    "(grad summed to (3,)) × other": GRAD.apply("summed to", (3,)) * OTHER,
    "grad expanded to (2, 3) along dim 1": GRAD.apply("expanded", (2, 3), (1,), False),
    "sum(grad × result, dims 0, 2)": (GRAD * RESULT).apply("sum", (0, 2), True),
    "grad[:, 1:3]": GRAD.apply("part", 2, 1, (1, 3, 1)),
    "grad at [-1], else 0": GRAD.apply("placed", (3,), 0, -1),
    "grads[0] and grads[1] stacked along dim 0": Expression(
        "stacked", (grad_of(0), grad_of(1)), (0,)
    ),
    "x × (1 - x), with x = grad × self": let("x", GRAD * SELF) * (1 - let("x", GRAD * SELF)),
}


@each("text", TEXTS)
def test_a_tree_in_words(text: str) -> None:
    assert words_of(TEXTS[text]) == text


def test_negative_numbers_are_in_parentheses_where_a_sign_would_be_misread() -> None:
    assert words_of(SELF**2, lambda part: "-2.0") == "(-2.0)²"
    assert words_of(GRAD * SELF, lambda part: "-2.0") == "-2.0 × -2.0"


def node(name: str, count: int = 1, **facts: Any) -> Node:
    return Node("n0", name, (("n1", 0),) * count, **facts)


def test_words_are_the_same_once_saved_tensors_are_freed() -> None:
    words = set()
    for state in ("held", "modified", "freed", "packed"):
        slots = (SavedTensor("other", state), SavedTensor("self", state))
        found = node("MulBackward0", 2, saved=slots, arguments=("self", "other"),
                     output_shapes=((2, 3),))  # fmt: skip
        words.add(gradient_of(found, 1, [(2, 3), (3,)]).words)
    assert words == {"grad × self, summed to (3,)"}


@each(
    ("found", "words"),
    [
        (node("MyFunctionBackward"), "computed by MyFunction.backward"),
        (node("MulBackward"), "computed by Mul.backward"),
        (node("<script>Backward"), "how it is computed is not known"),
        (node("CppNode<Square>", state="opaque"), "how it is computed is not known"),
        (node("CopySlices", state="opaque"), "grad, 0 where the part was written"),
        (
            node("LgammaBackward0", arguments=("self",), formula="self: grad * digamma(self)"),
            "computed by torch's formula, in the details",
        ),
    ],
)
def test_what_has_no_rule_says_what_is_known(found: Node, words: str) -> None:
    assert gradient_of(found, 0, [()]).words == words
    assert gradient_of(found, 0, [()]).tree is None


def test_complex_numbers_and_unknown_shapes_have_no_tree() -> None:
    facts: dict[str, Any] = {"arguments": ("self", "other"), "formula": "self: grad * other"}
    slots = (SavedTensor("other", "held", (), "complex64"), SavedTensor("self", "none"))
    found = node("MulBackward0", 2, saved=slots, output_shapes=((),), **facts)
    assert gradient_of(found, 0, [(), ()]).tree is None
    nested = node("MulBackward0", 2, saved=slots[1:], output_shapes=(None,), **facts)
    assert gradient_of(nested, 0, [None, None]).tree is None


def test_saved_numbers_are_in_the_tree() -> None:
    found = node("PowBackward0", saved=(SavedTensor("self", "held"),), arguments=("self",),
                 attributes=(("exponent", 3),), output_shapes=((),))  # fmt: skip
    assert gradient_of(found, 0, [()]).words == "3 × grad × self²"
    add = node("AddBackward0", 2, arguments=("self", "other"), attributes=(("alpha", 1),),
               output_shapes=((),))  # fmt: skip
    assert [gradient_of(add, place, [(), ()]).words for place in (0, 1)] == ["grad", "grad"]


def known(**numbers: Numbers) -> Any:
    return lambda part: numbers.get("grad" if part.operator == "grad" else part.options[0])


def test_numbers_are_broadcast_and_summed() -> None:
    rows, row = Numbers((1.0, 2.0, 3.0, 4.0), (2, 2)), Numbers((10.0, 20.0), (2,))
    tree = (GRAD * OTHER).apply("summed to", (2,))
    assert numbers_of(tree, known(grad=rows, other=row)) == Numbers((40.0, 120.0), (2,))
    product = GRAD @ OTHER
    assert numbers_of(product, known(grad=rows, other=row)) == Numbers((50.0, 110.0), (2,))


@each(
    "tree",
    [
        GRAD * OTHER,  # other is not known
        GRAD / 0,
        function("log", GRAD - 1),
        function("exp", GRAD * 1e6),
        GRAD.apply("expanded", (100, 100), (), True),
        Expression("of target", (GRAD, GRAD), ("at", -100, (2,))),
        GRAD + GRAD.apply("expanded", (2,), (), True) + GRAD.apply("expanded", (3,), (), True),
    ],
)
def test_what_cannot_be_computed_has_no_numbers(tree: Expression) -> None:
    assert numbers_of(tree, known(grad=Numbers((1.0,), ()))) is None


def test_functions_are_those_of_torch_by_name() -> None:
    tree = function("sigmoid", GRAD)
    found = numbers_of(tree, known(grad=Numbers((2.0,), ())))
    assert found is not None
    assert math.isclose(found.values[0], 0.8807970779778823)


def test_there_are_rules_for_many_operators() -> None:
    assert len(table()) >= 130
