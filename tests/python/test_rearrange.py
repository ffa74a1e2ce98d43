"""rearrange against einops itself: its public examples, its errors, and random patterns."""

import itertools

import numpy as np
import pytest

einops = pytest.importorskip("einops")

import cornerturn  # noqa: E402

rng = np.random.default_rng(7)

# The examples of einops' documentation of rearrange, on 32 images in "h w c" order.
EXAMPLES = [
    ("b h w c -> b h w c", {}),
    ("b h w c -> b c h w", {}),
    ("b h w c -> (b h) w c", {}),
    ("b h w c -> h (b w) c", {}),
    ("b h w c -> b (c h w)", {}),
    ("b (h1 h) (w1 w) c -> (b h1 w1) h w c", {"h1": 2, "w1": 2}),
    ("b (h h1) (w w1) c -> b h w (c h1 w1)", {"h1": 2, "w1": 2}),
]
# Those of its tutorial, on 6 images of 96 x 96 x 3.
TUTORIAL = [
    ("b h w c -> (b h) w c", {}),
    ("b h w c -> h (b w) c", {}),
    ("(b1 b2) h w c -> b1 b2 h w c", {"b1": 2}),
    ("(b1 b2) h w c -> (b1 h) (b2 w) c", {"b1": 2}),
    ("(b1 b2) h w c -> (b2 h) (b1 w) c", {"b1": 2}),
    ("b h w c -> h (b w) c", {}),
    ("b h w c -> h (w b) c", {}),
    ("b h (w w2) c -> (h w2) (b w) c", {"w2": 2}),
    ("b h (w w2) c -> (h w2) (b w c)", {"w2": 2}),
    ("(b1 b2) h w c -> (h b1) (w b2) c", {"b1": 3}),
    ("(b1 b2) h w c -> (b1 h) (b2 w) c", {"b1": 3}),
    ("b h w c -> (b h w c)", {}),
    ("b h w c -> h w 1 c b 1", {}),
    ("b h w c -> b 1 h w 1 c", {}),
    ("b h w c -> () b h (w c)", {}),
    ("b (h h2) (w w2) c -> (c h2) (b h w w2)", {"h2": 8, "w2": 8}),
    ("b (h 1) (1 w) c -> h (b w) c", {}),
]
PATTERNS = [
    "...->...",
    "a b c d e-> a b c d e",
    "a b c d e ...-> ... a b c d e",
    "a b c d e ...-> a ... b c d e",
    "... a b c d e -> ... a b c d e",
    "a ... e-> a ... e",
    "a ... -> a ... ",
    "a ... c d e -> a (...) c d e",
    "a b ... -> (a b) ... ",
    "... c d e -> ... (c d) e",
    "... ->  (...)",
    "a b ... -> b (...) a",
    "a b ... e -> b (a ...) e",
    "a b c d e -> (a b c d e)",
    "a b c d e -> e d c b a",
    "a b c d e -> (e d) (c b a)",
    "a aa aa1 a1a1 aaaa -> aaaa a1a1 (aa1 aa a)",
]


def check(x, pattern, lengths):
    expected = einops.rearrange(x, pattern, **lengths)
    result = cornerturn.rearrange(x, pattern, **lengths)
    assert result.shape == expected.shape and result.dtype == expected.dtype
    assert np.array_equal(result, expected)
    assert result.flags.c_contiguous and not np.shares_memory(result, np.asarray(x))


@pytest.mark.parametrize(("pattern", "lengths"), EXAMPLES, ids=[p for p, _ in EXAMPLES])
def test_public_examples(pattern, lengths):
    images = [rng.standard_normal((30, 40, 3)) for _ in range(32)]
    check(images, pattern, lengths)
    check(np.stack(images), pattern, lengths)


@pytest.mark.parametrize(("pattern", "lengths"), TUTORIAL, ids=[p for p, _ in TUTORIAL])
def test_tutorial(pattern, lengths):
    images = rng.integers(0, 255, (6, 96, 96, 3), np.uint8)
    check(images, pattern, lengths)
    check(list(images), pattern, lengths)
    check(images[:, ::-1, ::-1], pattern, lengths)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_ellipsis(pattern):
    check(np.arange(2 * 3 * 4 * 5 * 6).reshape(2, 3, 4, 5, 6), pattern, {})


