"""`cornerturn check FILE.cu`: planted faults are found where they are, and sound kernels are left alone.

A file is compiled and run once for many kernels: each of them is a case of its own."""

import json
import os
import re

import pytest

from command_line import PROGRAM, ROOT, command, done, refused

pytestmark = pytest.mark.skipif(
    not (PROGRAM.parent.parent / "lib" / "libcornerturn_cuda_source.a").exists(),
    reason="a build with sanitizers has no library for CUDA sources",
)
HEAD = "#include <cuda_runtime.h>\n#include <cstdio>\n#include <cstdlib>\n#include <vector>\n"


class Kernel:
    """A kernel of n floats `a` and `b` in device memory, and what is to be found in it: the kind, the memory or
    a part of the message, and the marks of the lines, `//1` and `//2`."""

    def __init__(self, body, found=None, marks=(1,), grid=1, block=64, severity="error"):
        self.body, self.found, self.marks, self.grid, self.block, self.severity = body, found, marks, grid, block, severity


FAULTS = {
    "race_on_reversed": Kernel("__shared__ float s[64];\n s[t] = t; //1\n a[t] = s[63 - t]; //2", "race", (1, 2)),
    "race_on_a_sum": Kernel("__shared__ float s[64];\n s[t] = t;\n for (int d = 32; d > 0; d /= 2) {\n if (t < d)\n s[t] += s[t + d]; //1\n }\n a[t] = 1;", "race"),
    "race_of_two_loops": Kernel("__shared__ float s[64];\n for (int i = 0; i < 2; ++i) {\n s[t] = i + t; //1\n __syncthreads();\n a[t] = s[63 - t]; //2\n }", "race", (1, 2)),
    "race_on_one_element": Kernel("__shared__ float s;\n if (t == 0) s = 1; //1\n a[t] = s; //2", "race", (1, 2)),
    "race_by_a_wrong_barrier": Kernel("__shared__ float s[64];\n s[t] = t; //1\n __syncwarp();\n a[t] = s[t ^ 32]; //2", "race", (1, 2)),
    "race_on_a_counter": Kernel("a[0] = a[0] + 1; //1", "race"),
    "race_of_stores": Kernel("__shared__ int s;\n s = t; //1\n __syncthreads();\n a[t] = s;", "race"),
    "race_of_equal_stores": Kernel("__shared__ int s;\n s = 7; //1\n __syncthreads();\n a[t] = s;", "race", severity="warning"),
    "race_of_neighbours": Kernel("a[t] = b[t]; //1\n b[t] = a[(t + 33) % 64]; //2", "race", (1, 2)),
    "race_of_blocks": Kernel("a[blockIdx.x * 64 + t] = 1; //1\n if (blockIdx.x > 0)\n b[blockIdx.x * 64 + t] = a[t]; //2", "race", (1, 2), grid=3),
    "race_of_blocks_on_a_sum": Kernel("if (t == 0)\n a[0] += blockIdx.x; //1", "race", grid=4),
    "race_beside_an_atomic": Kernel("__shared__ int s;\n if (t == 63) s = 0; //1\n atomicAdd(&s, 1); //2\n __syncthreads();\n a[t] = s;", "race", (1, 2)),
    "race_of_an_async_copy": Kernel('__shared__ __align__(16) float s[64];\n if (t < 16) {\n unsigned to = (unsigned)__cvta_generic_to_shared(s + 4 * t);\n asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(b + 4 * t)); //1\n }\n __syncthreads();\n a[t] = s[t]; //2', "race", (1, 2)),
    "race_of_dynamic_memory": Kernel("extern __shared__ float d[];\n d[t] = t; //1\n a[t] = d[63 - t]; //2", "race", (1, 2)),
    "unwritten_element": Kernel("__shared__ float s[65];\n s[t] = t;\n __syncthreads();\n a[t] = s[t + 1]; //1", "unwritten_read"),
    "unwritten_half": Kernel("__shared__ float s[64];\n if (t < 32) s[t] = t;\n __syncthreads();\n a[t] = s[t]; //1", "unwritten_read"),
    "unwritten_global": Kernel("a[t] = unwritten[t]; //1", "unwritten_read"),
    "stray_by_one": Kernel("a[t + 193] = 1; //1", "out_of_bounds"),
    "stray_before": Kernel("a[t - 1] = 1; //1", "out_of_bounds"),
    "stray_far": Kernel("a[t] = b[1 << 20]; //1", "out_of_bounds"),
    "stray_shared": Kernel("__shared__ float s[63];\n s[t] = 1; //1\n a[t] = s[0];", "out_of_bounds"),
    "stray_dynamic": Kernel("extern __shared__ float d[];\n d[t + 64] = 1; //1", "out_of_bounds"),
    "stray_vector": Kernel("reinterpret_cast<float4*>(a)[t] = make_float4(1, 2, 3, 4); //1", "out_of_bounds", block=96),
    "barrier_of_half": Kernel("if (t < 32) {\n __syncthreads(); //1\n a[t] = 1;\n __syncthreads();\n } else {\n __syncwarp();\n a[t] = 2;\n }", "divergent_barrier", severity="any"),
    "barriers_of_two_lines": Kernel("if (t < 32)\n __syncthreads(); //1\n else\n __syncthreads(); //2\n a[t] = 1;", "divergent_barrier", (1, 2), severity="any"),
    "barrier_in_a_loop": Kernel("for (int i = 0; i < 1 + t / 32; ++i)\n __syncthreads(); //1\n a[t] = 1;", "divergent_barrier", severity="any"),
    "mask_of_others": Kernel("if (t % 32 < 16)\n a[t] = __shfl_sync(0xffffffffu, t, 3); //1\n else\n __syncwarp(0xffff0000u);\n __syncthreads(); //2", "divergent_barrier", (1, 2)),
}

