"""``make size``: how large gradviz is, beside what the last commit had.

``tests/size.json`` holds what has been reached. A number falls freely, and the change that lowers
it writes it down (``python -m tests.size --lower``). It rises by hand only, in a commit of its own
whose message begins with "Size rises" and names what needs it; ``tests/test_size.py`` sees to that.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import torch

ROOT: Final = Path(__file__).parents[1]
FILE: Final = ROOT / "tests" / "size.json"
EXPLAIN: Final = "gradviz/analysis/explain"
TESTS: Final = "tests collected"
STATEMENTS: Final = "statements"
"""Of a room: without docstrings and imports."""


def measured() -> dict[str, int]:
    """Everything but the number of tests, which a run of pytest knows."""
    rooms: Counter[str] = Counter()
    for path in _python("gradviz", "gradviz_run", "gradviz_pytest"):
        rooms[_room(path)] += sum(1 for _ in _statements(_tree(path)))
    return {
        **{f"{STATEMENTS}, {room}": number for room, number in sorted(rooms.items())},
        f"{STATEMENTS}, all": rooms.total(),
        "lines of TypeScript": _lines((ROOT / "widgets" / "src").rglob("*.ts")),
        "lines of tests": _lines(_python("tests")),
        "public class names that occur twice": len(class_names_twice()),
        "imports between explain/errors and explain/fixes": _imports_across(),
        "constants of operator names in analysis": len(operator_lists()),
        "functions of explain that return an Optional": _optionals(),
    }


def class_names_twice() -> list[str]:
    """Names of public classes that several files of the product define."""
    names = Counter(
        node.name
        for path in _python("gradviz", "gradviz_run", "gradviz_pytest")
        for node in _tree(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return sorted(name for name, number in names.items() if number > 1)


def operator_lists() -> list[str]:
    """Constants of modules in `analysis`, at least half of whose words are operators of torch.

    Two of them are a list. A word is one whether it is spelled as a function, as a method or as a
    node (``mul``, ``mul_``, ``MulBackward0``).
    """
    return [
        f"{path.relative_to(ROOT).as_posix()}:{statement.lineno}"
        for path in _python("gradviz/analysis")
        for statement in _tree(path).body
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None
        if _is_list_of_operators(statement.value)
    ]


def _is_list_of_operators(value: ast.expr) -> bool:
    words = [
        word
        for node in ast.walk(value)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for word in node.value.split()
    ]
    operators = [word for word in words if _is_operator(word)]
    return len(operators) >= 2 and 2 * len(operators) >= len(words)


@cache
def _is_operator(word: str) -> bool:
    is_node = word.rstrip("0123456789").endswith("Backward")
    spaces = (torch, torch.Tensor, torch.nn.functional)
    return is_node or any(hasattr(space, word) for space in spaces)


def _optionals() -> int:
    return sum(
        isinstance(node, ast.FunctionDef) and _may_be_none(node.returns)
        for path in _python(EXPLAIN)
        for node in ast.walk(_tree(path))
    )


def _may_be_none(annotation: ast.expr | None) -> bool:
    return annotation is not None and any(
        isinstance(node, ast.BinOp) and "None" in (ast.unparse(node.left), ast.unparse(node.right))
        for node in ast.walk(annotation)
    )


def _imports_across() -> int:
    return sum(
        len(node.names)
        for source, target in (("errors", "fixes"), ("fixes", "errors"))
        for path in _python(f"{EXPLAIN}/{source}")
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.ImportFrom) and f"explain.{target}" in (node.module or "")
    )


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        is_import = isinstance(node, ast.Import | ast.ImportFrom)
        if isinstance(node, ast.stmt) and not is_import and not _is_text(node):
            yield node


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _room(path: Path) -> str:
    package, *folders = path.relative_to(ROOT).parts[:-1]
    return folders[0] if folders else package


def _lines(paths: Iterator[Path]) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def _python(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def collected() -> int:
    """The number of tests that pytest collects, which takes half a minute."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sum("::" in line for line in printed.splitlines())


def ceilings() -> dict[str, int]:
    """What has been reached."""
    return _numbers(FILE.read_text("utf-8"))


def _numbers(text: str) -> dict[str, int]:
    numbers: dict[str, int] = json.loads(text)
    return numbers


def of_last_commit() -> dict[str, int]:
    """What had been reached with the last commit; empty outside a repository."""
    command = ["git", "show", f"HEAD:{FILE.relative_to(ROOT).as_posix()}"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return {} if shown.returncode else _numbers(shown.stdout)


def table(now: dict[str, int], before: dict[str, int]) -> str:
    """A row per number: what it is now, what the last commit had, and the difference."""
    rows = [f"{'':52}{'now':>8}{'before':>8}{'':>8}"]
    for name, number in now.items():
        old = before.get(name)
        change = "" if old in (None, number) else f"{number - (old or 0):+d}"
        rows.append(f"{name:52}{number:8}{'' if old is None else old:>8}{change:>8}")
    return "\n".join(rows)


def main() -> None:
    """Print the table; with ``--lower`` write down what is lower than before."""
    parser = argparse.ArgumentParser(prog="python -m tests.size", description=__doc__)
    parser.add_argument("--lower", action="store_true", help="write what fell into tests/size.json")
    is_lowering = parser.parse_args().lower
    now = {**measured(), TESTS: collected()}
    print(table(now, of_last_commit()))
    if is_lowering:
        reached = ceilings()
        lowered = {name: min(number, reached.get(name, number)) for name, number in now.items()}
        FILE.write_text(json.dumps(lowered, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
