#!/usr/bin/env bash
# Builds the library for Arm (aarch64) with Debian's cross compiler and runs its tests in qemu: core,
# values, files, the CPU's kernels on NEON, and .npy files. Speed says nothing here.
# usage: scripts/test_arm.sh [TEST...]   default: core values files cpu kernels io
# GTEST_FILTER and the like reach the tests.
set -euo pipefail
cd "$(dirname "$0")/.."
tests=("$@")
[ $# -gt 0 ] || tests=(core values files cpu kernels io)

say() { printf 'arm: %s\n' "$*"; }
missing=()
command -v aarch64-linux-gnu-g++ > /dev/null || missing+=(g++-aarch64-linux-gnu)
command -v qemu-aarch64 > /dev/null || missing+=(qemu-user)
if [ ${#missing[@]} -gt 0 ]; then
  say "missing: apt-get install ${missing[*]}" >&2
  exit 1
fi

# Arm's libraries, without a change to this system's own packages.
packages=(libhwy-dev libhwy1 libtbb-dev libtbb12 libtbbbind-2-5 libtbbmalloc2 libfmt-dev libfmt9
  libgtest-dev libgmock-dev
  nlohmann-json3-dev libcli11-dev libboost1.74-dev libboost-context1.74-dev libboost-context1.74.0)
root=$PWD/build/aarch64/root
if [ ! -e "$root/complete" ]; then
  say "fetching ${#packages[@]} packages for arm64 into ${root#"$PWD/"}"
  rm -rf "$root"
  mkdir -p "$root/apt/lists/partial" "$root/apt/archives/partial"
  touch "$root/apt/status"
  apt=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$root/apt"
    -o Dir::State::status="$root/apt/status" -o Dir::Cache="$root/apt" -o APT::Sandbox::User=)
  apt-get "${apt[@]}" update
  (cd "$root/apt/archives" && apt-get "${apt[@]}" download "${packages[@]}")
  for package in "$root"/apt/archives/*.deb; do dpkg -x "$package" "$root"; done
  rm -rf "$root/apt"
  touch "$root/complete"
fi

targets=("${tests[@]/#/test_}")
say "building ${targets[*]}"
scripts/build.sh aarch64 "${targets[@]}"
pattern=$(IFS='|'; printf '^(%s)(_[0-9]+)?$' "${targets[*]}")
say "running them in $(qemu-aarch64 --version | head -1)"
ctest --test-dir build/aarch64 -R "$pattern" --output-on-failure --timeout 3600
