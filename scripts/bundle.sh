#!/usr/bin/env bash
# Puts what tests and profiles the kernels and measures the library, its peers and the ladder on a GPU
# into one folder, for a machine with a driver but without this project's tools. There:
# build/bundle/run.sh
#   usage: scripts/bundle.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/bundle}
programs=(test_gpu ladder_probe ladder_blocks cornerturn)
scripts/build.sh cuda test_gpu ladder_probe ladder_blocks cornerturn_tool bench_gpu_python

rm -rf "$folder"
mkdir -p "$folder"/{bin,lib,scripts,bench/ladder,bench/gpu,bench/peers/gpu}
for program in "${programs[@]}"; do
  strip -o "$folder/bin/$program" "build/cuda/bin/$program"
  # The libraries that such a machine may lack, in this version.
  ldd "build/cuda/bin/$program" |
    awk '$3 ~ /lib(boost|fmt|hwy|tbb)/ { print $3 }' | xargs -r cp -L -t "$folder/lib"
done
strip -o "$folder/lib/libbench_gpu_python.so" build/cuda/lib/libbench_gpu_python.so
cp bench/{report,gpu_report}.py "$folder/bench"
cp bench/gpu/run.sh "$folder/bench/gpu"
cp bench/peers/gpu/*.py "$folder/bench/peers/gpu"
cp scripts/test_gpu.sh scripts/profile_gpu.sh scripts/measure_ladder.sh "$folder/scripts"
cp bench/ladder/{collect,profile,stalls,triton_warps}.py "$folder/bench/ladder"
mkdir -p "$folder/python/cornerturn/ladder"  # Triton's kernels, which triton_warps.py reads
cp -r python/cornerturn/ladder/triton_rungs "$folder/python/cornerturn/ladder"
cp scripts/bundle_run.sh "$folder/run.sh"
git describe --always --dirty --abbrev=10 > "$folder/commit"
du -sh "$folder"
