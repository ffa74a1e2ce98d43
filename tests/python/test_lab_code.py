"""The code that `solve` prints, compiled and run: every offset is that of the lab's own map, and no
two elements share one. CuTe's C++ needs its headers (nvidia-cutlass) and CUDA's, on the host; CuTe's
Python is evaluated with pycute; Gluon's layouts are asked of Triton's own compiler, without a GPU."""

import importlib.util
import itertools
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from cornerturn import solve

ROOT = Path(__file__).parents[2]
CUDA = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
TYPES = "#include <cstdint>\nstruct __half { uint16_t bits; };\nstruct float4 { float x, y, z, w; };\n"

# tile, dtype, what else is asked
QUESTIONS = [
    ((64, 64), "float32", {"vector": 16}),
    ((64, 64), "float32", {"vector": 4}),
    ((32, 32), "float32", {"vector": 4}),
    ((64, 64), "float32", {"vector": 16, "tma": True}),
    ((64, 64), "float32", {"vector": 4, "pad": True}),
    ((64, 64), "float16", {"read": "ldmatrix"}),
    ((128, 64), "float16", {"vector": 16}),
    ((128, 128), "uint8", {"vector": 16}),
    ((64, 32), "float64", {}),
    ((32, 32), "complex128", {}),
    ((24, 40), "float32", {}),
    ((48, 80), "float16", {}),
    ((40, 100), "float32", {"vector": 4}),
    ((20, 100), "float32", {"vector": 16}),
    ((20, 34), "uint8", {"vector": 1}),
    ((128, 128), "float32", {"vector": 16}),  # more than 48 KiB
]


@cache
def answers():
    """All ranked answers of all questions, each form of code once: (rows, columns, answer)."""
    found = {}
    for tile, dtype, more in QUESTIONS:
        for answer in solve(tile, dtype, **more).answers:
            found.setdefault((tile, tuple(answer.code.items())), (*tile, answer))
    return list(found.values())


def with_form(form):
    return [(rows, columns, answer) for rows, columns, answer in answers() if form in answer.code]


def places(rows, columns, answer):
    """Where the lab puts the elements, row by row: all different."""
    offsets = [answer(row, column) for row in range(rows) for column in range(columns)]
    assert len(set(offsets)) == rows * columns and min(offsets) >= 0
    return offsets


def cute_headers():
    package = importlib.util.find_spec("cutlass_library")
    folder = package and Path(package.origin).parent / "source" / "include"
    return folder if folder and (folder / "cute" / "layout.hpp").exists() else None


needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")


def needs_cute(test):
    for reason in (
        pytest.mark.skipif(cute_headers() is None, reason="CuTe (nvidia-cutlass) is not installed"),
        pytest.mark.skipif(not (CUDA / "include/cuda_runtime.h").exists(), reason="no CUDA headers"),
        needs_compiler,
    ):
        test = reason(test)
    return test


def compiled(folder, source, *options):
    """What the program prints. The compiler cache, where there is one, knows it from the last time."""
    cache = ["ccache"] if shutil.which("ccache") else []
    for command in (
        [*cache, "g++", "-std=c++20", *map(str, options), "-c", str(source), "-o", "program.o"],
        ["g++", "program.o", "-o", "program"],
    ):
        env = {**os.environ, "CCACHE_BASEDIR": str(folder)}
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=env)
        assert done.returncode == 0, done.stderr[:4000]
    return subprocess.run([str(folder / "program")], capture_output=True, text=True).stdout.splitlines()


def compiled_with_cute(folder, source, *options):
    includes = [folder, ROOT / "src", ROOT / "include", cute_headers(), CUDA / "include", CUDA / "include/cccl"]
    return compiled(folder, source, "-w", "-DNDEBUG", *options, *[f"-I{path}" for path in includes])


def compare(lines, expected):
    assert len(lines) == len(expected) > 10
    for line, (rows, columns, answer) in zip(lines, expected, strict=True):
        name, *offsets = line.split()
        assert list(map(int, offsets)) == places(rows, columns, answer), f"{name}: {answer}"


