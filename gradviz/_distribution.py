"""The version of this package, and a warning about another project called ``gradviz``.

This package is distributed as ``gradviz-kit``, because another project is called ``gradviz`` and
installs a package ``gradviz`` too. If both are installed, the later one overwrites files of the
other. If this package is imported, it warns; if the other one is, no code of this one runs.

Examples:
    >>> from gradviz._distribution import VERSION, warn_of_namesake
    >>> VERSION.count(".")
    2
    >>> warn_of_namesake()
"""

from __future__ import annotations

import warnings
from importlib.metadata import PackageNotFoundError, version

VERSION = "0.1.0"


class NamesakeWarning(UserWarning):
    """Another project called ``gradviz`` is installed beside gradviz-kit."""


def warn_of_namesake() -> None:
    """Warn if the other project's distribution ``gradviz`` is installed too."""
    try:
        found = version("gradviz")
    except PackageNotFoundError:
        return
    warnings.warn(
        f"This is gradviz-kit {VERSION}, but another project called gradviz ({found}) is installed "
        "beside it. Both install a package gradviz, so one can overwrite or remove files of the "
        "other. "
        "Type: pip uninstall gradviz gradviz-kit, then install gradviz-kit again",
        NamesakeWarning,
        stacklevel=3,
    )
