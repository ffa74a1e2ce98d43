#!/usr/bin/env bash
# The main job, from sources to pictures: builds the command line and runs scripts/demo.py with it.
# RUN_ROWS=N makes the matrix N x 8192 floats (default 32768: 1 GiB).
set -euo pipefail
cd "$(dirname "$0")/.."
echo "build: the library and the command line, in build/release"
mkdir -p build
scripts/build.sh release cornerturn cornerturn_tool > build/run-build.log 2>&1 ||
  { tail -n 40 build/run-build.log >&2; echo "build failed (log: build/run-build.log)" >&2; exit 1; }
exec .venv/bin/python scripts/demo.py --program build/release/bin/cornerturn \
  --rows "${RUN_ROWS:-32768}" --out out
