"""A table whose cells are filled in: one choice each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeAlias

from gradviz.model.errors import OptionError
from gradviz.model.forms.form import Form, Verdict

FLAG: Final = ("True", "False")
"""What a cell can be if nothing else is said."""
_EXAMPLE: Final = 'table={"a": ("is_leaf", "requires_grad"), "out": ("is_leaf",)}'

Cells: TypeAlias = Mapping[str, Mapping[str, tuple[str, ...]]]
"""The choices of each cell, by row and column."""


@dataclass(frozen=True, slots=True)
class Table(Form):
    """Rows and columns; a cell is one of a few texts.

    Examples:
        >>> form = Table.of({"a": ("is_leaf",), "out": ("is_leaf",)}, {"out": "An op made it."})
        >>> key = form.key_of({"a": {"is_leaf": True}, "out": {"is_leaf": False}})
        >>> form.judge(key, {"a": {"is_leaf": "True"}, "out": {"is_leaf": "True"}})
        Verdict(is_right=False, wrong=('out',))
    """

    kind: ClassVar[str] = "table"

    cells: Cells = field(default_factory=dict)

    @classmethod
    def of(cls, given: Any, wrong: Mapping[str, str]) -> Table:
        """Rows with their columns, or with the choices of each column."""
        if not isinstance(given, Mapping) or not given:
            raise OptionError(f"table= maps each row to its columns: {_EXAMPLE}")
        cells = {str(row): _columns(columns) for row, columns in given.items()}
        names = {*cells, *(column for row in cells.values() for column in row)}
        names |= {_cell(row, column) for row, columns in cells.items() for column in columns}
        if unknown := set(wrong) - names:
            raise OptionError(
                f"wrong= has {min(unknown)!r}, which is no row, no column and no cell of the "
                'table; a cell is its row and its column: wrong={"a is_leaf": "…"}'
            )
        return cls(dict(wrong), cells)

    def key_of(self, value: Any) -> dict[str, dict[str, str]]:
        """The text of each cell; a row can be a mapping, or a list in the order of its columns."""
        if not isinstance(value, Mapping) or set(value) != set(self.cells):
            raise OptionError(
                f"the function returned {value!r}; for table= it must return a mapping with the "
                f"rows {', '.join(self.cells)}, each with the values of its columns: "
                'return {"a": {"is_leaf": a.is_leaf}}'
            )
        return {row: self._row(row, value[row]) for row in self.cells}

    def _row(self, row: str, value: Any) -> dict[str, str]:
        columns = self.cells[row]
        if isinstance(value, Sequence) and not isinstance(value, str):
            value = dict(zip(columns, value)) if len(value) == len(columns) else {}
        if not isinstance(value, Mapping):
            value = dict.fromkeys(columns, value) if len(columns) == 1 else {}
        if set(value) != set(columns):
            raise OptionError(
                f"the function returned other columns of row {row!r} than the table has: "
                f"{', '.join(columns)}"
            )
        found = {column: str(value[column]) for column in columns}
        for column, text in found.items():
            if text not in columns[column]:
                raise OptionError(
                    f"the function returned {text!r} for {column} of {row}, which is none of "
                    f"{', '.join(columns[column])}. Give the choices of this column: "
                    f'table={{"{row}": {{"{column}": ("{text}", …)}}}}'
                )
        return found

    def is_answered(self, answer: Any) -> bool:
        """Whether every cell has one of its choices."""
        return isinstance(answer, Mapping) and all(
            isinstance(answer.get(row), Mapping) and str(answer[row].get(column)) in choices
            for row, columns in self.cells.items()
            for column, choices in columns.items()
        )

    def judge(self, key: Any, answer: Any) -> Verdict:
        """A wrong cell is named by itself, its column or its row, whichever has a sentence."""
        wrong: dict[str, None] = {}
        for row, columns in self.cells.items():
            for column in columns:
                if str(answer[row][column]) != key[row][column]:
                    names = (_cell(row, column), column, row)
                    wrong[next((n for n in names if n in self.sentences), names[0])] = None
        return Verdict(not wrong, tuple(wrong))

    def data(self) -> dict[str, Any]:
        """Rows, columns and the choices of each cell."""
        rows = [
            {"name": row, "cells": [list(columns.get(column, ())) for column in self._columns]}
            for row, columns in self.cells.items()
        ]
        return {"kind": self.kind, "columns": self._columns, "rows": rows}

    @property
    def _columns(self) -> list[str]:
        return list(dict.fromkeys(column for row in self.cells.values() for column in row))

    def lines(self) -> list[str]:
        """A row per line, the choices of each cell."""
        return self._lines({row: _asked(columns) for row, columns in self.cells.items()})

    def _lines(self, texts: Mapping[str, Mapping[str, str]]) -> list[str]:
        heads = ["", *self._columns]
        rows = [[row, *(texts[row].get(column, "") for column in heads[1:])] for row in self.cells]
        widths = [max(map(len, cells)) for cells in zip(heads, *rows)]
        lines = (
            "  ".join(text.ljust(width) for text, width in zip(cells, widths))
            for cells in (heads, *rows)
        )
        return [line.rstrip() for line in lines]

    def key_text(self, key: Any) -> str:
        """Every cell."""
        return "\n".join(self.key_lines(key))

    def key_lines(self, key: Any) -> list[str]:
        """The table filled in."""
        return self._lines(key)

    def secrets(self, key: Any) -> tuple[str, ...]:
        """The rows filled in."""
        return tuple(self.key_lines(key)[1:])


def _columns(given: Any) -> dict[str, tuple[str, ...]]:
    """The choices of each column of a row."""
    if isinstance(given, str) or not isinstance(given, (Mapping, Sequence)) or not given:
        raise OptionError(f"table= has a row {given!r}; a row lists its columns: {_EXAMPLE}")
    if not isinstance(given, Mapping):
        return {str(column): FLAG for column in given}
    found = {str(column): tuple(map(str, choices)) for column, choices in given.items()}
    if any(len(set(choices)) < 2 for choices in found.values()):
        raise OptionError(
            "table= has a column with less than two choices; give two or more that "
            'differ: table={"a": {".grad": ("None", "a tensor")}}'
        )
    return found


def _asked(columns: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    return {column: " or ".join(choices) for column, choices in columns.items()}


def _cell(row: str, column: str) -> str:
    return f"{row} {column}"