# What ends a launch ends the program's later launches as well, as on a GPU: each of these is alone.
ENDS = {
    "stray_null": Kernel("float* none = nullptr;\n if (n < 0) none = a;\n none[t] = 1; //1", None),
    "misaligned_vector": Kernel("reinterpret_cast<float4*>(a + 1)[t] = make_float4(1, 2, 3, 4); //1", "misaligned", block=8),
    "an_assertion": Kernel("assert(t < 60); //1\n a[t] = 1;", None),
    "a_trap": Kernel("if (t == 9) __trap(); //1", None),
}

SOUND = {
    "sound_reversed": Kernel("__shared__ float s[64];\n s[t] = t;\n __syncthreads();\n a[t] = s[63 - t];"),
    "sound_sum": Kernel("__shared__ float s[64];\n s[t] = b[t];\n __syncthreads();\n for (int d = 32; d > 0; d /= 2) {\n if (t < d) s[t] += s[t + d];\n __syncthreads();\n }\n if (t == 0) a[0] = s[0];"),
    "sound_warp_sum": Kernel("float v = b[t];\n for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);\n if (t % 32 == 0) atomicAdd(a, v);"),
    "sound_in_a_warp": Kernel("__shared__ float s[64];\n s[t] = t;\n __syncwarp();\n a[t] = s[t ^ 1];"),
    "sound_atomics": Kernel("atomicAdd(a, 1.0f);\n atomicMax(reinterpret_cast<int*>(a) + 1, t);", grid=3),
    "sound_edges": Kernel("const int i = blockIdx.x * 64 + t;\n if (i < n) a[i] = b[i];", grid=5),
    "sound_early_end": Kernel("if (t >= 50) return;\n a[t] = b[t];"),
    "sound_vectors": Kernel("reinterpret_cast<float4*>(a)[t] = reinterpret_cast<const float4*>(b)[t];"),
    "sound_dynamic": Kernel("extern __shared__ float d[];\n d[t] = b[t];\n __syncthreads();\n a[t] = d[63 - t];"),
    "sound_dynamic_of_templates": Kernel("float* d = Dynamic<float>();\n d[t] = b[t];\n __syncthreads();\n a[t] = d[63 - t];"),
    "sound_async_copy": Kernel('__shared__ __align__(16) float s[64];\n if (t < 16) {\n unsigned to = (unsigned)__cvta_generic_to_shared(s + 4 * t);\n asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(b + 4 * t));\n asm volatile("cp.async.commit_group;");\n asm volatile("cp.async.wait_group 0;");\n }\n __syncthreads();\n a[t] = s[t];'),
    "sound_last_block": Kernel('__shared__ bool last;\n a[blockIdx.x] = t == 0 ? 1 : a[blockIdx.x];\n __threadfence();\n if (t == 0) last = atomicAdd(reinterpret_cast<int*>(a) + 100, 1) == gridDim.x - 1;\n __syncthreads();\n if (last && t < gridDim.x) b[t] = a[t];', grid=1, block=1),
    "sound_volatile": Kernel("volatile float* v = b;\n a[t] = v[t];"),
    "sound_constant": Kernel("a[t] = table[t % 4] * scale(b[t]);"),
    "sound_two_buffers": Kernel("__shared__ float s[2][64];\n for (int i = 0; i < 4; ++i) {\n s[i % 2][t] = i + t;\n __syncthreads();\n a[t] = s[i % 2][63 - t];\n }"),
}  # fmt: skip


