"""`cornerturn check --arg FILE.npy --save FOLDER`: what kernels take from files, and what they leave in files."""

import json
import os
import subprocess

import numpy as np
import pytest

from command_line import PROGRAM, command, refused

pytestmark = pytest.mark.skipif(
    not (PROGRAM.parent.parent / "lib" / "libcornerturn_cuda_source.a").exists(),
    reason="a build with sanitizers has no library for CUDA sources",
)
KERNELS = """#include <cuda_fp16.h>
template <class T> __global__ void transpose(const T* in, T* out, int rows, int cols) {
  const int x = blockIdx.x * 32 + threadIdx.x;
  for (int i = threadIdx.y; i < 32; i += blockDim.y) {
    const int y = blockIdx.y * 32 + i;
    if (x < cols && y < rows) out[x * rows + y] = in[y * cols + x];
  }
}
__global__ void scale(float* a, float by) { a[threadIdx.x] *= by; }
__global__ void quarters(float4* a) { a[threadIdx.x] = make_float4(1, 2, 3, 4); }
__global__ void misaligned(float* a) { *reinterpret_cast<float4*>(a + 1) = make_float4(1, 2, 3, 4); }
"""
FUNCTIONS = """#include <torch/extension.h>
__global__ void twice(const float* a, float* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = 2 * a[i];
}
std::tuple<torch::Tensor, int64_t, torch::Tensor> forward(torch::Tensor a) {
  auto b = torch::empty_like(a);
  const int n = a.numel();
  twice<<<(n + 127) / 128, 128>>>(a.data_ptr<float>(), b.data_ptr<float>(), n);
  return {b.t(), n, torch::Tensor()};
}
void in_place(torch::Tensor a) { twice<<<1, 32>>>(a.data_ptr<float>(), a.data_ptr<float>(), 32); }
torch::Tensor same(torch::Tensor a) { return a; }
"""
SHAPE = ["--grid", "1,2", "--block", "32,8"]
X = np.arange(64 * 20, dtype=np.float32).reshape(64, 20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrays")
    (folder / "k.cu").write_text(KERNELS)
    (folder / "f.cu").write_text(FUNCTIONS)
    np.save(folder / "x.npy", X)
    np.save(folder / "bits.npy", X.view(np.uint32))
    np.save(folder / "swapped.npy", X.astype(">f4"))
    np.save(folder / "columns.npy", np.asfortranarray(X))
    np.save(folder / "number.npy", np.float32(3))
    np.save(folder / "text.npy", np.array(["ab"]))
    return folder


def report_of(folder, *words, code=0):
    result = command("check", *words, "--json", cwd=folder)
    assert result.returncode == code, result.stderr
    return json.loads(result.stdout)["files"][0]


@pytest.mark.parametrize(("kernel", "argument", "out"), [
    ("transpose<float>", "x.npy", "f32"),
    ("transpose<float>", "in:f32[64,20]=bits.npy", "f32"),
    ("transpose<__nv_fp8_e4m3>", "f8_e4m3[64,20]=bytes.npy", "f8_e4m3"),
])  # fmt: skip
def test_arrays_come_from_files_and_go_to_files(folder, tmp_path, kernel, argument, out):
    rng = np.random.default_rng(0)
    np.save(folder / "bytes.npy", rng.integers(0, 255, (64, 20), np.uint8))
    save = tmp_path / "saved"
    report = report_of(folder, "k.cu", "--kernel", kernel, *SHAPE, "--arg", argument, "--arg", f"out:{out}[20,64]", "--arg", "64", "--arg", "20", "--save", save)
    assert report["saved"] == [
        {"name": "arg0", "type": out, "shape": [64, 20], "file": str(save / "arg0.npy")},
        {"name": "arg1", "type": out, "shape": [20, 64], "file": str(save / "arg1.npy")},
    ]
    given = np.load(folder / argument.rpartition("=")[2].rpartition(":")[2])
    kept, transposed = (np.load(save / f"arg{i}.npy") for i in (0, 1))
    assert kept.tobytes() == given.tobytes() and transposed.shape == (20, 64)
    assert transposed.tobytes() == given.T.tobytes()
    assert transposed.dtype.str == ("<f4" if out == "f32" else "|V1")


def test_arrays_go_to_files_where_a_finding_leaves_them(folder, tmp_path):
    """An array may have another type than the kernel says; and numbers may be infinite."""
    report_of(folder, "k.cu", "--kernel", "quarters", "--grid", "1", "--block", "9", "--arg", "f32[32]=7", "--save", tmp_path / "a", code=1)
    assert np.load(tmp_path / "a" / "arg0.npy").tolist() == [1, 2, 3, 4] * 8
    report_of(folder, "k.cu", "--kernel", "scale", "--grid", "1", "--block", "3", "--arg", "f32[4]=2", "--arg=-inf", "--save", tmp_path / "b")
    assert np.load(tmp_path / "b" / "arg0.npy").tolist() == [-np.inf] * 3 + [2]


def test_nothing_is_saved_of_a_launch_that_failed(folder, tmp_path):
    report = report_of(folder, "k.cu", "--kernel", "misaligned", "--grid", "1", "--block", "1", "--arg", "f32[8]", "--save", tmp_path / "a", code=1)
    assert report["saved"] == [] and report["failed"] and not (tmp_path / "a").exists()


def test_what_a_function_returns_goes_to_files(folder, tmp_path):
    report = report_of(folder, "f.cu", "--call", "forward", "--arg", "x.npy", "--save", tmp_path / "a")
    assert [(one["name"], one["type"], one["shape"]) for one in report["saved"]] == [
        ("arg0", "f32", [64, 20]), ("result0", "f32", [20, 64]), ("result1", "i64", []), ("result2", "none", []),
    ]  # fmt: skip
    assert np.array_equal(np.load(tmp_path / "a" / "result0.npy"), 2 * X.T)
    assert np.load(tmp_path / "a" / "result1.npy").item() == X.size
    assert not (tmp_path / "a" / "result2.npy").exists()
    report = report_of(folder, "f.cu", "--call", "in_place", "--arg", "f32[32]=1", "--save", tmp_path / "b")
    assert [one["name"] for one in report["saved"]] == ["arg0", "result"] and report["saved"][1]["type"] == "none"
    assert np.load(tmp_path / "b" / "arg0.npy").tolist() == [2] * 32
    report_of(folder, "f.cu", "--call", "same", "--arg", "x.npy", "--save", tmp_path / "c")
    assert np.array_equal(np.load(tmp_path / "c" / "result.npy"), X)


def test_an_array_may_come_from_a_pipe(folder, tmp_path):
    os.mkfifo(tmp_path / "x.npy")
    with subprocess.Popen(["cp", folder / "x.npy", "/dev/stdout"], stdout=os.open(tmp_path / "x.npy", os.O_RDWR)):
        report_of(folder, "f.cu", "--call", "same", "--arg", tmp_path / "x.npy", "--save", tmp_path / "a")
    assert np.array_equal(np.load(tmp_path / "a" / "result.npy"), X)


BAD = {
    "swapped.npy": "its elements, '>f4', have to be in this machine's order of bytes",
    "columns.npy": "its first axis is the fastest (Fortran's order)",
    "number.npy": "the extents of an array are numbers from 1 on",
    "text.npy": "name their type",
    "out:x.npy": "an output is an array that nobody has written",
    "f32[3]=x.npy": "its shape is (64, 20), not (3,)",
    "f16[64,20]=x.npy": "its elements are '<f4', not f16",
    "i32[64,20]=x.npy": "its elements are '<f4', not i32",
    "none.npy": "--arg = 'none.npy' cannot be opened",
    "k.cu": "neither a number nor an array such as",
    "f32[4]=nothing": "'nothing' is no number",
}


@pytest.mark.parametrize("argument", BAD)
def test_bad_files(folder, argument):
    refused("check", "k.cu", "--kernel", "scale", "--grid", "1", "--block", "1", "--arg", argument, "--arg", "2", cwd=folder, part=BAD[argument])


def test_where_nothing_can_be_saved(folder, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    launch = ["k.cu", "--kernel", "scale", "--grid", "1", "--block", "1", "--arg", "x.npy", "--arg", "2"]
    for save in (tmp_path / "full", tmp_path / "full" / "mine"):
        refused("check", *launch, "--save", save, cwd=folder, part="is there, and is no empty folder")
    assert (tmp_path / "full" / "mine").read_text() == "mine"
    refused("check", "f.cu", "--save", tmp_path / "a", cwd=folder, part="--save is for --kernel and --call")
    refused("check", *launch, "f.cu", "--save", tmp_path / "a", cwd=folder, part="--save is for one FILE")


def test_the_json_says_what_was_refused_and_what_was_said(folder, tmp_path):
    (tmp_path / "bad.cu").write_text("__global__ void k() { undeclared = 1; }\nint main() { k<<<1, 1>>>(); }\n")
    (tmp_path / "said.cu").write_text('#include <cstdio>\n__global__ void k() {}\nint main() { std::puts("a\\xff"); std::fputs("b", stderr); }\n')
    result = command("check", "bad.cu", "said.cu", "--json", cwd=tmp_path)
    report = json.loads(result.stdout)
    (bad,) = report["refused"]
    assert result.returncode == 2 and bad["file"] == "bad.cu" and "bad.cu:1: " in bad["message"] and not bad["unsupported"]
    (said,) = report["files"]
    assert said["output"] == "a\ufffd\n" and said["errors"] == "b" and said["text"].endswith("said.cu: nothing is wrong; no kernel has run\n")
    result = command("check", "said.cu", "--json", cwd=tmp_path, env={"PATH": "/nowhere"})
    assert result.returncode == 2 and json.loads(result.stdout)["refused"][0]["unsupported"]
