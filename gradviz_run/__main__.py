"""``python -m gradviz_run train.py`` is ``gradviz run train.py``."""

import sys

from gradviz_run import run

raise SystemExit(run(sys.argv[1:]))
