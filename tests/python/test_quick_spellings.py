"""One transposition has many spellings: each takes the quick way, and means what it means on the long one."""

import numpy as np
import pytest

import cornerturn
from cornerturn import _operations

A = np.random.default_rng(0).integers(-9, 9, (5, 7)).astype("f4")
B = np.random.default_rng(1).random((3, 4, 5))
SPELLINGS = {
    "axes=None": (lambda: cornerturn.transpose(A), A.T),
    "negative axes": (lambda: cornerturn.transpose(A, (-1, 0)), A.T),
    "axes one by one": (lambda: cornerturn.transpose(A, 1, 0), A.T),
    "threads": (lambda: cornerturn.transpose(A, threads=1), A.T),
    "order C": (lambda: cornerturn.transpose(A, order="C"), A.T),
    "order F": (lambda: cornerturn.transpose(A, order="F"), A.T),
    "order F, axes": (lambda: cornerturn.transpose(B, (1, -1, 0), order="F"), B.transpose(1, 2, 0)),
    "order F, threads, dtype": (lambda: cornerturn.transpose(B, order="F", threads=2, dtype="f4"), B.T.astype("f4")),
    "scale": (lambda: cornerturn.transpose(A, scale=2.5), A.T * np.float32(2.5)),
    "scale, alpha": (lambda: cornerturn.transpose(A, scale=2, alpha=0.5), A.T),
    "scale, dtype": (lambda: cornerturn.transpose(A, scale=3, dtype="i4"), A.T.astype("i4") * 3),
    "dtype": (lambda: cornerturn.transpose(A, dtype="f8"), A.T.astype("f8")),
    "moveaxis": (lambda: cornerturn.moveaxis(B, 0, -1), np.moveaxis(B, 0, -1)),
    "swapaxes": (lambda: cornerturn.swapaxes(B, 0, -1), B.swapaxes(0, -1)),
    "rearrange": (lambda: cornerturn.rearrange(B, "a b c -> c a b"), B.transpose(2, 0, 1)),
    "contiguous": (lambda: cornerturn.contiguous(B.T), B.T),
    "ascontiguousarray": (lambda: cornerturn.ascontiguousarray(B.T), B.T),
    "permute_dims": (lambda: cornerturn.permute_dims(B, (2, 0, 1)), B.transpose(2, 0, 1)),
    "out, threads": (lambda: cornerturn.transpose(A, out=np.empty((7, 5), "f4"), threads=1), A.T),
    "out, scale": (lambda: cornerturn.transpose(A, out=np.empty((7, 5), "f4"), scale=2), A.T * 2),
}


def refused(*given, **options):
    raise AssertionError("the long way")


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_takes_the_quick_way(monkeypatch, name):
    call, expected = SPELLINGS[name]
    cornerturn.transpose(A)
    monkeypatch.setattr(_operations, "_transpose", refused)
    monkeypatch.setattr("cornerturn._einops.new_copy", refused)
    found = call()
    assert found.dtype == expected.dtype and np.array_equal(found, expected)
    assert (found.flags.f_contiguous if "F" in name else found.flags.c_contiguous) and not np.shares_memory(found, A)


@pytest.mark.parametrize("name", SPELLINGS)
def test_the_long_way_says_the_same(monkeypatch, name):
    call, _ = SPELLINGS[name]
    quick = call()
    for way in ("_quick_transpose", "_quick_convert"):
        monkeypatch.setattr(_operations, way, lambda *_: None)
    slow = call()
    assert slow.strides == quick.strides and slow.dtype == quick.dtype and np.array_equal(slow, quick)


@pytest.mark.parametrize(
    ("options", "error"),
    [(dict(threads=-1), ValueError), (dict(threads=1025), ValueError), (dict(threads=1.0), TypeError), (dict(order="K"), ValueError),
     (dict(order="F", out=np.empty((7, 5), "f4")), ValueError), (dict(scale="2"), TypeError), (dict(alpha=None), TypeError),
     (dict(dtype="f8", out=np.empty((7, 5), "f4")), TypeError), (dict(seed="x"), TypeError)],
)
def test_wrong_options_are_refused_in_the_same_words(monkeypatch, options, error):
    with pytest.raises(error) as quick:
        cornerturn.transpose(A, **options)
    for way in ("_quick_transpose", "_quick_convert"):
        monkeypatch.setattr(_operations, way, lambda *_: None)
    with pytest.raises(error) as slow:
        cornerturn.transpose(A, **options)
    assert str(quick.value) == str(slow.value)


def test_threads_are_given_back():
    with cornerturn.threads(2):
        cornerturn.transpose(A, threads=1)
        with pytest.raises(ValueError):
            cornerturn.transpose(A, (0, 0), threads=1)
        assert cornerturn._core.limit_threads(2) == 2


@pytest.mark.parametrize(
    "call",
    [lambda x: cornerturn.moveaxis(x, 3, 0), lambda x: cornerturn.moveaxis(x, 0, (0, 1)), lambda x: cornerturn.swapaxes(x, 0, 3),
     lambda x: cornerturn.swapaxes(x, 0.0, 1), lambda x: cornerturn.rearrange(x, "a b -> b a")],
)
def test_wrong_axes_are_refused_again_and_again(call):
    said = []
    for _ in range(2):
        with pytest.raises((ValueError, TypeError, IndexError)) as found:
            call(B)
        said.append(str(found.value))
    assert said[0] == said[1]


def test_scalars_and_objects_of_numpy_stay_what_they_were():
    assert cornerturn.ascontiguousarray(np.float32(2)).shape == (1,)
    assert cornerturn.moveaxis(np.ma.zeros((2, 3)).data, 0, 1).shape == (3, 2)
    with pytest.raises(TypeError):
        cornerturn.transpose(np.array([[None]]), threads=1)
