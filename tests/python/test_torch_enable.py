"""cornerturn.torch.enable(): PyTorch's own results, made by Cornerturn."""

from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch")

import cornerturn.torch as ct  # noqa: E402
from cornerturn import _core  # noqa: E402

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
DEVICES = ["cpu", pytest.param("cuda", marks=needs_gpu)]
FORMATS = [
    torch.preserve_format,
    torch.contiguous_format,
    torch.channels_last,
]
TENSORS = {
    "packed": lambda x: x,
    "permuted": lambda x: x.permute(0, 3, 1, 2),
    "reversed": lambda x: x.permute(3, 2, 1, 0),
    "window": lambda x: x[:, 1:, ::2].permute(0, 3, 2, 1),
    "broadcast": lambda x: x[:1].expand(3, 6, 5, 4).transpose(1, 2),
    "overlapping": lambda x: x.as_strided((2, 3, 4, 5), (60, 1, 2, 1)),
    "ones": lambda x: x[:1, :, :, :1].permute(3, 1, 0, 2),
    "empty": lambda x: x[:0].permute(0, 3, 1, 2),
    "conjugated": lambda x: torch.complex(x, x).conj().permute(0, 3, 1, 2),
    "negated": lambda x: torch.complex(x, x).conj().imag.permute(0, 3, 1, 2),
    "zeros": lambda x: torch._efficientzerotensor(x.shape, device=x.device).permute(0, 3, 1, 2),
}


@pytest.fixture(autouse=True)
def off():
    yield
    ct.disable()


class Calls:
    """How many copies Cornerturn has done for PyTorch since the test began."""

    def __init__(self):
        self.before = _core.torch_copies_done()

    def __len__(self):
        return _core.torch_copies_done() - self.before


@pytest.fixture
def calls():
    return Calls()


LARGE = (2, 96, 80, 64)  # of smaller tensors on a GPU, PyTorch's own kernels are as fast


def numbered(device="cpu", shape=(2, 6, 5, 4)):
    count = torch.Size(shape).numel()
    return torch.arange(count, dtype=torch.float32, device=device).reshape(shape)


def same(got, want):
    assert type(got) is type(want) and got.dtype == want.dtype and got.device == want.device
    assert got.shape == want.shape and got.stride() == want.stride()
    assert got.requires_grad == want.requires_grad
    assert type(got.grad_fn) is type(want.grad_fn)
    assert got.is_conj() == want.is_conj() and got.is_neg() == want.is_neg()
    assert torch.equal(got, want)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("memory_format", FORMATS, ids=str)
@pytest.mark.parametrize("name", TENSORS)
def test_same_as_pytorch(name, memory_format, requires_grad, device):
    x = TENSORS[name](numbered(device)).requires_grad_(requires_grad)

    def results():
        yield x.clone()
        yield x.clone(memory_format=memory_format)
        yield x.reshape(-1)
        if memory_format is not torch.preserve_format:
            yield x.contiguous(memory_format=memory_format)

    want = list(results())
    with ct.enable(device):
        got = list(results())
    for one, other in zip(got, want, strict=True):
        same(one, other)


# Each is one copy of permuted elements, of x or of the packed tensor.
ONE_COPY = {
    "contiguous": lambda x, packed: x.contiguous(),
    "clone": lambda x, packed: x.clone(memory_format=torch.contiguous_format),
    "reshape": lambda x, packed: x.reshape(-1),
    "flatten": lambda x, packed: x.flatten(),
    "channels_last": lambda x, packed: packed.to(memory_format=torch.channels_last),
    "copy_": lambda x, packed: torch.zeros_like(packed).copy_(x),
    "a slice": lambda x, packed: torch.zeros_like(packed).__setitem__(slice(None), x),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ONE_COPY)
def test_cornerturn_does_the_work(calls, name, device):
    x = numbered(device, LARGE).permute(0, 3, 1, 2)
    packed = x.contiguous()
    with ct.enable(device):
        ONE_COPY[name](x, packed)
    assert len(calls) == 1


