"""Arrays on a GPU: PyTorch's, CuPy's, JAX's and those that are known by a protocol alone."""

import numpy as np
import pytest

import cornerturn

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.version.cuda is None, reason="no GPU"
)


def numbered(*shape, dtype=torch.float32):
    return torch.arange(int(np.prod(shape)), device="cuda").reshape(shape).to(dtype)


class Interface:
    """A tensor that is known by `__cuda_array_interface__` alone."""

    def __init__(self, x):
        self.__cuda_array_interface__ = x.__cuda_array_interface__
        self.keep = x


class Dlpack:
    """A tensor that is known by DLPack alone."""

    def __init__(self, x):
        self.x = x

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)


def as_tensor(x):
    return x if isinstance(x, torch.Tensor) else torch.from_dlpack(x)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16, torch.float32, torch.complex128])
def test_transpose(dtype):
    x = numbered(5, 33, 70, dtype=dtype)
    for view in (x, x[:, 1:, ::3], x.transpose(0, 2), x[:, :1].expand(5, 9, 70), x[:0]):
        for axes in ((2, 0, 1), (0, 2, 1), (0, 1, 2)):
            expected = view.permute(axes)
            result = cornerturn.transpose(view, axes)
            assert result.device == x.device and result.is_contiguous()
            assert torch.equal(result, expected)
            out = torch.zeros([2 * n for n in expected.shape], dtype=dtype, device="cuda")
            window = out[tuple(slice(0, n) for n in expected.shape)]
            assert cornerturn.transpose(view, axes, out=window) is window
            assert torch.equal(window, expected) and out.count_nonzero() == window.count_nonzero()


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16, torch.float32, torch.complex128])
def test_in_place(dtype):
    for shape, axes in (
        ((300, 300), None),
        ((3, 64, 64), (0, 2, 1)),
        ((1024, 513), None),
        ((1009, 757), None),
        ((100000, 3), None),
        ((2, 40, 50, 3), (0, 3, 1, 2)),
    ):
        x = numbered(*shape, dtype=dtype)
        expected = x.permute(axes or tuple(reversed(range(x.dim())))).contiguous()
        y = cornerturn.transpose_in_place(x, axes)
        assert y.data_ptr() == x.data_ptr() and y.is_contiguous()
        assert torch.equal(y, expected)
    whole = numbered(40, 50, dtype=dtype)
    before = whole.clone()
    cornerturn.transpose_in_place(whole[:, 5:45])
    assert torch.equal(whole[:, 5:45], before[:, 5:45].t())
    assert torch.equal(whole[:, :5], before[:, :5]) and torch.equal(whole[:, 45:], before[:, 45:])


def test_contiguous_and_copy():
    x = numbered(40, 50)
    assert cornerturn.contiguous(x) is x
    assert torch.equal(cornerturn.contiguous(x.t()), x.t())
    dst = torch.zeros(50, 80, device="cuda")
    cornerturn.copy(dst[:, ::2], x.t())
    assert torch.equal(dst[:, ::2], x.t()) and not dst[:, 1::2].any()


def test_rearrange():
    x = numbered(4, 32, 48, 3)
    result = cornerturn.rearrange(x, "b (h p) (w q) c -> b (h w) (p q c)", p=8, q=8)
    parts = x.reshape(4, 4, 8, 6, 8, 3).permute(0, 1, 3, 2, 4, 5)
    assert torch.equal(result, parts.reshape(4, 24, 192))
    listed = cornerturn.rearrange(list(x), "b h w c -> (w b) c h")
    assert torch.equal(listed, x.permute(2, 0, 3, 1).reshape(192, 3, 32))


def test_streams():
    x = torch.zeros(2000, 3000, device="cuda")
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    for given in (stream, stream.cuda_stream):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            x += 1
        result = cornerturn.transpose(x, stream=given)
        out = torch.empty(3000, 2000, device="cuda")
        torch.cuda.current_stream().synchronize()
        cornerturn.transpose(x, out=out, stream=given)
        stream.synchronize()
        assert torch.equal(result, x.t()) and torch.equal(out, x.t())
    with torch.cuda.stream(stream):  # the current one is found
        torch.cuda._sleep(20_000_000)
        x += 1
        result = cornerturn.transpose(x)
        assert torch.equal(result, x.t())


def test_in_a_graph():
    x, out = numbered(64, 96), torch.zeros(96, 64, device="cuda")
    cornerturn.transpose(x, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        cornerturn.transpose(x, out=out)
        result = cornerturn.transpose(x)
    x += 5
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, x.t()) and torch.equal(result, x.t())


