"""What users of NumPy, einops, xarray and threadpoolctl expect to find."""

import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import cornerturn
from cornerturn import _core

X = np.arange(2 * 3 * 4 * 5, dtype="f4").reshape(2, 3, 4, 5)


def same(got, want):
    assert got.dtype == want.dtype and got.flags.c_contiguous
    np.testing.assert_array_equal(got, want)


def test_names_of_numpy():
    same(cornerturn.transpose(X, 2, 0, 1, 3), np.transpose(X, (2, 0, 1, 3)))
    same(cornerturn.transpose(X[0, 0, 0], 0), X[0, 0, 0])
    same(cornerturn.permute_dims(X, (3, 1, 0, 2)), np.permute_dims(X, (3, 1, 0, 2)))
    for source, destination in ((0, -1), (-1, 1), ((0, 1), (-1, -2)), ([3, 0], [0, 2]), ((), ())):
        same(cornerturn.moveaxis(X, source, destination), np.moveaxis(X, source, destination).copy())
    for pair in ((0, 1), (-1, 1), (2, 2)):
        same(cornerturn.swapaxes(X, *pair), np.swapaxes(X, *pair).copy())
    same(cornerturn.swapaxes(X, 0, 1, dtype="int16"), np.swapaxes(X, 0, 1).astype("i2", order="C"))
    same(cornerturn.ascontiguousarray(X.T), np.ascontiguousarray(X.T))
    assert cornerturn.ascontiguousarray(X) is X and cornerturn.ascontiguousarray(X, np.float32) is X
    assert cornerturn.ascontiguousarray(X, "f8").dtype == "f8"
    assert cornerturn.ascontiguousarray(np.float32(3)).shape == (1,)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: cornerturn.moveaxis(X, 4, 0), np.exceptions.AxisError, "source = 4: 4 is out of range for rank 4"),
        (lambda: cornerturn.moveaxis(X, (0, 1), 0), ValueError, "differ in length"),
        (lambda: cornerturn.moveaxis(X, (0, -4), (0, 1)), ValueError, "names an axis twice"),
        (lambda: cornerturn.swapaxes(X, 0, 7), np.exceptions.AxisError, "axis2 = 7"),
        (lambda: cornerturn.swapaxes(X, 0.5, 1), TypeError, "axis1 = 0.5 is not an integer"),
        (lambda: cornerturn.transpose(X, 0, 1, 2, 2), ValueError, r"axes\[3\] = 2 repeats axes\[2\]"),
        (lambda: cornerturn.contiguous(X, order="K"), ValueError, "order = 'K' is neither 'C' nor 'F'"),
        (lambda: cornerturn.contiguous(X, memory_format="channels_last"), TypeError, "belongs to tensors of PyTorch"),
        (lambda: cornerturn.transpose(X, order="F", out=X.T.copy()), ValueError, "out has its own strides"),
        (lambda: cornerturn.transpose(X, threads=-1), ValueError, "threads = -1 is out of range"),
        (lambda: cornerturn.threads("two"), TypeError, "threads = 'two' is not an integer"),
    ],
)
def test_what_is_wrong_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_order():
    got = cornerturn.transpose(X, (2, 0, 1, 3), order="F")
    assert got.flags.f_contiguous
    np.testing.assert_array_equal(got, X.transpose(2, 0, 1, 3))
    got = cornerturn.transpose(X, (2, 0, 1, 3), order="F", dtype="f8", scale=X[0, 0, 0], bias=X[0, 0, :3, :1][1:, :, None])
    np.testing.assert_array_equal(got, X.transpose(2, 0, 1, 3) * X[0, 0, 0].astype("f8") + X[0, 0, 1:3, :1][:, :, None])
    assert cornerturn.contiguous(X, order="F").flags.f_contiguous
    fortran = np.asfortranarray(X)
    assert cornerturn.contiguous(fortran, order="F") is fortran
    assert cornerturn.contiguous(X, order="C") is X
    assert cornerturn.transpose([[1, 2, 3]], order="F").shape == (3, 1)


def test_memory_format():
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(X).clone().requires_grad_()
    for format in (torch.channels_last, "channels_last"):
        got = cornerturn.contiguous(x, memory_format=format)
        assert torch.equal(got, x) and got.is_contiguous(memory_format=torch.channels_last)
    assert cornerturn.contiguous(got, memory_format=torch.channels_last) is got
    assert cornerturn.contiguous(x, memory_format=torch.contiguous_format) is x
    got = cornerturn.transpose(x, (0, 3, 1, 2), memory_format=torch.channels_last)
    assert torch.equal(got, x.permute(0, 3, 1, 2)) and got.is_contiguous(memory_format=torch.channels_last)
    (gradient,) = torch.autograd.grad((got**2).sum(), x)
    assert torch.equal(gradient, 2 * x)
    with pytest.raises(ValueError, match="channels_last_3d is for 5 axes, x has 4"):
        cornerturn.contiguous(x, memory_format=torch.channels_last_3d)


