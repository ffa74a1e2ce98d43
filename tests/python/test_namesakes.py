"""Functions that bear another library's name: what it takes is taken, or refused by name. Both are run."""

import inspect
import warnings

import numpy as np
import pytest

import cornerturn

X = np.arange(2 * 3 * 4, dtype="f4").reshape(2, 3, 4)


def outcome(call):
    """What a call gives, or the classes of what it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call(), None
    except Exception as error:
        return None, error


def compare(ours, theirs, refused=None):
    """Both give the same or raise the same; or only ours raises, as the row says."""
    got, raised = outcome(ours)
    want, expected = outcome(theirs)
    if refused is not None:
        assert expected is None and raised is not None and refused in str(raised), (raised, expected)
        return
    if expected is None:
        assert raised is None, raised
        assert type(got) is type(want) and got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
        return
    # An error of ours is of one of the kinds that theirs is of, and says more.
    kinds = [kind for kind in type(expected).__mro__ if kind not in (Exception, BaseException, object)]
    assert raised is not None and isinstance(raised, tuple(kinds) + SIMILAR.get(type(expected).__name__, ())), (raised, expected)


SIMILAR = {"RuntimeError": (ValueError,), "IndexError": (ValueError,)}  # PyTorch's, where a value is wrong

# What follows is the function's own first argument; a third entry is how ours refuses what theirs takes.
TRANSPOSE = [
    ([], {}),
    ([None], {}),
    ([(2, 0, 1)], {}),
    ([[2, 0, 1]], {}),
    ([np.array([2, 0, 1])], {}),
    ([(np.int8(2), np.int64(0), 1)], {}),
    ([(-1, 0, -2)], {}),
    ([range(3)], {}),
    ([], {"axes": (2, 0, 1)}),
    ([(2.0, 0, 1)], {}),
    ([{2, 0, 1}], {}),
    ([(0, 0, 1)], {}),
    ([(0, 1)], {}),
    ([(0, 1, 3)], {}),
    ([(0, 1, -4)], {}),
    ([5], {}),
    ([()], {}),
    (["abc"], {}),
]
MOVEAXIS = [
    ([0, 1], {}),
    ([[0, 1], [1, 0]], {}),
    ([(0, -1), (-1, 0)], {}),
    ([np.array([0, 1]), np.array([1, 0])], {}),
    ([np.int32(0), 2], {}),
    ([np.array(0), np.array(-1)], {}),
    ([np.array(0.0), 1], {}),
    ([], {"source": 0, "destination": -1}),
    ([[], []], {}),
    ([5, 0], {}),
    ([0, -4], {}),
    ([[0, 0], [1, 2]], {}),
    ([[0, 1], [1]], {}),
    ([0.5, 1], {}),
]
SWAPAXES = [
    ([0, 1], {}),
    ([-1, np.int64(0)], {}),
    ([1, 1], {}),
    ([], {"axis1": 0, "axis2": 2}),
    ([3, 0], {}),
    ([0, -4], {}),
    ([0.5, 1], {}),
]
ASCONTIGUOUSARRAY = [
    ([], {}),
    (["f8"], {}),
    ([np.int16], {}),
    ([float], {}),
    ([], {"dtype": ">f4"}),
    ([], {"dtype": "i8"}),
    ([], {"dtype": None}),
    ([], {"dtype": "nonsense"}),
    ([], {"dtype": "S3"}, "dtype = |S3"),
    ([], {"like": X}, "like"),
]
PARAMETERS = {  # of theirs, by name: "taken", or how ours refuses it
    "transpose": {"a": "taken", "axes": "taken"},
    "permute_dims": {"a": "taken", "axes": "taken"},
    "moveaxis": {"a": "taken", "source": "taken", "destination": "taken"},
    "swapaxes": {"a": "taken", "axis1": "taken", "axis2": "taken"},
    "ascontiguousarray": {"a": "taken", "dtype": "taken", "like": "like"},
}
TABLES = {
    "transpose": TRANSPOSE,
    "permute_dims": TRANSPOSE,
    "moveaxis": MOVEAXIS,
    "swapaxes": SWAPAXES,
    "ascontiguousarray": ASCONTIGUOUSARRAY,
}
ARRAYS = {
    "packed": X,
    "view": np.arange(2 * 3 * 8.0).reshape(4, 3, 4)[::2, :, ::-1],
    "list": X.tolist(),
    "list of integers": [[1, 2], [3, 4]],
    "tuple": tuple(map(tuple, X[0].tolist())),
    "no axes": np.array(3.0),
    "one axis": np.arange(5),
    "no elements": np.zeros((0, 3, 2)),
    "text": np.array([["a", "bcd"], ["ef", ""]]),
    "dates": np.arange(6).reshape(2, 3).astype("M8[D]"),
    "records": np.zeros((2, 3), [("a", "i4"), ("b", "f8")]),
    "swapped": X.astype(">f4"),
    "read-only": np.broadcast_to(X[0], (2, 3, 4)),
}


@pytest.mark.parametrize("name", TABLES)
def test_every_parameter_of_numpy_is_in_the_table(name):
    theirs = set(inspect.signature(getattr(np, name)).parameters) if name != "ascontiguousarray" else {"a", "dtype", "like"}
    assert theirs == set(PARAMETERS[name])


@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("name", TABLES)
def test_names_of_numpy(name, kind):
    x = ARRAYS[kind]
    ours, theirs = getattr(cornerturn, name), getattr(np, name)
    for args, options, *refused in TABLES[name]:
        if refused and kind != "packed":
            continue
        if name == "ascontiguousarray" and kind in ("text", "dates", "records") and (args or options.get("dtype")):
            continue  # their values are converted by astype
        compare(lambda: ours(x, *args, **options), lambda: theirs(x, *args, **options), *refused)


OTHERS = [  # arrays that are more than memory: refused, and by which name
    ("objects", X.astype(object), "hold references"),
    ("StringDType", np.array([["a", "bc"]], np.dtypes.StringDType()), "hold references"),
    ("masked", np.ma.masked_array(X, X > 3), "is a masked array"),
    ("a number", 3.0, "x is a builtins.float"),
]


@pytest.mark.parametrize("what, x, refused", OTHERS, ids=[what for what, *_ in OTHERS])
def test_arrays_of_numpy_that_are_refused(what, x, refused):
    compare(lambda: cornerturn.transpose(x), lambda: np.transpose(x), refused)


COPYTO = [
    (X, {}, None),
    (X[::-1], {}, None),
    (X.astype("i4").tolist(), {}, "values are not converted"),
    (X.astype("f8"), {}, "values are not converted"),
    (X[0], {}, "differs from (3, 4), the shape of src"),
    (3.0, {}, "src is a builtins.float"),
    (X, {"where": X > 3}, "where"),
    (X, {"casting": "no"}, "casting"),
]


@pytest.mark.parametrize("src, options, refused", COPYTO)
def test_copyto(src, options, refused):
    assert set(inspect.signature(np.copyto).parameters) == {"dst", "src", "casting", "where"}

    def filled(copy):
        dst = np.zeros_like(X)
        copy(dst, src, **options)
        return dst

    compare(lambda: filled(cornerturn.copy), lambda: filled(np.copyto), refused)


LISTS = [
    (lambda m: m.stack([X, X]), None),
    (lambda m: m.stack((X, X[::-1])), None),
    (lambda m: m.stack([X, X[0]]), None),
    (lambda m: m.stack([]), None),
    (lambda m: m.stack([X, X], 1), "axes = (1,) has 1 entries"),
    (lambda m: m.stack([X, X], axis=1), "axis"),
    (lambda m: m.take(X, [1, 0], 0), None),
    (lambda m: m.take(X, np.array([3, -4], "i4"), axis=2), None),
    (lambda m: m.take(X, [1, 4], 2), None),
    (lambda m: m.take(X, [1, -5], 2), None),
    (lambda m: m.take(X, [0.0], 0), "has to be of integers"),
    (lambda m: m.take(X, [1], 7), None),
    (lambda m: m.take(X, 1, 0), "has 0 axes"),
    (lambda m: m.take(X, [[0, 1]], 0), "has 2 axes"),
    (lambda m: m.take(X, [0, 9], 0, mode="clip"), "mode"),
]


@pytest.mark.parametrize("name", ["take", "stack", "unstack", "to"])
def test_arrays_of_dask_that_are_refused_by_name(name):
    x = pytest.importorskip("dask.array").from_array(X)
    args = {"take": (x, [0]), "stack": ([x, x],), "unstack": (x,), "to": (x, "cpu")}[name]
    with pytest.raises(TypeError, match=r"is an array of dask.*\.compute\(\)"):
        getattr(cornerturn, name)(*args)


@pytest.mark.parametrize("axes, said", [(("t", 1), "axis1 = 't' is not"), ((0, None), "axis2 = None is not"), ((0, 0.5), "axis2 = 0.5 is not")])
def test_axes_that_swapaxes_refuses_by_name(axes, said):
    with pytest.raises(TypeError, match=said):
        cornerturn.swapaxes(X, *axes)


@pytest.mark.parametrize("call, refused", LISTS)
def test_names_of_numpy_that_take_lists(call, refused):
    compare(lambda: call(cornerturn), lambda: call(np), refused)


def test_the_array_api():
    compare(lambda: cornerturn.permute_dims(X, axes=(2, 0, 1)), lambda: X.__array_namespace__().permute_dims(X, axes=(2, 0, 1)))
    jnp = pytest.importorskip("jax.numpy")
    x = jnp.asarray(X)
    compare(lambda: cornerturn.permute_dims(x, (2, 0, 1)), lambda: jnp.permute_dims(x, (2, 0, 1)))


DTYPES = ["float32", "float16", "bfloat16", "float64", "int8", "int32", "uint8", "complex64", "bool"]


@pytest.mark.parametrize("name", DTYPES)
def test_a_dtype_of_one_framework_for_the_array_of_another(name):
    torch = pytest.importorskip("torch")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    numpys = np.dtype(getattr(ml_dtypes, name, None) or name)
    assert cornerturn.transpose(X, dtype=getattr(torch, name)).dtype == numpys
    assert cornerturn.transpose(torch.from_numpy(X), dtype=numpys).dtype == getattr(torch, name)


def test_names_of_pytorch():
    torch = pytest.importorskip("torch")
    t = torch.from_numpy(X).clone()
    for dims in [(2, 0, 1), [2, 0, 1], (-1, 0, 1), torch.Size([2, 0, 1]), (0, 1), (1, 1, 0), (0, 1, 7), (0.5, 1, 2)]:
        compare(lambda: cornerturn.torch.permute(t, dims), lambda: torch.permute(t, dims))
        compare(lambda: cornerturn.torch.permute(t, dims=dims), lambda: torch.permute(t, dims=dims))
    for args in [(0, 1), (-1, 0), ((0, 1), (1, 0)), (0, 5)]:
        compare(lambda: cornerturn.moveaxis(t, *args), lambda: torch.moveaxis(t, *args))
    for args in [(0, 1), (-1, 0), (0, 5)]:
        compare(lambda: cornerturn.swapaxes(t, *args), lambda: torch.swapaxes(t, *args))
        compare(lambda: cornerturn.swapaxes(t, *args), lambda: torch.transpose(t, *args))
    compare(lambda: cornerturn.transpose(t[0], 0, 1), lambda: t[0])
    images = torch.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5)
    for x, format in [(images, torch.channels_last), (images, torch.contiguous_format), (images.mT, torch.contiguous_format),
                      (t, torch.channels_last)]:  # fmt: skip
        compare(lambda: cornerturn.contiguous(x, memory_format=format), lambda: x.contiguous(memory_format=format))
    compare(lambda: cornerturn.contiguous(t, memory_format=torch.preserve_format),
            lambda: t.contiguous(memory_format=torch.preserve_format), "memory_format = torch.preserve_format")  # fmt: skip
    with pytest.raises(TypeError, match="is a Proxy of torch.fx"):
        import torch.fx

        class Module(torch.nn.Module):
            def forward(self, x):
                return cornerturn.transpose(x, (1, 0))

        torch.fx.symbolic_trace(Module())


EINOPS = [
    ("a b c -> c b a", {}),
    ("a b (x y) -> a x b y", {"x": 2}),
    ("a b (x y) -> a x b y", {"x": np.int64(2)}),
    ("a b (threads y) -> a threads b y", {"threads": 2}),  # an axis, not an option
    ("a (in b) c -> in a b c", {"in": 3}),
    ("a (axis b) c -> axis a b c", {"axis": 3}),
    ("out in c -> in out c", {}),
    ("a (b) c -> a b c 1", {}),
    ("é b c -> c b é", {}),
    ("a ... -> ... a", {}),
    ("a _ c -> c _ a", {}),
    ("a b (x y) -> a x b y", {"x": 3}),
    ("a b -> b a", {}),
    ("a b c -> a b", {}),
    ("a b c -> a b c", {"d": 3}),
]


@pytest.mark.parametrize("pattern, lengths", EINOPS, ids=[f"{p} {n}" for p, n in EINOPS])
@pytest.mark.parametrize("name", ["rearrange", "repeat"])
def test_names_of_einops(name, pattern, lengths):
    einops = pytest.importorskip("einops")
    ours, theirs = getattr(cornerturn, name), getattr(einops, name)
    assert list(inspect.signature(theirs).parameters) == ["tensor", "pattern", "axes_lengths"]
    compare(lambda: ours(X, pattern, **lengths), lambda: theirs(X, pattern, **lengths))
    compare(lambda: ours(X, pattern=pattern, **lengths), lambda: theirs(X, pattern=pattern, **lengths))
    compare(lambda: ours([X, X], "l " + pattern.replace("->", "-> l"), **lengths),
            lambda: theirs([X, X], "l " + pattern.replace("->", "-> l"), **lengths))  # fmt: skip
    compare(lambda: ours(tensor=X, pattern="a b c -> c b a"), lambda: theirs(tensor=X, pattern="a b c -> c b a"), "'x'")


@pytest.mark.parametrize(
    "pattern, category, message",
    [("if a b -> a if b", RuntimeWarning, "names that are keywords: if"), ("axis a b -> a axis b", FutureWarning, "'axis' as an axis name")],
)
def test_warnings_of_einops(pattern, category, message):
    einops = pytest.importorskip("einops")
    for function in (einops.rearrange, cornerturn.rearrange):
        with pytest.warns(category, match=message):
            function(X, pattern.replace("b", f"b{function.__module__.split('.')[0]}"))


def dataset(xarray):
    return xarray.Dataset(
        {
            "heat": (("t", "y", "x"), X, {"units": "K"}),
            "flat": (("y", "x"), X[0]),
            "names": (("x", "y"), np.array([["u"] * 3] * 4, dtype=object)),
            "level": 3.0,
        },
        coords={"t": [1, 2], "area": (("y", "x"), X[1])},
        attrs={"title": "a test"},
    )


XARRAY = [
    ((), {}),
    (("x", "y", "t"), {}),
    (("x", ...), {}),
    ((..., "t"), {}),
    ((...,), {}),
    (("y",), {}),
    (("x", "z", ...), {}),
    (("x", "z", ...), {"missing_dims": "ignore"}),
    (("x", "z", ...), {"missing_dims": "warn"}),
    (("x", "z", ...), {"missing_dims": "nonsense"}),
    (("x", ..., "t", ...), {}),
    (("x", "x", "t"), {}),
    ((["x", "y", "t"],), {}),
    (("x", "y", "t"), {"transpose_coords": False}),
]


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("kind", ["DataArray", "Dataset"])
@pytest.mark.parametrize("dims, options", XARRAY)
def test_names_of_xarray(kind, dims, options, chunked):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("dask.array")
    import cornerturn.xarray

    x = dataset(xarray)
    x = x.chunk({"t": 1}) if chunked else x
    x = x.heat if kind == "DataArray" else x
    theirs = set(inspect.signature(type(x).transpose).parameters) - {"self"}
    assert theirs | {"dtype"} == set(inspect.signature(type(x.cornerturn).transpose).parameters) - {"self"}
    got, raised = outcome(lambda: x.cornerturn.transpose(*dims, **options))
    want, expected = outcome(lambda: x.transpose(*dims, **options))
    assert type(raised) is type(expected) and str(raised).replace("DatasetAccessor", "Dataset").replace(
        "DataArrayAccessor", "DataArray") == str(expected)  # fmt: skip
    if expected is not None:
        return
    xarray.testing.assert_identical(got, want)
    for name, array in [("heat", got)] if kind == "DataArray" else got.data_vars.items():
        assert array.dims == (want if kind == "DataArray" else want[name]).dims
        assert (array.chunks is not None) == (chunked and array.ndim > 0)
        assert array.compute().data.flags.c_contiguous
    if not options:
        xarray.testing.assert_identical(cornerturn.transpose(x, *dims) if dims else cornerturn.transpose(x), want)


def test_a_variable_that_is_not_converted_is_named():
    xarray = pytest.importorskip("xarray")
    import cornerturn.xarray

    with pytest.raises(TypeError, match="variable 'names': dtype = object: its elements hold references"):
        dataset(xarray).cornerturn.transpose(dtype="f8")
    with pytest.raises(TypeError, match="out is not for Datasets: those take dtype"):
        cornerturn.transpose(dataset(xarray), out=X)
    with pytest.raises(ValueError, match="x has no dim 'z'"):
        cornerturn.transpose(dataset(xarray).heat, "z", ...)
    with pytest.raises(ValueError, match="... stands once"):
        cornerturn.transpose(dataset(xarray).heat, ..., "x", ...)


LAZY = {
    "transpose": lambda d: (cornerturn.transpose(d, (2, 0, 1)), X.transpose(2, 0, 1)),
    "transpose, values": lambda d: (cornerturn.transpose(d, dtype="f8", alpha=2.0), 2 * X.T.astype("f8")),
    "contiguous": lambda d: (cornerturn.contiguous(d.T), X.T),
    "ascontiguousarray": lambda d: (cornerturn.ascontiguousarray(d.T, "i4"), X.T.astype("i4")),
    "permute_dims": lambda d: (cornerturn.permute_dims(d, (-1, 0, 1)), X.transpose(2, 0, 1)),
    "moveaxis": lambda d: (cornerturn.moveaxis(d, 0, -1), np.moveaxis(X, 0, -1)),
    "swapaxes": lambda d: (cornerturn.swapaxes(d, 0, 1), X.swapaxes(0, 1)),
    "rearrange": lambda d: (cornerturn.rearrange(d, "a b c -> c (a b)"), X.transpose(2, 0, 1).reshape(4, 6)),
    "rearrange a list": lambda d: (cornerturn.rearrange([d, d], "n a b c -> c n a b"), np.stack([X, X]).transpose(3, 0, 1, 2)),
    "repeat": lambda d: (cornerturn.repeat(d, "a b c -> c (k a) b", k=2), np.concatenate([X, X]).transpose(2, 0, 1)),
}


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("name", LAZY)
def test_arrays_of_dask_are_computed_by_dask(name, labelled):
    da = pytest.importorskip("dask.array")
    xarray = pytest.importorskip("xarray")

    def computed(block):
        raise AssertionError("it was computed at once")

    never = da.from_array(X, chunks=(1, 3, 2)).map_blocks(computed, dtype=X.dtype, meta=np.empty((0, 0, 0), X.dtype))
    lazy = da.from_array(X, chunks=(1, 3, 2))
    if labelled and "list" not in name:
        never, lazy = (xarray.DataArray(x, dims=("t", "y", "x")) for x in (never, lazy))
    LAZY[name](never)
    got, want = LAZY[name](lazy)
    data = getattr(got, "data", got)
    assert isinstance(data, da.Array) and got.shape == want.shape and data.dtype == want.dtype
    np.testing.assert_array_equal(data.compute(), want)


@pytest.mark.parametrize("option", [{"out": X}, {"order": "F"}, {"scale": 2.0}, {"threads": 1}, {"rounding": "stochastic"}])
def test_what_arrays_of_dask_do_not_take_is_named(option):
    da = pytest.importorskip("dask.array")
    (name,) = option
    x = da.ones((2, 3), chunks=1)
    with pytest.raises((TypeError, ValueError), match=f"{name}.* is not for (arrays of dask|dask arrays)"):
        cornerturn.transpose(x, **option)
    if name == "threads":
        for function in (cornerturn.rearrange, cornerturn.repeat):
            with pytest.raises(TypeError, match="threads is not for arrays of dask"):
                function(x, "a b -> b a", **option)
        with pytest.raises(TypeError, match="threads is not for arrays of dask"):
            cornerturn.contiguous(x, **option)


@pytest.mark.parametrize("axes", [None, (2, 0, 1), (-1, 0, 1), [0, 1, 2], (0, 1), (0, 0, 1), (0, 1, 3)])
def test_transpose_of_dask(axes):
    da = pytest.importorskip("dask.array")
    assert set(inspect.signature(da.transpose).parameters) == {"a", "axes"}
    lazy = da.from_array(X, chunks=(1, 3, 2))
    compare(lambda: cornerturn.dask.transpose(lazy, axes), lambda: da.transpose(lazy, axes))
