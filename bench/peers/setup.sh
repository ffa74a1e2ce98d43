#!/bin/bash
# Installs peers of the benchmark. None is needed: what is missing is skipped.
#
# usage: bench/peers/setup.sh [numpy] [torch] [mkl] [eigen] [onednn]     (default: all)
# numpy, torch and MKL go into a Python environment in .cache/peers (or $CORNERTURN_PEERS_ENV), with
# the versions of requirements.txt; torch's wheel brings about 6 GB with it. Eigen and oneDNN come
# from the system's packages, as root or through sudo.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
env=${CORNERTURN_PEERS_ENV:-$(cd "$here/../.." && pwd)/.cache/peers}
(($#)) || set -- numpy torch mkl eigen onednn

install_wheel() {
  read -ra packages < <(grep "^$1==" "$here/requirements.txt")
  if [[ ! -x $env/bin/python ]]; then
    echo "peers: new Python environment in $env"
    python3 -m venv "$env"
  fi
  echo "peers: ${packages[*]} from PyPI"
  "$env/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}"
}

install_package() {
  if dpkg -s "$1" >/dev/null 2>&1; then return; fi
  echo "peers: $1 from the system's packages"
  local sudo=()
  ((EUID == 0)) || sudo=(sudo)
  "${sudo[@]}" apt-get install -y -qq --no-install-recommends "$1" >/dev/null
}

failed=0
for peer in "$@"; do
  case $peer in
    numpy | torch | mkl) install_wheel "$peer" ;;
    eigen) install_package libeigen3-dev ;;
    onednn) install_package libdnnl-dev ;;
    *) echo "bench/peers/setup.sh: $peer is none of numpy, torch, mkl, eigen, onednn" >&2; exit 2 ;;
  esac || { echo "peers: $peer could not be installed; it will be skipped" >&2; failed=1; }
done
exit $failed
