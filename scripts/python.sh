#!/usr/bin/env bash
# Builds the Python package and installs it into .venv, as `pip install .` does, but with the build
# tools that are in .venv and a build folder that is kept. With device code where scripts/build.sh
# builds it.
set -euo pipefail
cd "$(dirname "$0")/.."
# The command line is built by scripts/build.sh; in a wheel it is part of the package.
settings=(build-dir=build/python cmake.define.CORNERTURN_WERROR=ON
  cmake.define.CORNERTURN_BUILD_TOOLS=OFF)
# The lab's page too is part of it where it is built already.
page=$PWD/build/release/page/lab.html
[ ! -f "$page" ] || settings+=(cmake.define.CORNERTURN_PAGE_FILE="$page")
case $(scripts/device.sh) in
  build:*)
    architectures=${CUDA_ARCHITECTURES:-$([ -e /dev/nvidia0 ] && echo native || true)}
    settings+=(cmake.define.CORNERTURN_CUDA=ON
      ${architectures:+"cmake.define.CMAKE_CUDA_ARCHITECTURES=$architectures"})
    ;;
  *) settings+=(cmake.define.CORNERTURN_CUDA=OFF) ;;
esac
# The compilers that scripts/build.sh uses, not those that Python was built with: the compiler cache
# then knows the library from there.
export CC=${CC:-cc} CXX=${CXX:-c++}
[ -n "$(ccache --get-config base_dir 2> /dev/null)" ] || export CCACHE_BASEDIR=$PWD
export CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)}
.venv/bin/python -m pip install --disable-pip-version-check --no-build-isolation --no-deps \
  --force-reinstall "${settings[@]/#/--config-settings=}" .
