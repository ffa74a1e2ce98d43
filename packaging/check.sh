#!/usr/bin/env bash
# Makes the packages for Conan and for Debian, and tests them: `make packages`.
set -euo pipefail
cd "$(dirname "$0")"
./conan.sh
./debian.sh
