"""cornerturn.dask and the accessor of xarray: chunks that are packed, labels that are kept."""

import numpy as np
import pytest

da = pytest.importorskip("dask.array")

import cornerturn  # noqa: E402
import cornerturn.dask  # noqa: E402

X = np.arange(12 * 10 * 8, dtype="f4").reshape(12, 10, 8)


def lazy(chunks=(5, 4, 8)):
    return da.from_array(X, chunks=chunks)


def packed(array):
    return array.map_blocks(lambda b: np.full((1,) * b.ndim, b.flags.c_contiguous), dtype=bool).compute().all()


@pytest.mark.parametrize("axes", [None, (1, 2, 0), (0, 1, 2), (-1, 0, 1)])
@pytest.mark.parametrize("dtype", [None, "f8", np.int16])
def test_transpose(axes, dtype):
    y = cornerturn.dask.transpose(lazy(), axes, dtype=dtype)
    want = X.transpose(axes).astype(dtype or "f4")
    assert y.shape == want.shape and y.dtype == want.dtype and y.chunks == lazy().transpose([axis % 3 for axis in axes or (2, 1, 0)]).chunks
    np.testing.assert_array_equal(y.compute(), want)
    assert packed(y)


def test_dasks_own_chunks_are_views():
    """What the functions are for: if this fails, dask does it by itself."""
    assert not packed(lazy().transpose(1, 2, 0))


@pytest.mark.parametrize(
    ("pattern", "lengths"),
    [("a b c -> c a b", {}), ("a (b p) c -> a b c p", {"p": 2}), ("a b c -> b (a c)", {}), ("... c -> c ...", {})],
)
def test_rearrange(pattern, lengths):
    y = cornerturn.dask.rearrange(lazy(), pattern, **lengths)
    np.testing.assert_array_equal(y.compute(), cornerturn.rearrange(X, pattern, **lengths))


def test_errors():
    with pytest.raises(TypeError, match="not a dask array"):
        cornerturn.dask.transpose(X)
    with pytest.raises(ValueError, match=r"axes\[1\] = 7 is out of range"):
        cornerturn.dask.transpose(lazy(), (0, 7, 1))
    with pytest.raises(cornerturn.EinopsError):
        cornerturn.dask.rearrange(lazy(), "a b -> b a")
    with pytest.raises(TypeError, match="no dtype that values are converted to"):
        cornerturn.dask.transpose(lazy(), dtype="M8[s]")


@pytest.fixture
def cube():
    xarray = pytest.importorskip("xarray")
    import cornerturn.xarray  # noqa: F401

    coords = {"t": np.arange(12), "y": np.linspace(0, 1, 10), "area": (("y", "x"), X[0])}
    return xarray.DataArray(X, dims=("t", "y", "x"), coords=coords, attrs={"units": "K"}, name="heat")


@pytest.mark.parametrize("chunked", [False, True])
def test_accessor_keeps_the_labels(cube, chunked):
    cube = cube.chunk({"t": 5}) if chunked else cube
    for dims in (("y", "x", "t"), ("x", ...), (..., "t"), ()):
        got = cube.cornerturn.transpose(*dims)
        want = cube.transpose(*dims)
        assert got.identical(want) and got.dims == want.dims and got.name == "heat"
        assert (got.chunks is not None) == chunked and got.compute().data.flags.c_contiguous
    got = cube.cornerturn.transpose("x", "y", "t", dtype="f8")
    assert got.dtype == "f8" and got.attrs == {"units": "K"} and got.coords["area"].dims == ("x", "y")


def test_accessor_of_datasets(cube):
    both = cube.to_dataset().assign(mean=cube.mean("t"), level=3.0)
    got = both.cornerturn.transpose("x", "y", "t", dtype="f8")
    assert got.heat.dims == ("x", "y", "t") and got["mean"].dims == ("x", "y") and got.level.dims == ()
    assert got.heat.dtype == "f8" and got.coords["area"].dtype == "f4" and got.heat.data.flags.c_contiguous
    assert got.heat.attrs == {"units": "K"}
    np.testing.assert_array_equal(got.heat, X.transpose(2, 1, 0))

