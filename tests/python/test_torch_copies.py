"""While Cornerturn does PyTorch's copies, tensors and errors are those of PyTorch itself."""

import copy
import itertools
import math
import os
import random
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import cornerturn.torch as ct  # noqa: E402
import cornerturn_autoload  # noqa: E402
from cornerturn import _core  # noqa: E402

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
DEVICES = ["cpu", pytest.param("cuda", marks=needs_gpu)]
DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int16,
    torch.bfloat16,
    torch.float32,
    torch.int64,
    torch.complex64,
    torch.complex128,
    torch.float8_e4m3fn,
]


@pytest.fixture(autouse=True)
def off():
    yield
    ct.disable()


def bits(x):
    """What a tensor is, in values that can be compared."""
    plain = x.resolve_conj().resolve_neg().flatten().clone(memory_format=torch.contiguous_format)
    return x.dtype, x.device, x.shape, x.stride(), x.is_conj(), x.is_neg(), plain.view(torch.uint8).tolist()


def numbered(shape, dtype, device):
    size = torch.empty(0, dtype=dtype).itemsize
    if dtype is torch.bool:
        return (torch.arange(math.prod(shape), device=device) % 3 == 0).reshape(shape)
    count = math.prod(shape) * size
    return (torch.arange(count, device=device) % 119 + 1).to(torch.uint8).view(dtype).reshape(shape)


def any_view(random_, dtype, device):
    """A window of a permuted tensor, some of its axes repeated, with any of its bits set."""
    rank = random_.randint(1, 5)
    shape = [random_.randint(1, 6) for _ in range(rank)]
    x = numbered([extent + 2 for extent in shape], dtype, device)
    x = x[tuple(slice(random_.randint(0, 2), None, random_.choice([1, 1, 2])) for _ in shape)]
    x = x.permute(random_.sample(range(rank), rank))
    if random_.random() < 0.2:
        x = x[:1].expand(3, *x.shape[1:])
    if dtype.is_complex and random_.random() < 0.5:
        x = x.conj()
        if random_.random() < 0.5:
            x = x.imag
    return x


def copies_of(x, random_):
    """Results of copying x in every way that PyTorch has."""
    yield x.clone()
    yield x.contiguous()
    yield x.clone(memory_format=torch.contiguous_format)
    yield x.reshape(-1)
    if x.dim() == 4:
        yield x.contiguous(memory_format=torch.channels_last)
    if x.dim() == 5:
        yield x.to(memory_format=torch.channels_last_3d)
    order = random_.sample(range(x.dim()), x.dim())
    back = [order.index(axis) for axis in range(x.dim())]
    out = torch.zeros([x.shape[axis] for axis in order], dtype=x.dtype, device=x.device).permute(back)
    yield out.copy_(x)
    wide = torch.zeros([2 * extent for extent in x.shape], dtype=x.dtype, device=x.device)
    wide[tuple(slice(None, None, 2) for _ in x.shape)] = x
    yield wide
    yield torch.zeros([2, *x.shape], dtype=x.dtype, device=x.device).copy_(x)  # which is repeated
    if x.dtype.is_complex:
        yield torch.zeros_like(x, memory_format=torch.contiguous_format).conj().copy_(x)
    elif x.dtype is not torch.bool:
        yield torch.zeros(x.shape, dtype=torch.float64, device=x.device).copy_(x)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_random_views(dtype, device):
    before = _core.torch_copies_done()
    for seed in range(60):
        x = any_view(random.Random(seed), dtype, device)
        want = [bits(y) for y in copies_of(x, random.Random(seed))]
        with ct.enable(device):
            got = [bits(y) for y in copies_of(x, random.Random(seed))]
        assert got == want, seed
    if device == "cpu":  # small tensors on a GPU are PyTorch's, but for some
        assert _core.torch_copies_done() - before > 60


