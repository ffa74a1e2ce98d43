#!/usr/bin/env bash
# Tests, measures and profiles on the GPU that is here. Every part runs, whatever the others do, and
# is given up after its time; the last lines say which failed.
#   usage: run.sh [PART...]     parts: machine test ladder profile check bench (default: all but
#                               bench, in this order); bench is bench/gpu/run.sh, its options in BENCH
#   OUT=FOLDER                  where the results go (default: out)
set -uo pipefail
cd "$(dirname "$0")" || exit 1
OUT=$(realpath -m "${OUT:-out}")
mkdir -p "$OUT"
export BIN=$PWD/bin LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH=$PATH:/usr/local/cuda/bin
chmod +x bin/* scripts/* bench/gpu/run.sh
COMMIT=$(cat commit)
export COMMIT
failures=()

part() {  # part NAME SECONDS FUNCTION
  local from=$SECONDS rc=0
  echo "== $1"
  timeout "$2" bash -c "$3" 2>&1 || rc=$?
  echo "== $1: $([ $rc = 0 ] && echo ok || echo "FAILED ($rc)") after $((SECONDS - from)) s"
  [ $rc = 0 ] || failures+=("$1")
}

machine() {
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv
  command -v ncu compute-sanitizer
  echo "commit $COMMIT"
}

# NVIDIA H200: h200, the name of its files in bench/results/ladder
GPU=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1 | awk '{print tolower($2)}')

ladder() { scripts/measure_ladder.sh "$OUT/$GPU.json"; }
tests() { CHECKS='' scripts/test_gpu.sh; }
check() { TESTS=no CHECK_SECONDS=70 scripts/test_gpu.sh; }
profile() { scripts/profile_gpu.sh "$OUT/$GPU-profile.json"; }
bench() { bench/gpu/run.sh --no-report --out "$OUT/bench" ${BENCH:-}; }
export -f machine ladder tests check profile bench
export OUT GPU

run() {
  case $1 in
    machine) part machine 30 machine ;;
    test) part test 150 tests ;;
    ladder) part ladder 300 ladder ;;
    profile) part profile 200 profile ;;
    check) part check 240 check ;;
    bench) part bench 1200 bench ;;
    *) echo "run.sh: unknown part '$1'"; failures+=("$1") ;;
  esac
}

main() {
  [ $# -gt 0 ] || set -- machine test ladder profile check
  for name in "$@"; do run "$name"; done
  if [ ${#failures[@]} = 0 ]; then echo "all parts ok"; else echo "failed: ${failures[*]}"; fi
  return ${#failures[@]}
}

main "$@" 2>&1 | tee "$OUT/log.txt"
exit "${PIPESTATUS[0]}"
