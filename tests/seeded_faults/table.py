"""All faults."""

from __future__ import annotations

from typing import Final

from tests.seeded_faults.fault import SeededFault
from tests.seeded_faults.faults.analysis import ANALYSIS
from tests.seeded_faults.faults.capture import CAPTURE
from tests.seeded_faults.faults.commands import COMMANDS
from tests.seeded_faults.faults.explain import EXPLAIN
from tests.seeded_faults.faults.front_end import FRONT_END
from tests.seeded_faults.faults.lessons import LESSONS
from tests.seeded_faults.faults.model import MODEL
from tests.seeded_faults.faults.view import VIEW

FAULTS: Final[tuple[SeededFault, ...]] = (
    *MODEL,
    *CAPTURE,
    *EXPLAIN,
    *ANALYSIS,
    *VIEW,
    *LESSONS,
    *COMMANDS,
    *FRONT_END,
)
