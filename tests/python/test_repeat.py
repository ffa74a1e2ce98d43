"""repeat against einops' own, the patterns of einops' own tests, and errors that einops' users catch."""

import os

import numpy as np
import pytest

import cornerturn

einops = pytest.importorskip("einops")

X = np.arange(2 * 3 * 4, dtype="i4").reshape(2, 3, 4)
REPEATS = [
    ("a b c -> a b c", {}),
    ("a b c -> a b c n", {"n": 5}),
    ("a b c -> n a b c", {"n": 5}),
    ("a b c -> (a n) b (m c)", {"n": 2, "m": 3}),
    ("a b c -> (n a) (b m) c k", {"n": 2, "m": 3, "k": 1}),
    ("a b c -> a b c 3", {}),
    ("a b c -> 2 (c 3) b a 2", {}),
    ("a b c -> c (b 1 2) () a", {}),
    ("... c -> ... (c n)", {"n": 2}),
    ("a ... -> a n ... 2", {"n": 3}),
    ("(a1 a2) ... -> a2 n (... a1)", {"a1": 2, "n": 3}),
    ("a b c -> a (b n) c", {"n": 0}),
    ("... -> (...) n", {"n": 2}),
]


@pytest.mark.parametrize(("pattern", "lengths"), REPEATS, ids=[pattern for pattern, _ in REPEATS])
def test_against_einops(pattern, lengths):
    want = einops.repeat(X, pattern, **lengths)
    for x in (X, np.asfortranarray(X), X[::-1][::-1], memoryview(X)):
        got = cornerturn.repeat(x, pattern, **lengths)
        assert got.dtype == want.dtype and got.flags.c_contiguous and not np.shares_memory(got, X)
        np.testing.assert_array_equal(got, want)
    got = cornerturn.repeat([X, X + 1], f"l {pattern.replace('->', '-> l')}", **lengths)
    np.testing.assert_array_equal(got, np.stack([want, einops.repeat(X + 1, pattern, **lengths)]))


def test_torch_and_jax():
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(X).double().requires_grad_()
    got = cornerturn.repeat(x, "a b c -> c (a n) b 2", n=3)
    assert torch.equal(got, einops.repeat(x, "a b c -> c (a n) b 2", n=3))
    got.sum().backward()
    assert (x.grad == 6).all()
    jax = pytest.importorskip("jax")
    got = cornerturn.repeat(jax.numpy.asarray(X), "a b c -> c (a n) b 2", n=3)
    np.testing.assert_array_equal(got, einops.repeat(X, "a b c -> c (a n) b 2", n=3))


WRONG = [
    ("a b -> a b n", {"n": 2}),
    ("a b c -> a b", {}),
    ("a b c -> a b c n", {}),
    ("a b c 2 -> a b c", {}),
    ("a 3 c -> a 3 c", {}),
    ("a b c -> a b c n", {"n": 2, "m": 3}),
    ("a b c -> a b c n n", {"n": 2}),
    ("a b c -> a b c ... n", {"n": 2}),
    ("a b c -> a b c 0", {}),
]


@pytest.mark.parametrize(("pattern", "lengths"), WRONG, ids=[pattern for pattern, _ in WRONG])
def test_what_einops_refuses_is_refused(pattern, lengths):
    with pytest.raises(einops.EinopsError):
        einops.repeat(X, pattern, **lengths)
    with pytest.raises(einops.EinopsError) as caught:
        cornerturn.repeat(X, pattern, **lengths)
    assert isinstance(caught.value, cornerturn.EinopsError) and isinstance(caught.value, ValueError)
    assert "Error while processing repeat-reduction pattern" in str(caught.value)


@pytest.fixture(scope="module")
def theirs():
    """einops' own tests, which are part of its package."""
    before = os.environ.setdefault("EINOPS_TEST_BACKENDS", "numpy")
    from einops.tests import test_examples, test_ops

    yield {"ops": test_ops, "examples": test_examples}
    if before == "numpy":
        os.environ.pop("EINOPS_TEST_BACKENDS", None)


def test_patterns_of_einops_own_tests(theirs):
    x = np.arange(2 * 3 * 4 * 5 * 6).reshape(2, 3, 4, 5, 6)
    ops = theirs["ops"]
    patterns = [*ops.identity_patterns, *(p for pair in ops.equivalent_rearrange_patterns for p in pair)]
    assert len(patterns) >= 20
    for pattern in patterns:
        np.testing.assert_array_equal(cornerturn.rearrange(x, pattern), einops.rearrange(x, pattern))


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("ops", "test_collapsed_ellipsis_errors_out"),
        ("ops", "test_ellipsis_ops_numpy"),
        ("ops", "test_ellipsis_ops_imperative"),
        ("ops", "test_rearrange_array_api"),
        ("ops", "test_rearrange_consistency_numpy"),
        ("ops", "test_rearrange_permutations_numpy"),
        ("ops", "test_concatenations_and_stacking"),
        ("ops", "test_repeat_numpy"),
        ("ops", "test_repeat_imperatives"),
        ("ops", "test_repeat_array_api"),
        ("ops", "test_tiling_imperatives"),
        ("ops", "test_anonymous_axes"),
        ("ops", "test_list_inputs"),
        ("examples", "test_rearrange_examples"),
    ],
)
def test_tests_of_einops(module, name, theirs, monkeypatch):
    """Their functions, with ours in the place of rearrange and repeat."""
    monkeypatch.setattr(theirs[module], "rearrange", cornerturn.rearrange)
    monkeypatch.setattr(theirs[module], "repeat", cornerturn.repeat, raising=False)
    getattr(theirs[module], name)()


@pytest.mark.parametrize("columns", [3, 64])
def test_lists_whose_axis_becomes_the_fastest(columns):
    arrays = [np.arange(40, dtype="f4") + i for i in range(columns)]
    np.testing.assert_array_equal(cornerturn.rearrange(arrays, "n a -> a n"), np.stack(arrays, 1))
    np.testing.assert_array_equal(
        cornerturn.rearrange(arrays, "n (a b) -> b (n a)", b=4),
        einops.rearrange(arrays, "n (a b) -> b (n a)", b=4),
    )
