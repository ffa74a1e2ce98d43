#!/usr/bin/env bash
# clang-tidy over the sources, as the clang preset compiles them: many files at a time, so that their
# headers are read once.
# usage: scripts/tidy.sh [FILE...]; without files: all of the library, the command line and the
# benchmark; with files: these, each by itself, as the debug preset compiles them.
set -euo pipefail
cd "$(dirname "$0")/.."
options=()
if [ $# -gt 0 ]; then
  preset=debug
  files=("$@")
else
  preset=clang
  # The first would see what the files that are put together include; the second takes longer than all
  # others together, and looks at each file that is given.
  options=(--checks=-bugprone-suspicious-include,-performance-unnecessary-value-param)
  # AVX-512 with VBMI and the scalar target have all forms of the vector code between them.
  targets="HWY_SSSE3|HWY_SSE4|HWY_AVX2|HWY_AVX3|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128"
  options+=(--extra-arg=-UHWY_DISABLED_TARGETS "--extra-arg=-DHWY_DISABLED_TARGETS=($targets)")
fi
database=build/$preset
[ -f $database/compile_commands.json ] || scripts/build.sh $preset bench_build_info > /dev/null
if [ $# = 0 ]; then
  mapfile -t files < <(sed -n 's/^ *"file": "\(.*\)".*/\1/p' $database/compile_commands.json |
    grep -E "^$PWD/(src|tools|bench)/|^$PWD/$database/(src|tools|bench)/.*/(Unity/|run_family_)")
fi
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "${JOBS:-$(nproc)}" clang-tidy --quiet "${options[@]}" -p $database
