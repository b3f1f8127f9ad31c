"""Questions and experiments for lessons."""

from gradviz.teach.exploring import Explorer, explore

__all__ = ["Explorer", "explore"]
