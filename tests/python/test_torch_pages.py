"""relayout_pages, beside PyTorch's own indexing."""

import random
import re

import pytest

torch = pytest.importorskip("torch")
from cornerturn.torch import relayout_pages  # noqa: E402


def refused(error, message, *args, **kwargs):
    with pytest.raises(error, match=re.escape(message)) as caught:
        relayout_pages(*args, **kwargs)
    assert "\n" not in str(caught.value)


def expected_of(src, src_table, dst, dst_table, axes, missing="zeros"):
    """By indexing; `axes` of dst are those of src in this order, and axis 0 counts pages on both sides."""
    pages = range(len(src) if src_table is None else len(src_table))
    read = list(pages) if src_table is None else src_table.tolist()
    write = list(pages) if dst_table is None else dst_table.tolist()
    result = dst.clone()
    for a, b in zip(read, write, strict=True):
        if b >= 0 and a >= 0:
            result[b] = src[a].permute([i - 1 for i in axes[1:]]).to(dst.dtype)
        elif b >= 0 and missing == "zeros":
            result[b] = 0
    return result


@pytest.mark.parametrize("seed", range(60))
def test_pages_are_those_of_indexing(seed):
    chance = random.Random(seed)
    extents = {name: chance.choice((1, 2, 3, 8, 16)) for name in "phdk"}
    names = list(extents)[: chance.choice((1, 3, 4))]
    order = chance.sample(names, len(names))
    dtype = chance.choice((torch.float32, torch.bfloat16, torch.int8, torch.float64))
    pages, others, count = chance.randint(1, 20), chance.randint(20, 30), chance.randint(0, 20)
    src = torch.randint(0, 100, [pages, *[extents[n] for n in names]]).to(dtype)
    dst = torch.randint(0, 100, [others, *[extents[n] for n in order]]).to(dtype)
    index = chance.choice((torch.int32, torch.int64))
    src_table = torch.tensor([chance.randrange(-1, pages) for _ in range(count)], dtype=index)
    dst_table = torch.tensor([chance.choice((k, k, k, -1)) for k in chance.sample(range(others), count)], dtype=torch.int64)
    if chance.random() < 0.2:
        src_table, dst_table = None, torch.tensor(chance.sample(range(others), pages), dtype=torch.int32)
    elif chance.random() < 0.2:
        src_table, dst_table = torch.randint(0, pages, (others,)), None
    axes = [0, *[1 + names.index(n) for n in order]]
    missing = chance.choice(("zeros", "left"))
    expected = expected_of(src, src_table, dst, dst_table, axes, missing)
    version = dst._version
    assert relayout_pages(src, src_table, dst, dst_table, f"n {' '.join(names)} -> n {' '.join(order)}", missing=missing) is None
    assert torch.equal(dst, expected) and dst._version > version


