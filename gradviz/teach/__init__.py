"""Questions, experiments and expected errors for lessons."""

from gradviz.teach.expected_error import ExpectedError, expect_error
from gradviz.teach.explorer import Explorer, explore

__all__ = ["ExpectedError", "Explorer", "expect_error", "explore"]
