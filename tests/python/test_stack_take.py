"""stack, unstack, take and put, beside NumPy, PyTorch and JAX."""

import itertools
import random
import re

import numpy as np
import pytest

import cornerturn

RANDOM = np.random.default_rng(5)


def refused(error, message, call, *args, **kwargs):
    with pytest.raises(error, match=re.escape(message)) as caught:
        call(*args, **kwargs)
    assert "\n" not in str(caught.value)


def lists_have_plans(monkeypatch):
    """Also those of small arrays, which are NumPy's business otherwise."""
    monkeypatch.setattr("cornerturn._small_lists._BYTES", -1)


def array(shape, dtype="f4"):
    return RANDOM.integers(0, 250, shape).astype(dtype)


def of_any_strides(chance, shape, dtype):
    """An array whose axes lie in any order, some of them backwards, maybe with gaps."""
    order = chance.sample(range(len(shape)), len(shape))
    gaps = [chance.choice((1, 1, 2)) for _ in shape]
    large = array([shape[i] * gaps[i] for i in order], dtype)
    x = large.transpose(np.argsort(order))
    return x[(..., *[slice(None, None, gap * chance.choice((1, -1))) for gap in gaps])]


SOME = [*"?bBhHiIlLqQefdFD", "m8[s]", "S3", ">f4", [("a", "i2"), ("b", "u1")]]


@pytest.mark.parametrize("seed", range(120))
def test_stack_and_unstack_are_those_of_numpy(seed, monkeypatch):
    if seed % 4:
        lists_have_plans(monkeypatch)
    chance = random.Random(seed)
    shape = tuple(chance.choice((0, 1, 2, 3, 5, 8, 17)) for _ in range(chance.randint(0, 4)))
    dtype = chance.choice(SOME)
    count = chance.choice((1, 2, 3, 5, 16, 33))
    arrays = [of_any_strides(chance, shape, "u1" if isinstance(dtype, list) else dtype) for _ in range(count)]
    if isinstance(dtype, list):
        arrays = [np.zeros(shape, dtype) for _ in arrays]
        for k, x in enumerate(arrays):
            x["a"], x["b"] = k, k + 1
    if chance.random() < 0.6:
        arrays = [np.array(x, order="C") if chance.random() < 0.8 else x for x in arrays]
    axes = tuple(chance.sample(range(-1, len(shape)), len(shape) + 1)) if chance.random() < 0.8 else None
    expected = np.stack(arrays).astype(arrays[0].dtype)  # NumPy's is in the machine's order of bytes
    expected = expected if axes is None else expected.transpose(axes)
    got = cornerturn.stack(arrays, axes)
    assert got.dtype == expected.dtype and got.flags.c_contiguous
    np.testing.assert_array_equal(got, expected)
    out = np.zeros((*expected.shape, 2), expected.dtype)[..., 1]
    assert cornerturn.stack(iter(arrays), axes, out=out) is out
    np.testing.assert_array_equal(out, expected)

    axis = chance.randrange(-got.ndim, got.ndim)
    x = of_any_strides(chance, got.shape, "f4")
    parts = cornerturn.unstack(x, axis)
    wanted = list(np.moveaxis(x, axis, 0))
    assert len(parts) == len(wanted)
    for part, one in zip(parts, wanted, strict=True):
        assert part.flags.c_contiguous
        np.testing.assert_array_equal(part, one)
    given = [of_any_strides(chance, one.shape, "f4") for one in wanted]
    assert all(a is b for a, b in zip(cornerturn.unstack(x, axis, out=given), given, strict=True))
    for part, one in zip(given, wanted, strict=True):
        np.testing.assert_array_equal(part, one)