def test_random_patterns():
    for _ in range(300):
        names = list("abcdefg"[: rng.integers(1, 7)])
        lengths = {name: int(rng.integers(1, 5)) for name in names}

        def grouped(order):
            cuts = sorted(rng.integers(0, len(order) + 1, rng.integers(0, 3)))
            groups = [order[i:j] for i, j in itertools.pairwise([0, *cuts, len(order)])]
            return [group for group in groups if rng.random() < 0.9 or group]

        left, right = grouped(names), grouped(list(rng.permutation(names)))
        pattern = " -> ".join(" ".join(f"({' '.join(g)})" for g in side) for side in (left, right))
        shape = [int(np.prod([lengths[name] for name in group], dtype=int)) for group in left]
        check(rng.integers(0, 99, shape), pattern, lengths)


def test_empty_arrays():
    check(np.empty((0, 3, 4)), "a b c -> c (a b)", {})
    check(np.empty((4, 0)), "(a b) c -> b c a", {"a": 2})


BAD = [
    ("a b -> a b", {}),
    ("a b c d -> a b c", {}),
    ("a b c d -> a b c d e", {}),
    ("a b c d -> a b c d d", {}),
    ("a b c c -> a b c", {}),
    ("a b (c d -> a b c d", {}),
    ("a b c) d -> a b c d", {}),
    ("a b ((c d)) -> a b c d", {}),
    ("a b c d -> ... a b c d", {}),
    ("a (...) d -> a ... d", {}),
    ("... a ... -> ... a", {}),
    ("a . b c d -> a b c d", {}),
    ("a b c d e ... -> a b c d e ...", {}),
    ("a b (c d) e -> a b c d e", {}),
    ("a b (c d) e -> a b c d e", {"c": 3}),
    ("a b c d -> a b c d", {"c": 5}),
    ("a b c d -> a b c d", {"e": 5}),
    ("a b c 5 -> a b c 5", {}),
    ("a b c _d -> a b c _d", {}),
    ("a b c d_ -> a b c d_", {}),
    ("a b c 1d -> a b c 1d", {}),
    ("a b c d! -> a b c d!", {}),
    ("a b c 0 -> a b c 0", {}),
]


@pytest.mark.parametrize(("pattern", "lengths"), BAD, ids=[f"{p} {kw}" for p, kw in BAD])
def test_errors_are_worded_as_einops_words_them(pattern, lengths):
    x = np.zeros((2, 3, 4, 5))
    with pytest.raises(einops.EinopsError) as theirs:
        einops.rearrange(x, pattern, **lengths)
    with pytest.raises(ValueError) as ours:
        cornerturn.rearrange(x, pattern, **lengths)
    their_lines, our_lines = str(theirs.value).split("\n"), str(ours.value).split("\n")
    if "{" in their_lines[2]:  # a set: its order varies
        their_lines[2], our_lines[2] = sorted(their_lines[2]), sorted(our_lines[2])
    assert our_lines == their_lines


def test_more_errors():
    x = np.zeros((2, 3))
    for pattern in ("a b", "a b -> a b -> b a"):
        with pytest.raises(ValueError, match="one '->' between them"):
            cornerturn.rearrange(x, pattern)
    with pytest.raises(TypeError, match="pattern = 5 is a int: it has to be a str"):
        cornerturn.rearrange(x, 5)
    with pytest.raises(TypeError, match="a = 1.5: the length of an axis has to be an integer"):
        cornerturn.rearrange(x, "(a b) c -> a b c", a=1.5)
    with pytest.raises(ValueError, match="a = -2 is negative"):
        cornerturn.rearrange(x, "(a b) c -> a b c", a=-2)
    with pytest.raises(TypeError, match="can't be applied to an empty list"):
        cornerturn.rearrange([], "a b -> b a")
    with pytest.raises(ValueError, match=r"x\[1\].shape = \(3, 2\) differs from x\[0\].shape = \(2, 3\)"):
        cornerturn.rearrange([x, x.T], "a b c -> c b a")
    with pytest.raises(ValueError, match=r"x\[1\].dtype = float32 differs from x\[0\].dtype = float64"):
        cornerturn.rearrange([x, x.astype("f4")], "a b c -> c b a")


TURNS = ["c h w -> h w c", "c h w -> h c w", "(c d) h w -> h w d c", "(c d) h w -> c h w d"]


