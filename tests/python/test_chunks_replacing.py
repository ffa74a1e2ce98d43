"""What `cornerturn.rechunk` may replace: an array of its kind at the path of the target. All else stays as it is."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")
h5py = pytest.importorskip("h5py")

import cornerturn  # noqa: E402
from cornerturn._chunks import command, renaming, unnamed  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from folder_contents import X, everything, folder_with, here, text  # noqa: E402, F401

def refused(here, target, message, source="x.npy", overwrite=True, **options):
    before = everything(here.parent)
    with pytest.raises((OSError, ValueError), match=message) as error:
        cornerturn.rechunk(source, target, overwrite=overwrite, **options)
    said = str(error.value)
    assert "\n" not in said and repr(target)[1:-1] in said
    assert everything(here.parent) == before


def array(path, **options):
    options = {"shape": X.shape, "chunks": (4, 5), "dtype": "f4", **options}
    made = zarr.create_array(path, **options)
    made[...] = X
    return made


def dataset(path, key="data"):
    with h5py.File(path, "a") as file:
        file[key] = X


MADE = {"npy": lambda path: np.save(path, X), "h5": dataset, "zarr": array}


def group(path):
    zarr.create_group(path)
    array(os.path.join(path, "values"))


def link_to_array(path):
    suffix = path.rpartition(".")[2]
    MADE[suffix](f"other.{suffix}")
    os.symlink(f"other.{suffix}", path)


def link_to_group(path):
    group("group.zarr")
    os.symlink("group.zarr", path)


# What may have the name of a target and is no array of its kind.
FOREIGN = {
    "folder": folder_with,
    "empty folder": lambda path: Path(path).mkdir(),
    "folder with an array.npy": lambda path: folder_with(path, "array.npy"),
    "folder with chunks": lambda path: (folder_with(path, "0.0"), text(Path(path) / "c")),
    "group": group,
    "file": text,
    "empty file": lambda path: Path(path).touch(),
    "link to an array": link_to_array,
    "link to a group": link_to_group,
    "link to nothing": lambda path: os.symlink("nothing", path),
    "fifo": os.mkfifo,
}


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize("what", FOREIGN)
@pytest.mark.parametrize("target", ["y.npy", "y.h5", "y.h5::group/name", "y.zarr", "y.zarr::a/t"])
def test_what_is_no_array_of_the_kind_stays(here, target, what, overwrite):
    if target == "y.zarr::a/t" and what.endswith("group"):
        pytest.skip("an array is added to a group")
    FOREIGN[what](target.partition("::")[0])
    refused(here, target, "overwrite=True replaces an? .* alone|lies within the zarr array", overwrite=overwrite)


@pytest.mark.parametrize("target", ["y.npy", "y.h5", "y.zarr"])
def test_arrays_of_other_kinds_stay(here, target):
    for suffix, make in MADE.items():
        if not target.endswith(suffix):
            make(f"as.{suffix}")
            os.rename(f"as.{suffix}", target)
            refused(here, target, "alone")
            shutil.rmtree(target) if os.path.isdir(target) else os.unlink(target)


V2 = dict(zarr_format=2)
LAYOUTS = {
    "default": {},
    "dots": dict(chunk_key_encoding=("default", ".")),
    "keys of version 2": dict(chunk_key_encoding=("v2", ".")),
    "keys of version 2 in folders": dict(chunk_key_encoding=("v2", "/")),
    "shards": dict(shards=(8, 10)),
    "scalar": dict(shape=(), chunks=()),
    "version 2": V2,
    "version 2 in folders": dict(V2, chunk_key_encoding=("v2", "/")),
    "version 2, scalar": dict(V2, shape=(), chunks=()),
}


def laid_out(path, options):
    options = dict(options)
    if "chunk_key_encoding" in options:
        name, separator = options["chunk_key_encoding"]
        options["chunk_key_encoding"] = dict(name=name, separator=separator)
    made = zarr.create_array(path, **{"shape": X.shape, "chunks": (4, 5), "dtype": "f4", **options})
    made[...] = X if made.shape else 3
    made.attrs["units"] = "K"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.filterwarnings("ignore")
def test_all_that_zarr_puts_into_an_array_is_replaced(here, layout):
    laid_out("y.zarr", LAYOUTS[layout])
    some = next(path for path in Path("y.zarr").rglob("*") if path.is_file() and "z" not in path.name)
    Path(f"{some}.0123456789abcdef.partial").touch()  # of a writer that was killed
    with pytest.raises(FileExistsError, match="exists: overwrite=True replaces it"):
        cornerturn.rechunk("x.npy", "y.zarr", axes=(1, 0))
    cornerturn.rechunk("x.npy", "y.zarr", axes=(1, 0), overwrite=True)
    np.testing.assert_array_equal(zarr.open_array("y.zarr")[...], X.T)
    assert sorted(os.listdir(".")) == ["x.npy", "y.zarr"]


@pytest.mark.parametrize("layout", ["default", "dots", "keys of version 2 in folders", "version 2"])
@pytest.mark.parametrize("name", ["notes.txt", "c/notes.txt", "0/notes.txt", "x/zarr.json", "9.9.9", "00.1", "link",
                                  "0.0/mine", "0/0/0/0", "zarr.json/mine", ".zgroup", "0.partial", "-1.0", "0.0.npy"])
@pytest.mark.filterwarnings("ignore")
def test_an_array_with_something_else_in_its_folder_stays(here, layout, name):
    laid_out("y.zarr", LAYOUTS[layout])
    path = Path("y.zarr", name)
    try:
        path.parent.mkdir(exist_ok=True, parents=True)
    except OSError:
        pytest.skip("this layout has a file there")
    if name == "link":
        os.symlink(here / "x.npy", path)
    else:
        text(path)
    refused(here, "y.zarr", f"{path.parts[1]}.*is no part of a zarr array")


@pytest.mark.parametrize("link", [os.symlink, lambda of, path: os.mkfifo(path)])
def test_a_link_or_a_pipe_in_the_place_of_a_chunk_stays(here, link):
    array("y.zarr")
    os.unlink("y.zarr/c/1/1")
    link(here / "x.npy", "y.zarr/c/1/1")
    refused(here, "y.zarr", "c/1/1' is no part of a zarr array")
    shutil.rmtree("y.zarr/c/1")
    os.symlink(here, "y.zarr/c/1")
    refused(here, "y.zarr", "c/1' is no part of a zarr array")


def test_arrays_and_groups_below_an_array_stay(here):
    array("y.zarr")
    array("y.zarr/c/0/x")
    refused(here, "y.zarr", "is no part of a zarr array")
    shutil.rmtree("y.zarr")
    array("y.zarr")
    zarr.create_group("y.zarr/below")
    refused(here, "y.zarr", "below' is no part of a zarr array")


@pytest.mark.parametrize("target", [".", "..", "./", "../", "/", "//", "~", "~/", "", "../work/.", "../work/.."])
def test_names_that_are_none(here, target):
    refused(here, target, "does not end in a name of its own")


@pytest.mark.parametrize("target", ["y.npy/", "y.h5/", "y.h5//"])
def test_files_do_not_end_as_folders(here, target):
    refused(here, target, "ends as a folder does")


@pytest.mark.parametrize("target", ["y.h5::..", "y.h5::a/../b", "y.h5::a//b", "y.h5::.", "y.h5::/"])
def test_names_of_datasets(here, target):
    refused(here, target, "is no name of a dataset")


def test_the_working_directory_stays(here, monkeypatch):
    array("y.zarr")
    monkeypatch.chdir("y.zarr")
    for target in ("../y.zarr", str(here / "y.zarr")):
        refused(here, target, "holds the working directory", source="../x.npy")
    monkeypatch.chdir("c/0")
    refused(here, "../../../y.zarr", "holds the working directory", source="../../../x.npy")
    monkeypatch.chdir(here)
    refused(here, "../work", "holds source")


def test_the_source_and_what_holds_it_stay(here):
    array("a.zarr")
    group("g.zarr")
    dataset("f.h5", "one")
    for source, target, message in [
        ("a.zarr", "a.zarr", "is the same file as source"),
        ("a.zarr", "a.zarr/x", "lies within source"),
        ("a.zarr", "a.zarr/c/x.npy", "lies within source"),
        ("g.zarr::values", "g.zarr", "holds source"),
        ("g.zarr::values", "g.zarr/values", "is the same file as source"),
        ("g.zarr/values", "g.zarr", "holds source"),
        ("f.h5::one", "f.h5::one", "is the same file as source"),
        ("f.h5::one", "f.h5::two", "is the same file as source"),
        ("x.npy", "x.npy", "is the same file as source"),
        ("x.npy", "a.zarr/x", "lies within the zarr array"),
        (np.load("x.npy", mmap_mode="r")[1:], "x.npy", "is the same file as source"),
        (zarr.open_array("a.zarr"), "../work/a.zarr", "is the same file as source"),
    ]:
        refused(here, target, message, source=source)
    os.link("x.npy", "hard.npy")
    os.symlink("x.npy", "soft.npy")
    for name in ("hard.npy", "soft.npy"):
        refused(here, name, "is the same file as source")
        refused(here, "x.npy", "is the same file as source", source=name)
    os.symlink("../work", "again")
    refused(here, "again/a.zarr", "is the same file as source", source="a.zarr")
    refused(here, "again/a.zarr/x", "lies within source", source="a.zarr")


@pytest.mark.parametrize("target", ["y.npy", "y.h5", "y.zarr"])
def test_folders_of_intermediate_files_that_are_not_ours_stay(here, target):
    partial = Path(f"{target}.partial")
    for make, message in [
        (text, "is no folder"),
        (lambda path: os.symlink("..", path), "is no folder"),
        (folder_with, "holds 'mine', and has no record"),
        (lambda path: folder_with(path, "record.json"), "has a damaged record"),
        (lambda path: folder_with(path, "lock"), "holds 'lock', which is not empty"),
        (lambda path: folder_with(path, "done"), "holds 'done', and has no record"),
        (lambda path: folder_with(path, f"array.{target[2:]}"), "holds 'array.*', and has no record"),
        (lambda path: (path.mkdir(), (path / "record.json").symlink_to("../x.npy")), "holds 'record.json', which is no regular file"),
        (lambda path: (path.mkdir(), os.mkfifo(path / "record.json")), "holds 'record.json', which is no regular file"),
        (lambda path: (path.mkdir(), (path / "record.json").write_text('{"source": "x.npy"}')), "has a damaged record"),
        (lambda path: (path.mkdir(), (path / "record.json").write_text('{"check": "00000000"}')), "has a damaged record"),
    ]:
        make(partial)
        for resume in (True, False):
            refused(here, target, f"partial' {message}.* neither followed nor removed", resume=resume)
        shutil.rmtree(partial) if partial.is_dir() and not partial.is_symlink() else partial.unlink()
    cornerturn.rechunk(partial.parent / "x.npy", target)


def test_a_source_in_the_folder_of_intermediate_files_stays(here):
    Path("y.npy.partial").mkdir()
    np.save("y.npy.partial/array.npy", X)
    refused(here, "y.npy", "which holds source", source="y.npy.partial/array.npy")


@pytest.fixture
def others(here):
    """A file of HDF5 with more than one dataset."""
    with h5py.File("y.h5", "w") as file:
        file.attrs["title"] = "all"
        file["group/name"] = np.ones(5)
        file["group/name"].attrs["units"] = "m"
        file["group/other"] = np.arange(7)
        file["data"] = np.zeros((2, 2))
        file["scale"] = np.arange(5.0)
        file["scale"].make_scale("scale")
        file["group/name"].dims[0].attach_scale(file["scale"])
        file["soft"] = h5py.SoftLink("/data")
        file["out"] = h5py.ExternalLink("x.h5", "/data")
        file["again"] = file["data"]
    return here


@pytest.mark.parametrize("target", ["y.h5::group/name", "y.h5::data", "y.h5", "y.h5::new", "y.h5::a/b/c"])
def test_of_a_file_one_dataset_is_replaced(others, target):
    key = target.partition("::")[2] or "data"
    present = key in ("group/name", "data")
    if present:
        refused(others, target, "exists: overwrite=True", overwrite=False)
    inode, was = os.stat("y.h5").st_ino, open("y.h5", "rb")
    cornerturn.rechunk("x.npy", target, overwrite=present)
    assert os.stat("y.h5").st_ino != inode and len(was.read()) > 100  # another file, not the old one changed
    was.close()
    with h5py.File("y.h5") as file:
        np.testing.assert_array_equal(file[key][...], X)
        assert file.attrs["title"] == "all" and "soft" in file and "out" in file
        assert (file["group/other"][...] == np.arange(7)).all()
        assert (file["again"][...] == 0).all()  # another name of a dataset keeps it
        for entry in file["scale"].attrs.get("REFERENCE_LIST", []):
            assert file[entry[0]].name  # a scale knows of no dataset that is gone, which has no name
        if key != "group/name":
            assert file["group/name"].attrs["units"] == "m" and file["group/name"].dims[0][0] == file["scale"]
    assert sorted(os.listdir(".")) == ["x.npy", "y.h5"]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("group", "'group' is no dataset"), ("soft", "'soft' is a link"), ("out", "'out' is a link"),
        ("data/below", "'data' is no group"), ("group/other/x", "'other' is no group"), ("soft/x", "is a link"),
        ("scale", "is a scale of the dimensions of other datasets"),
    ],
)
def test_of_a_file_all_that_is_no_dataset_stays(others, key, message):
    refused(others, f"y.h5::{key}", f"{message}.*alone")


def test_a_file_without_the_dataset_is_added_to_only_by_name(here):
    dataset("y.h5", "other")
    refused(here, "y.h5", "holds no dataset 'data', and none is named")


def test_a_file_that_holds_one_dataset_does_not_grow(here):
    cornerturn.rechunk("x.npy", "y.h5", chunks=(4, 5))
    size = os.path.getsize("y.h5")
    for _ in range(3):
        cornerturn.rechunk("x.npy", "y.h5", chunks=(4, 5), overwrite=True)
    assert os.path.getsize("y.h5") == size


@pytest.mark.parametrize("of", ["/", "group"])
def test_attributes_beside_a_lone_dataset_stay(here, of):
    with h5py.File("y.h5", "w") as file:
        file["group/data"] = np.zeros((2, 2))
        file[of].attrs["title"] = "all"
    cornerturn.rechunk("x.npy", "y.h5::group/data", overwrite=True)
    with h5py.File("y.h5") as file:
        assert file[of].attrs["title"] == "all" and file["group/data"].shape == X.shape


def test_a_file_that_has_changed_meanwhile_stays(others):
    def change(done, total):
        with h5py.File("y.h5", "a") as file:
            file["late"] = np.arange(1000.0)

    with pytest.raises(FileExistsError, match="has changed since the run began.*array.h5.*as it is"):
        cornerturn.rechunk("x.npy", "y.h5::data", overwrite=True, progress=change)
    with h5py.File("y.h5") as file:
        assert (file["late"][...] == np.arange(1000)).all() and file["data"].shape == (2, 2)
    with h5py.File("y.h5.partial/array.h5") as file:
        np.testing.assert_array_equal(file["data"][...], X)
    cornerturn.rechunk("x.npy", "y.h5::data", overwrite=True)
    with h5py.File("y.h5") as file:
        assert "late" in file and file["data"].shape == X.shape


def test_a_file_that_has_changed_in_place_stays(others):
    """Its name, its inode and its size are the same."""

    def change(done, total):
        found = os.stat("y.h5")
        with h5py.File("y.h5", "a") as file:
            file["group/other"][...] = 9
        os.utime("y.h5", ns=(found.st_atime_ns, found.st_mtime_ns + 1))
        assert os.stat("y.h5").st_size == found.st_size

    with pytest.raises(FileExistsError, match="has changed since the run began"):
        cornerturn.rechunk("x.npy", "y.h5::data", overwrite=True, progress=change)
    with h5py.File("y.h5") as file:
        assert (file["group/other"][...] == 9).all() and file["data"].shape == (2, 2)


def test_a_file_that_changes_while_it_is_copied_stays(others, monkeypatch):
    copy, before = shutil.copy2, Path("y.h5").read_bytes()

    def copied(source, target):
        copy(source, target)
        with open(source, "ab") as file:
            file.write(b"late")

    monkeypatch.setattr(shutil, "copy2", copied)
    with pytest.raises(FileExistsError, match="has changed while it was copied"):
        cornerturn.rechunk("x.npy", "y.h5::data", overwrite=True)
    assert Path("y.h5").read_bytes() == before + b"late" and not os.path.exists("y.h5.partial")


def test_a_file_that_is_open_for_writing_stays(others):
    with h5py.File("y.h5", "a"):
        before = Path("y.h5").read_bytes()
        with pytest.raises(FileExistsError, match="is open for writing:"):
            cornerturn.rechunk("x.npy", "y.h5::data", overwrite=True)
        assert Path("y.h5").read_bytes() == before and not os.path.exists("y.h5.partial")


@pytest.mark.parametrize("make", [folder_with, text, lambda path: os.symlink("x.npy", path), group])
@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize("target", ["y.npy", "y.h5", "y.zarr"])
def test_what_appears_meanwhile_stays(here, monkeypatch, target, make, overwrite):
    monkeypatch.setattr(unnamed, "MOST", dict.fromkeys(unnamed.MOST, -1))  # with a record
    def appear(done, total):
        make(target)
        seen.append({path: what for path, what in everything(here).items() if not path.startswith(f"{target}.partial")})

    seen = []
    with pytest.raises(FileExistsError, match=f"the new array is whole, in '.*{target}.partial/array"):
        cornerturn.rechunk("x.npy", target, overwrite=overwrite, progress=appear)
    after = {path: what for path, what in everything(here).items() if not path.startswith(f"{target}.partial")}
    assert after == seen[0]
    shutil.rmtree(target) if os.path.isdir(target) else os.unlink(target)
    cornerturn.rechunk("x.npy", target, resume=True)
    assert sorted(os.listdir(".")) == sorted(["x.npy", target])


@pytest.mark.parametrize("target", ["y.npy", "y.h5", "y.zarr"])
def test_where_names_cannot_be_exchanged(here, monkeypatch, target):
    monkeypatch.setattr(renaming, "_renameat2", lambda old, new, flags: False)
    for axes in ((0, 1), (1, 0)):
        cornerturn.rechunk("x.npy", target, axes=axes, overwrite=True)
        cornerturn.rechunk(target, "z.npy", overwrite=True)
        np.testing.assert_array_equal(np.load("z.npy"), X.transpose(axes))
    assert sorted(os.listdir(".")) == ["x.npy", target, "z.npy"]


def test_other_names_of_a_file_keep_what_it_was(here):
    np.save("y.npy", X + 1)
    os.link("y.npy", "z.npy")
    cornerturn.rechunk("x.npy", "y.npy", overwrite=True)
    np.testing.assert_array_equal(np.load("y.npy"), X)
    np.testing.assert_array_equal(np.load("z.npy"), X + 1)


def test_the_command_says_it_in_one_line(here, capsys):
    folder_with("y.zarr")
    before = everything(here)
    assert command.main(["x.npy", "y.zarr", "--overwrite", "--quiet"]) == 2
    assert capsys.readouterr().err == (
        "cornerturn: target = 'y.zarr' is a folder and no zarr array: --overwrite replaces an array of zarr alone\n"
    )
    assert command.main(["x.npy", ".", "--overwrite", "--quiet"]) == 2
    assert "does not end in a name of its own" in capsys.readouterr().err
    assert everything(here) == before
