"""The strides of results are those that PyTorch gives a new tensor, also along axes of extent 0 and 1."""

import itertools
import random

import pytest

import cornerturn

torch = pytest.importorskip("torch")

FORMATS = [None, torch.contiguous_format, torch.channels_last, torch.channels_last_3d]
RANK = {torch.channels_last: 4, torch.channels_last_3d: 5}


def shapes_for(memory_format, count, seed):
    choose = random.Random(seed)
    for _ in range(count):
        rank = RANK.get(memory_format, choose.randrange(6))
        yield tuple(choose.choice((0, 1, 2, 3)) for _ in range(rank)), choose


def views(shape, choose):
    """Tensors of this shape whose memory lies in several ways."""
    order = choose.sample(range(len(shape)), len(shape))
    base = torch.arange(float(torch.Size(shape).numel())).reshape([shape[axis] for axis in order])
    view = base.permute([order.index(axis) for axis in range(len(shape))])
    yield view
    yield view.contiguous()
    for memory_format, rank in RANK.items():
        if rank == len(shape):
            yield view.clone(memory_format=memory_format)
    # Axes of extent 1 may have any stride.
    odd = [choose.randrange(50) if extent == 1 else stride for extent, stride in zip(shape, view.stride(), strict=True)]
    yield view.as_strided(shape, odd)


def is_new(memory_format):
    return memory_format or torch.contiguous_format


@pytest.mark.parametrize("memory_format", FORMATS)
def test_contiguous_and_transpose(memory_format):
    for shape, choose in shapes_for(memory_format, 40, 1):
        for x in views(shape, choose):
            wanted = x.clone(memory_format=is_new(memory_format))
            got = cornerturn.contiguous(x, memory_format=memory_format)
            assert got.stride() == wanted.stride() and torch.equal(got, wanted), (shape, x.stride())
            assert got.is_contiguous(memory_format=is_new(memory_format))
            # What is in this order already is not copied, as with PyTorch.
            same = x.contiguous(memory_format=is_new(memory_format))
            assert (same is x) == (got.data_ptr() == x.data_ptr()) or x.numel() == 0, (shape, x.stride())
            axes = choose.sample(range(len(shape)), len(shape))
            wanted = x.permute(axes).clone(memory_format=is_new(memory_format))
            for dtype in (None, torch.float64):
                got = cornerturn.transpose(x, axes, memory_format=memory_format, dtype=dtype)
                assert got.stride() == wanted.stride() and torch.equal(got.float(), wanted), (shape, axes, x.stride())
                got = cornerturn.contiguous(x.permute(axes), memory_format=memory_format, dtype=dtype)
                assert got.stride() == wanted.stride() and torch.equal(got.float(), wanted)


def test_what_is_contiguous_can_be_viewed_as_another_type():
    x = torch.arange(8).reshape(1, 1, 8).transpose(1, 2)
    got = cornerturn.contiguous(x)
    assert x.is_contiguous() and x.stride(-1) != 1 and got.stride(-1) == 1
    assert got.data_ptr() == x.data_ptr() and got.view(torch.int32).shape == (1, 8, 2)
    x = torch.ones(1, 8, 1, dtype=torch.float64, requires_grad=True)
    y = x.transpose(0, 2).permute(2, 0, 1)
    got = cornerturn.contiguous(y)
    got.sum().backward()
    assert got.stride() == (8, 8, 1) and torch.equal(x.grad, torch.ones_like(x))


@pytest.mark.parametrize(
    "name, of_torch",
    [
        ("moveaxis", lambda x, a, b: x.movedim(a, b)),
        ("swapaxes", lambda x, a, b: x.transpose(a, b)),
    ],
)
def test_names_of_numpy(name, of_torch):
    for shape, choose in shapes_for(None, 40, 2):
        for x, memory_format in itertools.product(views(shape, choose), FORMATS):
            if x.dim() == 0 or RANK.get(memory_format, x.dim()) != x.dim():
                continue
            a, b = choose.randrange(x.dim()), choose.randrange(x.dim())
            wanted = of_torch(x, a, b).clone(memory_format=is_new(memory_format))
            got = getattr(cornerturn, name)(x, a, b, memory_format=memory_format)
            assert got.stride() == wanted.stride() and torch.equal(got, wanted)


