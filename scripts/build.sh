#!/usr/bin/env bash
# Configures and builds one preset. usage: scripts/build.sh PRESET [TARGET...]
# Device code is for the GPU that is here; without one, for all architectures that CMake's default
# names. CUDA_ARCHITECTURES says otherwise (90a-real, "80-real;90-real", ...).
set -euo pipefail
cd "$(dirname "$0")/.."
# The compiler cache then knows what another build folder of this tree has compiled.
[ -n "$(ccache --get-config base_dir 2> /dev/null)" ] || export CCACHE_BASEDIR=$PWD
preset=$1
shift
log=build/$preset/configure.log
mkdir -p "build/$preset"
options=()
if [ "$preset" = release ]; then
  case $(scripts/device.sh) in
    build:*)
      architectures=${CUDA_ARCHITECTURES:-$([ -e /dev/nvidia0 ] && echo native || true)}
      options=(-DCORNERTURN_CUDA=ON ${architectures:+"-DCMAKE_CUDA_ARCHITECTURES=$architectures"})
      ;;
    *) options=(-DCORNERTURN_CUDA=OFF) ;;
  esac
fi
cmake --preset "$preset" "${options[@]}" > "$log" 2>&1 || { cat "$log" >&2; exit 1; }
targets=()
if [ $# -gt 0 ]; then targets=(--target "$@"); fi
cmake --build --preset "$preset" -j "${JOBS:-$(nproc)}" "${targets[@]}"
