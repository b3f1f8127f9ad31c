"""These tests run in a process of their own, in which the device was made ready before torch."""

import sys

collect_ignore_glob = [] if "tests.accelerator.device" in sys.modules else ["*"]