@pytest.mark.parametrize("pattern", TURNS)
@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "i8", "V16", "V3"])
def test_arrays_that_take_turns(pattern, dtype):
    """The elements of several arrays side by side, of all widths, few and many, in the caches and not."""
    for count in (1, 2, 3, 4, 6, 24):
        for shape in ((1, 1), (3, 5), (0, 4), (61, 67), (300, 1)):
            size = max(1, np.dtype(dtype).itemsize)
            arrays = [rng.integers(0, 255, (*shape, size), np.uint8).view(dtype)[..., 0] for _ in range(count)]
            lengths = {"c": next(c for c in (3, 2, 1) if count % c == 0)} if "(" in pattern else {}
            check(arrays, pattern, lengths)


@pytest.mark.parametrize("count", [3, 7])
def test_large_arrays_that_take_turns(count):
    check([rng.integers(0, 255, (1201, 2003), np.uint8) for _ in range(count)], "c h w -> h w c", {})
    check([rng.standard_normal((1201, 307)) for _ in range(count)], "c h w -> h w c", {})


def test_arrays_that_take_turns_need_not_be_alike_in_memory():
    image = rng.integers(0, 255, (40, 50, 3), np.uint8)
    planes = [image[:, :, 0], np.ascontiguousarray(image[:, :, 1]), np.asfortranarray(image[:, :, 2])]
    check(planes, "c h w -> h w c", {})
    with pytest.raises(ValueError, match=r"x\[2\].shape = \(50, 40\) differs from x\[0\].shape"):
        cornerturn.rearrange([planes[1], planes[1], planes[2].T.copy()], "c h w -> h w c")
    with pytest.raises(ValueError, match=r"x\[1\].dtype = int8 differs from x\[0\].dtype = uint8"):
        cornerturn.rearrange([planes[1], planes[1].view(np.int8)], "c h w -> h w c")


def test_torch_tensors_that_take_turns():
    torch = pytest.importorskip("torch")
    for dtype in (torch.uint8, torch.bfloat16, torch.float32, torch.complex64):
        planes = [torch.randn(33, 47).mul(99).to(dtype) for _ in range(4)]
        for listed in (planes, planes[:3], [*planes[:3], planes[3].conj()], [planes[0], planes[1].T.contiguous().T]):
            result = cornerturn.rearrange(listed, "c h w -> h w c")
            assert torch.equal(result, torch.stack(listed, -1)) and result.is_contiguous()


def test_torch():
    torch = pytest.importorskip("torch")
    for (pattern, lengths), x in zip(TUTORIAL, [torch.rand(6, 96, 96, 3)] * 99, strict=False):
        expected = einops.rearrange(x, pattern, **lengths)
        result = cornerturn.rearrange(x, pattern, **lengths)
        assert torch.equal(result, expected) and result.is_contiguous()
        assert torch.equal(cornerturn.rearrange(list(x), pattern, **lengths), expected)
    x = torch.rand(6, 8, 4, 3, requires_grad=True)
    weights = torch.rand(6, 3, 32)
    (cornerturn.rearrange(x, "b h w c -> b c (h w)") * weights).sum().backward()
    assert torch.equal(x.grad, einops.rearrange(weights, "b c (h w) -> b h w c", w=4))
    listed = [torch.rand(3, 4, requires_grad=True) for _ in range(5)]
    cornerturn.rearrange(listed, "b h w -> (w b) h").sum().backward()
    assert all(torch.equal(x.grad, torch.ones(3, 4)) for x in listed)


def test_jax():
    jnp = pytest.importorskip("jax.numpy")
    import jax

    images = rng.standard_normal((6, 96, 96, 3)).astype("f4")
    for pattern, lengths in TUTORIAL[:6]:
        expected = einops.rearrange(images, pattern, **lengths)
        for x in (jnp.asarray(images), [jnp.asarray(image) for image in images]):
            result = cornerturn.rearrange(x, pattern, **lengths)
            assert isinstance(result, jax.Array) and np.array_equal(result, expected)
    compiled = jax.jit(lambda x: cornerturn.rearrange(x, "b (h p) w c -> (b h) c (w p)", p=4))
    expected = einops.rearrange(images, "b (h p) w c -> (b h) c (w p)", p=4)
    assert np.array_equal(compiled(images), expected)
