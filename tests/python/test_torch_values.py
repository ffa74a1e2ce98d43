"""What PyTorch knows of a tensor beside its memory: derivatives of conversions, version counters, forward
mode, batches, subclasses and profilers."""

import pytest

torch = pytest.importorskip("torch")

import cornerturn  # noqa: E402
from torch import func  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402

F64 = torch.float64


@pytest.mark.parametrize(
    "write",
    [
        lambda out: cornerturn.copy(out, torch.zeros(3, 3)),
        lambda out: cornerturn.transpose(torch.zeros(3, 3), out=out),
        lambda out: cornerturn.transpose(torch.zeros(3, 3), out=out, scale=2.0),
        lambda out: cornerturn.copy(out, torch.zeros(3, 3, dtype=F64), convert=True),
        lambda out: cornerturn.copy(out, torch.zeros(3, 3).numpy()),
        lambda out: cornerturn.plan(torch.zeros(3, 3), out=out, measure=True),
    ],
    ids=["copy", "out=", "out= and scale=", "convert=", "from NumPy", "measure="],
)
def test_autograd_hears_that_a_tensor_was_written_to(write):
    weights, out = torch.ones(3, 3, requires_grad=True), torch.ones(3, 3)
    loss = (weights * out).sum()
    write(out)
    assert out._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_kept_result_of_a_leaf_may_not_be_overwritten_unheard():
    weights = torch.ones(3, 3, requires_grad=True)
    result = weights.exp()
    with torch.no_grad():
        cornerturn.transpose(torch.zeros(3, 3), out=result)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


CONVERSIONS = {
    "alpha": dict(alpha=2.5),
    "dtype": dict(dtype="float32"),
    "scale": dict(scale=torch.tensor([1.0, 2.0, 3.0])),
    "scale of rows": dict(scale=torch.arange(1.0, 5.0).reshape(4, 1, 1), bias=3),
    "all": dict(scale=0.5, bias=[1.0, 2.0, 3.0], alpha=-2),
    "conjugate": dict(conjugate=True, alpha=2),
}


def turned(options):
    return lambda x: cornerturn.transpose(x, (2, 0, 1), **options)


@pytest.mark.parametrize("name", [name for name in CONVERSIONS if name != "dtype"])
def test_derivatives_of_conversions(name):
    dtype = torch.complex128 if name == "conjugate" else F64
    x = torch.randn(3, 3, 4, dtype=dtype, requires_grad=True)
    turn = turned(CONVERSIONS[name])
    batched = name != "conjugate"
    assert torch.autograd.gradcheck(
        turn, x, check_forward_ad=True, check_batched_grad=batched, check_batched_forward_grad=batched
    )
    assert torch.autograd.gradgradcheck(turn, x, check_fwd_over_rev=True)


@pytest.mark.parametrize("name", CONVERSIONS)
def test_tangents_go_with_the_values(name):
    x, tangent = torch.randn(3, 3, 4, dtype=F64), torch.randn(3, 3, 4, dtype=F64)
    turn = turned(CONVERSIONS[name])
    constant = turn(torch.zeros_like(x))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        value, change = forward_ad.unpack_dual(turn(dual))
    assert torch.equal(value, turn(x)) and change.dtype == value.dtype
    assert torch.allclose(change, turn(tangent) - constant, atol=1e-6)
    _, change = func.jvp(turn, (x,), (tangent,))
    assert torch.allclose(change, turn(tangent) - constant, atol=1e-6)


def test_other_ways_that_tangents_take():
    x, tangent = torch.randn(2, 3), torch.randn(2, 3)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)

        def change(result):
            return forward_ad.unpack_dual(result).tangent

        assert torch.equal(change(cornerturn.contiguous(dual, dtype="float64")), tangent.double())
        stacked = change(cornerturn.rearrange([dual, dual], "n a b -> b a n"))
        assert torch.equal(stacked, torch.stack([tangent.T, tangent.T], -1))
        mixed = change(cornerturn.rearrange([x, dual], "n a b -> n b a"))
        assert torch.equal(mixed, torch.stack([torch.zeros(3, 2), tangent.T]))
        assert change(cornerturn.transpose(dual, dtype="int32")) is None
        for refused in (
            lambda: cornerturn.transpose(dual, out=torch.empty(3, 2)),
            lambda: cornerturn.copy(torch.empty(2, 3), dual),
            lambda: cornerturn.quantise(dual, "tensor_i8"),
        ):
            with pytest.raises(ValueError, match="has a tangent, which only a new array"):
                refused()
        with pytest.raises(ValueError, match="scale requires grad"):
            cornerturn.transpose(torch.ones(2, 3), scale=dual[:, 0])
        assert cornerturn.amax(dual) == x.abs().max()