def test_permutations():
    for shape, choose in shapes_for(None, 50, 3):
        axes = choose.sample(range(len(shape)), len(shape))
        for x in views(shape, choose):
            wanted = x.permute(axes).clone(memory_format=torch.contiguous_format)
            for got in (
                cornerturn.transpose(x, axes),
                cornerturn.permute_dims(x, axes),
                cornerturn.torch.permute(x, axes),
                torch.ops.cornerturn.permute_copy(x, axes),
                cornerturn.transpose(x.clone().requires_grad_(), axes).detach(),
                cornerturn.ascontiguousarray(x.permute(axes)).reshape(wanted.shape),
            ):
                assert got.stride() == wanted.stride() and torch.equal(got, wanted), (shape, axes, x.stride())
            fortran = cornerturn.transpose(x, axes, order="F")
            backwards = tuple(reversed(range(x.dim())))
            reverse = wanted.permute(backwards).clone(memory_format=torch.contiguous_format)
            assert fortran.stride() == reverse.permute(backwards).stride() and torch.equal(fortran, wanted)


def test_rearrange_and_repeat():
    patterns = ["a b c d -> d c b a", "a b c d -> (a b) c d", "a b c d -> b (d a) c", "a b c d -> () a 1 (b c d)"]
    for shape, choose in shapes_for(torch.channels_last, 40, 4):
        for x, pattern in itertools.product(views(shape, choose), patterns):
            got = cornerturn.rearrange(x, pattern)
            wanted = cornerturn.rearrange(x.numpy(), pattern)
            assert got.stride() == torch.empty(wanted.shape).stride() and (got.numpy() == wanted).all()
            got = cornerturn.repeat(x, pattern.replace("> ", "> k "), k=choose.randrange(3))
            assert got.stride() == torch.empty(got.shape).stride()


@pytest.mark.parametrize("memory_format", [None, torch.preserve_format, *FORMATS[1:]])
def test_enable(memory_format):
    options = {} if memory_format is None else {"memory_format": memory_format}
    for shape, choose in shapes_for(memory_format, 40, 5):
        for x in views(shape, choose):
            wanted = [x.clone(**options)]
            if memory_format is not torch.preserve_format:
                wanted.append(x.contiguous(**options))
            with cornerturn.torch.enable("cpu"):
                got = [x.clone(**options)]
                if memory_format is not torch.preserve_format:
                    got.append(x.contiguous(**options))
            for one, other in zip(got, wanted, strict=True):
                assert one.stride() == other.stride() and torch.equal(one, other)


def test_under_torch_compile():
    @torch.compile(backend="eager")
    def both(t):
        options = {"memory_format": torch.channels_last}
        return cornerturn.transpose(t, (3, 2, 1, 0), **options), cornerturn.contiguous(t, **options)

    for shape in ((0, 3, 4, 5), (2, 1, 3, 4)):
        x = torch.arange(float(torch.Size(shape).numel())).reshape(shape).permute(3, 2, 1, 0)
        for got, of in zip(both(x), (x.permute(3, 2, 1, 0), x), strict=True):
            assert got.stride() == of.clone(memory_format=torch.channels_last).stride() and torch.equal(got, of)


@pytest.mark.parametrize("memory_format", [*FORMATS, torch.preserve_format])
def test_clones_while_cornerturn_is_enabled(memory_format):
    """Also of what has gaps, repeats elements or has one at most."""
    from cornerturn.torch import enable

    for shape, choose in shapes_for(memory_format, 40, 3):
        for view in views(shape, choose):
            cut = view[tuple([slice(choose.randrange(2), None, choose.choice((1, 2))) for _ in shape])]
            for x in (view, cut, cut.unsqueeze(0).expand(2, *cut.shape)[0], view[None].expand(2, *shape).transpose(0, -1)):
                if x.dim() != RANK.get(memory_format, x.dim()):
                    continue
                wanted = x.clone() if memory_format is None else x.clone(memory_format=memory_format)
                with enable("cpu"):
                    got = x.clone() if memory_format is None else x.clone(memory_format=memory_format)
                assert got.stride() == wanted.stride() and torch.equal(got, wanted), (x.shape, x.stride())
                assert got.data_ptr() != x.data_ptr() or x.numel() == 0
