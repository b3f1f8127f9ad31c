"""Python imports this when it starts with this folder on its path: kernels then use the device."""

import sys

if any("ipykernel" in argument for argument in sys.orig_argv):
    from tests.accelerator import device

    device.use_by_default()
