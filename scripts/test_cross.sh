#!/usr/bin/env bash
# Builds the library for another processor with Debian's cross compiler and runs its tests in qemu.
# Speed says nothing here.
#   aarch64   Arm: core, values, files, the CPU's kernels on NEON, and .npy files
#   s390x     big-endian: the same, without vectors
# usage: scripts/test_cross.sh aarch64|s390x [TEST...]
# GTEST_FILTER and the like reach the tests.
set -euo pipefail
cd "$(dirname "$0")/.."
processor=${1:-}
case $processor in
  aarch64) architecture=arm64 tests=(core values files cpu kernels io) ;;
  s390x) architecture=s390x tests=(core values files cpu kernels io) ;;
  *)
    echo "usage: scripts/test_cross.sh aarch64|s390x [TEST...]" >&2
    exit 2
    ;;
esac
shift
[ $# -eq 0 ] || tests=("$@")

say() { printf '%s: %s\n' "$processor" "$*"; }
missing=()
command -v "$processor-linux-gnu-g++" > /dev/null || missing+=("g++-$processor-linux-gnu")
command -v "qemu-$processor" > /dev/null || missing+=(qemu-user)
if [ ${#missing[@]} -gt 0 ]; then
  say "missing: apt-get install ${missing[*]}" >&2
  exit 1
fi

# That processor's libraries, without a change to this system's own packages.
packages=(libhwy-dev libhwy1 libtbb-dev libtbb12 libtbbbind-2-5 libtbbmalloc2 libfmt-dev libfmt9
  libgtest-dev libgmock-dev
  nlohmann-json3-dev libcli11-dev libboost1.74-dev libboost-context1.74-dev libboost-context1.74.0)
root=$PWD/build/$processor/root
if [ ! -e "$root/complete" ]; then
  say "fetching ${#packages[@]} packages into ${root#"$PWD/"}"
  rm -rf "$root"
  mkdir -p "$root/apt/lists/partial" "$root/apt/archives/partial"
  touch "$root/apt/status"
  apt=(-qq -o APT::Architecture="$architecture" -o APT::Architectures="$architecture"
    -o Dir::State="$root/apt" -o Dir::State::status="$root/apt/status" -o Dir::Cache="$root/apt"
    -o APT::Sandbox::User=)
  apt-get "${apt[@]}" update
  (cd "$root/apt/archives" && apt-get "${apt[@]}" download "${packages[@]}")
  for package in "$root"/apt/archives/*.deb; do dpkg -x "$package" "$root"; done
  rm -rf "$root/apt"
  touch "$root/complete"
fi

targets=("${tests[@]/#/test_}")
say "building ${targets[*]}"
scripts/build.sh "$processor" "${targets[@]}"
pattern=$(IFS='|'; printf '^(%s)(_[0-9]+)?$' "${targets[*]}")
say "running them in $("qemu-$processor" --version | head -1)"
ctest --test-dir "build/$processor" -R "$pattern" --output-on-failure --timeout 3600