def source_of(kernels):
    text = HEAD + "#include <cassert>\n__constant__ float table[4] = {1, 2, 3, 4};\n"
    text += "template <class T> struct Dynamic { __device__ operator T*() { extern __shared__ int all[]; return (T*)all; } };\n"
    text += "__device__ __forceinline__ float scale(float x) { return 2 * x; }\n"
    for name, kernel in kernels.items():
        text += f"__global__ void {name}(float* a, float* b, float* unwritten, int n) {{\n  const int t = threadIdx.x;\n{kernel.body}\n}}\n"
    text += "int main() {\n  const int n = 256;\n  std::vector<float> values(n, 1.0f);\n"
    for name, kernel in kernels.items():
        text += (
            "  {\n    float *a, *b, *c;\n    cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4); cudaMalloc(&c, n * 4);\n"
            "    cudaMemcpy(a, values.data(), n * 4, cudaMemcpyHostToDevice);\n"
            "    cudaMemcpy(b, values.data(), n * 4, cudaMemcpyHostToDevice);\n"
            f"    {name}<<<{kernel.grid}, {kernel.block}, 256>>>(a, b, c, n);\n"
            "    cudaDeviceSynchronize(); cudaGetLastError();\n    cudaFree(a); cudaFree(b); cudaFree(c);\n  }\n"
        )
    return text + "}\n"


def report_of(path, *words, code=None):
    result = command("check", path, "--json", *words)
    assert result.returncode in ((0, 1) if code is None else (code,)), result.stderr
    return json.loads(result.stdout)["files"][0]


def checked(kernels, folder):
    path = folder / "kernels.cu"
    path.write_text(source_of(kernels))
    return path, report_of(path)


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    return checked(FAULTS, tmp_path_factory.mktemp("faults"))


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return checked(SOUND, tmp_path_factory.mktemp("sound"))


def marked_lines(path, name, marks):
    lines = path.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if f"void {name}(" in line)
    last = next(i for i in range(first, len(lines)) if lines[i] == "}")
    return {i + 1 for mark in marks for i in range(first, last) if lines[i].endswith(f"//{mark}")}


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found_at_their_lines(name, faults):
    path, report = faults
    fault = FAULTS[name]
    found = [one for one in report["findings"] if one["kernel"] == name]
    kinds = [one for one in found if fault.found in (None, one["kind"]) and fault.severity in ("any", one["severity"])]
    assert kinds, found
    lines = marked_lines(path, name, fault.marks)
    assert lines
    assert any({place.get("line") for place in one["places"] if place.get("line")} == lines for one in kinds), (found, lines)


@pytest.mark.parametrize("name", ENDS)
def test_what_ends_a_launch_is_found_at_its_line(name, tmp_path):
    path, report = checked({name: ENDS[name]}, tmp_path)
    found = [one for one in report["findings"] if ENDS[name].found in (None, one["kind"])]
    lines = marked_lines(path, name, (1,))
    assert any({place.get("line") for place in one["places"]} == lines for one in found), report["findings"]
    assert report["failed"]


def test_every_fault_is_counted(faults):
    assert len(FAULTS) + len(ENDS) >= 30
    assert {one["kernel"] for one in faults[1]["findings"]} >= set(FAULTS)


@pytest.mark.parametrize("name", SOUND)
def test_sound_kernels_have_no_finding(name, sound):
    assert [one for one in sound[1]["findings"] if one["kernel"] == name] == []
    assert [one["name"] for one in sound[1]["kernels"]].count(name) == 1


def test_the_host_of_sound_kernels_has_none(sound):
    assert sound[1]["host"] == [] and not sound[1]["failed"]


PAGE = (ROOT / "docs" / "check-cuda.md").read_text()
EXAMPLE = ROOT / "examples" / "transpose_with_faults.cu"
MENDED = EXAMPLE.read_text().replace("  const int to_x", "  __syncthreads();\n  const int to_x").replace("tile[side][side]", "tile[side][side + 1]")


def written(folder, text, name="a.cu"):
    (folder / name).write_text(text)
    return folder / name


def test_the_page_shows_what_the_command_says(monkeypatch):
    monkeypatch.chdir(ROOT)
    shown = [block for block in re.findall(r"^```\w*\n(.*?)^```", PAGE, re.S | re.M) if block.startswith("error:")]
    result = command("check", "examples/transpose_with_faults.cu")
    assert result.returncode == 1 and len(shown) == 1
    assert shown[0] in result.stdout, result.stdout
    kernel = re.search(r"^```cpp\n(.*?)^```", PAGE, re.S | re.M)[1]
    assert kernel in EXAMPLE.read_text()
    readme = re.search(r"^\$ cornerturn check examples/transpose_with_faults.cu\n(.*?)^```", (ROOT / "README.md").read_text(), re.S | re.M)[1]
    assert all(line in result.stdout.splitlines() for line in readme.splitlines())
    assert "20 shared load" in result.stdout and " 32 (1) " in result.stdout
    assert "Hint: examples/transpose_with_faults.cu:20: neighbouring lanes lie 128 B apart, in one bank" in result.stdout


