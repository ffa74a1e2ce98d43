#!/usr/bin/env bash
# Builds the fuzz targets and runs each for so many seconds. usage: scripts/fuzz.sh SECONDS
# What a target finds stays in build/fuzz/found/NAME-*; its corpus grows in build/fuzz/corpus/NAME.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
scripts/build.sh clang fuzz_npy fuzz_pattern
mkdir -p build/fuzz/found
failed=0
targets=0
for program in build/clang/bin/fuzz_*; do
  [ -x "$program" ] || continue
  targets=$((targets + 1))
  name=$(basename "$program")
  corpus=build/fuzz/corpus/$name
  mkdir -p "$corpus"
  seeds=tests/fuzz/corpus/${name#fuzz_}
  [ -d "$seeds" ] || seeds=
  log=build/fuzz/$name.log
  if "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="build/fuzz/found/$name-" "$corpus" $seeds > "$log" 2>&1; then
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, nothing found"
  else
    failed=1
    tail -n 30 "$log"
    echo "$name: FAILED (log: $log)"
  fi
done
[ $targets -gt 0 ] || { echo "no fuzz targets were built" >&2; exit 1; }
exit $failed
