"""ggml's copy operator through the C interface against gguf: its types, and blocks bit by bit."""

import ctypes
import os
from pathlib import Path

import numpy as np
import pytest

gguf = pytest.importorskip("gguf")
ml_dtypes = pytest.importorskip("ml_dtypes")
Type = gguf.GGMLQuantizationType

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CORNERTURN_BUILD_DIR", ROOT / "build" / "release"))
DTYPES = {
    Type.F32: np.float32,
    Type.F16: np.float16,
    Type.BF16: ml_dtypes.bfloat16,
    Type.F64: np.float64,
    Type.I8: np.int8,
    Type.I16: np.int16,
    Type.I32: np.int32,
    Type.I64: np.int64,
}
# Products of quantised multiplications, in which no tensor is stored.
INTERNAL = {Type.Q8_1, Type.Q8_K}


@pytest.fixture(scope="module")
def library():
    found = sorted(BUILD.rglob("libcornerturn.so"))
    assert found, f"no build in {BUILD}; run `make build`"
    library = ctypes.CDLL(str(found[0]))
    library.ct_last_error.restype = ctypes.c_char_p
    return library


def tensor(array, type, ne, nb):
    pad = 4 - len(ne)
    return (
        ctypes.c_void_p(array.ctypes.data),
        ctypes.c_int(type),
        (ctypes.c_int64 * 4)(*ne, *[1] * pad),
        (ctypes.c_size_t * 4)(*nb, *[0] * pad),
    )


def plain(array, type):
    """A NumPy array as ggml sees it: the last axis first."""
    return tensor(array, type, array.shape[::-1], array.strides[::-1])