def test_the_mended_example_is_clean(tmp_path):
    path = written(tmp_path, MENDED)
    text = done("check", path, "--max-wavefronts", "1", "--max-sectors", "1.1")
    assert text.startswith("0 elements are wrong\n") and text.endswith("a.cu: nothing is wrong\n")


def test_limits_fail_where_a_line_takes_more(tmp_path):
    path = written(tmp_path, MENDED.replace("[side][side + 1]", "[side][side]"))
    assert done("check", path)
    result = command("check", path, "--max-wavefronts", "31.9", "--sarif", tmp_path / "a.sarif")
    assert result.returncode == 1
    assert "error: too many wavefronts: the shared load takes 32 times the wavefronts it needs; --max-wavefronts allows 31.9" in result.stdout
    assert done("check", path, "--max-wavefronts", "32")
    found = json.loads((tmp_path / "a.sarif").read_text())["runs"][0]["results"]
    assert [(one["ruleId"], one["level"]) for one in found] == [("too_many_wavefronts", "error")]
    assert found[0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 21


def test_sarif_has_both_places_of_a_race(tmp_path):
    assert command("check", EXAMPLE, "--sarif", tmp_path / "a.sarif").returncode == 1
    (found,) = json.loads((tmp_path / "a.sarif").read_text())["runs"][0]["results"]
    places = [found["locations"][0], *found["relatedLocations"]]
    assert [place["physicalLocation"]["region"]["startLine"] for place in places] == [15, 20]
    refused("check", EXAMPLE, "--sarif", tmp_path / "a.txt", part="--sarif")


LAUNCH = ["--grid", "2,2", "--block", "32,8", "--arg", "in:f32[64,64]", "--arg", "out:f32[64,64]", "--arg", "64", "--arg", "64"]
LIBRARY = """#include "own.cuh"
#include <torch/extension.h>
#include <no/such/header.h>
namespace inner {
template <class T, int side>
__global__ void turn(const T* __restrict__ in, T* out, int rows, int cols) {
  const int x = blockIdx.x * side + threadIdx.x;
  for (int i = threadIdx.y; i < side; i += blockDim.y) {
    const int y = blockIdx.y * side + i;
    if (x < cols && y < rows) out[x * rows + y] = same(in[y * cols + x]);
  }
}
}  // namespace inner
nothing::like_this host_only(nothing::known x) { return inner::turn<float, 32><<<1, 2>>>(x); }
"""


def test_a_kernel_of_a_library_is_launched(tmp_path):
    written(tmp_path, "#pragma once\ntemplate <class T> __device__ T same(T x) { return x; }\n", "own.cuh")
    path = written(tmp_path, LIBRARY)
    report = report_of(path, "--kernel", "inner::turn<float, 32>", *LAUNCH, code=0)
    (kernel,) = report["kernels"]
    assert kernel["name"] == "inner::turn<float, 32>" and kernel["grid"] == [2, 2, 1] and kernel["line"] == 6
    store = next(line for line in kernel["lines"] if line["op"] == "global_store")
    assert store["line"] == 10 and store["sectors"]["actual"] == 8 * store["sectors"]["ideal"]
    assert store["requests"] == 128 and store["lanes"] == 4096
    assert "neighbouring elements" in kernel["hints"][0]
    refused("check", path, "--kernel", "other", *LAUNCH, part="--kernel = 'other': ")
    refused("check", path, "--kernel", "inner::turn<float, 32>", part="needs --grid and --block")
    refused("check", path, "--kernel", "inner::turn<float, 32>", *LAUNCH[:-2], part="does not take these arguments")
    refused("check", path, part="there is no main. --kernel, --grid, --block and --arg launch one of the kernels turn")


def test_accesses_of_several_lines_that_could_be_one_are_named_together(tmp_path):
    path = written(
        tmp_path,
        HEAD + "__global__ void k(const float* a, float* b, int n) {\n  const int i = threadIdx.x;\n"
        "  float v = a[4 * i];\n  v += a[4 * i + 1];\n  v += a[4 * i + 2];\n  v += a[4 * i + 3];\n"
        "  v += a[4 * i + 512];\n  v += a[4 * i + 514];\n  b[2 * i] = v;\n  b[2 * i + 1] = v;\n}\n",
    )
    report = report_of(path, "--kernel", "k", "--grid", "1", "--block", "64", "--arg", "in:f32[1024]", "--arg", "out:f32[1024]", "--arg", "1", code=0)
    hints = report["kernels"][0]["hints"]
    together = [hint for hint in hints if "the accesses of lines" in hint]
    assert len(together) == 2
    assert "the accesses of lines 7, 8, 9, 10 are of 4 B each, to neighbours: they could be one of 16 B" in together[0]
    assert "the accesses of lines 13, 14 are of 4 B each, to neighbours: they could be one of 8 B" in together[1]
    # Half of the bytes would be for nothing.
    assert len(hints) == 4 and ":11:" in hints[1] and ":12:" in hints[2]


def test_a_function_that_takes_tensors_is_called(tmp_path):
    path = written(
        tmp_path,
        "#include <torch/extension.h>\n__global__ void twice(const float* a, float* b, int n) {\n"
        "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  b[i] = 2 * a[i];\n}\n"
        "torch::Tensor forward(torch::Tensor a) {\n  auto b = torch::empty_like(a);\n  const int n = a.numel();\n"
        "  twice<<<(n + 127) / 128, 128>>>(a.data_ptr<float>(), b.data_ptr<float>(), n);\n  return b;\n}\n"
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }\n',
    )
    assert report_of(path, "--call", "forward", "--arg", "f32[4,64]", code=0)["kernels"][0]["blocks"] == 2
    found = report_of(path, "--call", "forward", "--arg", "f32[4,63]", code=1)["findings"]
    assert {(one["kind"], one["places"][0]["line"]) for one in found} == {("out_of_bounds", 4)}


