"""The rungs as functions of two arrays in host memory, where the emulator runs them."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
ladder = pytest.importorskip("cornerturn.ladder")
from cornerturn.ladder import _rung  # noqa: E402

pytestmark = pytest.mark.skipif(_rung._ladder is None, reason=_rung.NO_LADDER)

COMPILED = [name for name, rung in _rung.all_rungs().items() if rung.family != "triton"]
EMULATED = [name for name in COMPILED if not name.startswith("cute")]
SHAPES = [(1, 1), (5, 7), (1, 300), (300, 1), (33, 31), (64, 96), (127, 65)]


def numbered(rows, cols, dtype):
    size = rows * cols * np.dtype(dtype).itemsize
    return np.random.default_rng(size).integers(0, 256, size, np.uint8).view(dtype).reshape(rows, cols)


@pytest.mark.parametrize("name", ["cpy_transpose", "cpy_flat"])
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4"])
def test_stacks_of_matrices(name, dtype):
    """Eight matrices a block and some left over."""
    for batch in (1, 8, 11):
        a = numbered(batch * 33, 40, dtype).reshape(batch, 33, 40)
        b = np.zeros((batch, 40, 33), dtype)
        getattr(ladder, name)(a, b)
        assert b.tobytes() == np.ascontiguousarray(a.swapaxes(1, 2)).tobytes()
    with pytest.raises(ValueError, match="it takes one matrix, not a stack of 11"):
        ladder.smem(numbered(11 * 33, 40, "f4").reshape(11, 33, 40), np.zeros((11, 40, 33), "f4"))
    with pytest.raises(ValueError, match=r"b.shape = \(11, 33, 40\)"):
        ladder.cpy_transpose(a, a.copy())


@pytest.mark.parametrize("name", ["cpy_transpose", "cpy_flat"])
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4"])
def test_stacks_whose_rows_lie_together(name, dtype):
    """Row 0 of each matrix, then row 1 of each: strides as in ggml's fused case, nb00 > nb02."""
    for batch in (2, 11):
        a = numbered(33 * batch, 40, dtype).reshape(33, batch, 40).swapaxes(0, 1)
        assert a.strides[1] > a.strides[0]
        b = np.zeros((batch, 40, 33), dtype)
        getattr(ladder, name)(a, b)
        assert b.tobytes() == np.ascontiguousarray(a.swapaxes(1, 2)).tobytes()
    with pytest.raises(ValueError, match="it takes one matrix, not a stack of 11"):
        ladder.smem(numbered(33 * 11, 40, "f4").reshape(33, 11, 40).swapaxes(0, 1), np.zeros((11, 40, 33), "f4"))
    with pytest.raises(ValueError, match="b.strides = .* packed row by row"):
        getattr(ladder, name)(np.zeros((11, 33, 40), dtype), np.zeros((40, 11, 33), dtype).swapaxes(0, 1))
    with pytest.raises(ValueError, match="a.strides = .* packed row by row"):
        getattr(ladder, name)(np.zeros((11, 33, 80), dtype)[:, :, ::2], np.zeros((11, 40, 33), dtype))


def test_the_climb_is_listed_in_order():
    names = ladder.rungs()
    assert names[:2] == ["copy", "naive_read"] and names[-1] == "triton_block_tuned"
    assert names.index("smem_chunk_xor") < names.index("cute_copy") < names.index("triton_1d")
    assert len(set(names)) == len(names) and set(names) <= set(dir(ladder))
    assert {"smem_pad", "cute_tma", "block_order_hilbert"} <= set(names)


