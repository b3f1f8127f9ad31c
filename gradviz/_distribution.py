"""Which ``gradviz`` this is: our version, and whether a namesake is installed too.

Our distribution is ``gradviz-kit``, because another project is called ``gradviz`` and brings a
package ``gradviz`` as well. Installed side by side, the one that comes later overwrites files of
the other. When ours is the one that runs, it warns; when it is not, no code of ours runs.

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
    """Another package called ``gradviz`` is installed beside gradviz-kit."""


def warn_of_namesake() -> None:
    """Warn when the distribution ``gradviz``, which is not ours, is installed too."""
    try:
        found = version("gradviz")
    except PackageNotFoundError:
        return
    warnings.warn(
        f"This is gradviz-kit {VERSION}, but another project called gradviz ({found}) is installed "
        "beside it. Both bring a package gradviz, so one can replace or remove files of the other. "
        "Type: pip uninstall gradviz gradviz-kit, then install gradviz-kit again",
        NamesakeWarning,
        stacklevel=3,
    )
