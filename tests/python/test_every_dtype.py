"""What is asked for is done or refused, whatever the dtype: one table for all functions that convert."""

import sys
from pathlib import Path

import numpy as np
import pytest

import cornerturn

pytest.importorskip("ml_dtypes")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import every_dtype  # noqa: E402
from every_dtype import WITH_VALUES, WITHOUT_VALUES, array_of, becomes, dtype_of, may_become  # noqa: E402

WANTED = ["f4", "f8", "i2", "i4", "?", "bfloat16", "float8_e4m3fn", "c8", ">f4", ">i8", ">c16", "M8[s]", "S4", "g"]
SOURCES = [*WITH_VALUES, *WITHOUT_VALUES]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def into(x, dtype, **options):
    out = np.zeros(x.T.shape, dtype_of(dtype))
    assert cornerturn.transpose(x, out=out, dtype=dtype_of(dtype), **options) is out
    return out


def copied(x, dtype, **options):
    dst = np.zeros(x.T.shape, dtype_of(dtype))
    cornerturn.copy(dst, x.T, convert=True, **options)
    return dst


def scattered(x, dtype):
    dst = np.zeros((x.shape[1], 2 * x.shape[0]), dtype_of(dtype))
    cornerturn.copy(dst[:, ::2], x.T, convert=True)
    assert not dst[:, 1::2].tobytes().strip(b"\0")
    return dst[:, ::2]


def lazily(x, dtype):
    array = pytest.importorskip("dask.array")
    import cornerturn.dask

    return cornerturn.dask.transpose(array.from_array(x, chunks=(1, 3)), dtype=dtype_of(dtype)).compute()


def labelled(x, dtype):
    xarray = pytest.importorskip("xarray")
    import cornerturn.xarray  # noqa: F401

    return xarray.DataArray(x, dims=("a", "b")).cornerturn.transpose("b", "a", dtype=dtype_of(dtype)).values


