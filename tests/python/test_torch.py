"""torch.ops.cornerturn.permute_copy, cornerturn.torch.permute and cornerturn.transpose of tensors
against x.permute(dims)."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch")

import cornerturn  # noqa: E402
import cornerturn.torch as ct  # noqa: E402
from torch import func  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

op = torch.ops.cornerturn.permute_copy
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
DEVICES = ["cpu", pytest.param("cuda", marks=needs_gpu)]
DTYPES = [
    getattr(torch, name)
    for name in (
        "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64 "
        "complex32 complex64 complex128 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e8m0fnu"
    ).split()
    if hasattr(torch, name)
]


def numbered(*shape, device="cpu", dtype=torch.float32):
    count = torch.Size(shape).numel()
    return torch.arange(count, device=device).reshape(shape).to(dtype)


# Name, how the tensor is made of one with 2 x 3 x 5 x 4 elements, dims.
VIEWS = {
    "packed": (lambda x: x, (2, 0, 3, 1)),
    "kept": (lambda x: x, (0, 1, 2, 3)),
    "reversed": (lambda x: x, (3, 2, 1, 0)),
    "from the end": (lambda x: x, (-1, 0, -2, 1)),
    "permuted": (lambda x: x.permute(3, 1, 0, 2), (1, 3, 0, 2)),
    "every second": (lambda x: x[:, ::2, 1::2], (3, 2, 0, 1)),
    "offset": (lambda x: x[1:, 1:], (1, 0, 3, 2)),
    "broadcast": (lambda x: x[:, :1].expand(2, 7, 5, 4), (1, 3, 0, 2)),
    "broadcast scalar": (lambda x: x[0, 0, 0, 0].expand(3, 4), (1, 0)),
    "overlapping": (lambda x: x.as_strided((6, 4, 3), (2, 1, 1)), (2, 0, 1)),
    "diagonal": (lambda x: x.diagonal(dim1=0, dim2=1), (2, 1, 0)),
    "ones": (lambda x: x[:1, :, :1], (3, 0, 1, 2)),
    "empty": (lambda x: x[:, :0], (3, 1, 0, 2)),
    "scalar": (lambda x: x[0, 0, 0, 0], ()),
    "vector": (lambda x: x[0, 0, :, 0], (0,)),
    "channels last": (lambda x: x.contiguous(memory_format=torch.channels_last), (0, 2, 3, 1)),
}


def same(got, want):
    """Bit for bit, as NaNs do not equal themselves."""
    assert got.shape == want.shape and got.dtype == want.dtype and got.device == want.device
    want = want.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    assert got.is_contiguous()
    assert torch.equal(got.reshape(-1).view(torch.uint8), want.reshape(-1).view(torch.uint8))


@pytest.fixture(
    params=[op, ct.permute, cornerturn.transpose], ids=["op", "permute", "transpose"]
)
def permute(request):
    return request.param


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("view", VIEWS)
def test_every_view(permute, view, device):
    make, dims = VIEWS[view]
    x = make(numbered(2, 3, 5, 4, device=device))
    same(permute(x, dims), x.permute(dims))
    same(permute(x, list(dims)), x.permute(dims))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype(permute, dtype, device):
    x = torch.randint(0, 256, (37, 11, dtype.itemsize), dtype=torch.uint8)
    if dtype == torch.bool:
        x %= 2
    x = x.view(dtype).reshape(37, 11).to(device)
    same(permute(x, (1, 0)), x.t())


@pytest.mark.parametrize("device", DEVICES)
def test_large_enough_for_every_kernel(permute, device):
    x = numbered(130, 257, 65, device=device)
    for dims in ((0, 2, 1), (1, 0, 2), (2, 1, 0), (2, 0, 1)):
        same(permute(x, dims), x.permute(dims))


@pytest.mark.parametrize("device", DEVICES)
def test_conjugated_and_negated(permute, device):
    x = torch.complex(numbered(4, 3, device=device), 1 + numbered(4, 3, device=device))
    assert x.conj().is_conj() and x.conj().imag.is_neg()
    same(permute(x.conj(), (1, 0)), x.conj().t())
    same(permute(x.conj().imag, (1, 0)), x.conj().imag.t())
    zeros = torch._efficientzerotensor(4, 3, device=device)
    same(permute(zeros, (1, 0)), torch.zeros(3, 4, device=device))


def test_never_a_view(permute):
    x = numbered(3, 4)
    y = permute(x, (0, 1))
    y.fill_(-1)
    assert torch.equal(x, numbered(3, 4))
    same(y, torch.full((3, 4), -1.0))


@pytest.mark.parametrize("permute", [op, ct.permute], ids=["op", "permute"])
@pytest.mark.parametrize("device", DEVICES + ["meta"])
def test_what_is_not_a_permutation_is_refused(permute, device):
    x = numbered(2, 3, 4, device=device)
    for dims, message in (
        ((0, 1), r"dims = \[0, 1\] has 2 entries, but x has rank 3"),
        ((0, 1, 3), r"dims\[2\] = 3 is out of range for rank 3"),
        ((0, -4, 1), r"dims\[1\] = -4 is out of range for rank 3"),
        ((0, 1, -2), r"dims\[2\] = -2 repeats dims\[1\]"),
    ):
        with pytest.raises(ValueError, match=message):
            permute(x, dims)


def test_what_is_no_tensor_or_no_integer_is_refused():
    with pytest.raises(TypeError, match="x is a list"):
        ct.permute([[1, 2]], (1, 0))
    with pytest.raises(TypeError, match="x is a ndarray"):
        ct.permute(numbered(2, 3).numpy(), (1, 0))
    with pytest.raises(TypeError, match=r"dims = \(1.0, 0\)"):
        ct.permute(numbered(2, 3), (1.0, 0))
    with pytest.raises(TypeError, match="dims = 1 is not"):
        ct.permute(numbered(2), 1)


def test_meta(permute):
    y = permute(numbered(2, 3, 4, device="meta"), (2, 0, 1))
    assert y.shape == (4, 2, 3) and y.device.type == "meta" and y.is_contiguous()


def test_sparse_tensors_are_refused(permute):
    with pytest.raises((NotImplementedError, RuntimeError, TypeError)):
        permute(numbered(3, 4).to_sparse(), (1, 0))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_opcheck(view, requires_grad, device):
    make, dims = VIEWS[view]
    x = make(numbered(2, 3, 5, 4, device=device)).detach().requires_grad_(requires_grad)
    torch.library.opcheck(op.default, (x, dims))


@pytest.mark.parametrize("device", DEVICES)
def test_gradients(permute, device):
    x = torch.randn(2, 3, 4, dtype=torch.float64, device=device, requires_grad=True)

    def turn(t):
        return permute(t, (1, -1, 0))

    assert turn(x).requires_grad
    assert torch.autograd.gradcheck(turn, x, check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(turn, x, check_batched_grad=True)
    y = permute(x.detach().requires_grad_(), (2, 0, 1))
    weights = torch.randn_like(y)
    (gradient,) = torch.autograd.grad(y, y.grad_fn.next_functions[0][0].variable, weights)
    same(gradient, weights.permute(1, 2, 0))


def test_no_gradients_where_none_are_wanted(permute):
    x = numbered(2, 3).requires_grad_()
    with torch.no_grad():
        assert not permute(x, (1, 0)).requires_grad
    with torch.inference_mode():
        y = permute(x, (1, 0))
        assert y.is_inference()
        same(permute(y, (1, 0)), x.detach())


def test_forward_mode(permute):
    x, tangent = numbered(2, 3), numbered(2, 3) * 10
    with forward_ad.dual_level():
        value, change = forward_ad.unpack_dual(permute(forward_ad.make_dual(x, tangent), (1, 0)))
        same(value, x.t())
        same(change, tangent.t())


TRANSFORMATIONS = {
    "grad": func.grad,
    "hessian": func.hessian,
    "jacrev": func.jacrev,
    "jacfwd": func.jacfwd,
    "vmap of grad": lambda f: func.vmap(func.grad(f)),
    "grad of grad": lambda f: func.grad(lambda x: func.grad(f)(x).sum()),
    "grad of vmap": lambda f: func.grad(lambda x: func.vmap(f, in_dims=2)(x).sum()),
    "jvp": lambda f: lambda x: func.jvp(f, (x,), (x + 1,))[1],
    "vjp": lambda f: lambda x: func.vjp(f, x)[1](torch.tensor(2.0, dtype=x.dtype))[0],
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_torch_func(permute, name):
    transform = TRANSFORMATIONS[name]
    batch = (5,) if "vmap" in name else ()
    shape = (3, 2, *batch) if name == "grad of vmap" else (*batch, 3, 2)
    x = torch.randn(shape, dtype=torch.float64)
    weights = torch.randn(2, 3, dtype=torch.float64)

    def value(turn):
        return transform(lambda t: (turn(t, (1, 0)) ** 3 * weights).sum())(x)

    assert torch.allclose(value(permute), value(torch.permute))


@pytest.mark.parametrize("in_dim", [0, 1, 2, 3, -1])
@pytest.mark.parametrize("out_dim", [0, 2])
def test_vmap(permute, in_dim, out_dim):
    x = numbered(2, 3, 4, 5)

    def batched(turn):
        return torch.vmap(lambda t: turn(t, (2, 0, -2)), in_dim, out_dim)(x)

    assert torch.equal(batched(permute), batched(torch.permute))


def test_nested_vmap(permute):
    x = numbered(2, 3, 4, 5)

    def batched(turn):
        return torch.vmap(torch.vmap(lambda t: turn(t, (1, 0)), 1), 2)(x)

    assert torch.equal(batched(permute), batched(torch.permute))


@pytest.mark.parametrize("device", DEVICES)
def test_autocast_leaves_it_alone(permute, device):
    with torch.autocast(device, dtype=torch.bfloat16):
        for dtype in (torch.float32, torch.float16, torch.float64):
            x = numbered(3, 4, device=device, dtype=dtype)
            same(permute(x, (1, 0)), x.t())


class Labelled(torch.Tensor):
    pass


def test_subclasses_stay(permute):
    x = numbered(2, 3).as_subclass(Labelled)
    y = permute(x, (1, 0))
    assert type(y) is Labelled
    assert torch.equal(y.as_subclass(torch.Tensor), numbered(2, 3).t())


def test_modes_see_the_operator(permute):
    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    with Watch():
        permute(numbered(2, 3), (1, 0))
    assert op.default in seen


def test_jit_trace(permute):
    traced = torch.jit.trace(lambda x: permute(x, (1, 0)), numbered(2, 3))
    x = numbered(4, 5)
    same(traced(x), x.t())


def test_export(permute):
    class Turn(torch.nn.Module):
        def forward(self, x):
            return permute(x, (2, 0, 1))

    dims = {1: torch.export.Dim("n", min=2)}
    program = torch.export.export(Turn(), (numbered(2, 3, 4),), dynamic_shapes=(dims,))
    assert "cornerturn.permute_copy" in program.graph_module.code
    x = numbered(2, 7, 4)
    same(program.module()(x), x.permute(2, 0, 1))


def compiled_agrees(permute, device, **options):
    torch._dynamo.reset()

    @torch.compile(fullgraph=True, **options)
    def block(x):
        return permute(x * 2, (2, 0, 1)) + 1

    for n in (3, 4, 6):
        x = numbered(n, 5, 4, device=device).requires_grad_()
        want = (x * 2).permute(2, 0, 1) + 1
        got = block(x)
        assert torch.equal(got, want)
        weights = torch.randn_like(want)
        assert torch.equal(*(torch.autograd.grad(y, x, weights)[0] for y in (got, want)))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dynamic", [False, True])
def test_compiles_without_a_break(permute, device, dynamic):
    compiled_agrees(permute, device, dynamic=dynamic, backend="aot_eager")


@pytest.mark.skipif(not os.environ.get("FULL"), reason="FULL=1 runs it: it calls the C++ compiler")
def test_inductor_on_the_cpu(permute):
    compiled_agrees(permute, "cpu", backend="inductor")


@needs_gpu
@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_inductor_on_the_gpu(mode):
    compiled_agrees(ct.permute, "cuda", backend="inductor", mode=mode)


def test_many_threads(permute):
    tensors = [numbered(n, 31) for n in range(1, 65)]
    with ThreadPoolExecutor(8) as threads:
        for x, y in zip(tensors, threads.map(lambda x: permute(x, (1, 0)), tensors)):
            same(y, x.t())


@needs_gpu
def test_cuda_graph(permute):
    x = numbered(64, 96, device="cuda")
    permute(x, (1, 0))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = permute(x, (1, 0))
    for value in (3, 5):
        x.copy_(numbered(64, 96, device="cuda") * value)
        graph.replay()
        same(y, x.t())


@needs_gpu
def test_current_stream(permute):
    x = torch.zeros(512, 512, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        x += numbered(512, 512, device="cuda")
        y = permute(x, (1, 0))
    stream.synchronize()
    same(y, numbered(512, 512, device="cuda").t())


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="fewer than two GPUs")
def test_a_gpu_that_is_not_the_current_one(permute):
    x = numbered(64, 96, device="cuda:1")
    same(permute(x, (1, 0)), x.t())
    assert torch.cuda.current_device() == 0