@pytest.mark.parametrize("seed", range(120))
def test_take_and_put_are_those_of_numpy(seed, monkeypatch):
    if seed % 4:
        lists_have_plans(monkeypatch)
    chance = random.Random(seed)
    shape = tuple(chance.choice((1, 2, 3, 5, 9, 33)) for _ in range(chance.randint(1, 4)))
    axis = chance.randrange(len(shape))
    x = of_any_strides(chance, shape, chance.choice("bhfdD"))
    count = chance.choice((0, 1, 4, 50))
    kind = chance.choice((list, np.int32, np.int64, np.int16, np.uint8))
    low = 0 if kind is np.uint8 else -shape[axis]
    numbers = [chance.randrange(low, shape[axis]) for _ in range(count)]
    indices = numbers if kind is list else np.array(numbers, kind)
    axes = tuple(chance.sample(range(len(shape)), len(shape)))
    expected = np.take(x, np.array(numbers, int), axis).transpose(axes)
    got = cornerturn.take(x, indices, axis - len(shape), axes)
    assert got.flags.c_contiguous
    np.testing.assert_array_equal(got, expected)
    out = np.zeros_like(expected)[::-1]
    assert cornerturn.take(x, indices, axis, axes, out=out) is out
    np.testing.assert_array_equal(out, expected)

    # -1 stands for nothing.
    some = np.array([chance.choice((-1, i % shape[axis])) for i in numbers], int)
    here = np.expand_dims(some >= 0, tuple(range(1, len(shape) - axis)))
    rows = np.take(x, np.maximum(some, 0), axis)
    got = cornerturn.take(x, some, axis, axes, missing="zeros")
    np.testing.assert_array_equal(got, np.where(here, rows, 0).transpose(axes))
    before = array(rows.shape, x.dtype)
    out = before.transpose(axes).copy()
    cornerturn.take(x, some, axis, axes, out=out, missing="left")
    np.testing.assert_array_equal(out, np.where(here, rows, before).transpose(axes))

    # put: each place once.
    places = chance.sample(range(shape[axis]), chance.randint(0, shape[axis]))
    written = array((*shape[:axis], len(places), *shape[axis + 1 :]), x.dtype)
    permuted = written.transpose(np.argsort(axes)).copy()
    signed = [k - shape[axis] if chance.random() < 0.3 else k for k in places]
    expected = x.copy()
    expected[(slice(None),) * axis + (places,)] = written
    target = x.copy()
    assert cornerturn.put(target, signed, permuted, axis, axes) is None
    np.testing.assert_array_equal(target, expected)
    skipped = [chance.choice((-1, k)) for k in places]
    expected = x.copy()
    kept = [i for i, k in enumerate(skipped) if k >= 0]
    expected[(slice(None),) * axis + ([skipped[i] for i in kept],)] = np.take(written, kept, axis)
    target = x.copy()
    cornerturn.put(target, skipped, permuted, axis, axes, missing="skip")
    np.testing.assert_array_equal(target, expected)


def test_values_are_converted_on_their_way():
    arrays = [array((3, 4), "i4") - 100 for _ in range(5)]
    x = np.stack(arrays)
    np.testing.assert_array_equal(cornerturn.stack(arrays, (1, 2, 0), dtype="f8"), x.transpose(1, 2, 0).astype("f8"))
    np.testing.assert_array_equal(cornerturn.stack(arrays[:1], dtype="f4")[0], arrays[0].astype("f4"))
    np.testing.assert_array_equal(cornerturn.take(x, [2, 0], dtype=np.float32, threads=1), x[[2, 0]].astype("f4"))
    parts = cornerturn.unstack(x, 1, dtype="i2")
    np.testing.assert_array_equal(np.stack(parts), np.moveaxis(x, 1, 0).astype("i2"))
    y = np.zeros((5, 3, 4), ">f4")
    cornerturn.put(y, [4, 0], x[:2], convert=True)
    np.testing.assert_array_equal(y[[4, 0]], x[:2])


def test_views_of_one_array_and_one_array_often():
    x = array((6, 5, 7))
    np.testing.assert_array_equal(cornerturn.stack(list(x), (1, 2, 0)), x.transpose(1, 2, 0))
    np.testing.assert_array_equal(cornerturn.stack([x[k] for k in (5, 3, 1)]), x[5::-2])
    np.testing.assert_array_equal(cornerturn.stack([x[0]] * 4, (2, 0, 1)), np.stack([x[0]] * 4).transpose(2, 0, 1))
    whole = np.zeros_like(x)
    cornerturn.unstack(x, out=list(whole))
    np.testing.assert_array_equal(whole, x)


class Recorder:
    """The calls of the extension that move something."""

    def __init__(self, monkeypatch):
        from cornerturn import _core

        self.calls = []
        for name in ("copy_listed", "execute"):
            monkeypatch.setattr(_core, name, self.around(name, getattr(_core, name)))

    def around(self, name, call):
        def recorded(*args):
            self.calls.append(name)
            return call(*args)

        return recorded


