#!/usr/bin/env bash
# Checks what a task needs, installs what is missing, and says in one line each what it is about to do, how much
# that is, and how long it took.
# usage: scripts/setup.sh build|run|test|full|page|bench|docs|format|fuzz|release|packages
# System packages come from apt-get (as root or through sudo), Python packages go to ./.venv.
set -euo pipefail
cd "$(dirname "$0")/.."
task=${1:-build}

say() { printf 'set-up: %s\n' "$*"; }
die() { printf 'set-up: %s\n' "$*" >&2; exit 1; }
took() { say "  done in $((SECONDS - $1)) s"; }
packages_of() { echo "$(grep -c == "$1") packages of $1"; }

# What provides it: a command on the PATH (command:NAME) or a file below a prefix (file:GLOB).
compiler="g++=command:g++"
library="cmake=command:cmake ninja-build=command:ninja ccache=command:ccache
  pkg-config=command:pkg-config
  libhwy-dev=file:include/hwy/highway.h libtbb-dev=file:include/oneapi/tbb.h
  libtomlplusplus-dev=file:include/toml++/toml.h
  libcli11-dev=file:include/CLI/CLI.hpp libfmt-dev=file:include/fmt/format.h
  nlohmann-json3-dev=file:include/nlohmann/json.hpp
  libboost-context-dev=file:include/boost/context/fiber.hpp libgtest-dev=file:include/gtest/gtest.h"
python="python3=command:python3 python3-venv=module:ensurepip"
headers="python3-dev=file:include/python3*/Python.h"
clang="clang=command:clang++ libclang-rt-14-dev=file:lib/llvm-14/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a"
format="clang-format=command:clang-format"
doxygen="doxygen=command:doxygen"
emscripten="emscripten=command:em++"
debian="dpkg-dev=command:dpkg-buildpackage debhelper=command:dh lintian=command:lintian"
case $task in
  build) needs="$compiler $library" venv=no ;;
  run) needs="$compiler $library $python" venv=yes ;;
  test) needs="$compiler $library $python $headers" venv=yes ;;
  full) needs="$compiler $library $python $headers $clang $format clang-tidy=command:clang-tidy $doxygen $emscripten chromium=command:chromium" venv=yes ;;
  page) needs="$compiler $library $emscripten" venv=no ;;
  bench) needs="$compiler $library $python" venv=yes ;;
  docs) needs="$compiler $library $python $doxygen" venv=yes ;;
  format) needs="$format" venv=no ;;
  fuzz) needs="$compiler $library $clang" venv=no ;;
  release) needs="$compiler $library $python $headers" venv=yes ;;
  packages) needs="$compiler $library $python $debian" venv=no ;;
  *) die "unknown task '$task': build, run, test, full, page, bench, docs, format, fuzz, release or packages" ;;
esac

python_for_venv() { if [ -x /usr/bin/python3 ]; then echo /usr/bin/python3; else echo python3; fi; }

here() {  # is the provider $1 on this machine?
  case $1 in
    command:*) command -v "${1#command:}" > /dev/null ;;
    file:*) compgen -G "/usr/${1#file:}" > /dev/null || compgen -G "/usr/local/${1#file:}" > /dev/null ;;
    module:*) "$(python_for_venv)" -c "import ${1#module:}" 2> /dev/null ;;
  esac
}

missing=()
count=0
for need in $needs; do
  count=$((count + 1))
  here "${need#*=}" || missing+=("${need%%=*}")
done