@pytest.mark.parametrize("kind", [Interface, Dlpack])
def test_objects_with_a_protocol(kind):
    x = numbered(30, 40)
    for view in (x, x[::2, 3:]):
        torch.cuda.synchronize()
        result = cornerturn.transpose(kind(view))
        torch.cuda.synchronize()
        assert torch.equal(as_tensor(result), view.t())
        out = torch.zeros_like(view.t(), memory_format=torch.contiguous_format)
        cornerturn.transpose(kind(view), out=out)
        torch.cuda.synchronize()
        assert torch.equal(out, view.t())


def refused(error, message, call):
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


def test_errors():
    x, host = numbered(3, 4), torch.zeros(4, 3)
    out = torch.zeros(4, 3, device="cuda")
    refused(ValueError, "x[1].device = -1 differs", lambda: cornerturn.rearrange([x, host.t()], "a b c -> c b a"))
    refused(ValueError, "out overlaps x", lambda: cornerturn.transpose(x, out=x.view(4, 3)))
    refused(TypeError, "out.dtype = int32", lambda: cornerturn.transpose(x, out=out.int()))
    x.requires_grad_()
    refused(ValueError, "x requires grad", lambda: cornerturn.transpose(x, out=out))
    assert not out.any() and not host.any()


def test_pinned_memory_is_host_memory():
    x = torch.arange(12.0).reshape(3, 4).pin_memory()
    result = cornerturn.transpose(x)
    assert result.device.type == "cpu" and torch.equal(result, x.t())


def test_the_second_gpu():
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    x = torch.arange(12.0, device="cuda:1").reshape(3, 4)
    result = cornerturn.transpose(x)
    assert result.device == x.device and torch.equal(result, x.t())
    assert torch.cuda.current_device() == 0
    refused(
        ValueError, "out is in the memory of GPU 0, x in the memory of GPU 1",
        lambda: cornerturn.transpose(x, out=torch.zeros(4, 3, device="cuda:0")),
    )  # fmt: skip


def test_plan():
    plan = cornerturn.plan(numbered(64, 96))
    assert plan.device == torch.cuda.get_device_name() and plan.threads == 0
    x, out = numbered(64, 96), torch.zeros(96, 64, device="cuda")
    assert cornerturn.plan(x, out=out, measure=True).to_dict()["choice"] in ("measured", "remembered")
    assert torch.equal(out, x.t())


def test_cupy():
    cupy = pytest.importorskip("cupy")
    for dtype in ("u1", "f4", "c16", "?"):
        x = cupy.arange(5 * 6 * 7).reshape(5, 6, 7).astype(dtype)
        for view in (x, x[::-1, :, ::2], cupy.broadcast_to(x[:, :1], x.shape)):
            expected = view.transpose(2, 0, 1)
            result = cornerturn.transpose(view, (2, 0, 1))
            assert type(result) is cupy.ndarray and result.dtype == x.dtype
            assert (result == expected).all()
            out = cupy.zeros(expected.shape, dtype)
            assert cornerturn.transpose(view, (2, 0, 1), out=out) is out
            assert (out == expected).all()
            result = cornerturn.rearrange(view, "a b c -> (c a) b")
            assert (result == expected.reshape(-1, 6)).all()
    stream = cupy.cuda.Stream(non_blocking=True)
    x = cupy.arange(12.0).reshape(3, 4)
    cupy.cuda.get_current_stream().synchronize()
    result = cornerturn.transpose(x, stream=stream)
    stream.synchronize()
    assert (result == x.T).all()
    with stream:
        assert (cornerturn.transpose(x) == x.T).all()
    out = torch.zeros(4, 3, dtype=torch.float64, device="cuda")  # another framework's, same memory
    cornerturn.transpose(x, out=out)
    torch.cuda.synchronize()
    assert torch.equal(out, torch.from_dlpack(x).t())


