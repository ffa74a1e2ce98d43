"""cornerturn.check: kernels and functions of CUDA sources, called with arrays of NumPy, and what is said of them.

A check compiles: what several tests look at is checked once."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cornerturn
from cornerturn import __main__ as command

np = pytest.importorskip("numpy")
ROOT = Path(__file__).parents[2]
# scripts/python.sh builds the package without the command, which scripts/build.sh builds.
BUILT = ROOT / "build" / "release" / "bin" / "cornerturn"
PROGRAM = command.PROGRAM if command.PROGRAM.exists() else BUILT
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="neither the package nor the build has the command")
EXAMPLE = ROOT / "examples" / "transpose_with_faults.cu"
KERNELS = """#include <cuda_bf16.h>
#include <cstdio>
template <class T> __global__ void transpose(const T* in, T* out, int rows, int cols) {
  const int x = blockIdx.x * 32 + threadIdx.x;
  for (int i = threadIdx.y; i < 32; i += blockDim.y) {
    const int y = blockIdx.y * 32 + i;
    if (x < cols && y < rows) out[x * rows + y] = in[y * cols + x];
  }
}
struct Point { float x; int i; };
__global__ void moved(Point* points, float2* complex, float by, long long count, const int* none, bool yes) {
  if (none == nullptr && yes && threadIdx.x < count) points[threadIdx.x].x += by * points[threadIdx.x].i;
  if (threadIdx.x < count) complex[threadIdx.x].y = -complex[threadIdx.x].y;
  if (threadIdx.x == 0) printf("said by a kernel\\n");
}
__global__ void reversed(const float* in, float* out) {
  extern __shared__ float all[];
  all[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];
}
__global__ void misaligned(float* a) { *reinterpret_cast<float4*>(a + 1) = make_float4(1, 2, 3, 4); }
"""
FUNCTIONS = """#include <torch/extension.h>
template <class T> __global__ void twice(const T* a, T* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i] + a[i];
}
std::vector<torch::Tensor> forward(torch::Tensor a, torch::Tensor c) {
  auto b = torch::empty_like(a);
  const int n = a.numel();
  twice<<<1, n>>>(a.data_ptr<float>(), b.data_ptr<float>(), n);
  twice<<<1, n>>>((__nv_bfloat16*)c.data_ptr(), (__nv_bfloat16*)c.data_ptr(), n);
  return {b, c.t()};
}
double mean(torch::Tensor a) { return 1.5; }
void nothing(torch::Tensor a) {}
"""


@pytest.fixture(autouse=True)
def with_the_command(monkeypatch):
    monkeypatch.setattr(command, "PROGRAM", PROGRAM)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    (folder / "k.cu").write_text(KERNELS)
    (folder / "f.cu").write_text(FUNCTIONS.replace("\n", "\n#include <cuda_bf16.h>\n", 1))
    return folder


def test_a_kernel_is_compared_with_numpy(sources, monkeypatch):
    monkeypatch.chdir(sources)
    x = np.random.default_rng(0).random((40, 33), np.float32)[:, ::-1]  # not packed
    out = np.zeros((33, 40), np.float32)
    r = cornerturn.check("k.cu", kernel="transpose<float>", grid=(2, 2), block=(32, 8), args=[x, out, 40, np.int32(33)])
    assert not r.findings and r.ok and not r.failed
    np.testing.assert_array_equal(r.args[1], x.T)
    np.testing.assert_array_equal(r.args[0], x)
    assert r.args[2:] == (40, 33) and not out.any() and r.result is None  # the caller's own is left as it was
    (kernel,) = r.kernels
    assert (kernel.name, kernel.grid, kernel.block, kernel.blocks, kernel.line) == ("transpose<float>", (2, 2, 1), (32, 8, 1), 4, 3)
    store = next(line for line in r.lines if line.op == "global_store")
    assert store.line == 7 and store.lanes == 40 * 33 and store.sectors > 4 * store.ideal_sectors and store.wavefronts == 0
    assert str(r).endswith("k.cu: nothing is wrong\n") and "global store" in str(r)
    assert repr(r) == "<CheckReport k.cu: nothing is wrong>"


@pytest.mark.parametrize(("dtype", "type_name"), [("bfloat16", "__nv_bfloat16"), ("float8_e4m3fn", "__nv_fp8_e4m3")])
def test_types_of_ml_dtypes(sources, dtype, type_name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(6).reshape(2, 3).astype(getattr(ml_dtypes, dtype))
    short = {"bfloat16": "bf16", "float8_e4m3fn": "f8_e4m3"}[dtype]
    r = cornerturn.check(sources / "k.cu", kernel=f"transpose<{type_name}>", grid=1, block=32, args=[x, f"out:{short}[3,2]", 2, 3])
    assert r.ok and r.args[0].dtype == r.args[1].dtype == x.dtype
    np.testing.assert_array_equal(r.args[1], x.T)


def test_structures_complex_numbers_and_all_kinds_of_numbers(sources):
    points = np.array([(1.0, 2), (3.0, 4)], dtype=[("x", "f4"), ("i", "i4")])
    numbers = np.array([1 + 2j, 3 - 4j], np.complex64)
    r = cornerturn.check(sources / "k.cu", kernel="moved", grid=1, block=32, args=[points, numbers, 0.5, np.int64(2), None, np.True_])
    assert not r.findings and r.output == "said by a kernel\n"
    assert r.args[0].tolist() == [(2.0, 2), (5.0, 4)] and r.args[0].dtype == points.dtype
    np.testing.assert_array_equal(r.args[1], numbers.conj())
    assert r.args[2:] == (0.5, 2, None, True)


def test_findings_name_both_lines(sources):
    r = cornerturn.check(sources / "k.cu", kernel="reversed", grid=1, block=(64,), shared=256, args=["f32[64]=2", "out:f32[64]"])
    (race,) = r.findings
    assert (race.kind, race.severity, race.kernel) == ("race", "error", "reversed") and r.failed and not r.ok
    assert {place.line for place in race.places} == {18, 19} and {place.action for place in race.places} == {"loads", "stores"}
    assert all(len(place.thread) == 3 and place.bytes == 4 for place in race.places)
    assert "race in " in repr(race) and "k.cu:18" in repr(race) and "k.cu:19" in str(r)
    assert r.args[1].shape == (64,) and r.kernels[0].dynamic_shared == 256  # what is found ends no launch


def test_a_launch_that_ends_leaves_no_arrays(sources):
    r = cornerturn.check(sources / "k.cu", kernel="misaligned", grid=1, block=1, args=["f32[8]"])
    assert "misaligned" in {one.kind for one in r.findings}
    with pytest.raises(RuntimeError, match="args: the launch left no arrays: error: misaligned"):
        r.args  # noqa: B018


def test_a_function_takes_tensors_and_returns_them(sources):
    torch = pytest.importorskip("torch")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = torch.arange(6.0, requires_grad=True).reshape(2, 3)
    c = torch.arange(6).reshape(2, 3).to(torch.bfloat16)
    r = cornerturn.check(sources / "f.cu", call="forward", args=[a, c])
    assert not r.findings
    np.testing.assert_array_equal(r.result[0], 2 * a.detach().numpy())
    assert r.result[1].dtype == r.args[1].dtype == ml_dtypes.bfloat16 and r.result[1].shape == (3, 2)
    np.testing.assert_array_equal(r.result[1].astype(float), 2 * np.arange(6).reshape(2, 3).T)
    assert torch.equal(c.float(), torch.arange(6.0).reshape(2, 3))
    with pytest.raises(ValueError, match=r"args\[1\] is a tensor on meta"):
        cornerturn.check(sources / "f.cu", call="forward", args=[a, torch.zeros(2, device="meta")])


def test_a_function_returns_a_number_or_nothing(sources):
    x = np.ones(3, np.int16)
    mean = cornerturn.check(sources / "f.cu", call="mean", args=[x])
    assert mean.result == 1.5 and isinstance(mean.result, float)
    nothing = cornerturn.check(sources / "f.cu", call="nothing", args=[x])
    assert nothing.result is None
    np.testing.assert_array_equal(nothing.args[0], x)


def test_a_whole_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "own.cuh").write_text("#define CODE 3\n")
    (tmp_path / "-p.cu").write_text(
        '#include "own.cuh"\n#include <cstdio>\n__global__ void k() {}\n'
        'int main(int argc, char** argv) {\n  k<<<1, 32>>>();\n  std::printf("%s %d\\n", argv[1], argc);\n'
        '  std::fputs(TEXT, stderr);\n  return WITH + CODE;\n}\n'
    )  # fmt: skip
    r = cornerturn.check("-p.cu", program_args=["--json", "b"], include=["own"], define={"TEXT": '"said"', "WITH": True})
    assert (r.exit_code, r.output, r.errors) == (4, "--json 3\n", "said")
    assert [one.kind for one in r.findings] == ["exit_code"] and r.failed
    for name in ("args", "result"):
        with pytest.raises(RuntimeError, match=f"{name}: check.. was called without kernel= and call="):
            getattr(r, name)


def test_limits_are_findings():
    r = cornerturn.check(EXAMPLE, max_wavefronts=2, max_sectors=1.5, blocks=2, device="rtx4090")
    assert [one.kind for one in r.findings] == ["race", "too_many_wavefronts"] and r.kernels[0].counted_blocks == 2


SCALE = dict(kernel="scale", grid=1, block=1)
BAD = [
    (dict(kernel="nope", grid=1, block=1), ValueError, "kernel = 'nope': .*k.cu has transpose, moved"),
    (dict(call="nope"), ValueError, "call = 'nope': "),
    (dict(kernel="moved", call="mean"), ValueError, "kernel = 'moved' and call = 'mean': "),
    (dict(), ValueError, "there is no main"),
    (dict(args=[1]), ValueError, "args are for kernel= and call="),
    (dict(grid=1), ValueError, "grid is for kernel="),
    (dict(kernel="moved", grid=1), ValueError, "kernel = 'moved' needs block"),
    (SCALE | dict(grid=(1, 0)), ValueError, r"grid = \(1, 0\): there are one to three numbers from 1 on"),
    (SCALE | dict(block=(1, 1, 1, 1)), ValueError, r"block = \(1, 1, 1, 1\)"),
    (SCALE | dict(block="32"), TypeError, "block = '32' is neither a number nor"),
    (SCALE | dict(grid=1.5), TypeError, "grid = 1.5"),
    (SCALE | dict(shared=-1), ValueError, "shared = -1 is no number from 0 on"),
    (SCALE | dict(seconds=0), ValueError, "seconds = '0'"),
    (SCALE | dict(device="h300"), ValueError, "device = 'h300' is no described GPU"),
    (SCALE | dict(max_wavefronts=0.5), ValueError, "max_wavefronts = '0.5' is no ratio from 1 on"),
    (SCALE | dict(define={"a b": 1}), ValueError, "define: 'a b' is no name"),
    (SCALE | dict(args="f32[1]"), TypeError, "args = 'f32.1.' is no sequence"),
    (SCALE | dict(args=[1, [2]]), TypeError, r"args\[1\] = \[2\] is neither an array nor a number"),
    (SCALE | dict(args=["f33[1]"]), ValueError, r"args\[0\] = 'f33\[1\]': 'f33' is none of f64"),
    (SCALE | dict(args=[2**64]), ValueError, r"args\[0\] = 18446744073709551616: integers have 64 bits"),
    (SCALE | dict(args=[np.array([None])]), TypeError, r"args\[0\] has dtype object"),
    (SCALE | dict(args=[np.zeros(2, ">f4")]), ValueError, r"args\[0\] has dtype >f4: elements have to be in"),
    (SCALE | dict(args=[np.zeros((2, 0))]), ValueError, r"args\[0\] has shape \(2, 0\)"),
    (SCALE | dict(args=[np.array(3.0)]), ValueError, r"args\[0\] is an array without axes"),
    (SCALE | dict(args=[np.complex64(1)]), TypeError, r"args\[0\] has dtype complex64: numbers are of float64"),
    (dict(call="mean", args=[np.zeros(2, np.complex64)]), TypeError, r"args\[0\] has dtype complex64: tensors have"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "error", "part"), BAD, ids=[part for _, _, part in BAD])
def test_bad_arguments(sources, words, error, part):
    with pytest.raises(error, match=part):
        cornerturn.check(sources / "k.cu", **words)


def test_what_cannot_be_compiled_or_found(tmp_path, monkeypatch):
    (tmp_path / "bad.cu").write_text("__global__ void k() {\n  undeclared = 1;\n}\nint main() { k<<<1, 1>>>(); }\n")
    with pytest.raises(ValueError, match=r"bad.cu:2: .*undeclared"):
        cornerturn.check(tmp_path / "bad.cu")
    with pytest.raises(FileNotFoundError, match="file: "):
        cornerturn.check(tmp_path / "none.cu")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(RuntimeError, match="check needs a C.. compiler, and neither"):
        cornerturn.check(tmp_path / "bad.cu")
    monkeypatch.setattr(command, "PROGRAM", tmp_path / "none")
    with pytest.raises(RuntimeError, match="this package was built without the command"):
        cornerturn.check(tmp_path / "bad.cu")


def test_nothing_is_left_behind(sources, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    code = (
        "import cornerturn, pathlib, sys; from cornerturn import __main__ as command; command.PROGRAM = pathlib.Path(sys.argv[2])\n"
        "import numpy\ntry: cornerturn.check(sys.argv[1], kernel='no', grid=1, block=1, args=[numpy.zeros(3)])\n"
        "except ValueError as error: print(error)"
    )  # fmt: skip
    said = subprocess.run([sys.executable, "-c", code, sources / "k.cu", PROGRAM], capture_output=True, text=True, check=True)
    assert "kernel = 'no'" in said.stdout and os.listdir(tmp_path) == []


def test_the_page_shows_a_test_that_passes(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "check-cuda.md").read_text().partition("## From Python and pytest")[2]
    shown = re.search(r"^```python\n(.*?)^```", page, re.S | re.M)[1]
    found = {}
    exec(shown, found)  # noqa: S102
    with pytest.raises(AssertionError, match="race"):
        found["test_transpose"]()
    mended = EXAMPLE.read_text().replace("  const int to_x", "  __syncthreads();\n  const int to_x").replace("tile[side][side]", "tile[side][side + 1]")
    (tmp_path / "mended.cu").write_text(mended)
    exec(shown.replace("examples/transpose_with_faults.cu", str(tmp_path / "mended.cu")), found)  # noqa: S102
    found["test_transpose"]()