if [ ${#missing[@]} -gt 0 ]; then
  command -v apt-get > /dev/null ||
    die "missing: ${missing[*]}, and there is no apt-get here; install them (Debian's names) and try again"
  if [ "$(id -u)" = 0 ]; then
    as_root=()
  elif command -v sudo > /dev/null; then
    as_root=(sudo)
  else
    die "missing: ${missing[*]}; run 'apt-get install ${missing[*]}' as root and try again (no sudo here)"
  fi
  mkdir -p build
  log=build/setup.log
  began=$SECONDS
  apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" >> "$log" 2>&1; }
  say "missing: ${missing[*]}; asking apt-get what they need (log: $log)"
  apt update || say "apt-get update failed; trying with the lists that are here"
  amount=$(apt-get -qq -y --print-uris --no-install-recommends install "${missing[@]}" 2>> "$log" |
    awk '{ size += $3 } END { printf "%d packages, %.0f MB to download", NR, size / 1e6 }') || amount="an unknown amount"
  say "installing ${missing[*]} with apt-get: $amount"
  apt install --no-install-recommends "${missing[@]}" ||
    { tail -n 5 "$log" >&2; die "apt-get could not install ${missing[*]}"; }
  took $began
  for need in $needs; do
    here "${need#*=}" || die "${need%%=*} is installed, but ${need#*=} is still not found"
  done
fi

at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }
case $needs in *g++=*)
  gcc=$(g++ -dumpfullversion)
  at_least "$gcc" 12 || die "g++ is $gcc; C++20 as used here needs 12 or newer" ;;
esac
case $needs in *cmake=*)
  cmake=$(cmake --version | sed -n '1s/[^0-9]*//p')
  at_least "$cmake" 3.25 || die "cmake is $cmake; the presets need 3.25 or newer" ;;
esac

wanted=scripts/requirements-test.txt
if [ $venv = yes ] && ! { cmp -s $wanted .venv/requirements.txt && .venv/bin/python -c ""; }; then
  say "creating .venv with $(packages_of $wanted), about 50 MB to download"
  mkdir -p build
  began=$SECONDS
  if ! { "$(python_for_venv)" -m venv --clear .venv &&
         .venv/bin/python -m pip install -q --disable-pip-version-check -r $wanted; } \
         > build/setup-venv.log 2>&1; then
    tail -n 5 build/setup-venv.log >&2
    die "could not create .venv (log: build/setup-venv.log)"
  fi
  cp $wanted .venv/requirements.txt
  took $began
fi

add_packages() {  # add_packages NAME [REMARK]: those of scripts/requirements-NAME.txt
  local wanted=scripts/requirements-$1.txt log=build/setup-$1.log began=$SECONDS
  ! cmp -s "$wanted" ".venv/$1.txt" || return 0
  say "adding $(packages_of "$wanted") to .venv${2:-}"
  mkdir -p build
  if ! .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps -r "$wanted" \
         > "$log" 2>&1; then
    tail -n 5 "$log" >&2
    die "could not install $wanted (log: $log)"
  fi
  cp "$wanted" ".venv/$1.txt"
  took "$began"
}
case $task in test | full) add_packages chunks ;; esac
[ $task != full ] || add_packages frameworks ": about 5 GB"
[ $task != release ] || add_packages release
case $task in full | docs) add_packages docs ;; esac

if [ ${#missing[@]} -eq 0 ]; then
  say "all $count packages for '$task' are here"
fi
device=none
case $task in build | run | test | full | page | bench)
  device=$(scripts/device.sh) || die "device code: $device"
  say "device code: $device" ;;
esac

# CuTe's headers, for its rungs, and pycute, for the tests of the maps. Without the package's
# dependencies: they are large, and neither needs them.
cutlass=$(cat scripts/requirements-cutlass.txt)
if { [ $task = full ] || [[ $device == build:* ]]; } &&
   ! compgen -G ".venv/lib/python*/site-packages/nvidia_cutlass-${cutlass#*==}.dist-info" > /dev/null; then
  if [ $venv = no ]; then
    say "no $cutlass in .venv: the cute_* rungs of the ladder are left out (make run adds it)"
  else
    say "adding $cutlass to .venv"
    mkdir -p build
    if ! .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps "$cutlass" \
         > build/setup-cutlass.log 2>&1; then
      tail -n 5 build/setup-cutlass.log >&2
      if [ $task = full ]; then die "could not install $cutlass (log: build/setup-cutlass.log)"; fi
      say "the cute_* rungs of the ladder are left out"
    fi
  fi
fi