@needs_compiler
def test_cuda_on_the_host(tmp_path):
    forms = with_form("cuda")
    parts = [TYPES, "#include <cstdio>\n#define __shared__\n#define __device__\n"]
    calls = []
    for i, (rows, columns, answer) in enumerate(forms):
        parts.append(f"namespace form{i} {{\n{answer.code['cuda']}\n}}\n")
        calls.append(f'std::printf("form{i}"); for (int r = 0; r < {rows}; ++r) for (int c = 0; c < {columns}; ++c) '
                     f'std::printf(" %d", form{i}::at(r, c)); std::printf("\\n");\n')  # fmt: skip
        # The array has room for all of them.
        declared = answer.code["cuda"].splitlines()[0]
        room = int(declared.split("// ")[1].split()[0]) if "extern" in declared else None
        assert room in (None, answer.shared_bytes)
        if room is None:
            calls.append(f"static_assert(sizeof form{i}::tile == {answer.shared_bytes});\n")
    source = tmp_path / "forms.cpp"
    source.write_text("".join([*parts, "int main() {\n", *calls, "}\n"]))
    compare(compiled(tmp_path, source, "-Wall", "-Wextra", "-Werror"), forms)
    assert {answer.kind for _, _, answer in forms} == {
        "plain", "swizzle", "TMA boxes", "chunk xor", "rotation", "padding"
    }  # fmt: skip


