#!/usr/bin/env bash
# Puts the Python package, its tests and its benchmark into one folder, for a machine with a GPU,
# Python 3.12 or later and the frameworks, but without this project's tools. There:
# build/python-bundle/run.sh
#   usage: scripts/python_bundle.sh [FOLDER]
#   PYTHON=python3.12         the Python that builds: 3.12 or later, for the stable ABI
#   CUDA_ARCHITECTURES=...    what device code is for (default: 90a-real)
#   ENGINE=PROGRAM            the program `cornerturn` with device code, for its rates beside ours
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/python-bundle}
python=${PYTHON:-python3.12}
environment=build/python-bundle-env
wheels=build/python-bundle-wheels

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' ||
  { echo "python_bundle.sh: PYTHON = $python is older than 3.12" >&2; exit 1; }
[ -x "$environment/bin/python" ] || "$python" -m venv "$environment"
"$environment/bin/pip" install --quiet --disable-pip-version-check \
  $("$environment/bin/python" -c 'import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
rm -rf "$wheels"
CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)} \
  "$environment/bin/pip" wheel . --quiet --disable-pip-version-check --no-deps \
  --no-build-isolation --wheel-dir "$wheels" -C build-dir=build/python-bundle-build \
  -C cmake.define.CORNERTURN_CUDA=ON \
  -C "cmake.define.CMAKE_CUDA_ARCHITECTURES=${CUDA_ARCHITECTURES:-90a-real}"

rm -rf "$folder"
mkdir -p "$folder"/{bin,lib,tests,bench,docs}
"$environment/bin/python" -m zipfile -e "$wheels"/cornerturn-*.whl "$folder"
[ -z "${ENGINE:-}" ] || cp "$ENGINE" "$folder/bin/cornerturn"
for program in "$folder"/cornerturn/*.so "$folder"/bin/*; do
  [ -e "$program" ] || continue
  strip "$program"
  # The libraries that such a machine may lack, in this version.
  ldd "$program" | awk '$3 ~ /lib(boost|fmt|hwy|tbb)/ { print $3 }' |
    xargs -r cp -L -t "$folder/lib"
done
"$environment/bin/pip" install --quiet --disable-pip-version-check --target "$folder/site" \
  $(grep -hiE '^(pytest|pluggy|iniconfig|packaging|pygments|hypothesis|sortedcontainers|einops)==' \
    scripts/requirements-{test,frameworks}.txt)
cp -r tests/python "$folder/tests"
cp docs/casts.md "$folder/docs"
cp -r bench/python "$folder/bench"
cp scripts/python_bundle_run.sh "$folder/run.sh"
git describe --always --dirty --abbrev=10 > "$folder/commit"
find "$folder" -name __pycache__ -prune -exec rm -r {} +
du -sh "$folder"
