#!/usr/bin/env bash
# The reference of the public headers, by Doxygen. A warning is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/docs
doxygen docs/Doxyfile
echo "docs: build/docs/html/index.html"
