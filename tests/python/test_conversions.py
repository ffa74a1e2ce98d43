"""Values that change on their way, bit by bit against NumPy and ml_dtypes."""

import numpy as np
import pytest

import cornerturn

ml_dtypes = pytest.importorskip("ml_dtypes")

FLOATS = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float32": np.float32,
    "float64": np.float64,
}
INTEGERS = {name: np.dtype(name) for name in
            ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")}  # fmt: skip
REAL = {**FLOATS, **INTEGERS, "bool": np.bool_}
SMALL = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
pytestmark = pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")


def bits(array):
    return np.ascontiguousarray(array).view(f"u{array.itemsize}")


def inputs(name):
    """Every value of a type of 8 or 16 bits; of a wider one any bits and ordinary numbers."""
    dtype = np.dtype(REAL[name])
    if name == "bool":
        return np.array([[False, True], [True, True]])
    if dtype.itemsize <= 2:
        count = 1 << (8 * dtype.itemsize)
        return np.arange(count, dtype=f"u{dtype.itemsize}").view(dtype).reshape(16, -1)
    random = np.random.default_rng(dtype.itemsize)
    anything = np.frombuffer(random.bytes(dtype.itemsize * 32768), dtype)
    if name in INTEGERS:
        few = random.integers(-500 if dtype.kind == "i" else 0, 500, 32768).astype(dtype)
    else:
        few = (random.standard_normal(32768) * 10.0 ** random.integers(-10, 10, 32768)).astype(dtype)
        few[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 464, 65520, 57344]
        ties = np.arange(4096).astype(np.float32) / 64
        few[4096:8192] = ties
    return np.concatenate([anything, few]).reshape(256, -1)


def odd(x):
    """f32 values that round as `x` does: inexact ones end in a bit that is set."""
    if x.dtype.kind in "iu":
        negative = x < 0
        size = np.where(negative, np.uint64(0) - x.astype(np.uint64), x.astype(np.uint64))
        upper = (size >> np.uint64(11)) | ((size & np.uint64(2047)) != 0).astype(np.uint64)
        size = np.where(size >> np.uint64(53), upper * 2048.0, size.astype(np.float64))
        x = np.where(negative, -size, size)
    near = x.astype(np.float32)
    back = near.astype(np.float64)
    code = near.view(np.uint32).copy()
    fix = (back != x) & (code % 2 == 0) & ~np.isnan(x)
    code[fix & (np.abs(back) > np.abs(x))] -= 1
    code[fix & (np.abs(back) < np.abs(x))] += 1
    return code.view(np.float32)


@pytest.mark.parametrize("target", REAL)
@pytest.mark.parametrize("source", REAL)
def test_every_pair(source, target):
    x = inputs(source)
    result = cornerturn.transpose(x, dtype=target)
    assert result.dtype == REAL[target] and result.shape == x.T.shape
    compared = np.ones(x.shape, bool)
    if target in SMALL and source in ("float64", "int32", "int64", "uint32", "uint64"):
        expected = odd(x).astype(REAL[target])  # ml_dtypes rounds these twice
    else:
        expected = x.astype(REAL[target])
    if source in FLOATS and target in INTEGERS:
        # What does not fit is undefined in C, and so in NumPy.
        limits = np.iinfo(target)
        wide = x.astype(np.float64)
        compared = (wide > float(limits.min) - 1) & (wide < float(limits.max))
        assert not cornerturn.transpose(x, dtype=target).T[np.isnan(wide)].any()
    np.testing.assert_array_equal(bits(result.T)[compared], bits(expected)[compared])


@pytest.mark.parametrize("target", ["complex64", "complex128"])
@pytest.mark.parametrize("source", ["complex64", "complex128", "float32", "int16", "float16"])
def test_complex(source, target):
    random = np.random.default_rng(4)
    x = (random.standard_normal((40, 30)) * 100 + 1j * random.standard_normal((40, 30)))
    x = x.astype(source) if source.startswith("c") else x.real.astype(source)
    np.testing.assert_array_equal(cornerturn.transpose(x, dtype=target), x.T.astype(target))
    if source.startswith("c"):
        conjugated = cornerturn.transpose(x, dtype=target, conjugate=True)
        np.testing.assert_array_equal(conjugated, x.T.conj().astype(target))
        with pytest.raises(TypeError, match="dst.type = f32 .* imaginary part; supported are"):
            cornerturn.transpose(x, dtype="float32")


@pytest.mark.parametrize("target", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_saturating_floats(target):
    x = inputs("float32")
    largest = np.float32(ml_dtypes.finfo(REAL[target]).max)
    expected = np.clip(x, -largest, largest).astype(REAL[target])
    result = cornerturn.transpose(x, dtype=target, saturate=True)
    np.testing.assert_array_equal(bits(result.T), bits(expected))


@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "uint16", "int32", "int64"])
def test_saturating_and_wrapping_integers(target):
    limits = np.iinfo(target)
    x = inputs("int64")
    np.testing.assert_array_equal(cornerturn.transpose(x, dtype=target), x.T.astype(target))
    expected = np.clip(x, limits.min, limits.max).astype(target)
    np.testing.assert_array_equal(cornerturn.transpose(x, dtype=target, saturate=True), expected.T)
    x = np.array([[1e30, -1e30, np.inf, -np.inf, np.nan, 3.99, -3.99]], np.float32)
    expected = np.array([limits.max, limits.min, limits.max, limits.min, 0, 3, max(-3, limits.min)])
    result = cornerturn.transpose(x, dtype=target, saturate=True)
    np.testing.assert_array_equal(result[:, 0], expected)


