#!/usr/bin/env bash
# Makes what a release consists of, from the commit that is checked out, in dist/: an archive of the
# sources, the Python package as sources and as a wheel that brings its libraries along, and checksums.
# Then it installs the wheel into an empty environment and transposes an array with it.
# usage: scripts/release.sh [wheel]
#   wheel               only the Python package and the wheel; wheels for other Pythons stay in dist/
#   PYTHON=python3.12   the Python that the wheel is for (default: that of .venv); from 3.12 on one wheel
#                       is for all later versions as well
#   CUDA=1              the wheel has device code for all supported GPUs (needs nvcc; takes long)
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(command -v "${PYTHON:-.venv/bin/python}") || { echo "release: no ${PYTHON:-.venv/bin/python} here" >&2; exit 1; }
python=$(realpath -s "$python")
auditwheel=$PWD/.venv/bin/auditwheel
work=$PWD/build/release-files
say() { printf 'release: %s\n' "$*"; }
quietly() {  # quietly LOG COMMAND...
  local log=$work/$1.log
  shift
  "$@" > "$log" 2>&1 || { tail -n 40 "$log" >&2; echo "release: $1 failed (log: $log)" >&2; exit 1; }
}

part() { sed -n "s/^#define CORNERTURN_VERSION_$1 //p" include/cornerturn/version.hpp; }
version=$(part MAJOR).$(part MINOR).$(part PATCH)
only=${1:-all}
[ "$only" = wheel ] || grep -q "^## \[$version\]" CHANGELOG.md || { echo "release: CHANGELOG.md has no section [$version]" >&2; exit 1; }
[ -z "$(git status --porcelain)" ] || say "what is not committed is left out"

# Wheels of this version for other Pythons are made by calls of their own.
[ "$only" = wheel ] || rm -rf dist
rm -rf "$work/sources" "$work/repaired"
mkdir -p dist "$work"
find dist -mindepth 1 -maxdepth 1 ! -name "cornerturn-$version-*.whl" -exec rm -rf {} +
name=cornerturn-$version-source
git archive --format=tar.gz --prefix="$name/" -o "dist/$name.tar.gz" HEAD
if [ "$only" = wheel ]; then
  mv "dist/$name.tar.gz" "$work/"
else
  say "dist/$name.tar.gz"
fi

# All that follows is made of the archive, as somebody would who has nothing else.
mkdir -p "$work/sources"
tar -xzf "$([ "$only" = wheel ] && echo "$work" || echo dist)/$name.tar.gz" -C "$work/sources"
build_sdist="import os, sys; os.chdir(sys.argv[1]); import scikit_build_core.build as b; b.build_sdist(sys.argv[2])"
quietly sdist .venv/bin/python -c "$build_sdist" "$work/sources/$name" "$PWD/dist"
sdist=dist/cornerturn-$version.tar.gz
[ -f "$sdist" ] || { echo "release: no $sdist was made" >&2; exit 1; }
say "$sdist"

say "building the wheel $([ "${CUDA:-}" = 1 ] && echo with || echo without) device code (log: $work/wheel.log)"
rm -rf "$work/wheels"
tools=$work/tools-$("$python" -c 'import sys; print(*sys.version_info[:2], sep=".")')
[ -x "$tools/bin/python" ] || "$python" -m venv "$tools"
quietly tools "$tools/bin/python" -m pip install --disable-pip-version-check \
  $(.venv/bin/python -c 'import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
# From the package's sources, unpacked where they were the last time, in a build folder of the same name
# as that of scripts/python.sh, and with its flags: the compiler cache then knows most of it.
rm -rf "$work/unpacked"
mkdir -p "$work/unpacked"
tar -xzf "$sdist" -C "$work/unpacked"
export CORNERTURN_CUDA=${CUDA:-0} CC=${CC:-cc} CXX=${CXX:-c++} CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)}
[ -n "$(ccache --get-config base_dir 2> /dev/null)" ] || export CCACHE_BASEDIR=$work/unpacked/cornerturn-$version
(
  cd "$work/unpacked/cornerturn-$version"
  quietly wheel "$tools/bin/python" -m pip wheel . --disable-pip-version-check --no-deps \
    --no-build-isolation --wheel-dir "$work/wheels" --config-settings=install.strip=true \
    --config-settings=build-dir=build/python --config-settings=cmake.define.CORNERTURN_WERROR=ON
)
plain=$(echo "$work"/wheels/cornerturn-*.whl)
if PATH=$PWD/.venv/bin:$PATH "$auditwheel" repair --wheel-dir "$work/repaired" "$plain" > "$work/auditwheel.log" 2>&1; then
  wheel=dist/$(basename "$work"/repaired/cornerturn-*.whl)
  mv "$work"/repaired/cornerturn-*.whl "$wheel"
else
  tail -n 5 "$work/auditwheel.log" >&2
  say "the wheel could not be repaired: it needs this system's libraries (log: $work/auditwheel.log)"
  cp "$plain" dist/
  wheel=dist/$(basename "$plain")
fi
say "$wheel"

(cd dist && sha256sum -- * > SHA256SUMS && sha256sum --check --quiet SHA256SUMS)
say "dist/SHA256SUMS"

"$python" -m venv --clear "$work/empty"
quietly install "$work/empty/bin/python" -m pip install --disable-pip-version-check --no-deps --no-index "$wheel"
said=$(cd "$work" && empty/bin/python -c "import cornerturn
print(cornerturn.__version__, bytes(cornerturn.transpose(memoryview(b'abcdef').cast('B', (2, 3)))))")
[ "$said" = "$version b'adbecf'" ] || { echo "release: the installed wheel says: $said" >&2; exit 1; }
said=$(cd "$work" && PATH=/nowhere empty/bin/cornerturn version)
[[ "$said" = *"$version"* ]] || { echo "release: the command of the wheel says: $said" >&2; exit 1; }
# With nothing but a compiler it checks CUDA sources, and without one it says so.
git show HEAD:examples/transpose_with_faults.cu > "$work/checked.cu"
said=$(cd "$work" && empty/bin/cornerturn check checked.cu 2>&1) && status=0 || status=$?
[[ $status = 1 && "$said" = *"checked.cu:15: thread"* ]] || { echo "release: check of the wheel says: $said" >&2; exit 1; }
said=$(cd "$work" && PATH=/nowhere empty/bin/cornerturn check checked.cu 2>&1) && status=0 || status=$?
[[ $status = 2 && "$said" = *"needs a C++ compiler"* ]] || { echo "release: check of the wheel says: $said" >&2; exit 1; }
if (cd "$work" && empty/bin/python -c "import cornerturn; cornerturn.lab_page()" 2> "$work/page.log"); then
  say "the wheel has the page of the swizzle lab"
else
  say "the wheel is without the page of the swizzle lab: $(tail -n 1 "$work/page.log")"
fi
bytes=$(stat -c %s "$wheel")
[ "$bytes" -lt $((60 << 20)) ] || { echo "release: the wheel has $bytes bytes, over 60 MiB" >&2; exit 1; }
say "the wheel ($((bytes >> 10)) KiB) and its command work in an empty environment"