TENSORS = """#include <torch/extension.h>
__global__ void rows_of(torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> in,
                        torch::PackedTensorAccessor64<float, 2> out, const int64_t* rows) {
  const int row = blockIdx.x, column = threadIdx.x;
  if (column < in.size(1)) out[row][column] = in[rows[row]][column];
}
template <class T>
void expect(const torch::Tensor& tensor, std::vector<T> wanted, const char* what) {
  const torch::Tensor here = tensor.to(torch::kCPU).contiguous();
  TORCH_CHECK(here.numel() == int64_t(wanted.size()), what, " has ", here.sizes());
  for (size_t i = 0; i < wanted.size(); ++i) TORCH_CHECK(here.data_ptr<T>()[i] == wanted[i], what, " at ", i);
}
void forward() {
  const auto on_gpu = torch::TensorOptions().device(torch::kCUDA);
  auto a = torch::tensor({3.f, 1.f, 2.f, 1.f, 5.f, 4.f}).to(torch::kCUDA).view({3, 2});
  auto [sorted, places] = a.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true);
  expect<float>(sorted, {5, 4, 3, 1, 2, 1}, "sorted");
  expect<int64_t>(places, {2, 2, 0, 0, 1, 1}, "its places");
  expect<int64_t>(a.argsort(1), {1, 0, 1, 0, 1, 0}, "argsort");
  expect<float>(std::get<0>(torch::max(a, 0)), {5, 4}, "max");
  expect<int64_t>(std::get<1>(torch::min(a, 1, true)), {1, 1, 1}, "min's places");
  TORCH_CHECK(a.max().item().to<int>() == 5 && a.min().item<float>() == 1, "one element");
  expect<float>(a.index_select(1, torch::tensor({1, 1, 0})), {1, 1, 3, 1, 1, 2, 4, 4, 5}, "columns");
  expect<int>(torch::arange(2, 5, torch::kInt), {2, 3, 4}, "arange");
  expect<uint8_t>(a.to(torch::kByte), {3, 1, 2, 1, 5, 4}, "bytes");
  expect<double>(a.to(torch::kHalf).to(torch::kDouble), {3, 1, 2, 1, 5, 4}, "halves");
  const auto host = a.cpu();
  TORCH_CHECK((host.accessor<float, 2>()[2][1]) == 4, "accessor");
  auto rows = torch::tensor({2, 0, 2}, on_gpu.dtype(torch::kLong));
  auto out = torch::empty({3, 2}, on_gpu);
  rows_of<<<3, 32>>>(a.packed_accessor32<float, 2, torch::RestrictPtrTraits>(), out.packed_accessor64<float, 2>(),
                     rows.data_ptr<int64_t>());
  expect<float>(out, {5, 4, 3, 1, 5, 4}, "rows");
}
"""