def test_scale_and_bias():
    random = np.random.default_rng(5)
    x = random.standard_normal((300, 200)).astype(np.float32)
    scale = random.standard_normal((200, 1)).astype(np.float32)
    bias = random.standard_normal(300).astype(np.float32)
    out = random.standard_normal((200, 300)).astype(np.float32)
    expected = np.float32(0.3) * scale * x.T + bias + np.float32(2) * out
    result = cornerturn.transpose(x, alpha=0.3, scale=scale, bias=bias, beta=2, out=out)
    assert result is out
    np.testing.assert_array_equal(result, expected)
    expected = (np.float32(0.1) * x.T).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(cornerturn.transpose(x, dtype="bfloat16", scale=0.1), expected)
    wide = x.astype(np.float64)
    np.testing.assert_array_equal(
        cornerturn.transpose(wide, scale=0.1, bias=0.5), 0.1 * wide.T + 0.5
    )


def test_stochastic_rounding_is_seeded_and_fair():
    x = np.full((500, 400), 1 + 2.0**-10, np.float32)
    first = cornerturn.transpose(x, dtype="bfloat16", rounding="stochastic", seed=1)
    again = cornerturn.transpose(x, dtype="bfloat16", rounding="stochastic", seed=1)
    other = cornerturn.transpose(x, dtype="bfloat16", rounding="stochastic", seed=2)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    # The bits belong to the place in the result, however the source lies.
    same = cornerturn.contiguous(x, dtype="bfloat16").T
    assert same.shape == first.shape
    straight = cornerturn.transpose(
        np.full((400, 500), x[0, 0]), (0, 1), dtype="bfloat16", rounding="stochastic", seed=1
    )
    np.testing.assert_array_equal(straight, first)
    assert abs(first.astype(np.float64).mean() - x[0, 0]) < 5e-5


def test_views_of_any_strides():
    x = np.arange(5 * 6 * 7 * 8, dtype=np.float32).reshape(5, 6, 7, 8)[::2, ::-1, 1:, ::3]
    for axes in [(3, 1, 0, 2), (0, 1, 2, 3), (2, 3, 0, 1)]:
        np.testing.assert_array_equal(
            cornerturn.transpose(x, axes, dtype="int16"), x.transpose(axes).astype(np.int16)
        )
    np.testing.assert_array_equal(cornerturn.contiguous(x, dtype="float16"), x.astype(np.float16))


def test_copy_converts_when_asked():
    src = np.arange(12, dtype=np.float32).reshape(3, 4)
    dst = np.zeros((4, 3), np.int16).T
    with pytest.raises(TypeError, match="values are not converted"):
        cornerturn.copy(dst, src)
    cornerturn.copy(dst, src, convert=True, alpha=2)
    np.testing.assert_array_equal(dst, src * 2)
    with pytest.raises(ValueError, match=r"dst.shape = \(3, 4\) differs from \(4, 3\), the shape of src"):
        cornerturn.copy(dst, src.T, convert=True)
    cornerturn.copy(src, dst, convert=True, beta=1)
    np.testing.assert_array_equal(src, np.arange(12).reshape(3, 4) * 3)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"rounding": "up"}, ValueError, "rounding = 'up' is none of None, 'nearest'"),
        ({"seed": -1}, ValueError, "seed = -1 is out of range"),
        ({"alpha": "two"}, TypeError, "alpha = 'two' is not a number"),
        ({"beta": 1.0}, ValueError, "there is no out"),
        ({"dtype": "float7"}, TypeError, "dtype = 'float7' is no dtype of NumPy"),
        ({"seed": 1.5}, TypeError, "seed = 1.5 is not an integer"),
        ({"scale": ["a"]}, TypeError, "scale = .* are no real numbers"),
        ({"dtype": "int8", "rounding": "nearest"}, ValueError, "say 'towards_zero', or quantise"),
        ({"dtype": "float16", "rounding": "towards_zero"}, ValueError, "is rounded to float16 as 'nearest'"),
        ({"bias": np.ones(2, np.float32)}, ValueError, "does not broadcast"),
        ({"scale": np.ones((1, 3, 4), np.float32)}, ValueError, "scale has rank 3"),
        ({"out": np.ones((4, 3), np.int8), "dtype": "int16"}, TypeError, "out.dtype = int8 differs from dtype = int16"),
    ],
)
def test_what_is_wrong_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        cornerturn.transpose(np.ones((3, 4), np.float32), **arguments)


def test_torch():
    torch = pytest.importorskip("torch")
    x = torch.randn(50, 70)
    for dtype in (torch.bfloat16, torch.float16, torch.float8_e5m2, torch.float64, torch.int8):
        result = cornerturn.transpose(x, dtype=dtype)
        assert result.dtype is dtype and result.is_contiguous()
        assert torch.equal(result.to(torch.float64), x.T.to(dtype).to(torch.float64))
    assert cornerturn.transpose(x, dtype="bfloat16").dtype is torch.bfloat16


def test_gradients_are_converted_back():
    torch = pytest.importorskip("torch")
    x = torch.randn(5, 7, requires_grad=True)
    scale = torch.randn(7, 1)
    result = cornerturn.transpose(x, dtype=torch.bfloat16, scale=scale, alpha=0.5, bias=1.0)
    weight = torch.randn(7, 5, dtype=torch.bfloat16)
    result.backward(weight)
    assert x.grad.dtype is torch.float32
    torch.testing.assert_close(x.grad, (weight.float() * scale * 0.5).T, rtol=0, atol=0)