@pytest.mark.parametrize("name", EMULATED)
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "c8"])
def test_every_rung_in_the_emulator(name, dtype):
    rung = getattr(ladder, name)
    itemsize = np.dtype(dtype).itemsize
    for rows, cols in SHAPES if dtype == "f4" else [(5, 7), (64, 48)]:
        a = numbered(rows, cols, dtype)
        expected = np.ascontiguousarray(a.T if rung.transposes else a)
        b = np.frombuffer(bytes(~expected.view(np.uint8)), dtype).reshape(expected.shape).copy()
        before = a.copy()
        if rung.why_not(rows, cols, itemsize):
            with pytest.raises(ValueError, match=f"{name} does not apply: it takes elements of"):
                rung(a, b)
            continue
        assert rung(a, b) is None
        assert b.tobytes() == expected.tobytes() and a.tobytes() == before.tobytes()


@pytest.mark.parametrize("name", ["cpy_flat", "cpy_transpose"])
@pytest.mark.parametrize("src", ["float32", "float16", "bfloat16", "int32"])
def test_ggmls_rungs_convert(name, src):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    types = {"float32": "f4", "float16": "f2", "bfloat16": ml_dtypes.bfloat16, "int32": "i4"}
    rung = getattr(ladder, name)
    assert rung.converts
    a = (np.arange(33 * 40).reshape(33, 40) * 1.37 - 800).astype(types[src])
    for dtype in types.values():
        b = np.full((40, 33), 7, dtype)
        rung(a, b)
        assert b.tobytes() == np.ascontiguousarray(a.T.astype(dtype)).tobytes()
    b = np.zeros((40, 33), "f8")
    with pytest.raises(ValueError, match=f"{name} does not apply: it converts f32, f16, bf16 and i32"):
        rung(a, b)
    assert not b.any()


@pytest.mark.parametrize("dtype", ["bool", "S4", "U2", "datetime64[s]", [("x", "i2"), ("y", "i2")]])
def test_any_element_of_a_size_that_the_rung_takes(dtype):
    a = numbered(40, 33, "u4" if np.dtype(dtype).itemsize == 4 else f"u{np.dtype(dtype).itemsize}")
    a = (a & 1 if dtype == "bool" else a).view(dtype)
    b = np.zeros((33, 40), dtype)
    ladder.smem_chunk_xor(a, b)
    assert b.tobytes() == np.ascontiguousarray(a.T).tobytes()


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_nothing_to_do(shape):
    ladder.smem(np.zeros(shape, "f4"), np.zeros(shape[::-1], "f4"))


def test_a_part_of_a_larger_array():
    whole = numbered(64, 32, "f4")
    b = np.zeros((32, 20), "f4")
    ladder.smem_xor_vec(whole[7:27], b)
    assert (b.tobytes()) == np.ascontiguousarray(whole[7:27].T).tobytes()


A = np.zeros((4, 6), "f4")
B = np.zeros((6, 4), "f4")
SQUARE = np.zeros((8, 8), "f4")
READ_ONLY = np.zeros((6, 4), "f4")
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    "a, b, error, words",
    [
        (A, [[1.0]], TypeError, "b is a builtins.list: it shows copies of its values, and cannot be written to"),
        (A.astype(object), B, TypeError, "a.dtype = object: its elements hold references"),
        (A[0], B, ValueError, r"a.shape = \(6,\): a matrix has 2 dimensions"),
        (A, A, ValueError, r"b.shape = \(4, 6\) differs from \(6, 4\), a's transposed"),
        (A, B.astype("i4"), TypeError, "b.dtype = int32 differs from a.dtype = float32"),
        (A, READ_ONLY, ValueError, "b is read-only"),
        (A[:, ::2], np.zeros((3, 4), "f4"), ValueError, r"a.strides = \(24, 8\) bytes: .* packed row by row"),
        (A[::-1], B, ValueError, r"a.strides = \(-24, 4\) bytes"),
        (A, B.T.copy().T, ValueError, r"b.strides = \(4, 24\) bytes"),
        (SQUARE, SQUARE, ValueError, "b overlaps a in memory"),
        (SQUARE[:4, :].reshape(4, 8), SQUARE.reshape(-1)[16:48].reshape(8, 4), ValueError, "b overlaps a"),
        (A.astype("c16"), B.astype("c16"), ValueError, "it takes elements of 4 B, not of 16 B"),
    ],
)
def test_wrong_operands_are_refused(a, b, error, words):
    before = np.asarray(b).copy() if isinstance(b, np.ndarray) else None
    with pytest.raises(error, match=words):
        ladder.smem(a, b)
    assert before is None or (before == b).all()


