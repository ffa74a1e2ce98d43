#!/usr/bin/env bash
# The tests. Every step runs, whatever the others do; the last line adds up all of them.
# FULL=1 adds what takes long: all of it with sanitizers and clang, threads, fuzzing, device code,
# clang-tidy, formatting, documentation, the demo, PyTorch and JAX for the tests of the Python package.
set -uo pipefail
cd "$(dirname "$0")/.."
export JOBS=${JOBS:-$(nproc)}
export CI=${CI:-}
reports=build/reports
rm -rf $reports build/*/reports
mkdir -p $reports
started=$SECONDS

# step KIND NAME COMMAND...
# KIND build: counts when it fails. check: is one test. runner: its reports count, and it counts
# itself when it fails without a report that says why.
step() {
  local kind=$1 name=$2 log=$reports/$2.log from=$SECONDS status=ok
  shift 2
  printf '%-24s ' "$name"
  "$@" > "$log" 2>&1 < /dev/null || status=failed
  printf '%s (%d s)\n' "$status" $((SECONDS - from))
  printf '%s\t%s\t%s\n' "$kind" "$name" "$status" >> $reports/steps.tsv
  if [ $status = failed ]; then
    tail -n 40 "$log" | sed 's/^/    /'
    return 1
  fi
}

ctest_in() {  # ctest_in PRESET [CTEST ARGUMENT...]
  local preset=$1
  shift
  ctest --preset "$preset" -j "$JOBS" --no-tests=error \
    --output-junit "$PWD/build/$preset/reports/ctest.xml" "$@"
}

nvcc_is_here() { command -v nvcc > /dev/null || [ -x /usr/local/cuda/bin/nvcc ]; }

run_pytest() { .venv/bin/python -m pytest -q -n "$JOBS" --dist loadfile --junitxml=$reports/pytest.xml; }
run_pytest_asan() {  # how the command reads and writes, and kernels that it compiles, in the sanitizer build
  CXX="clang++ -fsanitize=address,undefined" CORNERTURN=$PWD/build/clang/bin/cornerturn .venv/bin/python -m pytest -q \
    -n "$JOBS" --dist loadfile --junitxml=$reports/pytest-asan.xml -k 'not test_check_kernel or sound or broken or names' \
    tests/cli/test_{cast_files,check_kernel,commands,convert_values,limits}.py tests/cli/test_transpose{,_blocks,_in_place}.py
}

# What takes long with the sanitizers of addresses, in the emulator above all, whose own detectors look
# at every access. The other steps run it.
without_sanitizers='Engine.Rows:Engine.SharedShapes:Engine.Pack*:Blocks.OddStacks:Blocks.AnyLayout'
without_sanitizers+=':Engine.TilesOfEveryShape:Engine.Structures:Link/*.Conversions/*:QuantiseTiles.*'
without_sanitizers+=':CuteLegs.Staged*:RungData.*:Ledger.*:Solve.FindsAnAnswer*:CpuPlans.AFit*'
without_sanitizers+=':DescribedMachines.PlanEveryShape*:RearrangeBlocks.VerifyWorksInPieces'

step build build-release scripts/build.sh release &&
  step runner ctest-release ctest_in release
step build build-python scripts/python.sh
step runner pytest run_pytest
with_threads=(api bench cpu in_place io kernels plan)
# What ThreadSanitizer has nothing to look for in: tests on one thread, and the scalar kernels, which
# split their work as those of AVX2 do. The other steps run them.
without_threads='Targets/Tile.*:CpuPlans.*:MeasuredPlans.*:Golden*'
# Nor those in place that take long there, whose runs others move as well.
without_threads+=':*/InPlaceTargets.*:InPlacePlans.*:InPlaceSwaps.*:InPlaceOnCpu.P*'
without_threads+=':InPlaceOnCpu.MatricesByPasses:InPlaceRunsOnCpu.MoveInParts*'
if grep -q avx2 /proc/cpuinfo; then without_threads+=':*/SCALAR'; fi
if [ "${FULL:-}" != 1 ]; then
  step build build-asan-core scripts/build.sh asan-ubsan test_core test_plan &&
    step runner ctest-asan-core ctest_in asan-ubsan -R '^test_(core|plan)$'
else
  step check format scripts/check_format.sh
  step check docs scripts/docs.sh
  step build build-clang scripts/build.sh clang &&
    GTEST_FILTER="-$without_sanitizers" step runner ctest-clang ctest_in clang &&
    step runner pytest-clang run_pytest_asan
  step check fuzz scripts/fuzz.sh 10
  step build build-tsan scripts/build.sh tsan "${with_threads[@]/#/test_}" &&
    GTEST_FILTER="-$without_threads" step runner ctest-tsan ctest_in tsan -R "^test_($(IFS='|'; echo "${with_threads[*]}"))(_[0-9]+)?$"
  if nvcc_is_here; then
    step build build-device scripts/build.sh cuda-check
  else
    echo "build-device             skipped: no nvcc here"
  fi
  step check tidy scripts/tidy.sh
  step check run env RUN_ROWS=8192 scripts/run.sh
fi

echo "took $((SECONDS - started)) s; logs in $reports"
python=python3
[ -x .venv/bin/python ] && python=.venv/bin/python
exec $python scripts/test_summary.py build
