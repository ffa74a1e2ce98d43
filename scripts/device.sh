#!/usr/bin/env bash
# Is device code built here? Prints "build" or "skip", and why.
# CUDA=1 asks for it, CUDA=0 forbids it; otherwise it is built where there is a GPU.
nvcc=$(command -v nvcc || { [ -x /usr/local/cuda/bin/nvcc ] && echo /usr/local/cuda/bin/nvcc; })
gpu=no
if [ -e /dev/nvidia0 ] || command -v nvidia-smi > /dev/null; then gpu=yes; fi
if [ "${CUDA:-}" = 0 ]; then
  echo "skip: CUDA=0"
elif [ "${CUDA:-}" = 1 ] && [ -z "$nvcc" ]; then
  echo "skip: CUDA=1, but nvcc is neither on the PATH nor in /usr/local/cuda/bin"
  exit 1
elif [ "${CUDA:-}" = 1 ]; then
  echo "build: CUDA=1"
elif [ $gpu = no ]; then
  echo "skip: no GPU here (CUDA=1 builds it nevertheless)"
elif [ -z "$nvcc" ]; then
  echo "skip: a GPU is here, but no nvcc"
else
  echo "build: a GPU is here"
fi
