"""The decorator that makes a question of a function."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, Final

from gradviz.model import OptionError, Recording
from gradviz.model.arguments import checked
from gradviz.model.forms.form import Form
from gradviz.model.forms.table import FORMS
from gradviz.model.question import Question
from gradviz.teach.predict.course import course_question
from gradviz.teach.predict.edition import edition
from gradviz.teach.predict.in_picture import Answered, in_picture
from gradviz.teach.predict.question_run import QuestionRun, run
from gradviz.teach.predict.scored import keep, questions_of
from gradviz.teach.predict.values import read
from gradviz.view.documents.recording import check_step
from gradviz.view.explanations.fields import explained, worth_a_look
from gradviz.view.graph.options import DrawOptions
from gradviz.view.widgets.base import GraphWidget
from gradviz.view.widgets.question import QuestionWidget, forget_widget, score_widget

_ID: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*")
"""What the id of a question of the course looks like: ``"04-twice/second-call"``."""

Decorator = Callable[[Callable[[], Any]], QuestionWidget]


class Predict:
    """What ``gradviz.predict`` is: a decorator, with what belongs to it."""

    def __call__(
        self,
        question: str,
        /,
        *,
        choose: Mapping[str, str] | None = None,
        tick: Mapping[str, str] | None = None,
        table: Mapping[str, Any] | None = None,
        typed: str | None = None,
        order: Sequence[str] | Mapping[str, str] | None = None,
        click: str | None = None,
        edges: str | Sequence[str] | None = None,
        wrong: Mapping[str, str] | None = None,
        why: str = "",
        step: int | str | None = None,
        picture: int | str | None = None,
        hide: Collection[str] | None = None,
        player_hide: Collection[str] = (),
        id: str = "",  # noqa: A002  # as in HTML
        test: str = "",
        about: str = "",
        see: str = "",
        **forms: Any,
    ) -> Decorator:
        """Ask what a program does before its run is shown: a decorator for a function.

        The function runs at once, recorded, and only once; what it returns is the key. Its lines
        are the program of the question, without a ``return`` at its end. Question, answer and
        player are one output: after a right answer, or two wrong ones, the key is shown, a
        sentence on each wrong part, and the recording of that very run. It needs no kernel.

        A function that raises answers a question of which one option names the type of the error.
        What it prints is shown with the key.

        Args:
            question: What is asked, with code between backticks; or the id of a question of the
                course, ``"04-twice/second-call"``, with nothing else.
            choose: Options, each with the sentence that is shown when it was chosen. The function
                returns one of them, or something with that text.
            tick: The same, for options of which any number holds. The function returns a list or
                set of those that hold.
            table: Rows, each with its columns: ``{"a": ("is_leaf", "requires_grad")}``, or with
                the choices of each column: ``{"a": {".grad": ("None", "a tensor")}}``. The
                function returns ``{"a": {"is_leaf": a.is_leaf, …}}``, or a list for each row.
            typed: What is typed, before the field: ``"a.grad"``. The function returns a number, a
                list, a tensor or ``None``. Numbers are compared as ``torch.testing`` does.
            order: Texts to be put in order, or each with the sentence for when it is at the wrong
                place. The function returns all of them in the right order.
            click: What a person picks in the picture of the graph, as it was before what is asked:
                ``"node"``, ``"nodes"`` (several), ``"tensor"`` or ``"tensors"``. The function
                returns what is to be picked: a node, a tensor, a name (``"b"``, ``"b.grad"``,
                ``"MulBackward0"``) or a list of these. If it raises in backward, the key is the
                node that raised.
            edges: Edges of that picture on which a person types the gradient, each as the node
                that passes it on and where it goes: ``["MulBackward0 -> a"]``; or ``"all"``. The
                key is what backward passed along them; the function need not return anything.
            wrong: Sentences on wrong answers: by what was typed, ``{"3": "…"}``; by row, column
                or cell of a table, ``{"a is_leaf": "…"}``; by text of ``order``; by name of what
                was picked; by edge.
            why: A sentence that is shown with the key.
            step: The step at which the player opens, as ``recording[step]`` finds it; if not
                given one that is explained, else the one that raised, else the last of its lines.
            picture: The step after which the picture shows the graph; if not given it is that
                before the backward or the line that raised, else before the last backward, else
                the last one. Gradients that are typed are those of the next backward.
            hide: Parts that the picture does not have, as in :func:`gradviz.show`; if not given
                those that give answers away: ``["grad", "saved", "versions"]``.
            player_hide: Parts that the player does not have, which is seen after an answer.
            id: The name under which the browser keeps what was answered.
            test: The name of a test: nothing is shown after an answer, and at the end of the
                notebook ``gradviz.predict.score("name")`` shows the score.
            about: Of a question of a test, what a wrong answer points at.
            see: Of a question of a test, which lesson helps.
            forms: Exactly one form is given.

        Returns:
            A decorator; the name of the function is bound to a widget with ``.question``,
            ``.player()`` and ``.save("question.html")``. In a notebook it is displayed at once,
            in a script its text is printed.

        Raises:
            OptionError: If there is not exactly one form, if the function cannot be called, or if
                what it returns is no possible answer.
            RecordingError: If another recording runs.

        Examples:
            >>> import torch, gradviz
            >>> @gradviz.predict("What is the gradient of `a`?", typed="a.grad")
            ... def gradient():
            ...     a = torch.tensor(2.0, requires_grad=True)
            ...     (a * 3).backward()
            ...     return a.grad  # doctest: +ELLIPSIS
            What is the gradient of `a`?
            ...
              a.grad = ____ (a number, a list such as [1, 2], or None)
            answer: sha256-404168c0c1caf12d
            >>> gradient.question.judge("3").is_right
            True
        """
        given = {
            "choose": choose,
            "tick": tick,
            "table": table,
            "typed": typed,
            "order": order,
            "click": click,
            "edges": edges,
            **forms,
        }
        if not isinstance(question, str):
            raise OptionError(
                "@gradviz.predict needs its question: "
                '@gradviz.predict("What is `a.grad`?", typed="a.grad")'
            )
        if _ID.fullmatch(question) and not any(value is not None for value in given.values()):
            return self._of_course(question)
        if (about or see) and not test:
            raise OptionError("about= and see= are said by the score of a test: give its test=")
        said = {"why": why, "id": id, "test": test, "about": about, "see": see}
        for name, text in said.items():
            checked(name, text, str, f"text: {name}='…'")
        checked("step", step, (int, str, NoneType), "a step: step='backward'")
        checked("wrong", wrong or {}, Mapping, "sentences by answer: wrong={'3': '…'}")
        form = form_of(given, wrong or {})
        words = _Words(question, **said)
        return _decorator(form, words, step, picture, hide, player_hide)

    def _of_course(self, id: str) -> Decorator:  # noqa: A002
        found = course_question(id)
        form = form_of({found.form: found.given}, found.wrong)
        words = _Words(found.question, found.why, id, found.test, found.about, found.see)
        return _decorator(form, words, found.step, found.picture, found.hide, found.player_hide)

    def reset(self) -> GraphWidget:
        """A button that has the browser forget what was answered, in all questions.

        Answers are kept in the storage of the browser, never in the notebook.
        """
        return forget_widget()

    def score(self, test: str) -> GraphWidget:
        """The score of a test, whose questions have run in this session: ``test="name"``.

        A button judges what was answered in this browser, with the keys that torch has given, and
        shows how many are right, what each wrong answer points at, and which lesson helps. It shows
        no key, so that the test can be taken again. A second button saves the answers as a CSV
        file, for whoever a person wants to give it to; nothing is sent anywhere.

        Args:
            test: Its name.

        Raises:
            OptionError: If no question of that test has run.
        """
        return score_widget(test, questions_of(test))


predict: Final = Predict()


def form_of(given: Mapping[str, Any], wrong: Mapping[str, str]) -> Form:
    """The one form that was asked for.

    Raises:
        OptionError: If there is none, or more than one.
    """
    if unknown := set(given) - set(FORMS):
        raise OptionError(
            f"predict() has no option {min(unknown)!r}; its forms are {', '.join(FORMS)}"
        )
    asked = [name for name, value in given.items() if value is not None]
    if len(asked) != 1:
        found = " and ".join(f"{name}=" for name in asked) or "none"
        raise OptionError(
            f"a question has exactly one form, and this has {found}: give one of "
            f"{', '.join(f'{name}=' for name in FORMS)}"
        )
    return FORMS[asked[0]].of(given[asked[0]], wrong)


def _key(form: Form, done: QuestionRun) -> Any:
    """torch's answer.

    Raises:
        OptionError: If it is no possible answer.
    """
    if done.error is None:
        return form.key_of(read(done.returned, form))
    name = type(done.error).__name__
    key = form.key_of_error(name)
    if key is None:
        raise OptionError(
            f"the function raised {name}, and that is no answer to this question: catch it and "
            f"return the answer, or let one option have the word {name}"
        ) from done.error
    return key


@dataclass(frozen=True, slots=True)
class _Words:
    """What a teacher has written, apart from the form."""

    question: str
    why: str
    id: str
    test: str
    about: str
    see: str


def _decorator(
    form: Form,
    words: _Words,
    step: int | str | None,
    picture: int | str | None = None,
    hide: Collection[str] | None = None,
    player_hide: Collection[str] = (),
) -> Decorator:
    if not isinstance(words.question, str) or not words.question.strip():
        raise OptionError(
            f"predict() begins with the question as text, not with {words.question!r}: "
            'gradviz.predict("What is a.grad?", typed="a.grad")'
        )
    if form.reads != "items" and not (picture is None and hide is None):
        raise OptionError("picture= and hide= are for questions with click= or edges=")

    hidden = tuple(sorted(DrawOptions.of(hide=player_hide).hidden))

    def decorate(function: Callable[[], Any]) -> QuestionWidget:
        done = run(function)
        if form.reads == "items":
            answered = in_picture(form, done, picture, hide)
        else:
            answered = Answered(form, _key(form, done))
        place = answered.step
        if step is not None or place is None:
            place = _step(done.recording, step)
        asked = Question(
            text=words.question,
            form=answered.form.seen(done.recording, place).asked(answered.key),
            key=answered.key,
            recording=done.recording,
            step=place,
            hide=hidden,
            id=words.id,
            why=words.why,
            printed=done.printed,
            is_answered=edition.shows_answers,
            test=words.test,
            about=words.about,
            see=words.see,
        )
        keep(asked)
        widget = QuestionWidget(asked)
        _display(widget)
        return widget

    return decorate


def _step(recording: Recording, step: int | str | None) -> int:
    """The place of the step that shows the answer."""
    if step is not None:
        return check_step(recording, step, "step")
    steps = recording.all_steps
    raised = [place for place, one in enumerate(steps) if one.kind == "error"]
    # At the end of the function its variables no longer exist, and the picture may be empty.
    last = max((i for i, one in enumerate(steps) if one.kind != "end"), default=len(steps) - 1)
    faults = [*explained(recording), *raised]
    return min(faults or worth_a_look(recording), default=last)


def _display(widget: QuestionWidget) -> None:
    """Show it where the code runs."""
    ipython: Any = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        ipython.display.display(widget)
    else:
        sys.stdout.write(f"{widget}\n")
