from __future__ import annotations

import copy
import pickle

import pytest

from gradviz.model.sentence import Term, joined, listed, say
from tests.each import each

A, B = Term("t0", "a"), Term("n1", "values")


def test_a_sentence_is_its_text() -> None:
    sentence = say("{} saved {!s} at version {:d}", B, "it", 2)
    assert sentence == "values saved it at version 2"
    assert str(sentence) == sentence
    assert hash(sentence) == hash(str(sentence))


def test_only_what_was_named_is_a_term() -> None:
    sentence = say("from {} values {}", "changed", A)
    assert sentence.parts == ("from changed values ", A)
    assert sentence.terms == (A,)


def test_sentences_inside_of_sentences_keep_their_terms() -> None:
    inner = say("{} wrote", A)
    assert say("{}; {other}", inner, other=B).parts == (A, " wrote; ", B)
    assert ("so " + inner + ".").parts == ("so ", A, " wrote.")


def test_braces_in_names_are_text() -> None:
    assert say("{} and {}", "{0}", Term("t1", "{x}")) == "{0} and {x}"


@each("make", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_a_copy_keeps_the_terms(make: object) -> None:
    assert callable(make)
    assert make(say("{} is", A)).parts == (A, " is")


def test_lists_keep_their_terms() -> None:
    assert listed([A, B]).parts == (A, " and ", B)
    assert listed([A, "b", "c"], 1) == "a and 2 more"
    assert joined([A, B], "; ").parts == (A, "; ", B)
    assert listed([]) == ""
    assert listed([A]).parts == (A,)


@each("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_of_pickle_keeps_the_terms(protocol: int) -> None:
    assert pickle.loads(pickle.dumps(say("{} is", A), protocol)).parts == (A, " is")


def test_only_text_and_terms_are_added() -> None:
    with pytest.raises(TypeError):
        say("a") + 1  # type: ignore[operator]
