#!/bin/bash
# Measures Cornerturn and the installed peers on the public cases, and makes the tables of
# docs/results-cpu.md, its plot and the README's table from what came out.
#
# usage: bench/run.sh [--build DIR] [--only NAME,...] [--threads N,...] [--fresh] [--no-report]
#   --build    where the project is built (default build/release); what is missing there is built
#   --only     cornerturn, numpy, torch, mkl, eigen, onednn (default: all that are there)
#   --threads  thread counts to measure with (default 1,2)
#   --fresh    measure again what an interrupted run has left
#   --no-report  leave the results, the tables and the plot as they are
# BENCH_PREFIX holds words that every measurement is started with, e.g. "taskset -c 0,1".
#
# Cornerturn takes about six minutes for each number of threads, a peer up to ten, in parts of at most
# a minute. A finished part is a file in BUILD/bench/parts; after an interruption the same command
# goes on where it stopped.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release
only=cornerturn,numpy,torch,mkl,eigen,onednn
threads=1,2
fresh=0
report=1
while (($#)); do
  case $1 in
    --build) build=$2; shift 2 ;;
    --only) only=$2; shift 2 ;;
    --threads) threads=$2; shift 2 ;;
    --fresh) fresh=1; shift ;;
    --no-report) report=0; shift ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit ;;
    *) echo "bench/run.sh: $1 is not an option; see --help" >&2; exit 2 ;;
  esac
done

parts=$build/bench/parts
((fresh)) && rm -rf "$parts"
mkdir -p "$parts"
peers=${CORNERTURN_PEERS_ENV:-$root/.cache/peers}
read -ra prefix <<<"${BENCH_PREFIX:-}"
python=$root/.venv/bin/python
[[ -x $python ]] || python=python3

# The programs, where this is a build that CMake made.
if [[ -e $build/CMakeCache.txt ]]; then
  cmake -S "$root" -B "$build" -DCORNERTURN_BENCH_PEERS=ON -DCORNERTURN_PEERS_ENV="$peers" \
    >"$build/bench/configure.log" || { cat "$build/bench/configure.log" >&2; exit 1; }
  cmake --build "$build" --target cornerturn_tool bench_peers >"$build/bench/build.log" ||
    { tail -30 "$build/bench/build.log" >&2; exit 1; }
fi

# The command that measures a subject, in `command`; fails when it is not there.
find_subject() {
  case $1 in
    cornerturn) command=("$build/bin/cornerturn" bench) ;;
    numpy | torch)
      [[ -x $peers/bin/python ]] && "$peers/bin/python" -c "import $1" 2>/dev/null || return 1
      command=("$peers/bin/python" "$root/bench/peers/python_peers.py" "$build/lib/libbench_python.so" "$1")
      [[ -e $build/lib/libbench_python.so ]] || return 1 ;;
    *) command=("$build/bin/bench_$1") ;;
  esac
  [[ -x ${command[0]} ]]
}

# measure SUBJECT THREADS SUITE BYTES GLOB: one part.
measure() {
  local part=$parts/$1-$2-$3-$4-${5//[^0-9a-z]/}.json
  [[ -e $part ]] && return
  echo "$1, $2 thread(s): $3 at $4 B ($5)"
  "${prefix[@]}" "${command[@]}" --suite "$3" --bytes "$4" --case "$5" --threads "$2" \
    --max-bytes 800MB --json "$part" >"$part.log" 2>&1 || {
    # 2: no such case in the suite; 1: a case failed its check, and the report says so.
    local code=$?
    ((code == 130)) && exit 130
    ((code == 1)) && grep -h failed "$part.log"
    ((code > 2)) && { tail -3 "$part.log" >&2; exit "$code"; }
    return 0
  }
}

for count in ${threads//,/ }; do
  for subject in ${only//,/ }; do
    find_subject "$subject" || { echo "$subject: not installed or not built, skipped"; continue; }
    # numpy has one thread.
    [[ $subject == numpy && $count != 1 ]] && continue
    for bytes in 1 2 4 8; do
      measure "$subject" "$count" everyday,awkward,views,small "$bytes" '*'
      measure "$subject" "$count" ttc57 "$bytes" 'ttc57_[012]*'
      measure "$subject" "$count" ttc57 "$bytes" 'ttc57_[345]*'
    done
  done
done
if ((report)); then
  "$python" "$root/bench/report.py" collect "$parts"/*.json
  "$python" "$root/bench/report.py" publish
  "$python" "$root/bench/summary.py" publish
  rm -r "$parts"
fi
