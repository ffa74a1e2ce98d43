#!/usr/bin/env bash
# Measures every rung of the ladder on the GPU that is here, in one run, and writes the result file from
# which the pages, their tables and the ledger are made: bench/results/ladder/<gpu>.json. Then stacks of
# matrices for the rungs of ggml's copy, and small matrices that stay in a warm L2 cache, in the same file;
# what blocks cost (how many start a second, how many an SM needs, how they are numbered), in
# <gpu>.blocks.json; copies by TMA and through registers over a grid of settings, in <gpu>.copies.json; and
# the rungs from Python beside PyTorch, in <gpu>.python.json, where PyTorch is. The published claims are
# judged by these four files.
# `scripts/kernel_pages.py` and `scripts/guide.py` fill in the pages.
#   usage: scripts/measure_ladder.sh [OUTPUT.json]
#   SHAPES="16384,16384 ..."  DTYPES="f32 ..."   the matrices, and the types of their elements
#   STACKS="64:1024,1024 ..."                    stacks, each also fused; "" for none
#   WARM="1024,1024 ..."                         small matrices, for the warm L2 cache; "" for none
#   BIN=FOLDER                                   uses the programs there instead of building them
#   PYTHON=PROGRAM                               a Python with cornerturn, PyTorch and Triton; "" for none
#   COMMIT=HASH                                  what was built (default: that of the tree)
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
shapes=${SHAPES-16384,16384 16416,16416 32768,32768 4096,4096 1024,1024 10007,9973}
dtypes=${DTYPES-f32 u8 u16 f64}
stacks=${STACKS-8:4096,4096 64:1024,1024 61:1000,1001}
warm=${WARM-1536,1536 2048,2048 2560,2560 3072,3072}
if [ -z "${BIN:-}" ]; then
  scripts/build.sh release cornerturn_tool || exit 1
  scripts/build.sh release ladder_blocks || exit 1
  # It needs CuTe's headers.
  scripts/build.sh release ladder_copies || echo "ladder_copies: not built, and the copies not measured"
  BIN=build/release/bin
fi
commit=${COMMIT:-$(git describe --always --dirty --abbrev=10)}
# NVIDIA H200: h200
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1 | awk '{print tolower($2)}') || exit 1
output=${1:-bench/results/ladder/$gpu.json}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

measure() {  # measure OPTION...: one report, a line of runs.jsonl
  if "$BIN/cornerturn" ladder --gpu --json "$@" > "$folder/one.json"; then
    echo "$*: ok"
  else
    echo "$*: FAILED"
    failed=1
  fi
  tr -d '\n' < "$folder/one.json" >> "$folder/runs.jsonl"
  echo >> "$folder/runs.jsonl"
}

for shape in $shapes; do
  for dtype in $dtypes; do measure --shape "$shape" --dtype "$dtype"; done
done
for stack in $stacks; do
  for dtype in f32 u16 u8; do
    measure --batch "${stack%%:*}" --shape "${stack#*:}" --dtype "$dtype" --rung cpy_flat --rung cpy_transpose
    measure --batch "${stack%%:*}" --shape "${stack#*:}" --dtype "$dtype" --rung cpy_flat --rung cpy_transpose --fused
  done
done
for shape in $warm; do
  measure --shape "$shape" --rung copy --rung naive_read --rung smem_pad --rung smem_chunk_xor
done
python3 bench/ladder/collect.py "$folder/runs.jsonl" "$output" --commit "$commit" || failed=1
python=${PYTHON-.venv/bin/python}
if [ -x "$BIN/ladder_blocks" ]; then
  "$BIN/ladder_blocks" > "$folder/blocks.jsonl" || failed=1
  if [ -n "$python" ] && "$python" -c 'import triton, torch; assert torch.cuda.is_available()' 2> /dev/null; then
    "$python" bench/ladder/triton_warps.py >> "$folder/blocks.jsonl" || failed=1
  fi
  python3 bench/ladder/collect.py "$folder/blocks.jsonl" "${output%.json}.blocks.json" --commit "$commit" || failed=1
fi
if [ -x "$BIN/ladder_copies" ]; then
  for shape in 2048 4096 16384 32768; do
    "$BIN/ladder_copies" "$shape" "$shape" | tr -d '\n' && echo
  done > "$folder/copies.jsonl" || failed=1
  python3 bench/ladder/collect.py "$folder/copies.jsonl" "${output%.json}.copies.json" --commit "$commit" || failed=1
fi
if [ -n "$python" ] && "$python" -c 'import cornerturn, triton, torch; assert torch.cuda.is_available()' 2> /dev/null; then
  "$python" -m cornerturn.ladder --budget 300 --commit "$commit" --json "${output%.json}.python.json" || failed=1
else
  echo "not measured from Python: '$python' has no cornerturn, Triton and PyTorch with a GPU"
fi
exit $failed