def test_jax(monkeypatch):
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU here")
    x = jax.numpy.arange(12.0).reshape(3, 4)
    result = cornerturn.transpose(x)
    assert isinstance(result, jax.Array) and (result == x.T).all()
    out = torch.zeros(4, 3, device="cuda")
    cornerturn.transpose(x, out=out)
    torch.cuda.synchronize()
    assert np.array_equal(out.cpu().numpy(), np.asarray(x).T)
    refused(TypeError, "out is a JAX array", lambda: cornerturn.transpose(out, out=x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("format", ["q8_0", "mxfp8_e4m3", "mxfp8_e5m2"])
def test_blocks_are_those_of_the_cpu(dtype, format):
    torch.manual_seed(3)
    x = torch.randn(3, 128, 96, device="cuda").to(dtype)
    stream = torch.cuda.Stream()
    for view, axes in ((x, None), (x, (0, 2, 1)), (x[0], (1, 0)), (x[:, 1:, ::3], (1, 2, 0))):
        pad = view.shape[-1 if axes is None else axes[-1]] % 32 != 0
        expected = cornerturn.quantise(view.cpu(), format, axes, pad=pad)
        for on in (None, stream):
            stream.wait_stream(torch.cuda.current_stream())
            got = cornerturn.quantise(view, format, axes, pad=pad, stream=on)
            stream.synchronize()
            for a, b in zip(*([got], [expected]) if format == "q8_0" else (got, expected), strict=True):
                assert a.is_cuda and torch.equal(a.cpu().view(torch.uint8), b.view(torch.uint8))
        values, scales = (got, None) if format == "q8_0" else got
        back = cornerturn.dequantise(values, format, scales=scales, dtype=dtype)
        host = cornerturn.dequantise(
            values.cpu(), format, scales=None if scales is None else scales.cpu(), dtype=dtype
        )
        assert back.is_cuda and torch.equal(back.cpu(), host)


def test_both_ways():
    x = torch.randn(256, 160, device="cuda", dtype=torch.bfloat16)
    for view in (x, x.t(), x[:100, :70]):
        got = cornerturn.quantise_both(view, pad=True)
        expected = cornerturn.quantise_both(view.cpu(), pad=True)
        for a, b in zip(got, expected, strict=True):
            assert a.is_cuda and torch.equal(a.cpu().view(torch.uint8), b.view(torch.uint8))


@pytest.mark.parametrize("missing", [None, "zeros"])
@pytest.mark.parametrize(
    "format, options",
    [
        ("fp8_1x128", {}),
        ("fp8_1x128", dict(axes=(1, 0), pad=True)),
        ("fp8_128x128", dict(pad=True)),
        ("mxfp8_e4m3", dict(scale_layout="tiles_128x4")),
        ("mxfp8_e5m2", dict(both=True, pad=True)),
    ],
    ids=str,
)
def test_blocks_of_rows_by_a_list(format, options, missing):
    x = torch.randn(40, 256, device="cuda", dtype=torch.bfloat16)
    rows = [3, 0, -1, 3, 39, *range(17, 30)]
    expected = cornerturn.quantise(x.cpu(), format, indices=rows, missing=missing, **options)
    for indices in (rows, torch.tensor(rows, device="cuda"), torch.tensor(rows, device="cuda", dtype=torch.int32)):
        found = cornerturn.quantise(x, format, indices=indices, missing=missing, checked=True, **options)
        for a, b in zip(found, expected, strict=True):
            assert a.is_cuda and torch.equal(a.cpu().flatten().view(torch.uint8), b.flatten().view(torch.uint8))


def test_pages_cross_the_link():
    theirs = torch.randn(9, 4, 2, 64).pin_memory()  # pages, tokens, heads, width
    ours = torch.zeros(12, 2, 4, 64, device="cuda")
    read, write = torch.tensor([7, 3, -1], device="cuda"), torch.tensor([11, 0, 5], device="cuda", dtype=torch.int32)
    ours[5] = 1
    cornerturn.torch.relayout_pages(theirs, read, ours, write, "n p h d -> n h p d")
    expected = theirs[[7, 3]].permute(0, 2, 1, 3)
    assert torch.equal(ours[[11, 0]].cpu(), expected) and not ours[5].any()
    back = torch.zeros(9, 4, 2, 64).pin_memory()
    cornerturn.torch.relayout_pages(ours, write, back, read, "n h p d -> n p h d")
    assert torch.equal(back[[7, 3]], theirs[[7, 3]]) and not back[[0, 1, 2, 4, 5, 6, 8]].any()
    refused(ValueError, "src is in pageable memory", lambda: cornerturn.torch.relayout_pages(back.clone(), read, ours, write, "n p h d -> n h p d"))


def test_rows_by_a_list_are_converted_and_checked():
    x = torch.randn(6, 96, device="cuda")
    rows = torch.tensor([1, 4, -1, -1, 0, 2], device="cuda")
    expected = torch.where(rows[:, None] < 0, 0, x[rows.clamp(min=0)])
    for dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float64):
        found = cornerturn.take(x, rows, missing="zeros", dtype=dtype)
        assert torch.equal(found.double(), expected.to(dtype).double())
        turned = cornerturn.take(x, rows, axes=(1, 0), missing="zeros", dtype=dtype)
        assert torch.equal(turned.double(), expected.t().to(dtype).double())
    wrong = torch.tensor([0, 6], device="cuda")
    options = dict(missing="zeros", checked=True)
    says = "indices[1] is 6, but it has to be less than 6"
    refused(ValueError, says, lambda: cornerturn.take(x, wrong, **options))
    refused(ValueError, says, lambda: cornerturn.quantise(x, "mxfp8_e4m3", indices=wrong, **options))
    refused(RuntimeError, "quantise: blocks of q8_0 by a list", lambda: cornerturn.quantise(x, "q8_0", indices=rows, missing="zeros"))


def test_blocks_on_one_device():
    values, scales = cornerturn.quantise(torch.randn(4, 64, device="cuda"), "mxfp8_e4m3")
    with pytest.raises(ValueError, match="one device"):
        cornerturn.dequantise(values, "mxfp8_e4m3", scales=scales.cpu())


DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int32, torch.uint8, torch.bool]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_amax_is_that_of_the_cpu(dtype):
    torch.manual_seed(4)
    x = (torch.randn(40, 70, 33, device="cuda") * 50).to(dtype)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    for view in (x, x.transpose(0, 2), x[::2, 3:, 1], x[:1].expand(9, 70, 33), x[:0], x[3, 4, 5]):
        expected = cornerturn.amax(view.cpu())
        assert cornerturn.amax(view) == expected == cornerturn.amax(view, stream=stream)
    for kind in (Interface, Dlpack):
        if dtype is not torch.bfloat16:
            torch.cuda.synchronize()
            assert cornerturn.amax(kind(x)) == cornerturn.amax(x)


