"""quantise with indices: the blocks are those of what take() gives."""

import numpy as np
import pytest

import cornerturn

torch = pytest.importorskip("torch")
INDICES = [3, 0, -1, 3, 7]


def arrays():
    x = np.random.default_rng(5).standard_normal((8, 256)).astype(np.float32)
    return {"numpy": x, "torch": torch.from_numpy(x), "strided": np.asfortranarray(x)}


def same(found, expected):
    found, expected = ([part for part in (made if isinstance(made, tuple) else (made,))] for made in (found, expected))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        a, b = (part.view(torch.uint8).numpy() if isinstance(part, torch.Tensor) and part.element_size() == 1 else np.asarray(part) for part in (a, b))
        assert a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("name", arrays())
@pytest.mark.parametrize("missing", [None, "zeros"])
@pytest.mark.parametrize(
    "format, options",
    [
        ("fp8_1x128", {}),
        ("fp8_1x128", dict(axes=(1, 0), pad=True)),
        ("fp8_128x128", dict(pad=True)),
        ("mxfp8_e4m3", dict(axis=0, pad=True, scale="ceil")),
        ("mxfp8_e4m3", dict(scale_layout="tiles_128x4")),
        ("nvfp4", dict(tensor_scale=100.0)),
        ("q8_0", {}),
        ("fp8_1x128", dict(seed=3)),
        ("mxfp8_e4m3", dict(both=True, pad=True)),
    ],
    ids=str,
)
def test_blocks_of_what_is_taken(name, missing, format, options):
    x = arrays()[name]
    for indices in (INDICES, np.array(INDICES, np.int32), torch.tensor(INDICES)):
        found = cornerturn.quantise(x, format, indices=indices, missing=missing, threads=1, **options)
        taken = cornerturn.take(x, INDICES, missing=missing)
        same(found, cornerturn.quantise(taken, format, **options))


def test_no_rows_and_rows_of_nothing():
    x = arrays()["numpy"]
    values, scales = cornerturn.quantise(x, "fp8_1x128", indices=[])
    assert values.shape == (0, 256) and scales.shape == (0, 2)
    values, scales = cornerturn.quantise(x[:0], "fp8_1x128", indices=[-1, -1], missing="zeros")
    assert not values.view(np.uint8).any() and (scales == np.float32(1e-4) / np.float32(448)).all()


def test_what_pytorch_has_to_see():
    x = torch.from_numpy(arrays()["numpy"])
    values, scales = torch.compile(lambda t: cornerturn.quantise(t, "fp8_1x128", indices=INDICES, missing="zeros"), backend="aot_eager")(x)
    same((values, scales), cornerturn.quantise(x, "fp8_1x128", indices=INDICES, missing="zeros"))


@pytest.mark.parametrize(
    "options, error, part",
    [
        (dict(indices=[0, 8]), ValueError, r"indices\[1\] = 8 is out of range: axis 0 has the extent 8"),
        (dict(indices=[-9]), ValueError, r"indices\[0\] = -9 is out of range"),
        (dict(indices=[-2], missing="zeros"), ValueError, r"indices\[0\] = -2 is out of range"),
        (dict(indices=[0.5]), TypeError, "it has to be of integers"),
        (dict(indices=[[0]]), ValueError, "has 2 axes"),
        (dict(missing="zeros"), ValueError, "missing = 'zeros', but there are no indices"),
        (dict(indices=[0], missing="left"), ValueError, "missing = 'left' is none of None, 'zeros'"),
        (dict(indices=[0], format="tensor_e4m3"), ValueError, "indices belong to blocks: format = 'tensor_e4m3' has none"),
        (dict(indices=[0], format="nvfp4"), ValueError, "tensor_scale = None: with indices it has to be given"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_refused(options, error, part):
    with pytest.raises(error, match=part):
        cornerturn.quantise(arrays()["numpy"], **{"format": "fp8_1x128", **options})
    with pytest.raises(ValueError, match="no axis that indices could be of|no axes"):
        cornerturn.quantise(np.float32(1), "fp8_1x128", indices=[0])
