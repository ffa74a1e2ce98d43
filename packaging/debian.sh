#!/usr/bin/env bash
# Makes packages for Debian of the commit that is checked out, in build/packages/debian: the library, what
# programs are built with, and the command. lintian then reads them, and they are installed and used in a copy
# of this system, whose changes stay in memory.
# usage: packaging/debian.sh
#   DEBFULLNAME, DEBEMAIL   who makes the packages
#   AS_HERE=1               compiled as the other builds here, not with Debian's flags: the compiler cache has most of it
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf 'debian: %s\n' "$*"; }
part() { sed -n "s/^#define CORNERTURN_VERSION_$1 //p" include/cornerturn/version.hpp; }
major=$(part MAJOR)
version=$major.$(part MINOR).$(part PATCH)
name=cornerturn-$version
work=$PWD/build/packages/debian
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$work} CCACHE_NOHASHDIR=1
# debhelper gives the build a HOME of its own.
! command -v ccache > /dev/null || export CCACHE_DIR=${CCACHE_DIR:-$(ccache --get-config cache_dir)}
quietly() {  # quietly LOG COMMAND...
  local log=$work/$1.log began=$SECONDS
  shift
  "$@" > "$log" 2>&1 || { tail -n 40 "$log" >&2; echo "debian: $1 failed (log: $log)" >&2; exit 1; }
  say "  done in $((SECONDS - began)) s"
}

rm -rf "$work"
mkdir -p "$work"
[ -z "$(git status --porcelain)" ] || say "what is not committed is left out"
git archive --format=tar.gz --prefix="$name/" -o "$work/cornerturn_$version.orig.tar.gz" HEAD
tar -xzf "$work/cornerturn_$version.orig.tar.gz" -C "$work"
mv "$work/$name/packaging/debian" "$work/$name/debian"
tar -xzf "$work/cornerturn_$version.orig.tar.gz" -C "$work" "$name/packaging/debian"

# What follows from the version, from the commit, and from who makes the packages.
maintainer="${DEBFULLNAME:-Cornerturn developers} <${DEBEMAIL:-cornerturn@packages.invalid}>"
seconds=$(git log -1 --format=%ct)
(
  cd "$work/$name/debian"
  mv libcornerturn.install "libcornerturn$major.install"
  sed -i -e "s/@SOVERSION@/$major/" -e "s/@MAINTAINER@/$maintainer/" -e "s/@YEAR@/$(date -u -d "@$seconds" +%Y)/" \
    control copyright
  printf 'cornerturn (%s-1) unstable; urgency=medium\n\n  * Version %s, as CHANGELOG.md of the sources says.\n\n -- %s  %s\n' \
    "$version" "$version" "$maintainer" "$(LC_ALL=C date -u -R -d "@$seconds")" > changelog
)

# Without the packages of debug symbols, for which others build: it takes less time.
export DEB_CFLAGS_STRIP=-g DEB_CXXFLAGS_STRIP=-g
if [ "${AS_HERE:-}" = 1 ]; then
  export DEB_CFLAGS_SET="" DEB_CXXFLAGS_SET="" DEB_CPPFLAGS_SET="" DEB_LDFLAGS_SET="" CORNERTURN_WERROR=ON
  # debhelper gives the compiler another language, which the cache counts as another message.
  export CMAKE_C_COMPILER_LAUNCHER="env;-u;LC_ALL;ccache" CMAKE_CXX_COMPILER_LAUNCHER="env;-u;LC_ALL;ccache"
fi
say "building (log: $work/build.log)"
cd "$work/$name"
DEB_BUILD_OPTIONS="noautodbgsym parallel=${JOBS:-$(nproc)} ${DEB_BUILD_OPTIONS:-}" quietly build dpkg-buildpackage -us -uc
cd "$work"
say "lintian (log: $work/lintian.log)"
quietly lintian lintian --allow-root --fail-on error --display-info "cornerturn_$version-1_$(dpkg --print-architecture).changes"

say "installing and using them in a copy of this system (log: $work/use.log)"
use_packages() {
  local user=()
  [ "$(id -u)" = 0 ] || user=(--map-root-user)
  mkdir "$work/system"
  unshare "${user[@]}" --mount bash -euxo pipefail -c '
    mount -t tmpfs none system
    mkdir system/changes system/work system/root
    mount -t overlay overlay -o lowerdir=/,upperdir=system/changes,workdir=system/work system/root
    mount --rbind /dev system/root/dev
    mount --rbind /proc system/root/proc
    mkdir system/root/packages
    cp *.deb system/root/packages/
    cp -r "$1/examples" "$1/debian" system/root/packages/
    mount -t tmpfs none "system/root$PWD" # the command finds nothing in the sources that it was built of
    chroot system/root sh -c "dpkg -i /packages/*.deb && cd /packages && debian/tests/use-packages"
  ' bash "$name"
}
quietly use use_packages
grep '^use-packages: ' "$work/use.log"
for package in "$work"/*.deb; do
  say "$package: $(($(stat -c %s "$package") >> 10)) KiB, $(dpkg-deb -f "$package" Installed-Size) KiB installed"
done
