"""Random arrays against NumPy, and random arguments of which none may do anything but answer or raise
a documented exception."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_np

import cornerturn

SETTINGS = settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
DTYPES = st.sampled_from(
    ["?", "u1", "i2", "f2", "f4", "f8", "c16", ">i4", "S3", "U2", "M8[s]", "V5", [("a", "u1"), ("b", "<i4")]]
).map(np.dtype)  # fmt: skip


@st.composite
def views(draw, dtype=None):
    """A view with any strides into an array whose bytes are random."""
    dtype = dtype or draw(DTYPES)
    shape = draw(st_np.array_shapes(min_dims=0, max_dims=6, min_side=0, max_side=7))
    steps = [draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2])) for _ in shape]
    gaps = [draw(st.integers(0, 2)) for _ in shape]
    whole = tuple(n * abs(step) + gap for n, step, gap in zip(shape, steps, gaps, strict=True))
    seed = draw(st.integers(0, 2**32 - 1))
    size = int(np.prod(whole)) * dtype.itemsize
    data = np.random.default_rng(seed).integers(65, 90, size, np.uint8)
    if dtype.kind == "b":
        data &= 1
    if dtype.kind == "U":
        data = data.astype("<u4")[: size // 4]
    memory = np.frombuffer(data.tobytes(), dtype).reshape(whole)
    order = draw(st.permutations(range(len(shape))))
    window = memory[(..., *(slice(0, n * abs(s)) for n, s in zip(shape, steps, strict=True)))]
    view = window[(..., *(slice(None, None, s) for s in steps))].transpose(order)
    for axis in range(view.ndim):
        if view.shape[axis] == 1 and draw(st.booleans()):
            view = np.broadcast_to(view, (*view.shape[:axis], 5, *view.shape[axis + 1 :]))
    return view


def same_bytes(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


@SETTINGS
@given(st.data())
def test_transpose(data):
    x = data.draw(views())
    axes = data.draw(st.none() | st.permutations(range(x.ndim)))
    if axes is not None:
        axes = [axis - data.draw(st.sampled_from([0, x.ndim])) for axis in axes]
    expected = x.transpose(axes)
    result = cornerturn.transpose(x, axes)
    assert same_bytes(result, expected) and result.flags.c_contiguous
    assert same_bytes(cornerturn.contiguous(expected), expected)


@SETTINGS
@given(st.data())
def test_out_has_any_strides(data):
    dtype = data.draw(DTYPES)
    dst = data.draw(views(dtype).filter(lambda v: 0 not in v.strides or v.size == 0))
    memory = np.lib.array_utils.byte_bounds(dst)
    buffer = bytearray(memory[1] - memory[0])
    out = np.ndarray(
        dst.shape, dtype, buffer, dst.__array_interface__["data"][0] - memory[0], dst.strides
    )
    axes = data.draw(st.permutations(range(dst.ndim)))
    seed = data.draw(st.integers(0, 99))
    rng = np.random.default_rng(seed)
    inverse = np.argsort(axes) if dst.ndim else ()
    shape = tuple(dst.shape[axis] for axis in inverse)
    raw = rng.integers(66, 90, (*shape, dtype.itemsize), np.uint8)
    if dtype.kind == "b":
        raw &= 1
    if dtype.kind == "U":
        raw[..., np.arange(dtype.itemsize) % 4 != 0] = 0
    x = raw.view(dtype)[..., 0] if raw.size else np.zeros(shape, dtype)
    expected = np.frombuffer(bytes(len(buffer)), np.uint8).copy()
    if dst.size:
        np.copyto(
            np.ndarray(dst.shape, dtype, expected, dst.__array_interface__["data"][0] - memory[0], dst.strides),
            x.transpose(axes),
        )  # fmt: skip
    assert cornerturn.transpose(x, axes, out=out) is out
    assert bytes(buffer) == expected.tobytes()


THINGS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=8)
    | st.lists(st.integers(-9, 9), max_size=5) | st.tuples(st.floats(), st.text(max_size=2))
    | views() | st.just(np.zeros((2, 3), object)) | st.just(range(3)) | st.builds(object)
)  # fmt: skip
DOCUMENTED = (TypeError, ValueError, BufferError)


def answers_or_refuses(call, written=()):
    before = [bytes(memory) for memory in written]
    try:
        return call()
    except DOCUMENTED as error:
        assert str(error) and "\n" not in str(error)
        assert [bytes(memory) for memory in written] == before
    return None


@SETTINGS
@given(x=THINGS, axes=THINGS, stream=st.none() | THINGS)
def test_any_arguments(x, axes, stream):
    answers_or_refuses(lambda: cornerturn.transpose(x, axes, stream=stream))
    answers_or_refuses(lambda: cornerturn.contiguous(x))
    answers_or_refuses(lambda: cornerturn.plan(x, axes))


@SETTINGS
@given(st.data())
def test_any_pair_of_arrays(data):
    x, y = data.draw(views()), data.draw(views())
    buffer = bytearray(y.tobytes())
    out = np.frombuffer(buffer, y.dtype).reshape(y.shape) if y.size and y.dtype.itemsize else y
    axes = data.draw(st.none() | st.lists(st.integers(-8, 8), max_size=6))
    answers_or_refuses(lambda: cornerturn.transpose(x, axes, out=out), [buffer])
    answers_or_refuses(lambda: cornerturn.copy(out, x), [buffer])


@SETTINGS
@given(
    st.text("abcdef123() ._->", max_size=24) | st.text(max_size=12),
    views(),
    st.dictionaries(st.sampled_from("abcdef"), THINGS | st.integers(0, 4), max_size=3),
)
def test_any_pattern(pattern, x, lengths):
    try:
        cornerturn.rearrange(x, pattern, **lengths)
    except DOCUMENTED as error:
        assert str(error)