@pytest.mark.parametrize("in_dim", [0, 1, 2])
def test_vmap_of_conversions(in_dim):
    x = torch.randn(4, 4, 4)
    options = dict(dtype="float64", scale=torch.arange(4.0), bias=1.5)
    got = func.vmap(lambda t: cornerturn.transpose(t, **options), in_dims=in_dim)(x)
    parts = [cornerturn.transpose(part, **options) for part in x.unbind(in_dim)]
    assert torch.equal(got, torch.stack(parts))


def test_vmap_of_scales_outputs_and_quantisation():
    x, scales = torch.randn(3, 4, 32), torch.randn(3, 4)
    got = func.vmap(lambda t, s: cornerturn.transpose(t, scale=s))(x, scales)
    assert torch.equal(got, torch.stack([cornerturn.transpose(t, scale=s) for t, s in zip(x, scales)]))
    out = torch.zeros(32, 3, 4)
    func.vmap(lambda t, o: cornerturn.transpose(t, out=o, alpha=2.0), in_dims=(0, 1))(x, out)
    assert torch.equal(out, 2 * x.permute(2, 0, 1))
    values, codes = func.vmap(lambda t: cornerturn.quantise(t, "mxfp8_e4m3"))(x)
    for i in range(3):
        want = cornerturn.quantise(x[i], "mxfp8_e4m3")
        assert torch.equal(values[i].view(torch.uint8), want[0].view(torch.uint8))
        assert torch.equal(codes[i], want[1])
    back = func.vmap(lambda v, s: cornerturn.dequantise(v, "mxfp8_e4m3", scales=s))(values, codes)
    assert torch.equal(back, cornerturn.dequantise(values, "mxfp8_e4m3", scales=codes))


def test_gradients_under_transformations():
    x = torch.randn(5, 3, 4, dtype=F64)
    turn = turned(dict(scale=2.0, bias=1.0))
    per_sample = func.vmap(func.grad(lambda t: (turn(t[None]) ** 2).sum()))(x)
    assert torch.allclose(per_sample, 2 * 2.0 * (2 * x + 1))
    assert torch.allclose(
        func.jacfwd(lambda t: turn(t[None]))(x[0]), func.jacrev(lambda t: turn(t[None]))(x[0])
    )


@pytest.mark.parametrize("requires_grad", [False, True])
def test_opcheck(requires_grad):
    x = torch.randn(4, 64).requires_grad_(requires_grad)
    ops = torch.ops.cornerturn
    scale, bias = torch.randn(64, 1), torch.randn(4)
    torch.library.opcheck(ops.permute_convert.default, (x, (1, 0), torch.bfloat16, 2.0, scale, bias))
    torch.library.opcheck(ops.permute_convert.default, (x, (0, -1)))
    if requires_grad:
        return
    torch.library.opcheck(ops.permute_into.default, (torch.zeros(64, 4), x, (1, 0), None, 2.0))
    torch.library.opcheck(ops.quantise.default, (x, (0, 1), 1, "mxfp8_e4m3", False, "", "tiles_128x4", 1.0, None))
    torch.library.opcheck(ops.quantise.default, (x, (1, 0), 0, "q8_0", False, "", "", 1.0, None))
    torch.library.opcheck(ops.quantise_tensor.default, (x, "tensor_i8", (1, 0)))
    torch.library.opcheck(ops.quantise_both.default, (x, "fp8_1x128", True, "ceil", "", 1.0, 3))
    blocks = cornerturn.quantise(x, "q8_0")
    torch.library.opcheck(ops.dequantise.default, (blocks, (1, 0), None, torch.float16, "q8_0", False, "", "", 1.0, None))
    torch.library.opcheck(ops.amax.default, (x,))
    how = ("mxfp8_e4m3", True, "", "packed_4", 1.0, None)
    torch.library.opcheck(ops.quantise_groups.default, (x, (3, 1), (1, 0), *how))
    values, codes = cornerturn.quantise(torch.ones(32, 64), "mxfp4")  # opcheck multiplies, but not floats of 8 bits
    torch.library.opcheck(ops.transpose_blocks.default, (values, codes, "mxfp4"))
    torch.library.opcheck(ops.convert_scales.default, (codes, "tiles_128x4", "packed", 32, 2))


