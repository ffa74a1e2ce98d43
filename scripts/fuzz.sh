#!/usr/bin/env bash
# Builds the fuzz targets and runs each for so many seconds. usage: scripts/fuzz.sh SECONDS [OPTION...]
# OPTIONs are those of scripts/fuzz.py. What is found stays in build/fuzz/found, the corpora in
# build/fuzz/corpus, the numbers in build/fuzz/fuzz.json.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
shift
targets=$(sed -n 's/^ *cornerturn_fuzz(\([a-z_]*\).*/fuzz_\1/p' tests/CMakeLists.txt)
# shellcheck disable=SC2086
scripts/build.sh clang $targets
exec python3 scripts/fuzz.py --binaries build/clang/bin --seconds "$seconds" --out build/fuzz \
  --processes "${JOBS:-$(nproc)}" --commit "$(git rev-parse --short HEAD 2> /dev/null || true)" "$@"
