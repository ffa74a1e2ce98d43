"""`cornerturn check FILE.cu`: planted faults are found where they are, and sound kernels are left alone.

A file is compiled and run once for many kernels: each of them is a case of its own."""

import json
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
    "race_beside_an_atomic": Kernel("__shared__ int s;\n if (t == 0) s = 0; //1\n atomicAdd(&s, 1); //2\n __syncthreads();\n a[t] = s;", "race", (1, 2)),
    "race_of_an_async_copy": Kernel('__shared__ __align__(16) float s[64];\n if (t < 16) {\n unsigned to = (unsigned)__cvta_generic_to_shared(s + 4 * t);\n asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(b + 4 * t)); //1\n }\n __syncthreads();\n a[t] = s[t]; //2', "race"),
    "race_of_dynamic_memory": Kernel("extern __shared__ float d[];\n d[t] = t; //1\n a[t] = d[63 - t]; //2", "race", (1, 2)),
    "unwritten_element": Kernel("__shared__ float s[65];\n s[t] = t;\n __syncthreads();\n a[t] = s[t + 1]; //1", "unwritten_read"),
    "unwritten_half": Kernel("__shared__ float s[64];\n if (t < 32) s[t] = t;\n __syncthreads();\n a[t] = s[t]; //1", "unwritten_read"),
    "unwritten_global": Kernel("a[t] = unwritten[t]; //1", "unwritten_read"),
    "stray_by_one": Kernel("a[t + 193] = 1; //1", "out_of_bounds"),
    "stray_before": Kernel("a[t - 1] = 1; //1", "out_of_bounds"),
    "stray_far": Kernel("a[t] = b[1 << 20]; //1", "out_of_bounds"),
    "stray_shared": Kernel("__shared__ float s[63];\n s[t] = 1; //1\n a[t] = 1;", "out_of_bounds"),
    "stray_dynamic": Kernel("extern __shared__ float d[];\n d[t + 64] = 1; //1", "out_of_bounds"),
    "stray_vector": Kernel("reinterpret_cast<float4*>(a)[t] = make_float4(1, 2, 3, 4); //1", "out_of_bounds", block=96),
    "stray_null": Kernel("float* none = nullptr;\n if (n < 0) none = a;\n none[t] = 1; //1", None),
    "misaligned_vector": Kernel("reinterpret_cast<float4*>(a + 1)[t] = make_float4(1, 2, 3, 4); //1", "misaligned", block=8),
    "barrier_of_half": Kernel("if (t < 32) {\n __syncthreads(); //1\n a[t] = 1;\n __syncthreads();\n } else {\n __syncwarp();\n a[t] = 2;\n }", "divergent_barrier", severity="any"),
    "barriers_of_two_lines": Kernel("if (t < 32)\n __syncthreads(); //1\n else\n __syncthreads(); //2\n a[t] = 1;", None),
    "barrier_in_a_loop": Kernel("for (int i = 0; i < 1 + t / 32; ++i)\n __syncthreads(); //1\n a[t] = 1;", "divergent_barrier", severity="any"),
    "mask_of_others": Kernel("if (t % 32 < 16)\n a[t] = __shfl_sync(0xffffffffu, t, 3); //1\n else\n __syncwarp(0xffff0000u);\n __syncthreads();", "divergent_barrier", severity="any"),
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
    "sound_async_copy": Kernel('__shared__ __align__(16) float s[64];\n if (t < 16) {\n unsigned to = (unsigned)__cvta_generic_to_shared(s + 4 * t);\n asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(b + 4 * t));\n asm volatile("cp.async.commit_group;");\n asm volatile("cp.async.wait_group 0;");\n }\n __syncthreads();\n a[t] = s[t];'),
    "sound_last_block": Kernel('__shared__ bool last;\n a[blockIdx.x] = t == 0 ? 1 : a[blockIdx.x];\n __threadfence();\n if (t == 0) last = atomicAdd(reinterpret_cast<int*>(a) + 100, 1) == gridDim.x - 1;\n __syncthreads();\n if (last && t < gridDim.x) b[t] = a[t];', grid=1, block=1),
    "sound_volatile": Kernel("volatile float* v = b;\n a[t] = v[t];"),
    "sound_constant": Kernel("a[t] = table[t % 4] * scale(b[t]);"),
    "sound_two_buffers": Kernel("__shared__ float s[2][64];\n for (int i = 0; i < 4; ++i) {\n s[i % 2][t] = i + t;\n __syncthreads();\n a[t] = s[i % 2][63 - t];\n }"),
}  # fmt: skip


def source_of(kernels):
    text = HEAD + "#include <cassert>\n__constant__ float table[4] = {1, 2, 3, 4};\n"
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
    if name == "barriers_of_two_lines":  # all threads wait, at one barrier: nothing hangs on a GPU
        assert [one for one in found if one["severity"] == "error"] == []
        return
    kinds = [one for one in found if fault.found in (None, one["kind"]) and fault.severity in ("any", one["severity"])]
    assert kinds, found
    lines = marked_lines(path, name, fault.marks)
    assert lines
    assert any({place.get("line") for place in one["places"] if place.get("line")} == lines for one in kinds), (found, lines)


def test_every_fault_is_counted(faults):
    assert len(FAULTS) >= 30
    assert {one["kernel"] for one in faults[1]["findings"]} >= set(FAULTS) - {"barriers_of_two_lines"}


@pytest.mark.parametrize("name", SOUND)
def test_sound_kernels_have_no_finding(name, sound):
    assert [one for one in sound[1]["findings"] if one["kernel"] == name] == []
    assert [one["name"] for one in sound[1]["kernels"]].count(name) == 1


def test_the_host_of_sound_kernels_has_none(sound):
    assert sound[1]["host"] == [] and not sound[1]["failed"]
