"""Which ``gradviz`` is installed: our version, and whether a namesake is there too."""

from __future__ import annotations

VERSION = "0.1.0"
