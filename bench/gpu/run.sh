#!/usr/bin/env bash
# Measures Cornerturn and the peers that are installed on the GPU that is here, on the public cases,
# and makes the tables and plots from what came out.
#
# usage: bench/gpu/run.sh [--only NAME,...] [--out DIR] [--no-report] [--quick]
#   --only       some of: cornerturn candidates warm torch cupy cublas_geam cutensor cccl triton
#                jax torch_compile torch_compile_warm
#                (default: all). candidates: every candidate of the planner; warm: what fits into the
#                cache, back to back in a graph
#   --out        where the parts go (default build/bench-gpu)
#   --no-report  only measure, and merge the parts into DIR/results
#   --quick      a twentieth of the time: does everything run?
# BIN=FOLDER     uses the programs there and the libraries in FOLDER/../lib, and builds nothing
# PYTHON=PROGRAM the Python that has the peers (default: .cache/peers/bin/python, or python3)
#
# Cornerturn takes about two minutes, its candidates two more, all peers together about five.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
all=cornerturn,candidates,warm,torch,torch_compile,torch_compile_warm,triton,jax,cupy,cublas_geam,cutensor,cccl
only=$all
out=$root/build/bench-gpu
report=1
quick=0
while (($#)); do
  case $1 in
    --only) only=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --no-report) report=0; shift ;;
    --quick) quick=1; shift ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit ;;
    *) echo "bench/gpu/run.sh: $1 is not an option; see --help" >&2; exit 2 ;;
  esac
done

if [[ -z ${BIN:-} ]]; then
  BIN=$root/build/cuda/bin
  targets=(cornerturn_tool bench_gpu_python)
  if grep -qs '^CORNERTURN_CCCL:PATH=.' "$root/build/cuda/CMakeCache.txt"; then targets+=(bench_gpu_cccl); fi
  "$root/scripts/build.sh" cuda "${targets[@]}" || exit 1
fi
library=$BIN/../lib/libbench_gpu_python.so
export CORNERTURN_CCCL_LIBRARY=$BIN/../lib/libbench_gpu_cccl.so
peers=${CORNERTURN_PEERS_ENV:-$root/.cache/peers}/bin/python
[[ -x $peers ]] || peers=python3
peers=${PYTHON:-$peers}
python=$root/.venv/bin/python
[[ -x $python ]] || python=python3

mkdir -p "$out"
rm -f "$out"/*.json
suites=everyday,awkward,views,ttc57,small,cccl
failed=()

# part NAME MOST_SECONDS COMMAND...: one part, which is given up when it takes much longer.
part() {
  local name=$1 most=$2 from=$SECONDS code=0
  shift 2
  [[ ,$only, == *",$name,"* ]] || return 0
  ((quick)) && most=$(((most + 19) / 20))
  timeout $((most + 60)) "$@" --max-seconds "$most" --json "$out/$name.json" >"$out/$name.log" 2>&1 ||
    code=$?
  local last
  last=$(tail -n 1 "$out/$name.log")
  case $code in
    0) echo "$name: ok ($((SECONDS - from)) s)" ;;
    1) echo "$name: some cases FAILED ($((SECONDS - from)) s)"; grep -h 'failed: ' "$out/$name.log" | head -n 20 ;;
    3) echo "$last" ;;
    *) echo "$name: FAILED ($code): $last"; failed+=("$name") ;;
  esac
}

ours=("$BIN/cornerturn" bench --device gpu)
peer=("$peers" "$root/bench/peers/gpu/gpu_peers.py" --library "$library" --peer)

part cornerturn 240 "${ours[@]}" --suite $suites
part warm 20 "${ours[@]}" --suite everyday --case matrix_1024 --warm
part candidates 240 "${ours[@]}" --suite $suites --all-candidates
short=(--budget 0.03 --slow-budget 0.1)
part torch 45 "${peer[@]}" torch --suite $suites "${short[@]}"
part cupy 45 "${peer[@]}" cupy --suite $suites "${short[@]}"
part cublas_geam 15 "${peer[@]}" cublas_geam --suite $suites "${short[@]}"
part cutensor 45 "${peer[@]}" cutensor --suite $suites "${short[@]}"
part cccl 45 "${peer[@]}" cccl --suite $suites "${short[@]}"
part triton 45 "${peer[@]}" triton --suite $suites "${short[@]}"
part jax 60 "${peer[@]}" jax --suite $suites "${short[@]}" --per-class 3
# One case of each class is compiled; then the one that is compared with warm caches.
part torch_compile 75 "${peer[@]}" torch_compile --suite $suites "${short[@]}" --per-class 1
part torch_compile_warm 20 "${peer[@]}" torch_compile --suite everyday --case matrix_1024 --warm

shopt -s nullglob
parts=("$out"/*.json)
if ((${#parts[@]})); then
  if ((report)); then
    "$python" "$root/bench/gpu_report.py" collect "${parts[@]}" &&
      "$python" "$root/bench/gpu_report.py" publish &&
      "$python" "$root/bench/summary.py" publish || failed+=(report)
  else
    "$python" "$root/bench/gpu_report.py" collect --to "$out/results" "${parts[@]}" || failed+=(report)
  fi
fi
if ((${#failed[@]})); then
  echo "failed: ${failed[*]}"
  exit 1
fi
