#!/usr/bin/env bash
# Runs, within 9 minutes, the tests on an accelerator, the lessons against their stored outputs and the
# how-to page on CUDA, on a bare machine: a Python with a torch for its GPU, no network, no pip install
# but from build/wheels, which wheels.sh collects beforehand. What differs is written to $OUT
# (build/on_gpu if that is not set): all.txt has everything, differs.txt the summary.
#   PYTHON=python3 tests/accelerator/on_gpu.sh [arguments of pytest]
set -euo pipefail
cd "$(dirname "$0")/../.."

python=${PYTHON:-python3}
out=${OUT:-build/on_gpu}
mkdir -p "$out"
rm -rf build/gpu
"$python" -m venv build/gpu
site=$(build/gpu/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
build/gpu/bin/python -m pip install --quiet --no-index --no-deps build/wheels/*.whl
# This tree, and torch where that Python has it; what is installed here comes before.
"$python" -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parents[1])' > "$site/torch_of_machine.pth"
pwd > "$site/gradviz_of_tree.pth"

code=0
GRADVIZ_REQUIRE_ACCELERATOR=1 timeout --signal=INT --kill-after=20 500 \
  build/gpu/bin/python -m tests.accelerator -n "$(nproc)" "$@" > "$out/all.txt" 2>&1 || code=$?
{
  build/gpu/bin/python -c 'import sys, torch; print("Python", sys.version.split()[0], "torch", torch.__version__)'
  grep -E '^(Device|  left out|FAILED|ERROR|SUBFAILED|NOT RUN|[0-9]+ (passed|failed))|^=+ .*(passed|failed)' \
    "$out/all.txt" || true
  [ "$code" -ne 124 ] || echo "The time was over: see all.txt for what had run."
} | tee "$out/differs.txt"
exit "$code"
