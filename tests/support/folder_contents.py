"""For the tests of what is replaced and what stays: a folder to work in, what may lie there, and all of it at a time."""

import os
from pathlib import Path

import numpy as np
import pytest

X = np.arange(12 * 10, dtype="f4").reshape(12, 10)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, with x.npy in it and something beside it."""
    folder = tmp_path / "above" / "work"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    np.save("x.npy", X)
    text(folder.parent / "mine")
    return folder


def everything(folder):
    """All names below a folder, with what they hold."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = "to", os.readlink(path)
        elif path.is_file():
            found[name] = "file", path.read_bytes(), path.stat().st_ino
        else:
            found[name] = "folder" if path.is_dir() else "other", path.stat().st_ino
    return found


def text(path):
    Path(path).write_text("mine")


def folder_with(path, name="mine"):
    Path(path).mkdir()
    text(Path(path) / name)


def empty_group(path):
    """What a zarr group looks like."""
    folder_with(path)
    (Path(path) / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')


def link_to_folder(path):
    folder_with("folder")
    os.symlink("folder", path)


# What may have the name of a file and is none.
FOLDERS = {
    "folder": folder_with, "empty folder": os.mkdir, "group": empty_group, "link to a folder": link_to_folder,
    "link to nowhere": lambda path: os.symlink("no/such/folder", path),
    "link to itself": lambda path: os.symlink(path, path),
}  # fmt: skip
