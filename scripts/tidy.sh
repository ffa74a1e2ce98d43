#!/usr/bin/env bash
# clang-tidy over the sources, with the clang preset's compile commands.
# usage: scripts/tidy.sh [FILE...]; without files: everything that is compiled.
set -euo pipefail
cd "$(dirname "$0")/.."
database=build/clang
[ -f $database/compile_commands.json ] || cmake --preset clang > /dev/null
if [ $# -gt 0 ]; then
  files=("$@")
else
  # Those that this preset compiles: host code of the CUDA build is not.
  mapfile -t files < <(git ls-files 'src/*.cpp' 'tools/*.cpp' |
    while read -r file; do
      if grep -qF "/$file\"" $database/compile_commands.json; then echo "$file"; fi
    done)
fi
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "${JOBS:-$(nproc)}" clang-tidy --quiet -p $database
