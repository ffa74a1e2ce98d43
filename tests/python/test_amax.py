"""amax, and quantising by it, bit by bit against NumPy and ml_dtypes."""

import numpy as np
import pytest

import cornerturn

ml_dtypes = pytest.importorskip("ml_dtypes")
FORMATS = {
    "tensor_e4m3": ml_dtypes.float8_e4m3fn,
    "tensor_e5m2": ml_dtypes.float8_e5m2,
    "tensor_i8": np.dtype(np.int8),
}
NARROW = ["f2", "f4", "i1", "u1", "i2", "u2", "bool", ml_dtypes.bfloat16, ml_dtypes.float8_e5m2]
WIDE = ["f8", "i4", "u4", "i8", "u8"]


def numbers(shape, dtype="f4", size=10.0, seed=0):
    with np.errstate(invalid="ignore", over="ignore"):
        return (np.random.default_rng(seed).standard_normal(shape) * size).astype(dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [*NARROW, *WIDE, ml_dtypes.float8_e4m3fn], ids=str)
def test_amax_is_numpys(dtype):
    x = numbers((50, 60, 7), dtype)
    for view in (x, x.T, x[::-1, 3:], x[:, ::2, 1], x[4:4], np.broadcast_to(x[0, 0], (9, 7))):
        expected = np.abs(view.astype("f8")).max(initial=0)
        assert cornerturn.amax(view) == expected
    least = np.array([np.iinfo(dtype).min, 1], dtype) if np.dtype(dtype).kind == "i" else None
    if least is not None:
        assert cornerturn.amax(least) == -float(least[0])


def test_amax_of_nans_and_infinities():
    x = numbers((300, 300))
    x[7, 5] = -np.inf
    assert cornerturn.amax(x) == np.inf
    x[250, 77] = np.nan
    assert np.isnan(cornerturn.amax(x))
    assert np.isnan(cornerturn.amax(x.astype(ml_dtypes.float8_e4m3fn)))


def expected_values(x, format):
    """The definition: values and scale."""
    dtype = FORMATS[format]
    is_i8 = dtype == np.int8
    most = 127 if is_i8 else float(ml_dtypes.finfo(dtype).max)
    real = np.float64 if x.dtype.newbyteorder("=").str[1:] in WIDE else np.float32
    factor = real(most) / real(np.abs(x.astype("f8")).max())
    scaled = np.clip(x.astype(real) * factor, -real(most), real(most))
    values = np.rint(scaled).astype(np.int8) if is_i8 else scaled.astype(dtype)
    return values, real(1) / factor


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", [*NARROW, *WIDE], ids=str)
def test_quantise_is_the_definition(dtype, format):
    x = numbers((90, 130), dtype)
    values, scale = cornerturn.quantise(x, format, axes=(1, 0))
    expected, expected_scale = expected_values(x, format)
    assert scale == expected_scale
    assert values.dtype == FORMATS[format] and values.shape == (130, 90)
    np.testing.assert_array_equal(values.view("u1"), expected.T.copy().view("u1"))


def test_f64_is_rounded_once():
    """By way of f32 this one would become a tie, and go the other way."""
    x = np.array([448.0, 17 + 2**-40])
    values, scale = cornerturn.quantise(x, "tensor_e4m3")
    assert scale == 1 and values[1] == 18


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("format", FORMATS)
def test_there_and_back(format, size):
    x = numbers((64, 40), size=size)
    values, scale = cornerturn.quantise(x, format)
    back = cornerturn.dequantise(values, format, axes=(1, 0), scales=scale)
    np.testing.assert_array_equal(back, (values.astype("f4") * np.float32(scale)).T)
    assert np.abs(back.T - x).max() <= np.abs(x).max() / 14
    half = cornerturn.dequantise(values, format, scales=scale, dtype="bfloat16")
    np.testing.assert_array_equal(half, back.T.astype(ml_dtypes.bfloat16))


def test_what_has_no_scale():
    values, scale = cornerturn.quantise(np.zeros((3, 4), "f4"), "tensor_e4m3")
    assert scale == 1 and not values.astype("f4").any()
    values, scale = cornerturn.quantise(np.array([1, -np.inf, np.nan], "f4"), "tensor_e4m3")
    assert scale == 1
    np.testing.assert_array_equal(values.astype("f4"), [1, -448, np.nan])
    values, scale = cornerturn.quantise(np.array([1, -np.inf], "f4"), "tensor_i8")
    assert scale == np.inf
    assert np.isnan(cornerturn.dequantise(values, "tensor_i8", scales=scale)).all()


def test_torch():
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(numbers((64, 32)))
    assert cornerturn.amax(x.requires_grad_()) == x.abs().max().item()
    values, scale = cornerturn.quantise(x.detach(), "tensor_e4m3", axes=(1, 0))
    assert values.dtype is torch.float8_e4m3fn and values.shape == (32, 64)
    factor = 448 / x.detach().abs().max()
    expected = (x.detach().T * factor).to(torch.float8_e4m3fn)
    assert torch.equal(values.view(torch.uint8), expected.contiguous().view(torch.uint8))
    assert scale == (1 / factor).item()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: cornerturn.amax(x.astype("c8")), TypeError, "no real values"),
        (lambda x: cornerturn.quantise(x.astype("c8"), "tensor_i8"), TypeError, "no real values"),
        (lambda x: cornerturn.quantise(x, "tensor_i4"), ValueError, "is none of .*tensor_i8"),
        (lambda x: cornerturn.quantise(x, "tensor_i8", axis=0), ValueError, "belong to blocks"),
        (lambda x: cornerturn.quantise(x, "tensor_i8", pad=True), ValueError, "belong to blocks"),
        (lambda x: cornerturn.quantise(x, "tensor_i8", axes=(0, 2)), ValueError, "out of range"),
        (lambda x: cornerturn.quantise_both(x, "tensor_i8"), ValueError, "is none of"),
        (lambda x: cornerturn.amax(x, stream=7), ValueError, "x is in host memory: the CPU has no"),
        (lambda x: cornerturn.quantise(x, "tensor_i8", stream=7), ValueError, "stream = 7, but x is"),
        (
            lambda x: cornerturn.dequantise(x.astype("i1"), "tensor_i8", scales=1.0, stream=7),
            ValueError,
            "stream = 7, but x is in host memory",
        ),
        (lambda x: cornerturn.dequantise(x, "tensor_i8", scales=1.0), TypeError, "is int8"),
        (lambda x: cornerturn.dequantise(x.astype("i1"), "tensor_i8"), TypeError, "has one number"),
    ],
)
def test_what_is_wrong_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call(np.ones((2, 32), np.float32))
