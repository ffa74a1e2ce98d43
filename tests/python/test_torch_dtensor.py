"""DTensor: the parts of a tensor that is spread over devices are permuted where they lie."""

import pytest

import cornerturn

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("PyTorch without torch.distributed", allow_module_level=True)
from torch.distributed.tensor import DTensor, Replicate, Shard, init_device_mesh  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402


@pytest.fixture(scope="module")
def mesh():
    """This process is the first of two that need nothing from each other."""
    torch.distributed.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    yield init_device_mesh("cpu", (2,))
    torch.distributed.destroy_process_group()


X = torch.arange(4 * 6 * 8, dtype=torch.float32).reshape(4, 6, 8)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_parts_stay_where_they_are(mesh, axis):
    part = X.chunk(2, axis)[0].contiguous()
    x = DTensor.from_local(part, mesh, [Shard(axis)])
    for call in (
        lambda t: cornerturn.transpose(t, (2, 0, 1)),
        lambda t: torch.ops.cornerturn.permute_copy(t, (2, 0, 1)),
        lambda t: cornerturn.transpose(t, (2, 0, 1), dtype="bfloat16", scale=2.0),
        lambda t: cornerturn.rearrange(t, "a b c -> c a b"),
    ):
        got = call(x)
        assert got.placements == (Shard((2, 0, 1).index(axis)),) and got.shape == (8, 4, 6)
        assert torch.equal(got.to_local(), call(part))


def test_whole_copies(mesh):
    x = DTensor.from_local(X, mesh, [Replicate()])
    got = cornerturn.transpose(x, (2, 0, 1))
    assert got.placements == (Replicate(),) and torch.equal(got.to_local(), X.permute(2, 0, 1))


def test_gradients(mesh):
    x = DTensor.from_local(X.chunk(2, 1)[0].contiguous(), mesh, [Shard(1)]).requires_grad_()
    (cornerturn.transpose(x, (2, 0, 1)) ** 2).sum().backward()
    assert torch.equal(x.grad.to_local(), 2 * X.chunk(2, 1)[0])