def test_arrays_of_one_kind_of_strides_move_in_one_call(monkeypatch):
    arrays = [array((9, 8)) for _ in range(64)]
    mixed = [np.asfortranarray(x) if k % 3 == 0 else x for k, x in enumerate(arrays)]
    one_off = [x.T.copy().T if k == 7 else x for k, x in enumerate(arrays)]
    recorder = Recorder(monkeypatch)
    lists_have_plans(monkeypatch)
    for some, calls in ((arrays, ["copy_listed"]), (mixed, ["copy_listed"] * 2), (one_off, ["copy_listed", "execute"])):
        np.testing.assert_array_equal(cornerturn.stack(some, (2, 1, 0)), np.stack(some).transpose(2, 1, 0))
        assert sorted(recorder.calls) == calls
        recorder.calls.clear()


X = array((4, 3, 5))


def test_what_is_wrong_is_named_and_nothing_is_written():
    out = np.full((3, 3, 5), 7, "f4")
    rows = [X[0], X[1], X[2]]
    read_only = X.copy()
    read_only.flags.writeable = False
    wrong = [
        (ValueError, "arrays is empty", cornerturn.stack, [], None),
        (TypeError, "arrays is a int", cornerturn.stack, 5, None),
        (ValueError, "arrays[2].shape = (2, 5) differs from arrays[0].shape = (3, 5)", cornerturn.stack, [*rows[:2], X[0, :2]], None),
        (TypeError, "arrays[1].dtype = float64 differs from arrays[0].dtype = float32", cornerturn.stack, [X[0], X[1].astype("f8")], None),
        (TypeError, "arrays[1].dtype = object: its elements hold references", cornerturn.stack, [X[0], X[1].astype(object)], None),
        (ValueError, "axes = (0, 1) has 2 entries, x has rank 3", cornerturn.stack, rows, (0, 1)),
        (ValueError, "axes[2] = 3 is out of range", cornerturn.stack, rows, (0, 1, 3)),
    ]
    for error, message, call, arrays, axes in wrong:
        refused(error, message, call, arrays, axes, out=out)
    refused(ValueError, "out.shape = (3, 3, 5) differs from (3, 5, 3)", cornerturn.stack, rows, (0, 2, 1), out=out)
    refused(TypeError, "out.dtype = float32 differs from", cornerturn.stack, [r.astype("f8") for r in rows], out=out)
    refused(ValueError, "out is read-only", cornerturn.stack, list(X), out=read_only)
    refused(ValueError, "out overlaps arrays[2]", cornerturn.stack, [X[0], X[1], out[0]], out=out)
    refused(TypeError, "dtype = 'text' is no dtype", cornerturn.stack, rows, dtype="text")

    refused(ValueError, "axis = 3 is out of range for rank 3", cornerturn.unstack, X, 3)
    refused(TypeError, "axis = 0.5 is not an integer", cornerturn.unstack, X, 0.5)
    parts = list(np.full((4, 3, 5), 7, "f4"))
    refused(ValueError, "out has 3 arrays, but axis 0 of x has the extent 4", cornerturn.unstack, X, out=parts[:3])
    refused(ValueError, "out[3].shape = (3, 4)", cornerturn.unstack, X, out=[*parts[:3], parts[3][:, :4]])
    refused(TypeError, "out[3].dtype = float64", cornerturn.unstack, X, out=[*parts[:3], parts[3].astype("f8")])
    refused(ValueError, "out[1] overlaps out[3]", cornerturn.unstack, X, out=[*parts[:3], parts[1]])
    refused(ValueError, "out[3] is read-only", cornerturn.unstack, X, out=[*parts[:3], read_only[0]])
    refused(ValueError, "out[2] overlaps x", cornerturn.unstack, X, out=[*parts[:2], X[1], parts[3]])

    for indices, error, message in (
        ([0, 1, 4], ValueError, "indices[2] = 4 is out of range: axis 0 has the extent 4, so that an index is -4 to 3"),
        ([0, -5, 9], ValueError, "indices[1] = -5 is out of range"),
        (np.array([2**63, 0], "u8"), ValueError, "indices[0] = 9223372036854775808 is out of range"),
        ([0.0, 1.0], TypeError, "of dtype float64: it has to be of integers"),
        ([True, False], TypeError, "of dtype bool"),
        (2, ValueError, "has 0 axes: it has to have one"),
        ([[0, 1, 2]], ValueError, "has 2 axes"),
    ):
        refused(error, message, cornerturn.take, X, indices, out=out)
        refused(error, message, cornerturn.put, X.copy(), indices, out)
    refused(ValueError, "indices[1] = -2 is out of range: axis 1 has the extent 3, so that an index is -1 to 2", cornerturn.take, X, [-1, -2], 1, missing="zeros")
    refused(ValueError, "missing = 'none' is none of", cornerturn.take, X, [0], missing="none")
    refused(ValueError, 'missing = "left", but there is no out', cornerturn.take, X, [0], missing="left")
    refused(ValueError, "out overlaps x", cornerturn.take, X, [0, 1, 2], out=X[1:])
    refused(ValueError, "out.shape = (3, 3, 5) differs from (2, 3, 5)", cornerturn.take, X, [0, 1], out=out)

    target = X.copy()
    refused(ValueError, "indices[0] and indices[2] are equal", cornerturn.put, target, [1, 0, 1], out)
    refused(ValueError, "indices[1] and indices[2] are equal", cornerturn.put, target, [0, 3, -1], out)
    refused(ValueError, "x has the shape (3, 3, 5) with its axes in order, but what the indices name has (2, 3, 5)", cornerturn.put, target, [0, 1], out)
    refused(TypeError, "differs from x.dtype = float64", cornerturn.put, target, [0, 1, 2], out.astype("f8"))
    refused(ValueError, "out is read-only", cornerturn.put, read_only, [0, 1, 2], out)
    refused(ValueError, "out overlaps x", cornerturn.put, target, [0, 1, 2], target[1:])
    np.testing.assert_array_equal(target, X)
    assert (out == 7).all() and all((part == 7).all() for part in parts)