def test_a_stream_or_a_quantisation_loses_no_gradient_unheard():
    x = torch.ones(2, 32, requires_grad=True)
    for call in (
        lambda: cornerturn.quantise(x),
        lambda: cornerturn.quantise(x, "tensor_i8"),
        lambda: cornerturn.transpose(x, out=torch.empty(32, 2), alpha=2.0),
    ):
        with pytest.raises(ValueError, match="x requires grad, which only a new array"):
            call()
    assert cornerturn.amax(x) == 1.0


@pytest.mark.parametrize("name", ["scale", "bias"])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_scale_or_a_bias_loses_no_gradient_unheard(requires_grad, name):
    x = torch.ones(2, 3, requires_grad=requires_grad)
    vector = torch.ones(3, 1, requires_grad=True)
    with pytest.raises(ValueError, match=f"^{name} requires grad: a gradient is made for x alone; detach it$"):
        cornerturn.transpose(x, **{name: vector})
    out = torch.empty(3, 2)
    with torch.no_grad():
        cornerturn.transpose(x, out=out, **{name: vector})
    assert (out == (1 if name == "scale" else 2)).all()


class Labelled(torch.Tensor):
    pass


def test_subclasses_stay():
    x = torch.ones(2, 32).as_subclass(Labelled)
    assert type(cornerturn.transpose(x, dtype="float64")) is Labelled
    assert type(cornerturn.quantise(x)) is Labelled


def test_tensors_of_several_parts_are_asked_for_theirs():
    from torch.testing._internal.two_tensor import TwoTensor

    a, b = torch.randn(2, 32), torch.randn(2, 32)
    both = TwoTensor(a, b)
    for call in (
        lambda x: cornerturn.transpose(x, dtype="bfloat16"),
        lambda x: cornerturn.transpose(x, scale=2.0),
        cornerturn.quantise,
    ):
        got = call(both)
        assert torch.equal(got.a, call(a)) and torch.equal(got.b, call(b))
    out = TwoTensor(torch.zeros(32, 2), torch.zeros(32, 2))
    cornerturn.transpose(both, out=out)
    assert torch.equal(out.a, a.T) and torch.equal(out.b, b.T)
    with pytest.raises(TypeError, match="x is a TwoTensor, a tensor without memory of its own"):
        cornerturn.plan(both)


def test_tensors_that_only_seem_to_be_there():
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    with FakeTensorMode():
        x, out = torch.empty(2, 32), torch.empty(32, 2)
        for got in (
            cornerturn.transpose(x, dtype="float64"),
            cornerturn.transpose(x, out=out),
            cornerturn.transpose(x, scale=2.0),
        ):
            assert isinstance(got, FakeTensor) and got.shape == (32, 2)
        assert cornerturn.quantise(x).shape == (2, 34)
        assert cornerturn.dequantise(cornerturn.quantise(x)).shape == (2, 32)
        with pytest.raises(ValueError, match="no multiple of 32"):
            cornerturn.quantise(out)
        with pytest.raises(ValueError, match=r"out.shape = \(2, 32\) differs from \(32, 2\)"):
            cornerturn.transpose(x, out=torch.empty(2, 32))
        with pytest.raises(TypeError, match="x is a FakeTensor, a tensor without memory of its own"):
            cornerturn.plan(x)
    meta = cornerturn.transpose(torch.empty(2, 3, device="meta"), dtype="float64")
    assert meta.device.type == "meta" and meta.shape == (3, 2)


def test_profilers_see_every_call():
    x, out = torch.ones(2, 32), torch.ones(32, 2)
    with torch.profiler.profile() as profile:
        cornerturn.transpose(x)
        cornerturn.transpose(x, out=out)
        cornerturn.transpose(x, dtype="float64")
        cornerturn.quantise(x)
        cornerturn.torch.permute(x, (1, 0))
    counts = {event.key: event.count for event in profile.key_averages()}
    assert counts["cornerturn::permute_copy"] == 2
    for name in ("permute_into", "permute_convert", "quantise"):
        assert counts[f"cornerturn::{name}"] == 1
