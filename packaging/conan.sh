#!/usr/bin/env bash
# Makes the packages of Conan, with the shared library and with the static one, of the tree as it is, and
# builds and runs their test package with each. Conan and all its files are in build/packages.
# usage: packaging/conan.sh [OPTION OF `conan create`...]
set -euo pipefail
cd "$(dirname "$0")/.."
work=$PWD/build/packages
say() { printf 'conan: %s\n' "$*"; }
export CONAN_HOME=$work/conan CCACHE_BASEDIR=${CCACHE_BASEDIR:-$work/conan} CCACHE_NOHASHDIR=1
conan=$work/conan-env/bin/conan

mkdir -p "$work"
wanted=scripts/requirements-packages.txt
if ! cmp -s $wanted "$work/conan-env/requirements.txt"; then
  say "adding $(grep '^conan==' $wanted) to $work/conan-env"
  { python3 -m venv --clear "$work/conan-env" &&
    "$work/conan-env/bin/pip" install -q --disable-pip-version-check --no-deps -r $wanted; } > "$work/conan-env.log" 2>&1 ||
    { tail -n 5 "$work/conan-env.log" >&2; say "could not install $wanted (log: $work/conan-env.log)" >&2; exit 1; }
  cp $wanted "$work/conan-env/requirements.txt"
fi
# Compiled as the other builds here, so that the compiler cache has most of it: warnings are errors, and the
# toolchain's -m64 is left out, which says what the compiler does anyhow.
blocks='["fpic", "libcxx", "cppstd", "parallel", "extra_flags", "cmake_flags_init", "extra_variables", "variables"]'
as_here=(-c "cornerturn/*:tools.cmake.cmaketoolchain:enabled_blocks=$blocks"
  -c tools.cmake.cmaketoolchain:generator=Ninja
  -c 'cornerturn/*:tools.cmake.cmaketoolchain:extra_variables={"CORNERTURN_WERROR": {"value": "ON", "cache": True, "type": "BOOL", "force": True}}')
# Nothing is written into the tree.
elsewhere=(-c "tools.cmake.cmake_layout:test_folder=$work/conan-test" -c "tools.cmake.cmaketoolchain:user_presets=")
rm -rf "$CONAN_HOME" "$work/conan-test"
"$conan" profile detect > "$work/conan-profile.log" 2>&1
for shared in True False; do
  began=$SECONDS log=$work/conan-shared-$shared.log
  say "conan create packaging/conan -o '&:shared=$shared' (log: $log)"
  "$conan" create packaging/conan -s compiler.cppstd=20 -c tools.build:jobs="${JOBS:-$(nproc)}" -o "&:shared=$shared" "${as_here[@]}" "${elsewhere[@]}" "$@" > "$log" 2>&1 ||
    { tail -n 40 "$log" >&2; say "conan create failed (log: $log)" >&2; exit 1; }
  grep -E '^Cornerturn .* (wrong|says)' "$log"
  say "  done in $((SECONDS - began)) s"
done
