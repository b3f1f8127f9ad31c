"""``python -m gradviz`` is the command ``gradviz``."""

from gradviz.cli import main

raise SystemExit(main())
