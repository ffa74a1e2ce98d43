"""cornerturn.rechunk into a group of zarr or of HDF5: what else is there stays, and readers see the new array."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")
h5py = pytest.importorskip("h5py")

import cornerturn  # noqa: E402
from cornerturn._chunks import groups, renaming  # noqa: E402

X = np.arange(12 * 10, dtype="f4").reshape(12, 10)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    return tmp_path


def names():
    return sorted(os.listdir("."))


def stored():
    return zarr.open_group("g.zarr", mode="r")


@pytest.mark.parametrize("target", ["g.zarr::t", "g.zarr::a/t", "g.zarr::a/b/t", "g.zarr::/a/t/", "g.zarr::c/0"])
def test_groups_are_made_where_they_are_missing(here, target):
    key = target.partition("::")[2].strip("/")
    plan = cornerturn.rechunk("x.npy", target, chunks=(4, 5))
    assert plan.target == f"{here.resolve()}/g.zarr::{key}" and names() == ["g.zarr", "x.npy"]
    np.testing.assert_array_equal(stored()[key][...], X)
    with pytest.raises(FileExistsError, match="exists: overwrite=True"):
        cornerturn.rechunk("x.npy", target)
    cornerturn.rechunk("x.npy", target, axes=(1, 0), overwrite=True)
    np.testing.assert_array_equal(stored()[key][...], X.T)
    cornerturn.rechunk("x.npy", f"{target.rstrip('/')}2")
    np.testing.assert_array_equal(stored()[f"{key}2"][...], X)
    np.testing.assert_array_equal(stored()[key][...], X.T)
    assert names() == ["g.zarr", "x.npy"]


def test_a_path_within_a_group_names_an_array_of_it(here):
    zarr.create_group("g.zarr").create_group("a")
    cornerturn.rechunk("x.npy", "g.zarr/a/t")
    os.symlink("g.zarr", "link")
    cornerturn.rechunk("x.npy", "link::b/t")
    assert sorted(zarr.open_group("g.zarr", mode="r")) == ["a", "b"] and names() == ["g.zarr", "link", "x.npy"]
    seen = []
    cornerturn.rechunk("x.npy", "g.zarr/a/t", overwrite=True, progress=lambda *_: seen.append(names()))
    assert seen[0] == ["g.zarr", "g.zarr:a%2Ft.partial", "link", "x.npy"]  # beside the store, not in it


@pytest.mark.filterwarnings("error:Failed to open Zarr store")
def test_xarray_opens_what_is_made(here):
    xarray = pytest.importorskip("xarray")
    cornerturn.rechunk("x.npy", "g.zarr::one")
    cornerturn.rechunk("x.npy", "g.zarr::two", axes=(1, 0))
    found = xarray.open_zarr("g.zarr")  # which warns where metadata are not consolidated
    np.testing.assert_array_equal(found.one, X)
    np.testing.assert_array_equal(found.two, X.T)
    cornerturn.rechunk("x.npy", "f.h5::one")
    cornerturn.rechunk("x.npy", "f.h5::deep/two", axes=(1, 0))
    with h5py.File("f.h5") as file:
        np.testing.assert_array_equal(file["one"][...], X)
        np.testing.assert_array_equal(file["deep/two"][...], X.T)


def consolidated_group(below=""):
    root = zarr.create_group("g.zarr", attributes={"title": "all"})
    for group in (root, root.create_group("a")):
        group.create_array("t", shape=(3,), dtype="i2", chunks=(3,), dimension_names=["n"], attributes={"units": "m"})[:] = 1
    zarr.consolidate_metadata("g.zarr")
    if below:
        zarr.consolidate_metadata(f"g.zarr/{below}")
    return root


@pytest.mark.parametrize("below", ["", "a"])
@pytest.mark.parametrize("target", ["g.zarr::new", "g.zarr::t", "g.zarr::a/t", "g.zarr::a/new", "g.zarr::b/new"])
@pytest.mark.filterwarnings("ignore")
def test_consolidated_metadata_say_what_is_there(here, target, below):
    consolidated_group(below)
    key = target.partition("::")[2]
    cornerturn.rechunk("x.npy", target, chunks=(4, 5), overwrite=True)
    root = zarr.open_group("g.zarr", mode="r", use_consolidated=True)
    assert root.attrs["title"] == "all" and root[key].shape == X.shape
    np.testing.assert_array_equal(root[key][...], X)
    for other in {"t", "a/t"} - {key}:
        assert root[other].attrs["units"] == "m" and (root[other][:] == 1).all()
    if below:
        inner = zarr.open_group("g.zarr/a", mode="r", use_consolidated=True)
        assert set(inner) == {"t"} | ({"new"} if key == "a/new" else set())
    xarray = pytest.importorskip("xarray")
    assert "t" in xarray.open_zarr("g.zarr", consolidated=True)


@pytest.mark.filterwarnings("ignore")
def test_readers_never_see_metadata_of_another_array(here, monkeypatch):
    """While an array is replaced its consolidated metadata are not there; a run that is killed then makes them again."""
    consolidated_group()

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(groups, "consolidate", killed)
    with pytest.raises(KeyboardInterrupt):
        cornerturn.rechunk("x.npy", "g.zarr::t", overwrite=True)
    np.testing.assert_array_equal(zarr.open_group("g.zarr", mode="r")["t"][...], X)
    assert not groups.consolidated(groups_place("g.zarr::t"))
    monkeypatch.undo()
    os.chdir(here)
    cornerturn.rechunk("x.npy", "g.zarr::t", resume=True)
    assert zarr.open_group("g.zarr", mode="r", use_consolidated=True)["t"].shape == X.shape
    assert names() == ["g.zarr", "x.npy"]


def groups_place(target):
    from cornerturn._chunks.place import place_of

    return place_of(target)


def test_one_array_of_a_store_may_become_another(here):
    zarr.create_group("g.zarr").create_array("t", shape=X.shape, chunks=(4, 5), dtype="f4")[...] = X
    cornerturn.rechunk("g.zarr::t", "g.zarr::u", axes=(1, 0), chunks=(5, 6))
    np.testing.assert_array_equal(zarr.open_group("g.zarr", mode="r")["u"][...], X.T)
    for target, message in [("g.zarr::t", "is the same file as source"), ("g.zarr::t/u", "lies within source"),
                            ("g.zarr::t/c/0", "lies within source")]:
        with pytest.raises(ValueError, match=message):
            cornerturn.rechunk("g.zarr::t", target, overwrite=True)


def tree():
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(Path().rglob("*"))}


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("g.zarr::a", "is a group of zarr"), ("g.zarr", "is a group of zarr"),
        ("g.zarr::notes", "is a file"), ("g.zarr::notes/t", "notes', which is no group of zarr"),
        ("g.zarr::folder", "is a folder and no zarr array"), ("g.zarr::folder/t", "which is no group of zarr"),
        ("g.zarr::t/u", "lies within the zarr array"), ("g.zarr::link", "is a symbolic link"),
        ("g.zarr::link/t", "which is no group of zarr"), ("g.zarr::linked", "is a symbolic link"),
        ("a.zarr::t", "lies within the zarr array"), ("text::t", "text', which is no group of zarr"),
        ("dangling::t", "dangling', which is no group of zarr"), ("old.zarr::t", "a group of version 2"),
        ("g.zarr::zarr.json", "is no name of an array"), ("g.zarr::../a", "is no name of an array"),
        ("g.zarr::__a", "is no name of an array"), ("y.npy::t", "a .npy file holds one array"),
        ("g.zarr/a/../a", "is a group of zarr"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_no_array_in_a_group_stays(here, target, message):
    consolidated_group()
    Path("g.zarr/notes").write_text("mine")
    Path("text").write_text("mine")
    Path("g.zarr/folder").mkdir()
    Path("g.zarr/folder/mine").write_text("mine")
    os.symlink("a", "g.zarr/link")
    os.symlink("t", "g.zarr/linked")
    os.symlink("nothing", "dangling")
    zarr.create_array("a.zarr", shape=(3,), dtype="i2")
    zarr.create_group("old.zarr", zarr_format=2)
    before = tree()
    for overwrite in (True, False):
        with pytest.raises((FileExistsError, ValueError), match=message) as error:
            cornerturn.rechunk("x.npy", target, overwrite=overwrite)
        assert "\n" not in str(error.value) and tree() == before


@pytest.mark.parametrize("exchange", [True, False])
def test_a_group_that_another_run_makes_meanwhile(here, monkeypatch, exchange):
    """Two runs write two arrays into a store that was not there: the second one finds the group of the first."""
    if not exchange:
        monkeypatch.setattr(renaming, "_renameat2", lambda *_: False)

    def other(done, total):
        if not os.path.exists("g.zarr"):
            cornerturn.rechunk("x.npy", "g.zarr::a/one", axes=(1, 0))

    cornerturn.rechunk("x.npy", "g.zarr::a/two", progress=other)
    root = zarr.open_group("g.zarr", mode="r")
    np.testing.assert_array_equal(root["a/one"][...], X.T)
    np.testing.assert_array_equal(root["a/two"][...], X)
    assert names() == ["g.zarr", "x.npy"]


def test_a_store_that_is_taken_away_meanwhile(here):
    zarr.create_group("g.zarr")
    cornerturn.rechunk("x.npy", "g.zarr::a/t", progress=lambda *_: shutil.rmtree("g.zarr", ignore_errors=True))
    np.testing.assert_array_equal(zarr.open_group("g.zarr", mode="r")["a/t"][...], X)