def test_layouts_of_engines():
    """Axes are split, and pages stand at any place: layer first, page first, heads before tokens."""
    layers, pages, tokens, heads, width = 3, 7, 4, 2, 8
    src = torch.randn(layers, pages, tokens, heads, width)
    read, write = torch.tensor([5, 0, 6]), torch.tensor([1, 9, 4])
    dst = torch.zeros(10, layers, heads, tokens, width)
    relayout_pages(src, read, dst, write, "l n p h d -> n l h p d")
    assert torch.equal(dst[write], src[:, read].permute(1, 0, 3, 2, 4))
    # keys in groups of 16 bytes, as kernels of attention read them
    keys = torch.zeros(10, heads, width // 4, tokens, 4)
    relayout_pages(src[0], read, keys, write, "n p h (a b) -> n h a p b")
    assert torch.equal(keys[write], src[0, read].reshape(3, tokens, heads, 2, 4).permute(0, 2, 3, 1, 4))
    # and back, with the extents from the other side
    back = torch.zeros_like(src[0])
    relayout_pages(keys, write, back, read, "n h a p b -> n p h (a b)")
    assert torch.equal(back[read], src[0, read])
    # extents that follow from neither side, and keys and values in one row
    both = torch.randn(pages, tokens * 2 * heads * width)
    apart = torch.zeros(10, 2 * heads, tokens * width)
    relayout_pages(both, read, apart, write, "n (p two h d) -> n (two h) (p d)", two=2, p=tokens, h=heads)
    assert torch.equal(apart[write], both[read].reshape(3, tokens, 4, width).permute(0, 2, 1, 3).reshape(3, 4, -1))
    half = torch.zeros(10, heads, tokens, width, dtype=torch.bfloat16)
    relayout_pages(src[0], read, half, write, "n p h d -> n h p d", convert=True, threads=1)
    assert torch.equal(half[write], src[0, read].permute(0, 2, 1, 3).bfloat16())
    relayout_pages(src[0], None, half[:7], None, "n p h d -> n h p d", convert=True, checked=False)
    assert torch.equal(half[:7], src[0].permute(0, 2, 1, 3).bfloat16())


def test_what_is_wrong_is_named_and_nothing_is_written():
    src, dst = torch.randn(5, 4, 2), torch.full((6, 2, 4), 7.0)
    some, other = torch.tensor([0, 1]), torch.tensor([3, 4])
    pattern = "n p h -> n h p"
    refused(ValueError, "src_table[1] is 5, but it has to be less than 5", src, torch.tensor([0, 5]), dst, other, pattern)
    refused(ValueError, "src_table[0] is -2, but it has to be less than 5, and -1 at least", src, torch.tensor([-2, 0]), dst, other, pattern)
    refused(ValueError, "dst_table[1] is 6", src, some, dst, torch.tensor([0, 6]), pattern)
    refused(ValueError, "dst_table[0] and dst_table[1] are equal", src, some, dst, torch.tensor([2, 2]), pattern)
    refused(ValueError, "src_table has 2 entries, but dst_table has 1 entries", src, some, dst, other[:1], pattern)
    refused(ValueError, "src has 5 pages, but dst_table has 2 entries", src, None, dst, other, pattern)
    refused(ValueError, "src has 5 pages, but dst has 6 pages", src, None, dst, None, pattern)
    refused(TypeError, "src_table is a list: it has to be a torch.Tensor", src, [0, 1], dst, other, pattern)
    refused(TypeError, "dst_table has the shape (2,) and the dtype float32", src, some, dst, other.float(), pattern)
    refused(TypeError, "src_table has the shape (1, 2)", src, some[None], dst, other, pattern)
    refused(ValueError, "src_table is not packed", src, torch.arange(4)[::2], dst, other, pattern)
    refused(TypeError, "src is a list", [1], some, dst, other, pattern)
    refused(TypeError, "dst.dtype = float64 differs from src.dtype = float32", src, some, dst.double(), other, pattern)
    refused(ValueError, "dst overlaps src", src, some, src, other, "n p h -> n p h")
    refused(ValueError, "missing = 'none' is neither", src, some, dst, other, pattern, missing="none")
    refused(ValueError, "src requires grad", src.clone().requires_grad_(), some, dst, other, pattern)
    refused(ValueError, "dst requires grad", src, some, dst.clone().requires_grad_(), other, pattern)
    for wrong, message in (
        ("n p h, n h p", "two sides"),
        ("m p h -> m h p", "The axis n, which counts pages"),
        ("(n p) h k -> n h p k", "The axis n, which counts pages"),
        ("n p h -> n h q", "Identifiers only on one side"),
        ("n p h -> n p h", "Shape mismatch, 2 != 4"),
        ("n p -> n p", "Wrong shape: expected 2 dims. Received 3-dim"),
        ("n p h -> n (h p)", "expected 2 dims of dst"),
        ("n (p q) h -> n h (p q)", "Could not infer sizes"),
    ):
        refused(ValueError, message, src, some, dst, other, wrong)
    refused(ValueError, "The extent of n follows", src, some, dst, other, pattern, n=2)
    refused(TypeError, "pattern = 5", src, some, dst, other, 5)
    assert (dst == 7).all()
