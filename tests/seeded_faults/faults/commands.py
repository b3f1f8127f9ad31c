from __future__ import annotations

from typing import Final

from tests.seeded_faults.fault import SeededFault

COMMANDS: Final = (
    SeededFault(
        room="notebook_check",
        file="gradviz/notebook_check/check.py",
        old='        if not options.get("check", not self.is_lax):\n',
        new='        if not options.get("check", True):\n',
        shows="gradviz check --lax compares cells that are not marked",
        where=("tests/notebook_check/test_check.py",),
    ),
    SeededFault(
        room="notebook_check",
        file="gradviz/notebook_check/comparison.py",
        old="pairs = zip_longest(before.get(kind, ()), now.get(kind, ()))",
        new="pairs = zip(before.get(kind, ()), now.get(kind, ()))",
        shows="gradviz check passes although an output is missing, or one more is there",
        where=("tests/notebook_check/test_check.py",),
    ),
    SeededFault(
        room="notebook_check",
        file="gradviz/notebook_check/results.py",
        old="        if self.problem:\n            return 2\n",
        new="        if self.problem:\n            return 0\n",
        shows="gradviz check ends with 0 for a notebook that could not be checked",
        where=("tests/notebook_check/test_notebook_file.py",),
    ),
    SeededFault(
        room="publish",
        file="gradviz/publish/command.py",
        old="            status = max(status, 2 if isinstance(error, UnreadableError) else 1)\n",
        new="",
        shows="gradviz page ends with 0 although a notebook was not written",
        where=("tests/publish/test_command.py",),
    ),
    SeededFault(
        room="api",
        file="gradviz/explaining.py",
        old="one.__cause__ or (None if one.__suppress_context__ else one.__context__)",
        new="one.__cause__",
        shows="an error of autograd is not explained if another one was raised while handling it",
        where=("tests/test_explaining.py",),
    ),
    SeededFault(
        room="cli",
        file="gradviz/cli.py",
        old="        return USAGE_ERROR\n",
        new="        return 1\n",
        shows="a command that cannot run ends with 1, as if a notebook differed",
        where=("tests/test_cli.py",),
    ),
    SeededFault(
        room="magic",
        file="gradviz/magic/cell_magic.py",
        old="        only = () if options.only_cell else named or None\n",
        new="        only = named or None\n",
        shows="%%gradviz --only-cell follows the functions that the cell calls",
        where=("tests/test_magic.py",),
    ),
    SeededFault(
        room="magic",
        file="gradviz/magic/cell_text.py",
        old="        place = max(of_future, default=0)  # they have to come first\n",
        new="        place = 0\n",
        shows="a recorded cell with from __future__ import annotations raises a SyntaxError",
        where=("tests/test_magic.py", "tests/test_line_magic.py"),
    ),
    SeededFault(
        room="gradviz_run",
        file="gradviz_run/programs.py",
        old="        folder = os.path.dirname(os.path.realpath(file))\n",
        new="        folder = os.path.dirname(file)\n",
        shows="a script that is started through a link does not find the modules beside it",
        where=("tests/run/test_as_python.py",),
    ),
    SeededFault(
        room="gradviz_run",
        file="gradviz_run/watched.py",
        old="error.code not in (None, 0)",
        new="error.code is not None",
        shows="a script that ends with sys.exit(0) has a caught error explained as its end",
        where=("tests/run/test_run.py",),
    ),
    SeededFault(
        room="gradviz_pytest",
        file="gradviz_pytest/failures.py",
        old="    if isinstance(error, AssertionError) and error.__cause__ is None:\n",
        new="    if isinstance(error, AssertionError):\n",
        shows="pytest --gradviz does not explain an assertion that autograd's error has caused",
        where=("tests/run/test_pytest_failures.py",),
    ),
    SeededFault(
        room="gradviz_pytest",
        file="gradviz_pytest/__init__.py",
        old='for end in ("", "_lax"))',
        new='for end in ("",))',
        shows="pytest --gradviz-notebooks-lax alone collects no notebook",
        where=("tests/notebook_check/test_plugin.py",),
    ),
)