def test_operations_on_tensors_around_a_launch(tmp_path):
    report = report_of(written(tmp_path, TENSORS), "--call", "forward", code=0)
    assert not report["findings"] and not report["host"] and report["kernels"][0]["blocks"] == 3


IMAGES = """#include <helper_functions.h>
#include "own.h"
int main(int argc, char** argv) {
  const std::string folder = argv[1];
  const float numbers[] = {1.5f, -2, 3};
  float* read = nullptr;
  unsigned count = 0, width = 0, height = 0;
  const std::string file = folder + "/numbers";
  if (!sdkWriteFile(file.c_str(), numbers, 3, 0.0f, true) || !sdkReadFile(file.c_str(), &read, &count, true)) return 1;
  if (count != 3 || read[0] != 1.5f || read[1] != -2 || read[2] != 3) return 2;
  float dots[] = {0, 1, 0.2f, 0.4f, 0.6f, 0.8f};
  unsigned char* bytes = nullptr;
  const std::string grey = folder + "/a.pgm", colour = folder + "/a.ppm";
  if (!sdkSavePGM(grey.c_str(), dots, 3, 2) || !sdkLoadPGM(grey.c_str(), &bytes, &width, &height)) return 3;
  if (width != 3 || height != 2 || bytes[0] != 0 || bytes[1] != 255 || bytes[3] != 102) return 4;
  unsigned char four[] = {1, 2, 3, 9, 4, 5, 6, 9}, *again = nullptr;
  if (!sdkSavePPM4ub(colour.c_str(), four, 2, 1) || !sdkLoadPPM4(colour.c_str(), &again, &width, &height)) return 5;
  if (width != 2 || height != 1 || again[4] != 4 || again[6] != 6 || again[7] != 0) return 6;
  return own(cudaSuccess) + sdkLoadPGM(colour.c_str(), &bytes, &width, &height);
}
"""


QUASI = """#include <curand.h>
#include <curand_kernel.h>
__global__ void start(curandStateSobol32* states, curandDirectionVectors32_t* directions) {
  curand_init(directions[threadIdx.x / 16], threadIdx.x, states + threadIdx.x);
}
__global__ void draw(curandStateSobol32* states, float* out) {
  curandStateSobol32 state = states[threadIdx.x];
  for (int i = 0; i < 100; ++i) out[32 * i + threadIdx.x] = curand_uniform(&state);
}
int main() {
  curandDirectionVectors32_t *on_host, *directions;
  curandGetDirectionVectors32(&on_host, CURAND_DIRECTION_VECTORS_32_JOEKUO6);
  curandStateSobol32* states;
  float* numbers;
  cudaMalloc(&directions, 2 * sizeof(*directions)); cudaMalloc(&states, 32 * sizeof(*states)); cudaMalloc(&numbers, 12800);
  cudaMemcpy(directions, on_host, 2 * sizeof(*directions), cudaMemcpyHostToDevice);
  start<<<1, 32>>>(states, directions);
  draw<<<1, 32>>>(states, numbers);
  double sum = 0;
  static float values[3200];
  cudaMemcpy(values, numbers, 12800, cudaMemcpyDeviceToHost);
  for (float value : values) sum += value / 3200;
  curandGenerator_t generator;
  curandCreateGenerator(&generator, CURAND_RNG_QUASI_SOBOL32);
  curandSetQuasiRandomGeneratorDimensions(generator, 2);
  curandGenerateUniform(generator, numbers, 3200);
  curandDestroyGenerator(generator);
  cudaMemcpy(values, numbers, 12800, cudaMemcpyDeviceToHost);
  for (float value : values) sum += value / 3200;
  cudaFree(directions); cudaFree(states); cudaFree(numbers);
  return sum > 0.95 && sum < 1.05 ? 0 : 1;
}
"""


def test_quasi_random_numbers_are_random(tmp_path):
    report = report_of(written(tmp_path, QUASI), code=0)
    assert report["exit_code"] == 0 and not report["findings"] and not report["host"]


def test_the_helpers_of_samples_read_and_write_images(tmp_path):
    # A header of the user's own asks whether CUDA's are there.
    written(tmp_path, "#ifdef __DRIVER_TYPES_H__\nint own(cudaError_t error) { return error; }\n#endif\n", "own.h")
    path = written(tmp_path, IMAGES + "__global__ void unused() {}\n")
    report = report_of(path, "--", tmp_path, code=0)
    assert report["exit_code"] == 0 and not report["host"]


