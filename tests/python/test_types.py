"""What type checkers say of programs that use the package: right ones pass, and each wrong line is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RIGHT = """
from typing import Any
import numpy as np
import numpy.typing as npt
import cornerturn

Images = npt.NDArray[np.float32]

def planes(images: Images) -> Images:
    return cornerturn.transpose(images, (0, 3, 1, 2))

def stacked(images: Images) -> Images:
    twice = cornerturn.repeat(images, "a b c d -> (2 a) b c d")
    return cornerturn.rearrange([images, twice], pattern="n a b c d -> (n a) b c d", threads=2)

def spelled(images: Images) -> Images:
    kept: Images = cornerturn.contiguous(images, order="F", threads=1)
    moved: Images = cornerturn.moveaxis(images, -1, destination=[1], order="C")
    swapped: Images = cornerturn.swapaxes(images, 0, 1, saturate=True)
    permuted: Images = cornerturn.permute_dims(images, (1, 0), conjugate=False, stream=None)
    packed: Images = cornerturn.ascontiguousarray(images, threads=None)
    merged: Images = cornerturn.rearrange(images, "a (b c) -> (a b) c", b=3)
    out = np.empty_like(images)
    filled: Images = cornerturn.transpose(images.astype(np.int8), dtype="float32", out=out, beta=0.5)
    scaled: Images = cornerturn.transpose(images, None, scale=[1.0, 2], bias=images[0], alpha=2, seed=np.int64(3))
    rounded: Images = cornerturn.transpose(images, rounding="stochastic", seed=7)
    cornerturn.copy(out, images, threads=1, convert=True, rounding="nearest")
    with cornerturn.threads(2):
        cornerturn.transpose(images, 2, 0, 1, order="F")
    return kept + moved + swapped + permuted + packed + merged + filled + scaled + rounded

def others(images: Images) -> None:
    plan: cornerturn.Plan = cornerturn.plan((2, 3), device="h200", dtype=np.float32, kernel="tile", measure=False)
    plan.explain()
    halves: npt.NDArray[np.float16] = cornerturn.transpose(images, dtype=np.float16)
    swapped: npt.NDArray[np.float32] = cornerturn.moveaxis(images, 0, 1, dtype=np.dtype(">f4"))
    numbers: Any = cornerturn.transpose([[1, 2], [3, 4]])
    array: npt.NDArray[np.int64] = cornerturn.swapaxes([[1, 2], [3, 4]], 0, 1)
    blocks = cornerturn.quantise(images, "q8_0", axis=0, pad=True)
    cornerturn.dequantise(blocks, dtype="float16")
    largest: float = cornerturn.amax(images)
    cornerturn.transpose_file("a.npy", "b.npy", [1, 0], dtype=">f4", memory="1GiB", progress=True)
    cornerturn.rechunk("a.zarr", "b.zarr", chunks={"time": 50}, axes=["lat", ...], memory=1 << 30)
    cornerturn.rechunk(images, "b.zarr", chunks=(5, None, -1), progress=lambda moved, total: None)
    into: npt.NDArray[np.float16] = cornerturn.to(images, "cpu", (1, 0), out=halves, dtype="float16", non_blocking=True)
    there: Any = cornerturn.to(images, "cuda:0", axes=[0, 1], dtype=np.float16, scale=[1.0], threads=2, blocks=16)
    cornerturn.copy(into, there, non_blocking=True, stream=0, blocks=np.int64(4))
    cornerturn.moveaxis(images, 0, 1, out=there, non_blocking=True)
    stacked_up: Images = cornerturn.stack([images, images], (1, 2, 3, 4, 0), threads=1)
    apart: list[Images] = cornerturn.unstack(images, axis=-1)
    some: Images = cornerturn.take(images, [0, -1], axis=1, axes=(1, 0, 2, 3), missing="zeros")
    cornerturn.put(stacked_up, np.array([1, 0]), some, 1, missing="skip", convert=True)
    filled: Images = cornerturn.take(halves, (2, -1), out=apart[0], missing="left", dtype=np.float32)
    wide: npt.NDArray[np.float64] = cornerturn.stack(apart, axes=[1, 0], out=np.zeros((2, 3)), dtype="float64")
    cornerturn.take(images, [0], checked=True)
    cornerturn.put(images, indices=range(1), x=images, axis=-1, axes=(1, 0), checked=False, threads=1)
    cornerturn.quantise(images, "mxfp8_e4m3", (1, 0), indices=[0, -1], missing="zeros", scale_layout="tiles_128x4", pad=True)
    cornerturn.quantise_both(images, "nvfp4", indices=np.array([1]), tensor_scale=0.5).row_scales
    cornerturn.quantise_groups(images, [3, 5], scale="even")
    cornerturn.convert_scales(*cornerturn.transpose_blocks(images, images, "fp8_128x128")[:1], to="packed_4", shape=(2, 3))
    matrix: npt.NDArray[Any] = cornerturn.tables.to_matrix(filled, order="F", nulls=0, dtype="float32")
    cornerturn.tables.from_matrix(matrix, ["a", "b"])
    cornerturn.explain("(8,64):(64,1)", access=["rows", "columns:store:16"], dtype="f16")
    print(halves, swapped, numbers, array, largest)

