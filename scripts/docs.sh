#!/usr/bin/env bash
# The site of the documentation, by MkDocs, with the reference of the public headers, by Doxygen. A
# warning is an error. The reference of the Python package is written anew from its docstrings first, and
# the guide from what the command line says. The swizzle lab's page is part of it where emscripten is.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/docs
python3 scripts/python_reference.py
# What is configured stays so, with or without device code.
build=(scripts/build.sh release cornerturn_tool)
if [ -f build/release/build.ninja ]; then
  build=(cmake --build --preset release -j "${JOBS:-$(nproc)}" --target cornerturn_tool)
fi
"${build[@]}" > build/docs/build.log 2>&1 || { tail -n 40 build/docs/build.log >&2; exit 1; }
python3 scripts/guide.py
rm -rf build/docs/cpp
doxygen docs/Doxyfile
# Not --quiet, which hides warnings from --strict as well.
NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict > build/docs/site.log 2>&1 ||
  { grep -v '^INFO' build/docs/site.log >&2; exit 1; }
[ -f build/docs/html/page/lab.html ] ||
  echo "docs: without the page of the swizzle lab, for there is no emscripten here (\`make page\` installs it)"
echo "docs: build/docs/html/index.html"
