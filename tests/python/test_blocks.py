"""Blocks that share a scale: q8_0 bit by bit against gguf, MXFP8 against its specification."""

import numpy as np
import pytest

import cornerturn

ml_dtypes = pytest.importorskip("ml_dtypes")
FORMATS = {"mxfp8_e4m3": ml_dtypes.float8_e4m3fn, "mxfp8_e5m2": ml_dtypes.float8_e5m2}


def numbers(shape, seed=0):
    random = np.random.default_rng(seed)
    size = 10.0 ** random.integers(-12, 12, (*shape[:-1], 1))
    return (random.standard_normal(shape) * size).astype(np.float32)


def gguf_q8_0(x):
    gguf = pytest.importorskip("gguf")
    return gguf.quantize(np.ascontiguousarray(x), gguf.GGMLQuantizationType.Q8_0)


def reference_q8_0(x):
    """The definition: d = amax / 127, round(x * (1 / d)), halves away from zero."""
    blocks = x.reshape(-1, 32)
    d = np.abs(blocks).max(axis=1, keepdims=True) / np.float32(127)
    with np.errstate(divide="ignore"):
        inverse = np.where(d == 0, np.float32(0), np.float32(1) / d)
    scaled = blocks * inverse
    whole = np.trunc(scaled)
    values = whole + np.where(np.abs(scaled - whole) >= 0.5, np.sign(scaled), 0)
    packed = np.concatenate([d.astype("<f2").view(np.uint8), values.astype(np.int8).view(np.uint8)], 1)
    return packed.reshape(*x.shape[:-1], -1)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("reference", [reference_q8_0, gguf_q8_0])
def test_q8_0_is_ggmls(reference):
    x = numbers((400, 256))
    x[3] = 0
    x[4, :40] = np.arange(40) / 2
    np.testing.assert_array_equal(cornerturn.quantise(x), reference(x))
    turned = np.ascontiguousarray(x[:384].T)
    np.testing.assert_array_equal(cornerturn.quantise(x[:384], axes=(1, 0)), reference(turned))


def test_q8_0_comes_back():
    gguf = pytest.importorskip("gguf")
    x = np.random.default_rng(1).standard_normal((70, 96)).astype(np.float32) * 100
    blocks = cornerturn.quantise(x)
    expected = gguf.dequantize(blocks, gguf.GGMLQuantizationType.Q8_0)
    np.testing.assert_array_equal(cornerturn.dequantise(blocks), expected)
    np.testing.assert_array_equal(cornerturn.dequantise(blocks, axes=(1, 0)), expected.T)
    np.testing.assert_array_equal(
        cornerturn.dequantise(blocks, dtype="bfloat16"), expected.astype(ml_dtypes.bfloat16)
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_q8_0_special_values():
    x = np.ones((4, 32), np.float32)
    x[0, 5], x[1, 6], x[2, 7], x[3] = np.inf, np.nan, 1e9, 1e-42
    gguf = gguf_q8_0(x)
    blocks = cornerturn.quantise(x)
    np.testing.assert_array_equal(blocks[[0, 2, 3]], gguf[[0, 2, 3]])
    assert np.isnan(gguf[1, :2].view(np.float16)) and np.isnan(blocks[1, :2].view(np.float16))
    back = cornerturn.dequantise(blocks)
    assert np.isnan(back[:2]).all() and not back[3].any()


@pytest.mark.parametrize("rule", ["floor", "ceil"])
@pytest.mark.parametrize("format", FORMATS)
def test_mxfp8_is_ocps(format, rule):
    dtype = FORMATS[format]
    largest = np.float32(ml_dtypes.finfo(dtype).max)
    x = numbers((200, 128))
    x[7] = 0
    values, scales = cornerturn.quantise(x, format, scale=rule)
    assert values.dtype == dtype and scales.shape == (200, 4)
    blocks = x.reshape(200, 4, 32).astype(np.float64)
    amax = np.abs(blocks).max(axis=2)
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log2(amax)) - np.floor(np.log2(float(largest)))
        if rule == "ceil":
            exponent = np.ceil(np.log2(amax / float(largest)))
    code = np.clip(np.nan_to_num(exponent, neginf=-127) + 127, 0, 254)
    np.testing.assert_array_equal(scales, code)
    scaled = blocks / 2.0 ** (code[..., None] - 127)
    expected = np.clip(scaled, -float(largest), float(largest)).astype(dtype).reshape(x.shape)
    np.testing.assert_array_equal(values.view(np.uint8), expected.view(np.uint8))
    back = cornerturn.dequantise(values, format, scales=scales)
    expected = values.astype(np.float32).reshape(200, 4, 32) * 2.0 ** (code[..., None] - 127)
    np.testing.assert_array_equal(back, expected.reshape(x.shape).astype(np.float32))


def test_both_directions():
    x = numbers((96, 160)).astype(ml_dtypes.bfloat16)
    both = cornerturn.quantise_both(x)
    rows, row_scales = cornerturn.quantise(x, "mxfp8_e4m3")
    columns, column_scales = cornerturn.quantise(x, "mxfp8_e4m3", axes=(1, 0))
    for got, expected in zip(both, (rows, row_scales, columns, column_scales), strict=True):
        np.testing.assert_array_equal(got.view(np.uint8), expected.view(np.uint8))


def test_any_axis():
    x = numbers((64, 3, 10))
    values, scales = cornerturn.quantise(x, "mxfp8_e4m3", axis=0)
    turned, turned_scales = cornerturn.quantise(x, "mxfp8_e4m3", axes=(1, 2, 0))
    np.testing.assert_array_equal(values.transpose(1, 2, 0).view("u1"), turned.view("u1"))
    np.testing.assert_array_equal(scales.transpose(1, 2, 0), turned_scales)
    blocks = cornerturn.quantise(x, axis=0)
    assert blocks.shape == (2, 3, 10, 34)


def test_padding():
    x = numbers((5, 40))
    with pytest.raises(ValueError, match="an axis of 40 values, which is no multiple of 32: pad=True"):
        cornerturn.quantise(x)
    whole = np.zeros((5, 64), np.float32)
    whole[:, :40] = x
    np.testing.assert_array_equal(cornerturn.quantise(x, pad=True), cornerturn.quantise(whole))


def test_torch():
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(numbers((64, 32)))
    values, scales = cornerturn.quantise(x, "mxfp8_e5m2", axes=(1, 0))
    assert values.dtype is torch.float8_e5m2 and scales.dtype is torch.uint8
    np.testing.assert_array_equal(
        cornerturn.quantise(x).numpy(), cornerturn.quantise(x.numpy())
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"format": "q9"}, ValueError, "format = 'q9' is none of q8_0, mxfp8_e4m3"),
        ({"scale": "up"}, ValueError, "scale = 'up' is none of 'floor', 'ceil'"),
        ({"axis": 2}, ValueError, "axis = 2 is out of range for rank 2"),
        ({"axis": "t"}, TypeError, "axis = 't' is not an integer"),
        ({"axes": (0, 0)}, ValueError, "repeats"),
        ({"x": np.ones((2, 32), np.complex64)}, TypeError, "no real values"),
    ],
)
def test_what_is_wrong_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        cornerturn.quantise(**{"x": np.ones((2, 32), np.float32), **arguments})
