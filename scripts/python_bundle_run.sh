#!/usr/bin/env bash
# Tests and measures the Python package with the frameworks and the GPU that are here. Every part
# runs, whatever the others do, and is given up after its time; the last line says which failed.
#   usage: run.sh [PART...]     parts: machine test bench test_ladder ladder (default: all)
#   OUT=FOLDER                  where the results go (default: out)
#   PYTHON=PROGRAM              the Python that has the frameworks (default: python3)
#   ENGINE=PROGRAM              the program `cornerturn`, for its rates beside ours (default: the
#                               one in bin, if it is there)
#   BENCH="..."                 options of bench/python/gpu.py
#   LADDER="..."                options of python -m cornerturn.ladder (default: --budget 90)
set -uo pipefail
cd "$(dirname "$0")" || exit 1
OUT=$(realpath -m "${OUT:-out}")
mkdir -p "$OUT"
PYTHON=${PYTHON:-python3}
[ -n "${ENGINE:-}" ] || [ ! -x bin/cornerturn ] || ENGINE=bin/cornerturn
ENGINE=${ENGINE:+$(realpath "$ENGINE")}
BENCH=${BENCH:-}
LADDER=${LADDER:---budget 90}
export OUT PYTHON ENGINE BENCH LADDER PYTHONPATH=$PWD:$PWD/site
export LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export XLA_PYTHON_CLIENT_PREALLOCATE=false
failures=()

part() {  # part NAME SECONDS
  local from=$SECONDS rc=0
  echo "== $1"
  timeout "$2" bash -c "$1" 2>&1 || rc=$?
  echo "== $1: $([ $rc = 0 ] && echo ok || echo "FAILED ($rc)") after $((SECONDS - from)) s"
  [ $rc = 0 ] || failures+=("$1")
}

machine() {
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv
  echo "commit $(cat commit)"
  $PYTHON -c 'import cornerturn._core as core
print("cornerturn", core.version(), "with device code" if core.has_cuda() else "without device code")'
}

# Without the tests that need the whole tree.
test() {
  $PYTHON -m pytest tests/python -q -k "(cuda or gpu or few_blocks) and not ladder" --durations=10 -p no:cacheprovider \
    --ignore=tests/python/test_{package,check,every_dtype,real_programs,what_is_replaced}.py
}
bench() {
  # shellcheck disable=SC2086
  $PYTHON bench/python/gpu.py --json "$OUT/python-gpu.json" ${ENGINE:+--engine "$ENGINE"} $BENCH
}
test_ladder() { $PYTHON -m pytest tests/python/test_ladder_gpu.py -q --durations=10 -p no:cacheprovider; }
ladder() {
  # shellcheck disable=SC2086
  $PYTHON -m cornerturn.ladder --json "$OUT/ladder.python.json" --commit "$(cat commit)" $LADDER
}
export -f machine test bench test_ladder ladder

main() {
  [ $# -gt 0 ] || set -- machine test bench test_ladder ladder
  for name in "$@"; do
    case $name in
      machine) part machine 60 ;;
      test) part test 300 ;;
      bench) part bench 300 ;;
      test_ladder) part test_ladder 300 ;;
      ladder) part ladder 300 ;;
      *) echo "run.sh: unknown part '$name'"; failures+=("$name") ;;
    esac
  done
  if [ ${#failures[@]} = 0 ]; then echo "all parts ok"; else echo "failed: ${failures[*]}"; fi
  return ${#failures[@]}
}

main "$@" 2>&1 | tee "$OUT/log.txt"
exit "${PIPESTATUS[0]}"