def in_blocks(array, type):
    """Rows of blocks, as bytes: the shape that gguf gives them."""
    values, size = gguf.GGML_QUANT_SIZES[type]
    ne = (array.shape[-1] // size * values, *array.shape[-2::-1])
    return tensor(array, type, ne, (size, *array.strides[-2::-1]))


def cpy(library, dst, src):
    status = library.ct_ggml_cpy(*dst, *src, None)
    assert status == 0, library.ct_last_error().decode()


def numbers(shape):
    random = np.random.default_rng(3)
    scales = 10.0 ** random.integers(-6, 6, (*shape[:-1], 1))
    return (random.standard_normal(shape) * scales).astype(np.float32)


@pytest.mark.parametrize("type", [t for t in Type if t not in INTERNAL], ids=lambda t: t.name)
def test_every_type_of_ggml_is_copied(library, type):
    values, size = gguf.GGML_QUANT_SIZES[type]
    random = np.random.default_rng(int(type))
    rows = random.integers(0, 256, (6, 5, 3 * size), np.uint8)
    out = np.zeros((5, 6, 3 * size), np.uint8)
    ne = (3 * values, 6, 5)
    turned = (size, out.strides[1], out.strides[0])
    cpy(library, tensor(out, type, ne, turned), tensor(rows, type, ne, (size, *rows.strides[:2])))
    np.testing.assert_array_equal(out, rows.transpose(1, 0, 2))


@pytest.mark.parametrize("type", INTERNAL, ids=lambda t: t.name)
def test_types_of_products_are_not(library, type):
    x = np.zeros(1024, np.uint8)
    one = tensor(x, type, (256,), (gguf.GGML_QUANT_SIZES[type][1],))
    assert library.ct_ggml_can_cpy(*one[1:], *one[1:]) == 1
    assert library.ct_last_error().decode().startswith(f"dst.type = {int(type)} is unknown")


def quantised(x):
    return gguf.quantize(np.ascontiguousarray(x), Type.Q8_0)


@pytest.mark.parametrize("type", [Type.F32, Type.F16, Type.BF16], ids=lambda t: t.name)
def test_q8_0_is_ggufs(library, type):
    x = numbers((3, 70, 96))
    x = (x % 100 if type is Type.F16 else x).astype(DTYPES[type])
    expected = quantised(x.astype(np.float32))
    blocks = np.zeros_like(expected)
    cpy(library, in_blocks(blocks, Type.Q8_0), plain(x, type))
    np.testing.assert_array_equal(blocks, expected)
    # From a permuted source, whose rows are columns in memory, into rows with gaps.
    columns = np.ascontiguousarray(x.transpose(2, 0, 1)).transpose(1, 2, 0)
    wide = np.full((3, 70, 2 * expected.shape[-1]), 9, np.uint8)
    gaps = wide[:, :, : expected.shape[-1]]
    cpy(library, in_blocks(gaps, Type.Q8_0), plain(columns, type))
    np.testing.assert_array_equal(gaps, expected)
    assert (wide[:, :, expected.shape[-1] :] == 9).all()


@pytest.mark.parametrize("type", [Type.F32, Type.F16, Type.BF16], ids=lambda t: t.name)
def test_q8_0_comes_back_as_from_gguf(library, type):
    blocks = quantised(numbers((3, 50, 64)) % 1000)
    values = gguf.dequantize(blocks, Type.Q8_0)
    out = np.zeros((3, 64, 50), DTYPES[type])
    cpy(library, plain(out.transpose(0, 2, 1), type), in_blocks(blocks, Type.Q8_0))
    np.testing.assert_array_equal(out.transpose(0, 2, 1), values.astype(DTYPES[type]))


# Numbers beyond the range of f16 become infinite on both sides.
overflows = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


# Types that gguf makes of values as well, and all that it makes values of.
MADE = [Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.MXFP4]
READ = [*MADE, Type.IQ4_NL, Type.NVFP4]


def rows_of(type, seed):
    """Values of every size, with blocks of zeros, of one value, and of ties."""
    random = np.random.default_rng(seed)
    x = numbers((5, 20, 128)) * np.float32(random.uniform(0.1, 9))
    x[0, :4] = 0
    x[0, 4:8] = np.float32(-3.7)
    x[0, 8:12] = random.integers(-8, 8, (4, 128))
    x[0, 12:16] = np.float32(2.0) ** random.integers(-20, 20, (4, 128))
    x[0, 16] = np.nextafter(np.float32(2.0) ** random.integers(-20, 20, 128), np.float32(0))
    return x


@overflows
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("type", MADE, ids=lambda t: t.name)
def test_blocks_are_ggufs(library, type, seed):
    x = rows_of(type, seed)
    expected = gguf.quantize(x, type)
    blocks = np.zeros_like(expected)
    columns = np.ascontiguousarray(x.transpose(2, 0, 1)).transpose(1, 2, 0)
    for source in (x, columns):
        blocks[:] = 0
        cpy(library, in_blocks(blocks, type), plain(source, Type.F32))
        np.testing.assert_array_equal(blocks, expected)


@overflows
@pytest.mark.parametrize("type", READ, ids=lambda t: t.name)
def test_blocks_come_back_as_from_gguf(library, type):
    random = np.random.default_rng(int(type))
    size = gguf.GGML_QUANT_SIZES[type][1]
    blocks = random.integers(0, 256, (40, 12, size), np.uint8)
    if type not in (Type.MXFP4, Type.NVFP4):  # their first numbers are f16, of which none is NaN
        blocks[..., 1] &= 0xBF
        if type in (Type.Q4_1, Type.Q5_1):
            blocks[..., 3] &= 0xBF
    blocks = blocks.reshape(40, -1)
    expected = gguf.dequantize(blocks, type)
    out = np.zeros(expected.shape, np.float32)
    cpy(library, plain(out, Type.F32), in_blocks(blocks, type))
    np.testing.assert_array_equal(out, expected)


# gguf makes no blocks of these two. Each value has the nearest code that its scale allows.
@pytest.mark.parametrize("type", [Type.IQ4_NL, Type.NVFP4], ids=lambda t: t.name)
def test_blocks_without_a_reference_hold_the_nearest_values(library, type):
    x = np.random.default_rng(8).standard_normal((64, 192)).astype(np.float32) * 3
    x[:8] = 0
    values, size = gguf.GGML_QUANT_SIZES[type]
    blocks = np.zeros((64, 192 // values * size), np.uint8)
    cpy(library, in_blocks(blocks, type), plain(x, Type.F32))
    back = gguf.dequantize(blocks, type)
    assert (back[:8] == 0).all()
    parts = 16 if type is Type.NVFP4 else 32
    amax = np.abs(x).reshape(64, -1, parts).max(-1, keepdims=True)
    error = np.abs(back - x).reshape(64, -1, parts)
    # Neighbouring values lie at most so far from each other, beside the largest.
    assert (error <= amax * (1 / 6 + 0.04 if type is Type.NVFP4 else 13 / 127 + 0.04)).all()
    assert np.sqrt((error**2).mean()) < np.sqrt((x**2).mean()) * 0.11
    if type is Type.NVFP4:  # the scale is amax / 6 in 7 bits, ties up
        codes = blocks.reshape(64, -1, size)[..., :4].reshape(64, -1)
        scales = (amax[..., 0] / np.float32(6)).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
        np.testing.assert_array_equal(codes, scales)


def test_q8_0_is_moved_in_blocks(library):
    blocks = quantised(numbers((4, 6, 96)))
    out = np.zeros((6, 4, blocks.shape[-1]), np.uint8)
    cpy(library, in_blocks(out.transpose(1, 0, 2), Type.Q8_0), in_blocks(blocks, Type.Q8_0))
    np.testing.assert_array_equal(out, blocks.transpose(1, 0, 2))


@pytest.mark.parametrize("src", DTYPES, ids=lambda t: t.name)
@pytest.mark.parametrize("dst", DTYPES, ids=lambda t: t.name)
def test_values_are_converted_as_by_numpy(library, src, dst):
    x = (np.arange(6 * 7 * 8).reshape(6, 7, 8) % 120 - 60).astype(DTYPES[src])
    if np.issubdtype(DTYPES[src], np.floating) or src is Type.BF16:
        x = x * DTYPES[src](1.37)
    out = np.zeros((8, 7, 6), DTYPES[dst])
    cpy(library, plain(out, dst), plain(x.transpose(2, 1, 0), src))
    np.testing.assert_array_equal(out, x.transpose(2, 1, 0).astype(DTYPES[dst]))