HOST = {
    "a copy of too much": ("cudaMemcpy(a, h, 2048, cudaMemcpyHostToDevice); //1", True),
    "a copy from a freed array": ("cudaFree(a); cudaMemcpy(h, a, 16, cudaMemcpyDeviceToHost); //1", True),
    "a free of something else": ("cudaFree(h); //1", True),
    "an access to device memory": ("std::printf(\"%f\", a[0]); //1", True),
    "memory that is not freed": ("float* b; cudaMalloc(&b, 16); //1", False),
}


@pytest.mark.parametrize("name", HOST)
def test_faults_of_the_host(name, tmp_path):
    body, fails = HOST[name]
    path = written(tmp_path, HEAD + f"int main() {{\n  float* a;\n  static float h[512];\n  cudaMalloc(&a, 1024);\n  {body}\n  cudaGetLastError();\n}}\n")
    report = report_of(path)
    assert report["failed"] == fails, report["host"]
    line = next(i + 1 for i, text in enumerate(path.read_text().splitlines()) if text.endswith("//1"))
    assert line in {place.get("line") for one in report["host"] + report["findings"] for place in one["places"]}, report["host"]


REFUSED = {
    "an error of the compiler": ("__global__ void k() {\n  undeclared = 1;\n}\nint main() { k<<<1, 1>>>(); }\n", "a.cu:2: "),
    "an unknown intrinsic": ("__global__ void k(int* a) {\n  a[0] = __no_such_thing(a[1]);\n}\nint main() { k<<<1, 1>>>(0); }\n", "__no_such_thing"),
    "textures": ("__global__ void k(float* a) {\n  a[0] = tex2D<float>(0, 1, 2);\n}\nint main() { k<<<1, 1>>>(0); }\n", "a.cu:2: textures (tex2D)"),
    "assembly": ('__global__ void k() {\n  asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(0));\n}\nint main() { k<<<1, 1>>>(); }\n', "a.cu:2: the instruction mbarrier.init.shared.b64"),
    "launches by kernels": ("__global__ void k() {\n  k<<<1, 1>>>();\n}\nint main() { k<<<1, 1>>>(); }\n", "a.cu:2: launches by a kernel"),
    "no definition": ("void nowhere();\n__global__ void k() {}\nint main() { nowhere(); k<<<1, 1>>>(); }\n", "'nowhere()' is declared, and defined nowhere"),
    "neither main nor kernel": ("int x;\n", "neither a main nor a kernel"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_run_is_refused_in_one_line(name, tmp_path):
    source, part = REFUSED[name]
    refused("check", written(tmp_path, source), part=part)


def test_bad_options():
    for words, part in [
        (["--arg", "7"], "--arg is for --kernel and --call"),
        (["--grid", "1"], "--grid, --block and --shared are for --kernel"),
        (["--kernel", "transpose", "--grid", "0", "--block", "1"], "--grid = '0'"),
        (["--kernel", "transpose", "--grid", "1", "--block", "1", "--arg", "f33[1]"], "'f33' is none of"),
        (["--max-sectors", "0.5"], "--max-sectors = '0.5' is no ratio from 1 on"),
        (["--on", "h300"], "--on"),
        (["--shape", "4,4"], "--shape is for kernels in the kernel form"),
        (["--seconds", "0"], "--seconds = '0'"),
    ]:
        refused("check", EXAMPLE, *words, part=part)


def test_without_a_compiler_it_says_so():
    refused("check", EXAMPLE, env={"PATH": "/nowhere"}, part="neither c++ nor g++ nor clang++ is on the PATH")
    refused("check", EXAMPLE, env={**os.environ, "CXX": "no-such-compiler -O1"}, part="CXX = 'no-such-compiler': check needs a C++ compiler")


def test_the_program_has_its_arguments_and_its_output(tmp_path):
    path = written(tmp_path, HEAD + 'int main(int argc, char** argv) { std::printf("%d %s|", argc, argv[1]); std::fprintf(stderr, "said\\n"); }\n__global__ void k() {}\n')
    result = command("check", path, "--", "--json")
    assert result.returncode == 0 and result.stdout.startswith("2 --json|\n") and result.stderr == "said\n"
    failing = written(tmp_path, "__global__ void k() {}\nint main() { return 3; }\n", "b.cu")
    assert "error: exit code: the program ended with exit code 3\n" in command("check", failing).stdout
    assert report_of(failing, code=1)["exit_code"] == 3
    result = command("check", path, "--json", "--", "x")
    assert json.loads(result.stdout)["files"][0]["exit_code"] == 0 and result.stderr == "2 x|\nsaid\n"


ENDLESS = {
    "with accesses": ("while (v[0] == 0) {}", ["--steps", "2000"]),
    "without accesses": ("for (volatile int i = 0;; i = 0) {}", ["--seconds", "1"]),
    "on the host": ("", ["--seconds", "1"]),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_loop_is_a_finding(name, tmp_path):
    body, words = ENDLESS[name]
    path = written(tmp_path, HEAD + f"__global__ void k(volatile int* v) {{ {body} }}\nint main() {{ int* v; cudaMalloc(&v, 4); cudaMemset(v, 0, 4); "
                   f"k<<<1, 1>>>(v); cudaDeviceSynchronize(); {'' if body else 'for (volatile int i = 0;; i = 0) {}'} cudaFree(v); }}\n")  # fmt: skip
    report = report_of(path, *words, code=1)
    assert report["failed"] and report["findings"] + report["host"]


def test_a_crash_is_a_finding(tmp_path):
    path = written(tmp_path, "__global__ void k() {}\nint main() {\n  volatile int* none = nullptr;\n  *none = 1;\n}\n")
    report = report_of(path, code=1)
    assert report["findings"] + report["host"]


def test_several_files_have_several_reports(tmp_path):
    good, bad = written(tmp_path, MENDED, "good.cu"), written(tmp_path, "int main() { return x; }\n__global__ void k();", "bad.cu")
    result = command("check", good, EXAMPLE, "--json")
    assert result.returncode == 1 and [one["failed"] for one in json.loads(result.stdout)["files"]] == [False, True]
    result = command("check", bad, good)
    assert result.returncode == 2 and result.stderr.count("\n") == 1 and "bad.cu:1: " in result.stderr and "nothing is wrong" in result.stdout
    refused("check", good, ROOT / "examples" / "my_kernel.hpp", part="several files at a time are CUDA sources")


def test_a_cuda_file_is_known_by_its_text(tmp_path):
    assert done("check", written(tmp_path, MENDED, "transpose.cpp")).endswith("nothing is wrong\n")
    refused("check", written(tmp_path, "// __global__\nint x;\n", "x.cpp"), part="no struct with a function `run`")


def test_the_gpu_refuses_what_it_cannot_launch(tmp_path):
    path = written(tmp_path, HEAD + "__global__ void k(int* a) { extern __shared__ int s[]; s[0] = 1; a[0] = s[0]; }\n"
                   "int main() { int* a; cudaMalloc(&a, 4); cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 150000);\n"
                   "  k<<<1, 1, 150000>>>(a); const auto e = cudaGetLastError(); cudaFree(a); return e != cudaSuccess; }\n")  # fmt: skip
    assert report_of(path, "--on", "h200", code=0)["exit_code"] == 0
    assert report_of(path, "--on", "rtx4090")["exit_code"] == 1


def test_a_kernel_without_headers_has_lines_of_its_own(tmp_path):
    """Places are lines of the user's file also where the compiler had no other file to name."""
    path = written(tmp_path, "#include <cuda_runtime.h>\n__global__ void copy(float* out, float* in) {\n  int i = threadIdx.x;\n"
                   "  for (int j = 0; j < 2; ++j) {\n    out[i + 32 * j] = in[i + 32 * j];\n  }\n}\n"
                   "int main() {\n  float *a, *b;\n  void (*kernel)(float*, float*);\n  cudaMalloc(&a, 256); cudaMalloc(&b, 256);\n  cudaMemset(b, 0, 256);\n"
                   "  kernel = &copy;\n  kernel<<<1, 32>>>(a, b);\n  cudaDeviceSynchronize();\n  cudaFree(a); cudaFree(b);\n}\n")  # fmt: skip
    (kernel,) = report_of(path, code=0)["kernels"]
    assert {(line["file"], line["line"]) for line in kernel["lines"]} == {(str(path), 5)}


def test_shared_memory_of_halves_is_watched(tmp_path):
    """Kernels whose arguments have types of the headers that stand for CUDA's."""
    path = written(tmp_path, "#include <cuda_fp16.h>\ntemplate <class T> __global__ void k(const T* in, T* out) {\n  __shared__ T s[64];\n"
                   "  s[threadIdx.x] = in[threadIdx.x];\n  out[threadIdx.x] = s[63 - threadIdx.x];\n}\n")  # fmt: skip
    for kernel, dtype in [("k<half>", "f16"), ("k<float>", "f32")]:
        report = report_of(path, "--kernel", kernel, "--grid", "1", "--block", "64", "--arg", f"{dtype}[64]", "--arg", f"out:{dtype}[64]", code=1)
        assert [(one["kind"], one["memory"], {place["line"] for place in one["places"]}) for one in report["findings"]] == [("race", "s", {4, 5})]
        assert {line["op"] for line in report["kernels"][0]["lines"]} == {"global_load", "shared_store", "shared_load", "global_store"}