def test_lists_and_what_makes_arrays():
    same(cornerturn.transpose([[1, 2, 3], [4, 5, 6]]), np.array([[1, 4], [2, 5], [3, 6]]))
    same(cornerturn.rearrange([[1, 2], [3, 4]], "a b -> b a"), np.array([[1, 3], [2, 4]]))

    class Maker:
        def __array__(self, dtype=None, copy=None):
            return X[0, 0]

    same(cornerturn.transpose(Maker()), X[0, 0].T.copy())
    with pytest.raises(TypeError, match="shows copies of its values"):
        cornerturn.copy(Maker(), X[0, 0])


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    same(cornerturn.transpose(frame), np.array([[1.0, 2.0], [3.0, 4.0]]))
    with pytest.raises(TypeError, match="its elements are not all numbers"):
        cornerturn.transpose(pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]}, dtype=object))


def test_data_arrays_keep_their_dims():
    xarray = pytest.importorskip("xarray")
    x = xarray.DataArray(X[0], dims=("t", "y", "x"), coords={"t": [1, 2, 3]}, attrs={"units": "K"}, name="heat")
    for got in (
        cornerturn.transpose(x, "x", "y", "t"),
        cornerturn.transpose(x, ("x", "y", "t")),
        cornerturn.transpose(x, (2, 1, 0)),
        cornerturn.transpose(x),
        cornerturn.contiguous(x.transpose("x", "y", "t")),
    ):
        xarray.testing.assert_identical(got, x.transpose("x", "y", "t"))
        assert got.data.flags.c_contiguous
    got = cornerturn.transpose(x, "x", "t", "y", dtype="f8", scale=2.0)
    xarray.testing.assert_equal(got, x.transpose("x", "t", "y") * 2.0)
    with pytest.raises(ValueError, match="x has no dim 'z'"):
        cornerturn.transpose(x, "z", "y", "t")


def test_threads_are_limited():
    usual = _core.threads()
    big = (4096, 4096)

    @cornerturn.threads(1)
    def inside():
        with cornerturn.threads(3):
            assert _core.threads() == 3 and cornerturn.plan(big).threads == 3
        assert cornerturn.plan(big, threads=2).threads == 2
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(_core.threads).result() == usual
        return cornerturn.plan(big).threads

    assert inside() == 1 and _core.threads() == usual
    out = np.empty(X.T.shape, X.dtype)
    assert cornerturn.transpose(X, out=out, threads=1) is out
    same(out, X.T.copy())
    same(cornerturn.rearrange(X, "a b c d -> d c b a", threads=1), X.T.copy())
    cornerturn.copy(out, np.zeros_like(out), threads=1)
    assert not out.any() and _core.threads() == usual


def test_every_function_takes_threads():
    rows = np.arange(64 * 64, dtype="f4").reshape(64, 64)
    blocks = cornerturn.quantise(rows, threads=1)
    np.testing.assert_array_equal(blocks, cornerturn.quantise(rows))
    np.testing.assert_array_equal(cornerturn.dequantise(blocks, threads=1), cornerturn.dequantise(blocks))
    for one, other in zip(cornerturn.quantise_both(rows, threads=1), cornerturn.quantise_both(rows), strict=True):
        np.testing.assert_array_equal(one, other)
    assert cornerturn.amax(rows, threads=1) == 64 * 64 - 1
    np.testing.assert_array_equal(cornerturn.ascontiguousarray(rows.T, threads=1), rows.T)
    with pytest.raises(ValueError, match="threads = -1 is out of range"):
        cornerturn.amax(rows, threads=-1)


@pytest.mark.parametrize("first, then", [("threadpoolctl", "cornerturn"), ("cornerturn", "threadpoolctl")])
def test_threadpoolctl_sees_the_package(first, then):
    pytest.importorskip("threadpoolctl")
    code = f"import {first}, {then}" + """
    (info,) = [i for i in threadpoolctl.threadpool_info() if i["user_api"] == "cornerturn"]
    assert info["version"] == cornerturn.__version__ and info["num_threads"] >= 1
    with threadpoolctl.threadpool_limits(1):
        assert cornerturn.plan((4096, 4096)).threads == 1
    with threadpoolctl.threadpool_limits({"cornerturn": 3}):
        assert cornerturn.plan((4096, 4096)).threads == 3
    """
    first_line, *lines = code.split("\n")
    code = "\n".join([first_line, textwrap.dedent("\n".join(lines))])
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_long_call_can_be_interrupted():
    """A call looks for signals between pieces of its work; here the pieces are small."""
    x = np.ones((1 << 12, 1 << 13), "u1")
    out = np.zeros((1 << 13, 1 << 12), "u1")

    def interrupt(*_):
        raise KeyboardInterrupt

    before = _core.check_signals_every(1 << 16)
    handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        same(cornerturn.transpose(x[:300, :500]), x[:500, :300])
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            while True:
                cornerturn.transpose(x, out=out)
        cornerturn.transpose(x, out=out)
        assert out.all()
    finally:
        signal.signal(signal.SIGALRM, handler)
        _core.check_signals_every(before)


