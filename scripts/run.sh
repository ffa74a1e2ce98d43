#!/usr/bin/env bash
# The main job, from sources to pictures: builds the command line and runs scripts/demo.py with it.
# RUN_ROWS=N makes the matrix N x 8192 floats (default 32768: 1 GiB).
set -euo pipefail
cd "$(dirname "$0")/.."

progress() {  # says how far the build is whenever another tenth of it is done
  local line said=-1 tenth
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    tenth=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
    ((tenth == said)) || echo "  step ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} after $SECONDS s"
    said=$tenth
  done
}

echo "build: the library and the command line, in build/release, some minutes the first time (log: build/run-build.log)"
mkdir -p build
scripts/build.sh release cornerturn cornerturn_tool 2>&1 | tee build/run-build.log | progress ||
  { tail -n 40 build/run-build.log >&2; echo "build failed (log: build/run-build.log)" >&2; exit 1; }
echo "build: done in $SECONDS s"
echo "demonstration: a photograph and a matrix of ${RUN_ROWS:-32768} x 8192 floats, about a minute"
.venv/bin/python -u scripts/demo.py --program build/release/bin/cornerturn \
  --rows "${RUN_ROWS:-32768}" --out out
echo "all of it took $SECONDS s"
