"""Questions, experiments and expected errors for lessons."""

from gradviz.teach.expecting import ExpectedError, expect_error
from gradviz.teach.exploring import Explorer, explore

__all__ = ["ExpectedError", "Explorer", "expect_error", "explore"]