@pytest.mark.skipif(not (CUDA / "bin/nvcc").exists(), reason="no nvcc here")
def test_cuda_is_what_nvcc_takes(tmp_path):
    forms = [form for form in with_form("cuda") if form[2].clean]
    parts = ["#include <cstdint>\n#include <cuda_fp16.h>\n"]
    for i, (_, _, answer) in enumerate(forms):
        # One dynamic array a file may have one type.
        code = answer.code["cuda"].replace(" tile[", f" tile{i}[")
        parts.append(f"namespace form{i} {{\n{code}\n__global__ void kernel(decltype(+tile{i}) p) {{\n"
                     f"  tile{i}[at(threadIdx.y, threadIdx.x)] = p[threadIdx.x];\n  __syncthreads();\n"
                     f"  p[threadIdx.x] = tile{i}[at(threadIdx.x, threadIdx.y)];\n}}\n}}\n")  # fmt: skip
    (tmp_path / "forms.cu").write_text("".join(parts))
    done = subprocess.run(
        [CUDA / "bin/nvcc", "-std=c++17", "-arch=sm_90", "-Xcompiler", "-Wall,-Wextra", "-Werror", "all-warnings",
         "-cubin", "-o", "forms.cubin", "forms.cu"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[:4000]


@needs_cute
def test_cute_cpp(tmp_path):
    forms = with_form("cute_cpp")
    functions = [
        f"auto form{i}() {{ using namespace cute; {answer.code['cute_cpp']} return tile; }}\n"
        for i, (_, _, answer) in enumerate(forms)
    ]
    calls = [f'show("form{i}", {rows}, {columns}, form{i}());\n' for i, (rows, columns, _) in enumerate(forms)]
    (tmp_path / "forms.inc").write_text("".join([*functions, "void show_forms() {\n", *calls, "}\n"]))
    compare(compiled_with_cute(tmp_path, ROOT / "tests/lab/compile/forms.cpp"), forms)


@needs_cute
@pytest.mark.skipif(os.environ.get("FULL") != "1", reason="FULL=1 only")
def test_what_is_printed_pasted_into_the_cute_rung(tmp_path):
    """The rungs' own tiles are what the solver prints for them, to the type; and the rung's kernel
    transposes with the others, too."""
    winners = {
        "scalar_32": solve((32, 32), "float32", vector=4),
        "scalar_64": solve((64, 64), "float32", vector=4),
        "vectors_64": solve((64, 64), "float32", vector=16),
        "padded_64": solve((64, 64), "float32", vector=4, pad=True),
    }
    assert all(winner.clean for winner in winners.values())
    (tmp_path / "pasted.inc").write_text(
        "".join(f"auto {name}() {{ {winner.code['cute_cpp']} return tile; }}\n" for name, winner in winners.items())
    )
    source = ROOT / "tests/lab/compile/pasted_rung.cpp"
    lines = compiled_with_cute(tmp_path, source, "-O1", f"-I{ROOT / 'tests/cuda/host'}")
    assert lines == ["20 compared, 0 different"]


def test_cute_python():
    pycute = pytest.importorskip("pycute")

    class Cute:
        """The three functions of cutlass.cute that are printed, in pycute's words."""

        @staticmethod
        def make_layout(shape, *, stride):
            return pycute.Layout(shape, stride)

        @staticmethod
        def make_swizzle(b, m, s):
            return pycute.Swizzle(b, m, s)

        @staticmethod
        def make_composed_layout(inner, offset, outer):
            return lambda *coordinate: inner(offset + outer(*coordinate))

    forms = with_form("cute_python")
    assert len(forms) > 10
    for rows, columns, answer in forms:
        names = {"cute": Cute}
        exec(answer.code["cute_python"], names)
        offsets = [names["tile"](row, column) for row in range(rows) for column in range(columns)]
        assert offsets == places(rows, columns, answer), answer


GLUON = """
import json, math, sys
from triton._C.libtriton import gluon_ir, ir
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language._semantic import GluonSemantic

context = ir.context()
ir.load_dialects(context)
builder = gluon_ir.GluonOpBuilder(context)
module = builder.create_module()
function = builder.get_or_insert_function(module, "f", builder.get_function_ty([], []), "public", False)
builder.set_insertion_point_to_start(function.add_entry_block())
semantic = GluonSemantic(builder)
types = {1: gl.uint8, 2: gl.float16, 4: gl.float32, 8: gl.float64}

def bases(layout, rows, columns, itemsize):
    # What an offset's bits are, as bits of row * columns + column. Padded layouts say it themselves;
    # of the others the compiler works it out when the tile is seen as 2 x 2 x ... x 2.
    if hasattr(layout, "interval_padding_pairs"):
        return [row * columns + column for row, column in layout.offset_bases]
    tile = semantic.allocate_shared(types[itemsize], [rows, columns], layout, None)
    flat = semantic.memdesc_reshape(tile, [2] * int(math.log2(rows * columns)))
    return [int("".join(map(str, basis)), 2) for basis in flat.type.layout.offset_bases]

for line in sys.stdin:
    rows, columns, itemsize, code = json.loads(line)
    names = {"gl": gl}
    exec(code, names)
    where = [None] * (rows * columns)
    found = bases(names["tile"], rows, columns, itemsize)
    for offset in range(rows * columns):
        index = 0
        for bit, basis in enumerate(found):
            index ^= basis if offset >> bit & 1 else 0
        pads = getattr(names["tile"], "interval_padding_pairs", [])
        where[index] = offset + sum(offset // interval * pad for interval, pad in pads)
    print(json.dumps(where))
"""


def test_gluon():
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    if importlib.util.find_spec("triton.experimental.gluon") is None:
        pytest.skip("this Triton has no Gluon")
    forms = with_form("gluon")
    for tile, dtype, more in itertools.product(
        [(8, 8), (4, 32), (16, 16), (256, 64), (8, 256)], ["float32", "float16", "uint8"], [{}, {"tma": True}, {"pad": True}]
    ):
        try:
            forms += [(*tile, answer) for answer in solve(tile, dtype, **more).answers if "gluon" in answer.code]
        except ValueError as error:
            assert "no whole number" in str(error) or "not aligned" in str(error), error
    questions = "".join(
        json.dumps([rows, columns, itemsize(answer), answer.code["gluon"]]) + "\n" for rows, columns, answer in forms
    )
    # A layout that Triton refuses ends its process.
    done = subprocess.run([sys.executable, "-c", GLUON], input=questions, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) == len(forms) > 50
    for line, (rows, columns, answer) in zip(lines, forms, strict=True):
        assert json.loads(line) == places(rows, columns, answer), answer.code["gluon"]
    assert {code.split("(")[0] for code in (answer.code["gluon"] for _, _, answer in forms)} == {
        "tile = gl.SwizzledSharedLayout", "tile = gl.NVMMASharedLayout", "tile = gl.PaddedSharedLayout.with_identity_for"
    }  # fmt: skip


def itemsize(answer):
    """Bytes of an element, from what the answer says of the side that lanes read."""
    names = {"uint8_t": 1, "__half": 2, "float": 4, "double": 8, "float4": 16}
    return names[answer.code["cuda"].split(" tile[")[0].split()[-1]]