def test_special_arrays_are_refused_by_name():
    xarray = pytest.importorskip("xarray")
    for call in (cornerturn.unstack, lambda x: cornerturn.stack([x]), lambda x: cornerturn.take(x, [0])):
        refused(TypeError, "pass the array that it holds", call, xarray.DataArray(X))


# ---------------------------------------------------------------- PyTorch


def test_tensors_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
        xs = [torch.from_numpy(array((6, 5))).to(dtype) for _ in range(9)]
        got = cornerturn.stack(xs, (2, 0, 1))
        assert got.is_contiguous() and torch.equal(got, torch.stack(xs).permute(2, 0, 1))
        assert all(torch.equal(a, b) for a, b in zip(cornerturn.unstack(got, 1), got.unbind(1), strict=True))
        indices = torch.tensor([3, 0, 3, 4, 1], dtype=torch.int32)
        taken = torch.index_select(got, 0, indices)
        assert torch.equal(cornerturn.take(got, indices), taken)
        assert torch.equal(cornerturn.take(got, indices.tolist(), axes=(1, 2, 0)), taken.permute(1, 2, 0))
        target, expected = torch.zeros_like(got), torch.zeros_like(got)
        version = target._version
        cornerturn.put(target, indices[1:], taken[1:])
        assert target._version > version
        assert torch.equal(target, expected.index_copy_(0, indices[1:].long(), taken[1:]))
    assert torch.equal(cornerturn.stack(xs, dtype=torch.float32), torch.stack(xs).float())
    mixed = cornerturn.stack([torch.ones(3), np.zeros(3, "f4")])
    assert isinstance(mixed, torch.Tensor) and mixed.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_gradients_are_kept_or_refused():
    torch = pytest.importorskip("torch")
    xs = [torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    indices = torch.tensor([2, -1, 0, 2])
    for run in (
        lambda *xs: cornerturn.stack(xs, (1, 0, 2)),
        lambda *xs: tuple(cornerturn.unstack(xs[0], 1)),
        lambda *xs: cornerturn.take(xs[0], indices, 0, (1, 0)),
        lambda *xs: cornerturn.take(xs[0], indices, 1, missing="zeros"),
    ):
        assert torch.autograd.gradcheck(run, xs)
        with torch.no_grad():
            plain = run(*xs)
        kept = run(*xs)
        pairs = zip(plain, kept, strict=True) if isinstance(plain, tuple) else [(plain, kept)]
        assert all(torch.equal(a, b) for a, b in pairs)
    out = torch.zeros(3, 3, 4, dtype=torch.float64)
    refused(ValueError, "requires grad", cornerturn.stack, xs, out=out)
    refused(ValueError, "requires grad", cornerturn.take, xs[0], [0], out=out[:1, 0])
    refused(ValueError, "requires grad", cornerturn.unstack, xs[0], out=list(out[0]))
    refused(ValueError, "requires grad", cornerturn.put, xs[0], [0], out[0, :1])
    assert not out.any()


def test_gradients_of_what_is_put():
    """As PyTorch's index_copy."""
    torch = pytest.importorskip("torch")
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    y = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    indices = torch.tensor([2, -1, 0])

    def put(x, y, **options):
        out = y * 2
        cornerturn.put(out, indices, x, axes=(1, 0), **options)
        return out

    assert torch.autograd.gradcheck(put, (x, y), check_forward_ad=True)
    assert torch.equal(put(x, y), (y * 2).index_copy(0, indices % 5, x.T))
    assert torch.autograd.gradcheck(lambda x, y: put(x, y, missing="skip"), (x, y))
    assert torch.equal(put(x, y, missing="skip"), (y * 2).index_copy(0, indices[[0, 2]], x.T[[0, 2]]))
    out = torch.zeros(4, 5, dtype=torch.float32)
    cornerturn.put(out, [4], x[:, :1], 1, convert=True)
    assert out.requires_grad and torch.equal(out[:, 4], x[:, 0].float())
    with torch.no_grad():
        out = torch.zeros(5, 4, dtype=torch.float64)
        cornerturn.put(out, indices, x, axes=(1, 0))
    assert torch.equal(out, torch.zeros_like(out).index_copy(0, indices % 5, x.T)) and not out.requires_grad
    for error, part, call in [
        (ValueError, "indices[0] and indices[2] are equal", lambda: cornerturn.put(y * 1, [1, 0, -4], x.T)),
        (ValueError, "index 5 is out of bounds for dimension 0", lambda: cornerturn.put(y * 1, [5], x.T[:1])),
        (ValueError, "x has the shape (3, 4)", lambda: cornerturn.put(y * 1, [0], x.T)),
        (TypeError, "x.dtype = torch.float64 differs", lambda: cornerturn.put(y.detach().float(), [0], x.T[:1])),
    ]:
        refused(error, part, call)


def test_put_is_transformed_and_traced():
    torch = pytest.importorskip("torch")
    x, indices = torch.randn(6, 3, 4), torch.tensor([2, 0])

    def put(x):
        out = torch.zeros_like(x)
        cornerturn.put(out, indices, x[:2])
        return out

    def expected(x):
        return torch.zeros_like(x).index_copy(0, indices, x[:2])

    assert torch.equal(torch.func.vmap(put)(x), torch.func.vmap(expected)(x))
    assert torch.equal(torch.func.grad(lambda x: put(x).pow(2).sum())(x), torch.func.grad(lambda x: expected(x).pow(2).sum())(x))
    for backend in ("eager", "aot_eager"):
        assert torch.equal(torch.compile(put, backend=backend, fullgraph=True)(x), expected(x))


def test_functions_of_tensors_are_transformed_and_traced():
    torch = pytest.importorskip("torch")
    x = torch.randn(6, 3, 4)
    indices = torch.tensor([2, 0])
    for run, expected in (
        (lambda x: cornerturn.stack([x, x + 1], (1, 0, 2)), lambda x: torch.stack([x, x + 1]).permute(1, 0, 2)),
        (lambda x: cornerturn.take(x, indices, 1), lambda x: x.index_select(1, indices)),
        (lambda x: cornerturn.take(x, indices), lambda x: x.index_select(0, indices)),
        (lambda x: cornerturn.unstack(x)[1], lambda x: x[1]),
    ):
        assert torch.equal(torch.func.vmap(run)(x), torch.func.vmap(expected)(x))
        compiled = torch.compile(run, backend="eager", fullgraph=True)
        assert torch.equal(compiled(x[0]), expected(x[0]))


def test_arrays_of_jax():
    jax = pytest.importorskip("jax")
    numpy = jax.numpy
    xs = [numpy.asarray(array((3, 4))) for _ in range(3)]
    assert (cornerturn.stack(xs, (2, 0, 1)) == numpy.stack(xs).transpose(2, 0, 1)).all()
    assert (cornerturn.take(xs[0], [2, -1], 0, (1, 0)) == xs[0][numpy.array([2, -1])].T).all()
    assert cornerturn.take(xs[0], [-1, 1], missing="zeros")[0].tolist() == [0, 0, 0, 0]
    assert all((a == b).all() for a, b in zip(cornerturn.unstack(xs[0], 1), xs[0].T, strict=True))
    refused(ValueError, "indices[0] = 3 is out of range", cornerturn.take, xs[0], [3])
    out = np.zeros((3, 3, 4), "f4")
    cornerturn.stack(xs, out=out)
    assert (out == numpy.stack(xs)).all()


def test_many_arrays():
    arrays = [np.full(3, k, "i4") for k in range(2000)]
    for axes in itertools.permutations(range(2)):
        np.testing.assert_array_equal(cornerturn.stack(arrays, axes), np.stack(arrays).transpose(axes))
