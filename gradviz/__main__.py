"""``python -m gradviz`` is the command ``gradviz``."""

from gradviz_run import main

raise SystemExit(main())