ENTRIES = {
    "transpose": (1, lambda x, dtype: cornerturn.transpose(x, dtype=dtype_of(dtype))),
    "transpose, alpha": (2, lambda x, dtype: cornerturn.transpose(x, dtype=dtype_of(dtype), alpha=2)),
    "transpose, scale": (2, lambda x, dtype: cornerturn.transpose(x, dtype=dtype_of(dtype), scale=[2.0] * len(x))),
    "transpose, order": (1, lambda x, dtype: cornerturn.transpose(x, dtype=dtype_of(dtype), order="F")),
    "transpose, threads": (1, lambda x, dtype: cornerturn.transpose(x, dtype=dtype_of(dtype), threads=1)),
    "transpose, out": (1, into),
    "transpose, out, alpha": (2, lambda x, dtype: into(x, dtype, alpha=2)),
    "contiguous": (1, lambda x, dtype: cornerturn.contiguous(x.T, dtype=dtype_of(dtype))),
    "ascontiguousarray": (1, lambda x, dtype: cornerturn.ascontiguousarray(x.T, dtype=dtype_of(dtype))),
    "swapaxes": (1, lambda x, dtype: cornerturn.swapaxes(x, 0, 1, dtype=dtype_of(dtype))),
    "copy": (1, copied),
    "copy, alpha": (2, lambda x, dtype: copied(x, dtype, alpha=2)),
    "copy, strides": (1, scattered),
    "dask": (1, lazily),
    "xarray": (1, labelled),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_values_are_converted_or_refused(entry):
    factor, call = ENTRIES[entry]
    for source in SOURCES:
        x = array_of(source)
        before = x.tobytes()
        for wanted in WANTED if entry not in ("dask", "xarray") else ("f4", "i2", ">i8"):
            check(entry, call, x, source, wanted, factor)
        assert x.tobytes() == before


def check(entry, call, x, source, wanted, factor=1):
    case = f"{entry}: {source} to {wanted}"
    same_dtype = x.dtype == dtype_of(wanted) and factor == 1
    try:
        result = call(x, wanted)
    except (TypeError, ValueError) as error:
        assert "\n" not in str(error) and len(str(error)) < 600, case
        assert not may_become(source, wanted), f"{case}: {error}"
        return
    # Elements that stay what they are have no values that anybody looks at.
    assert may_become(source, wanted) or same_dtype, case
    assert every_dtype.same(result, becomes(x.T, wanted, factor)), f"{case}: {result!r}"


@pytest.mark.parametrize("call", ["copy", "out", "plan"])
def test_orders_alone_are_swapped(call):
    for name in (*[f">{code[1:]}" for code in every_dtype.COUNTED + every_dtype.FLOATS if code[0] == "<"], ">bfloat16"):
        for shape in (2, 3), (41, 67), (5, 7, 6):
            x = array_of(name, shape)
            native = x.dtype.newbyteorder("=")
            for source, target in (x, native), (x.astype(native), x.dtype):
                into = np.zeros(source.T.shape, target)
                if call == "plan":
                    assert " to " in str(cornerturn.plan(source, out=into))
                    continue
                if call == "copy":
                    cornerturn.copy(into, source.T)
                else:
                    cornerturn.transpose(source, out=into)
                assert into.tobytes() == source.T.astype(target).tobytes(), f"{name} {shape} to {target}"


@pytest.mark.parametrize(("source", "target"), [(">M8[s]", "<M8[s]"), (">U2", "<U2"), ("<f4", ">f8"), (">i4", "<u4")])
def test_what_differs_in_more_than_order_is_no_copy(source, target):
    x, into = array_of(source), np.zeros((3, 2), target)
    before = into.tobytes()
    with pytest.raises(TypeError, match="dst.dtype = .* differs from src.dtype = .*: values are not converted"):
        cornerturn.copy(into, x.T)
    assert into.tobytes() == before


def test_rounding_is_that_of_the_type_in_either_order():
    x = np.array([[1.5, -2.5]], ">f4")
    for dtype in (">i4", "<i4"):
        assert cornerturn.transpose(x, dtype=dtype, rounding="towards_zero").tolist() == [[1], [-2]]
        with pytest.raises(ValueError, match="rounding = 'nearest', but >f4 is rounded towards zero"):
            cornerturn.transpose(x, dtype=dtype, rounding="nearest")
    with pytest.raises(ValueError, match="rounding = 'towards_zero', but >f4 is rounded to >f2"):
        cornerturn.transpose(x, dtype=">f2", rounding="towards_zero")


def test_bits_of_swapped_values():
    """NaNs of every kind, denormals and infinities, and what is rounded."""
    random = np.random.default_rng(4)
    for source in ("f2", "f4", "f8", "i4", "u8", "c8"):
        x = np.frombuffer(random.bytes(np.dtype(source).itemsize * 60 * 70), source).reshape(60, 70)
        for wanted in ("f2", "f4", "f8", "i2", "bfloat16", "c16"):
            if not may_become(source, wanted):
                continue
            want = cornerturn.transpose(x, dtype=dtype_of(wanted))
            for swaps_x, swaps_result in (True, False), (False, True), (True, True):
                there = x.byteswap().view(x.dtype.newbyteorder("S")) if swaps_x else x
                dtype = want.dtype.newbyteorder("S") if swaps_result else want.dtype
                got = cornerturn.transpose(there, dtype=dtype)
                assert got.dtype == dtype and got.dtype.isnative is not swaps_result
                bits = got.view(f"u{got.itemsize // 2 if got.dtype.kind == 'c' else got.itemsize}")
                assert (bits.byteswap() if swaps_result else bits).tobytes() == want.tobytes(), f"{source} to {wanted}"


def test_files(tmp_path):
    src, dst = tmp_path / "in.npy", tmp_path / "out.npy"

    def call(x, wanted):
        dst.write_bytes(b"before")
        try:
            cornerturn.transpose_file(src, dst, dtype=dtype_of(wanted))
        except BaseException:
            assert dst.read_bytes() == b"before"
            raise
        found = np.load(dst)
        return found.view(dtype_of(wanted)) if found.dtype.kind == "V" else found

    for source in SOURCES:
        x = array_of(source)
        np.save(src, x)
        if x.dtype.kind == "V" and source in WITH_VALUES:
            source = f"V{x.itemsize}"  # NumPy names no others in a file
        for wanted in WANTED:
            if wanted in ("S4", "M8[s]", "g"):  # not a dtype to be converted to, whatever the source
                with pytest.raises(TypeError, match="dtype = "):
                    call(x, wanted)
            elif x.dtype.char not in "gG" or np.dtype("g").itemsize in (12, 16):
                check("transpose_file", call, x, source, wanted)


def test_chunks(tmp_path):
    pytest.importorskip("zarr")
    out = tmp_path / "out.npy"

    def call(x, wanted):
        out.unlink(missing_ok=True)
        cornerturn.rechunk(x, str(out), axes=(1, 0), dtype=dtype_of(wanted), threads=1)
        return np.load(out)

    for source in SOURCES:
        for wanted in ("f4", ">f8"):
            check("rechunk", call, array_of(source), source, wanted)


@pytest.mark.parametrize("name", ["b4", "b1", "b2", "V4", "S4", "O"])
def test_bytes_are_no_dtype_to_convert_to(tmp_path, name):
    np.save(tmp_path / "in.npy", np.arange(6, dtype="f4"))
    if name == "b1":  # NumPy's own name of bool
        cornerturn.transpose_file(tmp_path / "in.npy", tmp_path / "out.npy", dtype=name)
        assert np.load(tmp_path / "out.npy").dtype == bool
        return
    with pytest.raises(TypeError, match=f"dtype = '{name}' is no dtype that values are converted to"):
        cornerturn.transpose_file(tmp_path / "in.npy", tmp_path / "out.npy", dtype=name)
    assert not (tmp_path / "out.npy").exists()


@pytest.mark.parametrize("name", ["i8", "u8", "f8", "i4", "c8", "?", "int8", "bfloat16", np.int16, float, bool, "<f4"])
def test_names_of_dtypes_mean_the_same_everywhere(tmp_path, name):
    x = np.arange(6, dtype="f4").reshape(2, 3)
    np.save(tmp_path / "in.npy", x)
    cornerturn.transpose_file(tmp_path / "in.npy", tmp_path / "out.npy", dtype=name)
    want = cornerturn.transpose(x, dtype=name)
    found = np.load(tmp_path / "out.npy")
    assert (found if found.dtype.kind != "V" else found.view(want.dtype)).dtype == want.dtype
    assert found.tobytes() == want.tobytes()
    assert cornerturn.plan((2, 3), dtype=name).bytes == want.nbytes


def test_numbers_of_an_array():
    for source in SOURCES:
        x = array_of(source, (2, 32))
        real = every_dtype.has_values(source) and x.dtype.kind != "c"
        for call, of in (
            (cornerturn.amax, lambda array: float(np.abs(array.astype("f8")).max())),
            (lambda x: cornerturn.quantise(x, "q8_0"), lambda array: cornerturn.quantise(array.astype("f4"), "q8_0")),
            (
                lambda x: cornerturn.quantise(x, "mxfp8_e4m3")[1],
                lambda array: cornerturn.quantise(array.astype("f4"), "mxfp8_e4m3")[1],
            ),
            (
                lambda x: cornerturn.quantise(x, "tensor_i8")[0],
                lambda array: cornerturn.quantise(array.astype("f8"), "tensor_i8")[0],
            ),
        ):
            try:
                found = call(x)
            except TypeError as error:
                assert not real, f"{source}: {error}"
            else:
                assert real, source
                np.testing.assert_array_equal(found, of(x), err_msg=str(source))


def test_numbers_of_blocks():
    blocks = cornerturn.quantise(np.arange(64, dtype="f4").reshape(2, 32), "q8_0")
    values = np.arange(64, dtype="i1").reshape(2, 32)
    for call in (
        lambda dtype: cornerturn.dequantise(blocks, "q8_0", (1, 0), dtype=dtype),
        lambda dtype: cornerturn.dequantise(values, "tensor_i8", (1, 0), scales=0.5, dtype=dtype),
    ):
        plain = call("f4")
        for wanted in (*WANTED, *WITHOUT_VALUES):
            try:
                found = call(dtype_of(wanted))
            except (TypeError, ValueError) as error:
                real = every_dtype.has_values(wanted) and dtype_of(wanted).kind != "c"
                assert not real, f"{wanted}: {error}"
            else:
                assert every_dtype.same(found, becomes(plain, wanted)), wanted


def test_plans():
    for source in SOURCES:
        x = array_of(source)
        for wanted in WANTED:
            if x.dtype == dtype_of(wanted):
                continue
            try:
                plan = cornerturn.plan(x, dtype=dtype_of(wanted))
            except (TypeError, ValueError) as error:
                assert not may_become(source, wanted), f"{source} to {wanted}: {error}"
            else:
                assert may_become(source, wanted), f"{source} to {wanted}"
                assert " to " in str(plan), f"{source} to {wanted}: {plan}"
                assert plan.bytes == x.size * dtype_of(wanted).itemsize
