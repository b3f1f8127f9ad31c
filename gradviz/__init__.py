"""gradviz: PyTorch's real autograd graphs, read from live objects and shown."""

from gradviz.api import snapshot
from gradviz.model import Graph

__all__ = ["Graph", "snapshot"]
