#!/usr/bin/env bash
# Fails when `make format` would change a file, and names it.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z '*.cpp' '*.hpp' '*.c' '*.h' | xargs -0 clang-format --dry-run --Werror