def checked(images: Images) -> bool:
    r: cornerturn.CheckReport = cornerturn.check("a.cu", kernel="k", grid=4, block=(32, np.int32(8)), args=[images, 3, None, "out:f32[4]"])
    cornerturn.check("a.cu", call="f", args=(images,), define={"N": 4}, include=["own"], max_wavefronts=1, device="a100")
    places: tuple[cornerturn.Place, ...] = r.findings[0].places
    lines: list[int] = [line.wavefronts - line.ideal_wavefronts for line in r.lines + r.kernels[0].lines]
    return r.ok and not r.failed and len(r.args) + len(places) + len(lines) + r.exit_code > 0 and r.output == str(r)

try:
    planes(np.zeros((1, 2, 3, 4), np.float32))
except cornerturn.EinopsError as error:
    print(error)
"""

WRONG = """
cornerturn.transpose(x, (0, 1), ordre="F")
cornerturn.transpose(x, (0, 1), order="K")
cornerturn.transpose(x, (0, 1), threads="two")
cornerturn.transpose(x, (0, 1), rounding="up")
cornerturn.transpose(x, (0, 1), dtype=32)
cornerturn.transpose(x, (0, 1), scale="2")
cornerturn.transpose(x, (0, 1), alpha="2")
cornerturn.transpose(x, (0, 1), saturate="no")
cornerturn.transpose(x, (0, 1), seed=0.5)
cornerturn.transpose(x, 0.5)
cornerturn.transpose(x, [0.5, 1])
cornerturn.transpose()
cornerturn.transpose(x, out=x, where=x)
cornerturn.permute_dims(x, (0, 1), axis=1)
cornerturn.permute_dims(x, (0, 1), threads=0.5)
cornerturn.moveaxis(x, 0)
cornerturn.moveaxis(x, 0.5, 1)
cornerturn.moveaxis(x, 0, 1, order="A")
cornerturn.swapaxes(x, (0, 1), 1)
cornerturn.swapaxes(x, 0, 1, out_=x)
cornerturn.contiguous(x, order="K")
cornerturn.contiguous(x, scale=2.0)
cornerturn.contiguous(x, dtype=4)
cornerturn.ascontiguousarray(x, like=x)
cornerturn.ascontiguousarray(x, dtype=8)
cornerturn.copy(x, x, convert="yes")
cornerturn.copy(x, x, dtype="float32")
cornerturn.copy(x)
cornerturn.rearrange(x, 5)
cornerturn.rearrange(x, "(a b) -> a b", a="2")
cornerturn.rearrange(x)
cornerturn.repeat(x, "a -> a b", b=1.5)
cornerturn.plan((2, 3), device=0)
cornerturn.plan((2, 3), threads="4")
cornerturn.quantise(x, "q9")
cornerturn.quantise(x, scale="round")
cornerturn.dequantise(x, dtype=16)
cornerturn.amax(x, axis=0)
cornerturn.transpose_file("a", "b", memory=1.5)
cornerturn.transpose_file("a", "b", progress=3)
cornerturn.rechunk("a", "b", chunks="auto")
cornerturn.rechunk("a", "b", overwrite="yes")
cornerturn.explain(5)
cornerturn.threads("two")
cornerturn.to(x)
cornerturn.to(x, "cuda", axes=0.5)
cornerturn.to(x, "cuda", non_blocking="yes")
cornerturn.to(x, "cuda", dtype=16)
cornerturn.to(x, "cuda", order="F")
cornerturn.to(x, "cuda", rounding="up")
cornerturn.copy(x, x, non_blocking="no")
cornerturn.transpose(x, non_blocking="no")
cornerturn.check("a.cu", "k")
cornerturn.check("a.cu", kernel="k", grid="4")
cornerturn.check("a.cu", kernel="k", grid=1, block=1, args=3)
cornerturn.check("a.cu", max_wavefronts="1")
wrong_list: list[int] = cornerturn.check("a.cu").findings
cornerturn.transpose_in_place(x, 0.5)
cornerturn.stack(x, axis=1)
cornerturn.stack(5)
cornerturn.unstack(x, 0.5)
cornerturn.take(x)
cornerturn.take(x, [0], missing="nothing")
cornerturn.put(x, [0], x, missing="zeros")
cornerturn.stack([x], dtype=16)
cornerturn.stack([x], out=x, threads="2")
cornerturn.unstack(x, 0, missing="zeros")
cornerturn.take(x, [0], checked="yes")
cornerturn.take(x, [0], mode="clip")
cornerturn.put(x, [0], x, convert="yes")
cornerturn.put(x, [0], x, mode="clip")
cornerturn.quantise(x, indices=[0], missing="left")
cornerturn.quantise(x, both="yes")
cornerturn.quantise(x, scale_layout="rows")
cornerturn.quantise_both(x, axes=(1, 0))
cornerturn.quantise_both(x, indices=[0], missing="skip")
cornerturn.quantise_groups(x, 3)
cornerturn.transpose_blocks(x, x, "q9")
cornerturn.convert_scales(x, "rows")
wrong_part: int = cornerturn.take(x, [0])
wrong_parts: int = cornerturn.unstack(x)
wrong_int: int = cornerturn.moveaxis(x, 0, 0)
wrong_out: int = cornerturn.to(x, "cpu", out=x)
wrong_text: str = cornerturn.transpose(x, (1, 0), out=x)
""".strip().splitlines()

BEFORE = "import numpy as np\nimport cornerturn\n\nx = np.zeros((2, 3))\n"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("typed")
    (folder / "right.py").write_text(RIGHT)
    (folder / "wrong.py").write_text(BEFORE + "\n".join(WRONG) + "\n")
    return folder


def run(folder, *words):
    return subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, cwd=folder, env={**os.environ, "MYPYPATH": ""})


def judge(found):
    """`found` has (file, line) of each error."""
    assert not [place for place in found if place[0] == "right.py"], found
    first = BEFORE.count("\n") + 1
    missed = [line for number, line in enumerate(WRONG, first) if ("wrong.py", number) not in found]
    assert not missed


def test_mypy(programs):
    pytest.importorskip("mypy")
    cache = Path(__file__).parents[2] / "build" / "mypy"  # what it knows of NumPy takes seconds to find out
    done = run(programs, "mypy", "--strict", "--cache-dir", str(cache), "right.py", "wrong.py")
    lines = [line.split(":") for line in done.stdout.splitlines() if ": error: " in line]
    assert lines, done.stdout + done.stderr
    found = {(name, int(number)) for name, number, *_ in lines}
    judge(found)


def test_pyright(programs):
    """As basedpyright, which PyPI has with all that it needs, in pyright's own mode."""
    pytest.importorskip("basedpyright")
    (programs / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    done = run(programs, "basedpyright", "--outputjson", "--pythonpath", sys.executable, "right.py", "wrong.py")
    report = json.loads(done.stdout)
    found = {
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1)
        for one in report["generalDiagnostics"]
        if one["severity"] == "error"
    }
    judge(found)
