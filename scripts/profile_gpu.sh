#!/usr/bin/env bash
# Compares predicted and profiled sectors and wavefronts of every rung and leg on the GPU that is
# here. A difference is a failure. What the rungs' warps wait for goes into a second file, whose name
# ends in -stalls.json instead of -profile.json.
#   usage: scripts/profile_gpu.sh [OUTPUT-profile.json]
#   BIN=FOLDER   uses the ladder_probe there instead of building it
set -euo pipefail
cd "$(dirname "$0")/.."
output=${1:-build/reports/ladder-profile.json}
mkdir -p "$(dirname "$output")"

if ! command -v ncu > /dev/null; then
  PATH=$PATH:/usr/local/cuda/bin:$(compgen -G '/opt/nvidia/nsight-compute/*' | tail -n 1 || true)
fi
if ! command -v ncu > /dev/null; then
  echo "profile-gpu: no ncu (Nsight Compute) here, nothing was profiled"
  exit 1
fi
if [ -z "${BIN:-}" ]; then
  BIN=build/cuda/bin
  scripts/build.sh cuda ladder_probe
fi
commit=${COMMIT:-$(git describe --always --dirty --abbrev=10)}
python3 bench/ladder/profile.py "$BIN/ladder_probe" "$output" --commit "$commit"
python3 bench/ladder/stalls.py "$BIN/ladder_probe" "${output%-profile.json}-stalls.json" --commit "$commit"
