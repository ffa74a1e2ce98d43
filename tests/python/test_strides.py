"""The strides of results are those that NumPy gives a new array, also along axes of extent 0 and 1."""

import random

import numpy as np
import pytest

import cornerturn


def arrays(count, seed):
    choose = random.Random(seed)
    for _ in range(count):
        shape = tuple(choose.choice((0, 1, 2, 3)) for _ in range(choose.randrange(6)))
        order = choose.sample(range(len(shape)), len(shape))
        base = np.arange(float(np.prod(shape, dtype=int))).reshape([shape[axis] for axis in order])
        view = base.transpose([order.index(axis) for axis in range(len(shape))])
        # Axes of extent 1 may have any stride.
        odd = [choose.randrange(50) if n == 1 else s for n, s in zip(shape, view.strides, strict=True)]
        for x in (view, np.ascontiguousarray(view).reshape(shape), np.asfortranarray(view).reshape(shape, order="F"),
                  np.lib.stride_tricks.as_strided(view, shape, odd)):  # fmt: skip
            yield x, choose


@pytest.mark.parametrize("order", ["C", "F"])
def test_transpose(order):
    for x, choose in arrays(100, 1):
        axes = choose.sample(range(x.ndim), x.ndim)
        wanted = np.empty(x.transpose(axes).shape, order=order)
        wanted[...] = x.transpose(axes)
        for got in (
            cornerturn.transpose(x, axes, order=order),
            cornerturn.permute_dims(x, axes, order=order),
            cornerturn.transpose(x, axes, order=order, dtype="float64", scale=1.0),
        ):
            assert got.strides == wanted.strides and np.array_equal(got, wanted), (x.shape, axes, x.strides)
        if x.ndim > 0:
            a, b = choose.randrange(x.ndim), choose.randrange(x.ndim)
            for name in ("moveaxis", "swapaxes"):
                moved = getattr(np, name)(x, a, b)
                got = getattr(cornerturn, name)(x, a, b, order=order)
                assert got.strides == np.empty(moved.shape, order=order).strides and np.array_equal(got, moved)


@pytest.mark.parametrize("order", ["C", "F"])
def test_contiguous(order):
    for x, _ in arrays(100, 2):
        wanted = np.asarray(x, order=order)
        got = cornerturn.contiguous(x, order=order)
        assert got.strides == wanted.strides and np.array_equal(got, wanted), (x.shape, x.strides)
        assert got.flags[f"{order}_CONTIGUOUS"] and (got is x) == (wanted is x)
        if order == "C":
            assert cornerturn.ascontiguousarray(x).strides == np.ascontiguousarray(x).strides
            assert cornerturn.contiguous(x).strides == wanted.strides


@pytest.mark.parametrize("order", ["K", "A", "c", 1])
def test_other_orders_are_refused(order):
    for call in (cornerturn.transpose, cornerturn.contiguous):
        with pytest.raises(ValueError, match="is neither 'C' nor 'F'"):
            call(np.zeros((2, 3)), order=order)


def test_rearrange():
    patterns = ["a b c -> c b a", "a b c -> (a b) c", "a b c -> b (c a)", "a b c -> () a 1 (b c)"]
    for x, choose in arrays(300, 3):
        if x.ndim == 3:
            pattern = choose.choice(patterns)
            for got in (cornerturn.rearrange(x, pattern), cornerturn.repeat(x, f"{pattern} k", k=choose.randrange(3))):
                # Those without elements are as reshape() makes them.
                assert got.size == 0 or got.strides == np.empty(got.shape).strides
