#!/usr/bin/env bash
# Collects in build/wheels what on_gpu.sh needs on a machine without a network, but for torch: wheels
# for a version of Python (3.12 if none is named) on Linux with x86-64.
#   tests/accelerator/wheels.sh [3.12]
set -euo pipefail
cd "$(dirname "$0")/../.."

version=${1:-3.12}
rm -rf build/wheels
mapfile -t needed < <(.venv/bin/python tests/accelerator/needed.py)
.venv/bin/python -m pip download --quiet --no-deps --only-binary=:all: --dest build/wheels \
  --python-version "$version" --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 \
  --platform manylinux2014_x86_64 "${needed[@]}"
du -sh build/wheels
