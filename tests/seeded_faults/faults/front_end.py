from __future__ import annotations

from typing import Final

from tests.seeded_faults.fault import SeededFault

FRONT_END: Final = (
    SeededFault(
        room="widgets",
        file="widgets/src/table/sorting.ts",
        old="return Number(one === null) - Number(other === null);",
        new="return sign * (Number(one === null) - Number(other === null));",
        shows="in a table that is sorted largest first, rows that are not known come first",
        where=("widgets/tests/table",),
    ),
    SeededFault(
        room="widgets",
        file="widgets/src/question/forms/numbers.ts",
        old="  return Math.abs(typed - key) <= ATOL + RTOL * Math.abs(key);",
        new="  return typed - key <= ATOL + RTOL * Math.abs(key);",
        shows="any number that is smaller than the right one is judged as right",
        where=("widgets/tests/question",),
    ),
    SeededFault(
        room="widgets",
        file="widgets/src/model/folds.ts",
        old="return around.slice(from + 1).find((fold) => !opened.has(fold)) ?? id;",
        new="return around.slice(from).find((fold) => !opened.has(fold)) ?? id;",
        shows="a node in the fold that is shown alone is taken for that fold",
        where=("widgets/tests/model",),
    ),
    SeededFault(
        room="widgets",
        file="widgets/src/player/step_cursor.ts",
        old="const place = this.visible.findIndex((step) => step >= index);",
        new="const place = this.visible.findIndex((step) => step > index);",
        shows="a click on a mark of the timeline goes to the step after it",
        where=("widgets/tests/player",),
    ),
    SeededFault(
        room="widgets",
        file="widgets/src/question/score.ts",
        old="cell.replaceAll('\"', '\"\"')",
        new="cell",
        shows="an answer with a quotation mark makes a CSV that gradviz score cannot read",
        where=("widgets/tests/question",),
    ),
    SeededFault(
        room="widgets",
        file="widgets/src/export/static_document.ts",
        old="    title: `${wire.title} step ${timeline.nameOf(at)}`,",
        new="    title: `${wire.title} step ${at}`,",
        shows="a file saved at the sub-step 7.3 is named after its place among all steps",
        where=("widgets/tests/export",),
    ),
)