def kinds_of_copy():
    """(source, destination) of the kinds that differ in who copies them, each large enough for threads."""
    x = torch.arange(3 * 128 * 96 * 4, dtype=torch.float32).reshape(3, 128, 96, 4)
    empty = torch.empty
    yield "rows", x.transpose(1, 2), empty(3, 96, 128, 4)
    yield "matrix", x.view(384, 384).t(), empty(384, 384)
    yield "every second", x.view(-1)[::2], empty(x.numel() // 2)
    yield "planes", x.permute(0, 3, 1, 2), empty(3, 4, 128, 96)
    yield "packed", x, empty(x.shape)
    large = torch.arange(48 << 20, dtype=torch.uint8).view(16, 1024, 12, 256)
    yield "long rows", large.transpose(1, 2), torch.empty(16, 12, 1024, 256, dtype=torch.uint8)


def test_who_copies_what():
    done = {}
    for kind, x, out in kinds_of_copy():
        with ct.enable("cpu"):
            before = _core.torch_copies_done()
            out.copy_(x)
            done[kind] = _core.torch_copies_done() - before
        assert torch.equal(out, x)
    assert done.pop("long rows") in (0, 1)  # as this processor's caches are
    assert done == {"rows": 1, "matrix": 1, "every second": 0, "planes": 1, "packed": 0}


ERRORS = {
    "shape": lambda x: torch.empty(5, 5).copy_(x.t()),
    "format": lambda x: x.t().contiguous(memory_format=torch.channels_last),
    "internal overlap": lambda x: torch.zeros(1, 1).expand(4, 6).copy_(x.t()),
    "leaf": lambda x: torch.empty(4, 6, requires_grad=True).copy_(x.t()),
    "overlap": lambda x: x.view(-1)[:20].view(4, 5).copy_(x.view(-1)[1:21].view(5, 4).t()),
    "inference": lambda x: _inference(x).copy_(x.t()),
}


def _inference(x):
    with torch.inference_mode():
        return torch.empty(4, 6)


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_pytorchs(name):
    def outcome():
        x = torch.arange(24.0).reshape(6, 4)
        try:
            ERRORS[name](x)
        except RuntimeError as error:
            return str(error).splitlines()[0]
        return x.tolist()

    want = outcome()
    with ct.enable("cpu"):
        assert outcome() == want


def test_derivatives():
    x = torch.arange(24.0, dtype=torch.float64).reshape(2, 3, 4).requires_grad_()
    with ct.enable("cpu"):
        before = _core.torch_copies_done()
        assert torch.autograd.gradcheck(lambda t: t.permute(2, 0, 1).contiguous() ** 2, x, check_forward_ad=True)
        assert torch.autograd.gradcheck(lambda t: torch.zeros(4, 2, 3, dtype=t.dtype).copy_(t.permute(2, 0, 1)) ** 2, x)
        assert torch.autograd.gradgradcheck(lambda t: t.permute(2, 0, 1).contiguous() ** 3, x)
        assert _core.torch_copies_done() > before


def test_autograd_sees_what_is_overwritten():
    with ct.enable("cpu"):
        kept = torch.ones(4, 6, requires_grad=True)
        x = kept * 2
        y = x * x
        version = x._version
        x.copy_(torch.ones(6, 4).t())
        assert x._version == version + 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
        base = torch.zeros(6, 4)
        view = base[1:5].t()
        source = torch.arange(16.0).reshape(4, 4).requires_grad_()
        view.copy_(source.t().t())
        base.sum().backward()
        assert torch.equal(source.grad, torch.ones(4, 4))


def test_transformations():
    x = torch.arange(120.0).reshape(2, 3, 4, 5)
    want = x.permute(0, 3, 1, 2).contiguous()
    with ct.enable("cpu"):
        got = torch.vmap(lambda t: t.permute(2, 0, 1).contiguous())(x)
        assert torch.equal(got, want)
        slope = torch.func.grad(lambda t: (t.permute(0, 3, 1, 2).contiguous() ** 2).sum())(x)
        assert torch.equal(slope, 2 * x)
        got = torch.func.functionalize(lambda t: torch.empty(2, 5, 3, 4).copy_(t.permute(0, 3, 1, 2)))(x)
        assert torch.equal(got, want)
        graph = torch.fx.experimental.proxy_tensor.make_fx(lambda t: t.permute(0, 3, 1, 2).contiguous())(x)
        assert "aten.clone" in graph.code and torch.equal(graph(x), want)
        traced = torch.jit.trace(lambda t: t.permute(0, 3, 1, 2).contiguous(), x)
        assert torch.equal(traced(x), want)
        with torch._subclasses.FakeTensorMode() as mode:
            fake = mode.from_tensor(x).permute(0, 3, 1, 2).contiguous()
        assert fake.stride() == want.stride()
        with torch.inference_mode():
            assert torch.equal(x.permute(0, 3, 1, 2).contiguous(), want)


def test_compiled_code():
    compiled = torch.compile(lambda t: t.permute(0, 2, 1).contiguous() + 1, backend="aot_eager")
    x = torch.arange(24.0).reshape(2, 3, 4)
    with ct.enable("cpu"):
        before = _core.torch_copies_done()
        assert torch.equal(compiled(x), x.permute(0, 2, 1) + 1)
        assert _core.torch_copies_done() > before


@pytest.mark.filterwarnings("ignore:Named tensors")
def test_names_and_copies_of_objects():
    x = torch.arange(24.0).reshape(4, 6)
    names = x.rename("a", "b").t()
    model = torch.nn.Linear(6, 4)
    model.weight.data = torch.arange(24.0).reshape(6, 4).t()
    with ct.enable("cpu"):
        assert names.contiguous().names == ("b", "a")
        other = copy.deepcopy(model)
        assert torch.equal(other.weight, model.weight) and other.weight.stride() == model.weight.stride()
        other.weight.data.zero_()
        other.load_state_dict(model.state_dict())
        assert torch.equal(other.weight, model.weight)


def test_on_and_off_leave_no_trace():
    x = torch.arange(24.0).reshape(6, 4).t()
    before = _core.torch_copies_done()
    for _ in range(20):
        with ct.enable("cpu"):
            x.contiguous()
    assert _core.torch_copies_done() - before == 20
    dump = torch._C._dispatch_dump("aten::copy_") + torch._C._dispatch_dump("aten::clone")
    assert "cornerturn" not in dump and "copies.cpp" not in dump
    x.contiguous()
    assert _core.torch_copies_done() - before == 20


def test_a_pytorch_that_is_not_known(monkeypatch):
    """One line says what is missing and what works all the same."""

    def missing(on_gpu):
        raise RuntimeError("PyTorch: its library has no function torch_library_impl, which PyTorch 2.11 has")

    monkeypatch.setattr(_core, "TorchCopies", missing)
    x = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
    with pytest.warns(RuntimeWarning, match=r"torch_library_impl.*\.clone\(\) and \.contiguous\(\) from Python"):
        enabled = ct.enable("cpu")
    with enabled:
        assert "Clones" in type(ct._active["cpu"][1]).__name__
        assert bits(x.contiguous()) == bits(x.clone(memory_format=torch.contiguous_format))
        assert torch.equal(x.contiguous(), x)
    assert not ct._active


PROGRAM = """
import sys, warnings
warnings.simplefilter("error")
import torch
x = torch.arange(6.0).reshape(2, 3).t()
assert x.contiguous().tolist() == [[0, 3], [1, 4], [2, 5]]
loaded = "cornerturn" in sys.modules
print(loaded, sys.modules["cornerturn"]._core.torch_copies_done() if loaded else 0)
"""


@pytest.mark.parametrize(("value", "says"), [(None, "False 0"), ("1", "True 1")])
def test_the_environment_switches_it_on(value, says):
    environment = {name: text for name, text in os.environ.items() if name != "CORNERTURN_TORCH"}
    if value is not None:
        environment["CORNERTURN_TORCH"] = value
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert (run.stdout.strip(), run.returncode) == (says, 0), run.stderr


@pytest.mark.parametrize(
    ("value", "types"),
    [("", []), ("0", []), ("1", ["cpu", "cuda"]), ("cpu", ["cpu"]), ("cuda", ["cuda"]), ("cpu,cuda", ["cpu", "cuda"])],
)
def test_what_the_environment_says(monkeypatch, value, types):
    monkeypatch.setenv("CORNERTURN_TORCH", value)
    cornerturn_autoload.autoload()
    assert list(ct._active) == types


def test_an_environment_that_says_nonsense_is_one_warning(monkeypatch):
    monkeypatch.setenv("CORNERTURN_TORCH", "tpu")
    with pytest.warns(RuntimeWarning, match=r"CORNERTURN_TORCH = 'tpu' is none of .*: PyTorch's copies stay its own"):
        cornerturn_autoload.autoload()
    assert not ct._active


@needs_gpu
def test_between_devices():
    x = torch.arange(24.0).reshape(6, 4)
    with ct.enable("cpu", "cuda"):
        for a, b in itertools.product(["cpu", "cuda"], repeat=2):
            out = torch.empty(4, 6, device=b).copy_(x.to(a).t())
            assert torch.equal(out.cpu(), x.t())
