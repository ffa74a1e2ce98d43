#!/usr/bin/env bash
# Configures and builds one preset. usage: scripts/build.sh PRESET [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
log=build/$preset/configure.log
mkdir -p "build/$preset"
options=()
if [ "$preset" = release ]; then
  case $(scripts/device.sh) in
    build:*) options=(-DCORNERTURN_CUDA=ON) ;;
    *) options=(-DCORNERTURN_CUDA=OFF) ;;
  esac
fi
cmake --preset "$preset" "${options[@]}" > "$log" 2>&1 || { cat "$log" >&2; exit 1; }
targets=()
if [ $# -gt 0 ]; then targets=(--target "$@"); fi
cmake --build --preset "$preset" -j "${JOBS:-$(nproc)}" "${targets[@]}"
