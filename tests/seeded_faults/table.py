"""All faults."""

from __future__ import annotations

from typing import Final

from tests.seeded_faults.fault import SeededFault
from tests.seeded_faults.faults.analysis import ANALYSIS
from tests.seeded_faults.faults.capture import CAPTURE
from tests.seeded_faults.faults.model import MODEL

FAULTS: Final[tuple[SeededFault, ...]] = (
    *MODEL,
    *CAPTURE,
    *ANALYSIS,
)