def test_pieces_are_exact():
    before = _core.check_signals_every(1 << 10)
    try:
        rng = np.random.default_rng(0)
        for shape in ((300, 200), (7, 1, 90), (2, 3, 5, 70), (1000,)):
            x = rng.integers(0, 1 << 16, shape).astype("u2")
            same(cornerturn.transpose(x), x.T.copy())
            out = np.zeros(x.T.shape, "u2")[..., ::-1]
            cornerturn.transpose(x[::-1], out=out)
            np.testing.assert_array_equal(out, x[::-1].T)
    finally:
        _core.check_signals_every(before)


def test_elements_that_interleave_do_not_overlap():
    b = np.zeros((2, 8))
    b[:, ::2] = [[1, 2, 3, 4], [5, 6, 7, 8]]
    whole = np.zeros((4, 4))
    whole[:2, :2] = [[1, 2], [3, 4]]
    cornerturn.transpose(whole[:, :2], out=whole[:, 2:].T)
    np.testing.assert_array_equal(whole[:, 2:], whole[:, :2])
    cornerturn.transpose(b[:, ::2], out=b[:, 1::2].T)
    np.testing.assert_array_equal(b[:, 1::2], b[:, ::2])
    z = np.arange(4) + 0j
    cornerturn.copy(z.imag, z.real)
    np.testing.assert_array_equal(z, np.arange(4) * (1 + 1j))
    cornerturn.copy(z.imag, z.real, convert=True, alpha=2)
    np.testing.assert_array_equal(z, np.arange(4) * (1 + 2j))
    with pytest.raises(ValueError, match="dst overlaps src in memory"):
        cornerturn.copy(b[:, :5], b[:, 3:])


def test_overlap_is_decided_as_numpy_decides_it():
    from cornerturn._arrays import elements_overlap
    from cornerturn._frameworks import framework_of

    rng = np.random.default_rng(1)
    memory = np.zeros(4096, "u1")
    seen = set()
    for _ in range(2000):
        views = []
        for _ in range(2):
            itemsize = int(rng.choice([1, 2, 4, 8]))
            shape = tuple(rng.integers(1, 5, rng.integers(1, 4)))
            strides = tuple(int(s) for s in rng.integers(-40, 41, len(shape)))
            start = int(rng.integers(600, 2000 if rng.random() < 0.2 else 700))
            views.append(np.ndarray(shape, f"V{itemsize}", memory, start, strides))
        a, b = (framework_of(view).read(view, "x") for view in views)
        want = np.shares_memory(*views)
        assert elements_overlap(a, b) == want
        seen.add(want)
    assert seen == {True, False}


def test_what_is_not_converted_is_named_as_numpy_names_it():
    for dtype, message in (
        (">M8[s]", r"x.dtype = >M8\[s\]: values are converted between .*; convert it by astype"),
        ("S3", r"x.dtype = \|S3: values are converted between bool, int8 to int64"),
        ("M8[s]", r"x.dtype = datetime64\[s\]: .* convert it by astype"),
        ("longdouble", r"x.dtype = float128: values are converted between"),
    ):
        with pytest.raises(TypeError, match=message):
            cornerturn.transpose(np.zeros((2, 32), dtype), dtype="f4")
        with pytest.raises(TypeError, match=message):
            cornerturn.quantise(np.zeros((2, 32), dtype))
    jax = pytest.importorskip("jax")
    with pytest.raises(TypeError, match="x is a JAX array: its values are changed by JAX"):
        cornerturn.quantise(jax.numpy.ones((2, 32)))


def test_scales_and_seeds_of_any_kind():
    x = np.ones((3, 4))
    for scale in (np.arange(3.0), [0, 1, 2], (0.0, 1.0, 2.0), np.arange(6)[::2] // 2, np.arange(3, dtype="i1")):
        np.testing.assert_array_equal(cornerturn.transpose(x, scale=scale), np.ones((4, 3)) * [0.0, 1.0, 2.0])
    assert (cornerturn.transpose(x, bias=[1, 2, 3]) == [2, 3, 4]).all()
    cornerturn.transpose(x, dtype="f4", rounding="stochastic", seed=np.int64(3))
    got = cornerturn.transpose(np.array([[0.7, -0.7, 2.5]]), dtype="i1", rounding="towards_zero")
    np.testing.assert_array_equal(got, [[0], [0], [2]])


def test_completion_lists_what_there_is():
    assert set(cornerturn.__all__) < set(dir(cornerturn)) and {"torch", "jax", "ladder"} < set(dir(cornerturn))
    assert not {"Any", "TYPE_CHECKING", "annotations"} & set(dir(cornerturn))
    for name in cornerturn.__all__:
        assert getattr(cornerturn, name)