def test_what_is_no_permutation_stays_pytorchs(calls):
    x = numbered()
    with ct.enable("cpu"):
        x.clone()
        x.contiguous()
        x.permute(0, 3, 1, 2).clone()
        torch.zeros_like(x).copy_(x)
        x.permute(0, 3, 1, 2).to(torch.float64, memory_format=torch.contiguous_format)
    assert len(calls) == 0


def test_it_acts_when_it_is_called(calls):
    """As `cornerturn.zarr.enable()` does: from the call on, for the devices that are here."""
    x = numbered().permute(0, 3, 1, 2)
    one = ct.enable()
    x.contiguous()
    assert len(calls) == 1 and "on for cpu" in repr(one)
    ct.enable("cpu")
    ct.disable()
    x.contiguous()
    assert len(calls) == 1 and not ct._active and repr(one) == "<cornerturn.torch.enable: off>"
    ct.disable()  # nothing happens where it is off
    with one:  # once more
        x.contiguous()
        assert len(calls) == 2
    with ct.enable():
        ct.disable()
        with ct.enable("cpu"):  # which the end of the outer block does not end
            x.contiguous()
            assert len(calls) == 3
    assert not ct._active


@pytest.mark.parametrize("types", [(), ("cpu",)])
def test_only_inside_a_block(calls, types):
    x = numbered().permute(0, 3, 1, 2)
    x.contiguous()
    with ct.enable(*types):
        x.contiguous()
        assert len(calls) == 1
    x.contiguous()
    assert len(calls) == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
def test_only_where_asked(calls):
    with ct.enable("cuda"):
        numbered().permute(0, 3, 1, 2).contiguous()
    assert len(calls) == 0


@pytest.mark.parametrize("device", DEVICES)
def test_gradients_flow(calls, device):
    x = numbered(device, LARGE).requires_grad_()
    with ct.enable(device):
        y = x.permute(0, 3, 1, 2).contiguous()
        weights = torch.randn_like(y)
        (gradient,) = torch.autograd.grad(y, x, weights)
    assert len(calls) > 0
    assert torch.equal(gradient, weights.permute(0, 2, 3, 1))


def test_nested_and_as_a_decorator(calls):
    @ct.enable("cpu")
    def contiguous():
        return numbered().permute(0, 3, 1, 2).contiguous()

    contiguous()
    assert len(calls) == 1
    with ct.enable("cpu"):
        contiguous()
        contiguous()
        assert len(calls) == 3
        numbered().permute(0, 3, 1, 2).contiguous()
    assert len(calls) == 4
    numbered().permute(0, 3, 1, 2).contiguous()
    assert len(calls) == 4


def test_over_when_an_exception_leaves(calls):
    with pytest.raises(ZeroDivisionError), ct.enable("cpu"):
        1 / 0
    numbered().permute(0, 3, 1, 2).contiguous()
    assert len(calls) == 0 and not ct._active


class Labelled(torch.Tensor):
    pass


def test_subclasses_stay(calls):
    x = numbered().as_subclass(Labelled).permute(0, 3, 1, 2)
    with ct.enable("cpu"):
        y = x.contiguous()
    assert type(y) is Labelled and len(calls) == 1
    assert torch.equal(y, x)


def test_threads_come_and_go():
    x = numbered(shape=(4, 32, 16, 8)).permute(0, 3, 1, 2)
    want = x.contiguous()

    def work(_):
        with ct.enable("cpu"):
            return torch.equal(x.contiguous(), want)

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(200)))
    assert not ct._active


def test_another_device_type_is_refused():
    with pytest.raises(ValueError, match=r"device_types\[1\] = 'tpu' is none of 'cpu', 'cuda'"):
        ct.enable("cpu", "tpu")


@needs_gpu
def test_cuda_graph(calls):
    x = numbered("cuda", (64, 48, 32, 16))
    with ct.enable():
        x.permute(0, 3, 1, 2).contiguous()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = x.permute(0, 3, 1, 2).contiguous()
    x.mul_(3)
    graph.replay()
    assert len(calls) > 0 and torch.equal(y, x.permute(0, 3, 1, 2))