def test_a_copy_takes_the_same_shape():
    a, b = numbered(5, 9, "i2"), np.zeros((5, 9), "i2")
    ladder.copy(a, b)
    assert (a == b).all()
    with pytest.raises(ValueError, match="that of a: this rung copies"):
        ladder.copy(a, np.zeros((9, 5), "i2"))


def test_host_memory_has_no_streams():
    with pytest.raises(ValueError, match="stream: a and b are in host memory"):
        ladder.smem(A, B, stream=0)


def test_cute_rungs_do_not_run_in_host_memory():
    with pytest.raises(ValueError, match="cute_smem does not apply: it runs on a GPU only"):
        ladder.cute_smem(A, B)
    assert "multiple of 16 bytes" in ladder.cute_tma.why_not(3, 5)
    assert ladder.cute_tma.why_not(64, 64) is None


def test_a_name_that_is_none():
    with pytest.raises(AttributeError, match="no rung 'smem_'; cornerturn.ladder.rungs.. lists them"):
        ladder.smem_


def test_a_rung_describes_itself():
    assert ladder.smem_pad.name == ladder.smem_pad.__name__ == "smem_pad"
    assert not ladder.smem_pad.converts
    assert ladder.smem_pad.family == "cuda" and ladder.smem_pad.transposes and not ladder.copy.transposes
    assert ladder.smem_pad.shows in repr(ladder.smem_pad)
    assert ladder.smem_pad.__doc__.startswith("smem_pad: ")


def test_a_build_without_the_extension_says_so(monkeypatch):
    monkeypatch.setattr(_rung, "_ladder", None)
    _rung.all_rungs.cache_clear()
    try:
        assert ladder.rungs() == list(_rung.TRITON)
        with pytest.raises(AttributeError, match="libboost-context-dev"):
            ladder.smem
    finally:
        monkeypatch.undo()
        _rung.all_rungs.cache_clear()


def test_cute_rungs_that_are_not_built_say_so(monkeypatch):
    """On a machine with a GPU, a build with device code and without CUTLASS."""
    monkeypatch.setattr(_rung._ladder, "why_no_gpu", lambda: None)
    monkeypatch.setattr(_rung._ladder, "why_no_cute", lambda: "built without the CUTLASS headers")
    cute = [name for name in ladder.rungs() if getattr(ladder, name).family == "cute"]
    assert cute
    for name in cute:
        assert getattr(ladder, name).why_not(64, 64) == "it is not built: built without the CUTLASS headers"
        b = B if getattr(ladder, name).transposes else np.empty_like(A)
        with pytest.raises(ValueError, match=f"{name} does not apply: it is not built: built without the CUTLASS"):
            getattr(ladder, name)(A, b)
    assert ladder.smem.why_not(64, 64) is None


def test_nothing_heavy_is_imported_before_it_is_needed():
    script = (
        "import sys, cornerturn.ladder as l; l.rungs(); l.smem; l.triton_1d; "
        "print([m for m in ('numpy', 'torch', 'triton', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_the_stub_is_that_of_the_extension(tmp_path):
    pytest.importorskip("nanobind")
    command = ["-m", "nanobind.stubgen", "-q", "-m", "cornerturn._ladder", "-o", tmp_path / "stub"]
    subprocess.run([sys.executable, *command], check=True)
    root = Path(__file__).parents[2]
    assert (tmp_path / "stub").read_text() == (root / "python/cornerturn/_ladder.pyi").read_text()


def test_the_example_of_the_module():
    assert doctest.testmod(ladder).attempted == 5 and doctest.testmod(ladder).failed == 0