def test_amax_of_nans_and_infinities():
    x = torch.randn(300, 300, device="cuda")
    x[7, 5] = -torch.inf
    assert cornerturn.amax(x.requires_grad_()) == torch.inf
    x = x.detach()
    x[250, 77] = torch.nan
    assert np.isnan(cornerturn.amax(x)) and np.isnan(cornerturn.amax(x.to(torch.float8_e4m3fn)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("format", ["tensor_e4m3", "tensor_e5m2", "tensor_i8"])
def test_whole_tensors_are_those_of_the_cpu(dtype, format):
    torch.manual_seed(5)
    x = (torch.randn(64, 200, 96, device="cuda") * 20).to(dtype)
    stream = torch.cuda.Stream()
    for view, axes in ((x, None), (x, (0, 2, 1)), (x[0], (1, 0)), (x[:, 1:, ::3], (1, 2, 0)), (x[:0], None)):
        expected, expected_scale = cornerturn.quantise(view.cpu(), format, axes)
        for on in (None, stream):
            stream.wait_stream(torch.cuda.current_stream())
            values, scale = cornerturn.quantise(view, format, axes, stream=on)
            stream.synchronize()
            assert values.is_cuda and scale == expected_scale
            assert torch.equal(values.cpu().view(torch.uint8), expected.view(torch.uint8))
            back = cornerturn.dequantise(values, format, scales=scale, stream=on)
            stream.synchronize()
            assert torch.equal(back.cpu(), cornerturn.dequantise(expected, format, scales=scale))


def test_amax_follows_its_stream():
    x = torch.zeros(2000, 3000, device="cuda")
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        x += 3
    assert cornerturn.amax(x, stream=stream) == 3
    with torch.cuda.stream(stream):  # the current one is found
        torch.cuda._sleep(20_000_000)
        x += 3
        assert cornerturn.amax(x) == 6


def test_amax_is_refused_in_a_graph():
    x, out = numbered(64, 96), torch.zeros(96, 64, device="cuda")
    cornerturn.transpose(x, out=out)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        with pytest.raises(RuntimeError, match="amax returns a number, but the stream is being captured"):
            cornerturn.amax(x)
        with pytest.raises(RuntimeError, match="the stream is being captured"):
            cornerturn.quantise(x, "tensor_e4m3")
        cornerturn.transpose(x, out=out)
    assert cornerturn.amax(x) == 64 * 96 - 1


def test_amax_of_cupy_arrays():
    cupy = pytest.importorskip("cupy")
    x = cupy.arange(-40.0, 30.0).reshape(7, 10)
    assert cornerturn.amax(x) == 40 and cornerturn.amax(x[::-1, ::3]) == 40
    values, scale = cornerturn.quantise(x.astype("f4"), "tensor_i8")
    assert type(values) is cupy.ndarray and values.dtype == "i1" and int(values[0, 0]) == -127
    assert scale == np.float32(1) / (np.float32(127) / np.float32(40))
