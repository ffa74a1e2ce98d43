"""Inline assembly of CUDA sources does in `cornerturn check` what the same expression in C++ does."""

import pytest

from command_line import PROGRAM, done

pytestmark = pytest.mark.skipif(
    not (PROGRAM.parent.parent / "lib" / "libcornerturn_cuda_source.a").exists(),
    reason="a build with sanitizers has no library for CUDA sources",
)

# Statements that set `got`, and what it should be; a, b and c are unsigned, of 32 bits, and differ by lane.
VALUES = {
    'asm("add.u32 %0, %1, %2;" : "=r"(got) : "r"(a), "r"(b));': "a + b",
    'asm("sub.s32 %0, %1, 7;" : "=r"(got) : "r"(a));': "a - 7",
    'asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(got) : "r"(a), "r"(b), "r"(c));': "a * b + c",
    'asm("and.b32 %0, %1, %2; xor.b32 %0, %0, %3;" : "+r"(got) : "r"(a), "r"(b), "r"(c));': "(a & b) ^ c",
    'asm("shl.b32 %0, %1, 5;" : "=r"(got) : "r"(a));': "a << 5",
    'asm("shr.u32 %0, %1, 40;" : "=r"(got) : "r"(a));': "0u",
    'asm("shr.s32 %0, %1, 3;" : "=r"(got) : "r"(a));': "(unsigned)((int)a >> 3)",
    'asm("lop3.b32 %[o], %[x], %[y], %[z], 0xe8;" : [o] "=r"(got) : [x] "r"(a), [y] "r"(b), [z] "r"(c));': "(a & b) | (a & c) | (b & c)",
    'asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(got) : "r"(a), "r"(b));': "(a & 0xffff) | (b << 16)",
    'asm("{ .reg .u64 w; .reg .b32 lo, hi; mov.b64 w, {%1, %2}; mov.b64 {lo, hi}, w; sub.u32 %0, hi, lo; }" : "=r"(got) : "r"(a), "r"(b));': "b - a",
    'asm("{\\n\\t.reg .pred p;\\n\\tsetp.lt.u32 p, %1, %2;\\n\\tselp.b32 %0, %1, %2, p;\\n}" : "=r"(got) : "r"(a), "r"(b));': "(a < b ? a : b)",
    'asm("{ .reg .pred p; setp.eq.u32 p, %1, %1; @!p mov.u32 %0, 1; @p mov.u32 %0, 2; }" : "=r"(got) : "r"(a));': "2u",
    'asm volatile("mov.u32 %0, %%laneid;" : "=r"(got));': "threadIdx.x",
    'asm volatile("mov.u32 %0, %%ntid.x; // a comment" : "=r"(got));': "32u",
    'asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=r"(got) : "r"(a));': "value(threadIdx.x ^ 1)",
    'asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2 + 8];" : "=r"(other), "=r"(got) : "l"(words));': "103u",
    'asm volatile("st.global.cs.u32 [%0], %1;" ::"l"(mine), "r"(a) : "memory"); got = *mine;': "a",
    'float f; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(f) : "f"(3.0f)); got = (unsigned)f;': "8u",
    'float f; asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(3.0f), "f"(4.0f), "f"(5.0f)); got = (unsigned)f;': "17u",
}  # fmt: skip


def test_instructions_do_what_their_names_say(tmp_path):
    cases = "".join(
        f"  {{\n    unsigned got = 0, other = 0;\n    {asm}\n    if (got != (unsigned)({value})) atomicAdd(wrong + {number}, 1);\n  }}\n"
        for number, (asm, value) in enumerate(VALUES.items())
    )
    path = tmp_path / "assembly.cu"
    path.write_text(
        "#include <cuda_runtime.h>\n#include <cstdio>\n"
        "__device__ unsigned value(unsigned lane) { return 0x89abcdefu + 0x01010101u * lane; }\n"
        "__global__ void k(int* wrong, const unsigned* words, unsigned* stored) {\n"
        "  const unsigned a = value(threadIdx.x), b = 0x12345678u * (threadIdx.x + 1), c = ~a + b;\n"
        f"  unsigned* mine = stored + threadIdx.x;\n{cases}}}\n"
        f"int main() {{\n  const int n = {len(VALUES)};\n  int counts[n];\n  unsigned words[4] = {{100, 101, 102, 103}};\n"
        "  int* wrong; unsigned *from, *to;\n  cudaMalloc(&wrong, sizeof counts); cudaMalloc(&from, 16); cudaMalloc(&to, 128);\n"
        "  cudaMemset(wrong, 0, sizeof counts); cudaMemcpy(from, words, 16, cudaMemcpyHostToDevice);\n"
        "  k<<<1, 32>>>(wrong, from, to);\n  cudaMemcpy(counts, wrong, sizeof counts, cudaMemcpyDeviceToHost);\n"
        '  for (int i = 0; i < n; ++i) if (counts[i] != 0) std::printf("wrong: %d\\n", i);\n'
        "  cudaFree(wrong); cudaFree(from); cudaFree(to);\n}\n"
    )
    text = done("check", path)
    wrong = [list(VALUES)[int(line.split()[1])] for line in text.splitlines() if line.startswith("wrong: ")]
    assert wrong == [] and text.endswith("nothing is wrong\n"), (wrong, text)
