#!/usr/bin/env bash
# The tests that need a GPU: the engine, its interface and every rung of the ladder, then a smaller list
# under compute-sanitizer.
#   SKIP=1         without a GPU, or without compute-sanitizer, says so and goes on
#   BIN=FOLDER     uses the test_gpu there instead of building it
#   TESTS=no       leaves out the tests themselves
#   CHECKS="..."   compute-sanitizer's tools (default: memcheck racecheck initcheck synccheck); "" for none
# What they say is in build/reports/gpu_checks.json, for bench/results/reliability.
set -uo pipefail
cd "$(dirname "$0")/.."
reports=build/reports
checks=${CHECKS-memcheck racecheck initcheck synccheck}

if [ -z "${BIN:-}" ]; then
  if ! { [ -e /dev/nvidia0 ] || command -v nvidia-smi > /dev/null; }; then
    echo "test-gpu: no GPU here, nothing was tested"
    [ "${SKIP:-}" = 1 ]
    exit
  fi
  BIN=build/cuda/bin
  scripts/build.sh cuda test_gpu || exit 1
fi
mkdir -p $reports/gtest
failed=0

if [ "${TESTS:-}" != no ]; then
  "$BIN/test_gpu" ${SKIP:+--skip-without-gpu} --gtest_brief=1 \
    --gtest_output=xml:$reports/gtest/test_gpu.xml || failed=1
fi

sanitizer=$(command -v compute-sanitizer ||
  compgen -G '/usr/local/cuda/bin/compute-sanitizer' ||
  compgen -G '/opt/nvidia/*/compute-sanitizer' | head -n 1)
results=()
for check in $checks; do
  if [ -z "$sanitizer" ]; then
    echo "test-gpu: no compute-sanitizer here: $check was not run"
    [ "${SKIP:-}" = 1 ] || failed=1
    continue
  fi
  from=$SECONDS
  if timeout "${CHECK_SECONDS:-600}" "$sanitizer" --tool "$check" --error-exitcode 1 --print-limit 20 \
    "$BIN/test_gpu" ${SKIP:+--skip-without-gpu} --gtest_brief=1 --gtest_filter='*LadderChecked*:*EngineChecked*:*InPlaceChecked*:*ConvertChecked*:*QuantiseChecked*' \
    > $reports/$check.log 2>&1; then
    echo "$check: clean ($((SECONDS - from)) s)"
    clean=true
  else
    clean=false
    echo "$check: FAILED ($((SECONDS - from)) s, log: $reports/$check.log)"
    tail -n 30 $reports/$check.log | sed 's/^/    /'
    failed=1
  fi
  cases=$(sed -n 's/^\[==========\] \([0-9]*\) tests* .* ran.*/\1/p' $reports/$check.log)
  results+=("{\"tool\": \"$check\", \"tests\": ${cases:-0}, \"clean\": $clean, \"seconds\": $((SECONDS - from))}")
done
if [ ${#results[@]} -gt 0 ]; then
  gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
  commit=${COMMIT:-$(git rev-parse --short HEAD 2> /dev/null)}
  printf '{"what": "compute-sanitizer", "date": "%s", "commit": "%s", "gpu": "%s", "checks": [\n %s\n]}\n' \
    "$(date +%F)" "$commit" "$gpu" "$(IFS=,; echo "${results[*]}" | sed 's/},{/},\n {/g')" > $reports/gpu_checks.json
fi
exit $failed
