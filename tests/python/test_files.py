"""transpose_file: .npy to .npy, whole or not at all."""

import threading

import numpy as np
import pytest

import cornerturn

X = np.arange(5 * 6 * 7, dtype="f4").reshape(5, 6, 7)


@pytest.fixture
def paths(tmp_path):
    np.save(tmp_path / "in.npy", X)
    return tmp_path / "in.npy", tmp_path / "out.npy"


@pytest.mark.parametrize("axes", [None, (2, 0, 1), (0, 1, 2), (-1, 1, 0)])
@pytest.mark.parametrize("memory", [None, "32M", 1 << 26])
def test_axes_and_memory(paths, axes, memory):
    src, dst = paths
    assert cornerturn.transpose_file(src, str(dst), axes, memory=memory, threads=1) is None
    np.testing.assert_array_equal(np.load(dst), X.transpose(axes))


def test_larger_than_the_memory_that_is_allowed(paths):
    src, dst = paths
    x = np.arange(2100 * 2200, dtype="f8").reshape(2100, 2200)
    np.save(src, x)
    heard = []
    cornerturn.transpose_file(src, dst, memory="32M", progress=lambda *numbers: heard.append(numbers))
    assert (np.load(dst) == x.T).all()
    assert heard == sorted(heard) and heard[-1][0] == heard[-1][1] >= x.nbytes
    cornerturn.transpose_file(src, dst, memory="32M", dtype="f4")
    assert np.load(dst).dtype == "f4" and (np.load(dst) == x.T.astype("f4")).all()


@pytest.mark.parametrize("dtype", ["f8", np.float16, "bfloat16", "int16", bool])
def test_dtypes(paths, dtype):
    src, dst = paths
    cornerturn.transpose_file(src, dst, dtype=dtype)
    got = np.load(dst)
    want = cornerturn.transpose(X, dtype=dtype)
    assert got.itemsize == want.itemsize and got.shape == want.shape
    assert got.tobytes() == want.tobytes()


def test_arrays_of_every_kind(paths):
    src, dst = paths
    records = np.zeros((3, 4), [("a", "i2"), ("b", ">f8")])
    records["a"] = np.arange(12).reshape(3, 4)
    for x in (np.asfortranarray(X), np.float64(3), np.zeros((0, 4)), records, X.astype(">i4"), X > 50):
        np.save(src, x)
        cornerturn.transpose_file(src, dst)
        got = np.load(dst)
        assert got.dtype == x.dtype
        np.testing.assert_array_equal(got, x.T)


def test_what_progress_raises_ends_the_work(paths):
    src, dst = paths
    np.save(src, np.zeros((4096, 4096), "f4"))
    dst.write_bytes(b"before")

    def stop(done, total):
        raise KeyboardInterrupt

    threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        cornerturn.transpose_file(src, dst, progress=stop, memory="32M")
    assert dst.read_bytes() == b"before" or np.load(dst).shape == (4096, 4096)
    assert sorted(path.name for path in dst.parent.iterdir()) == ["in.npy", "out.npy"]
    assert threading.active_count() == threads


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"src": "none.npy"}, OSError, "none.npy"),
        ({"dst": "in.npy"}, ValueError, "is the same file as src"),
        ({"dst": "no/folder.npy"}, OSError, "no/folder.npy"),
        ({"axes": (0, 1)}, ValueError, r"axes = \(0, 1\) has 2 entries, x has rank 3"),
        ({"axes": (0, 1, 3)}, np.exceptions.AxisError, r"axes\[2\] = 3 is out of range for rank 3"),
        ({"memory": "1M"}, ValueError, "memory = '1M' is too little: the least is 32 MiB"),
        ({"memory": "much"}, ValueError, "memory = 'much' is no number of bytes: write"),
        ({"memory": 1e9}, TypeError, "memory = 1000000000.0 is no number of bytes"),
        ({"dtype": "f99"}, TypeError, "dtype = 'f99' is no dtype that values are converted to"),
        ({"dtype": ">M8[s]"}, TypeError, r"dtype = '>M8\[s\]' is no dtype that values are converted to"),
        ({"src": 3}, TypeError, "src = 3 is not a path"),
        ({"src": "text"}, (OSError, ValueError), "text"),
    ],
)
def test_what_is_wrong_is_named(paths, options, error, message, monkeypatch):
    src, dst = paths
    monkeypatch.chdir(src.parent)
    (src.parent / "text").write_text("no array")
    with pytest.raises(error, match=message):
        cornerturn.transpose_file(**{"src": "in.npy", "dst": "out.npy", **options})
    assert not dst.exists()
