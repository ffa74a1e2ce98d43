"""transpose_in_place: the result lies in the memory of the array, or nothing was written."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import cornerturn
from cornerturn import _core, _in_place


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "c16", "S3", "S300", [("a", "f4"), ("b", "u1")]])
@pytest.mark.parametrize("shape", [(64, 64), (50, 70), (3, 1000), (997, 4), (5, 1), (0, 3)])
def test_matrices(shape, dtype):
    dtype = np.dtype(dtype)
    x = np.random.default_rng(1).integers(0, 256, (*shape, dtype.itemsize), np.uint8)
    x = x.view(np.dtype(f"V{dtype.itemsize}"))[..., 0].copy().view(dtype)
    before = x.T.copy()
    y = cornerturn.transpose_in_place(x)
    assert y.shape == before.shape and y.dtype == dtype and y.flags.c_contiguous
    assert y.tobytes() == before.tobytes()
    assert 0 in shape or (np.shares_memory(x, y) and y.ctypes.data == x.ctypes.data)


def test_every_order_of_axes():
    for axes in itertools.permutations(range(4)):
        x = np.arange(12 * 5 * 7 * 12, dtype="u2").reshape(12, 5, 7, 12)
        before = x.transpose(axes).copy()
        assert np.array_equal(cornerturn.transpose_in_place(x, axes, threads=1), before)
    x = np.arange(24).reshape(2, 3, 4)
    before = x.transpose(1, 0, 2).copy()
    assert np.array_equal(cornerturn.transpose_in_place(x, (-2, 0, -1)), before)


def test_gaps_stay():
    whole = np.arange(100.0).reshape(10, 10)
    expected = whole.copy()
    expected[:, :10:2][:5] = whole[:, ::2][:5].T.copy()
    y = cornerturn.transpose_in_place(whole[:5, ::2])
    assert np.array_equal(whole, expected) and np.array_equal(y, expected[:5, ::2])


def test_fortran_order_and_one_element():
    x = np.asfortranarray(np.arange(6).reshape(2, 3))
    y = cornerturn.transpose_in_place(x, (0, 1))
    assert np.array_equal(y, np.arange(6).reshape(2, 3)) and y.flags.c_contiguous
    assert cornerturn.transpose_in_place(np.array(3)).shape == ()


def read_only():
    x = np.ones((3, 4))
    x.flags.writeable = False
    return x


@pytest.mark.parametrize(
    "x, axes, error, rule",
    [
        (read_only(), None, ValueError, "x is read-only"),
        (np.broadcast_to(np.ones(3), (4, 3)), None, ValueError, "read-only"),
        (np.lib.stride_tricks.as_strided(np.ones(9), (4, 4), (8, 8)), None, ValueError, "x.strides"),
        (np.lib.stride_tricks.as_strided(np.ones(9), (4, 4), (0, 8)), None, ValueError, "x.strides"),
        (np.ones((4, 6))[:, :3], None, ValueError, "shape stays the same"),
        (np.ones((4, 6))[::-1], None, ValueError, "negative"),
        (np.ones((4, 6)), (0, 0), ValueError, "repeats"),
        (np.ones((4, 6)), (0, 2), ValueError, "out of range"),
        ([[1, 2], [3, 4]], None, TypeError, "NumPy"),
        (np.array([[None]]), None, TypeError, "references"),
    ],
)
def test_bad_input_is_refused(x, axes, error, rule):
    before = np.array(x, copy=True)
    with pytest.raises(error, match=rule):
        cornerturn.transpose_in_place(x, axes)
    assert np.array_equal(np.array(x), before)


def test_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(35.0).reshape(5, 7)[:]
    before, version = x.T.contiguous(), x._version
    y = cornerturn.transpose_in_place(x)
    assert torch.equal(y, before) and y.data_ptr() == x.data_ptr() and y.is_contiguous()
    assert x._version > version
    part = torch.arange(40, dtype=torch.bfloat16)[5:]
    before = part.reshape(5, 7).T.contiguous()
    assert torch.equal(cornerturn.transpose_in_place(part.view(5, 7)), before)
    leaf = torch.ones(3, 4, requires_grad=True)
    with pytest.raises(ValueError, match="requires grad"):
        cornerturn.transpose_in_place(leaf)
    with torch.no_grad():
        assert cornerturn.transpose_in_place(leaf).shape == (4, 3)
    with pytest.raises(ValueError, match="x.strides"):
        cornerturn.transpose_in_place(torch.ones(3).expand(4, 3))


def test_profilers_and_tangents():
    torch = pytest.importorskip("torch")
    x = torch.arange(12.0).reshape(3, 4)
    before = x.T.contiguous()
    with torch.profiler.profile() as profile:
        y = cornerturn.transpose_in_place(x)
    assert torch.equal(y, before)
    counts = {event.key: event.count for event in profile.key_averages()}
    assert counts["cornerturn::transpose_in_place"] == 1
    with torch.autograd.forward_ad.dual_level():
        assert torch.equal(cornerturn.transpose_in_place(y), before.T)
        with pytest.raises(ValueError, match="x has a tangent"):
            cornerturn.transpose_in_place(torch.autograd.forward_ad.make_dual(x, x))


def test_tensors_without_memory_of_their_own():
    torch = pytest.importorskip("torch")
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones(3, 4)
    whole = torch.arange(24.0).reshape(2, 3, 4)
    before = whole.clone()
    for call, x in (
        (cornerturn.transpose_in_place, fake),
        (cornerturn.transpose_in_place, torch.ones(3, 4, device="meta")),
        (torch.vmap(cornerturn.transpose_in_place), whole),
    ):
        with pytest.raises(TypeError, match="that is traced, or has no memory of its own"):
            call(x)
    assert torch.equal(whole, before)


@pytest.mark.parametrize(
    "itemsize, part",
    [(1, 1), (16, 16), (48, 48), (255, 255), (256, 256), (257, 1), (300, 150), (510, 255), (512, 256), (1000, 250)],
)
def test_long_elements_move_in_the_longest_parts(itemsize, part, monkeypatch):
    taken = []

    def operand(address, kind, shape, strides):
        taken.append((kind, shape[-1], strides[-1]))
        return _core.Operand(address, kind, shape, strides)

    monkeypatch.setattr(_in_place, "_core", SimpleNamespace(Operand=operand, permute_in_place=_core.permute_in_place))
    x = np.random.default_rng(2).integers(0, 256, (6, 5, itemsize), np.uint8)
    x = x.view(f"V{itemsize}")[..., 0].copy()
    before = x.T.copy()
    assert cornerturn.transpose_in_place(x).tobytes() == before.tobytes()
    last = (itemsize // part, part) if part != itemsize else (5, itemsize)
    assert taken == [(f"b{part}", *last)]
