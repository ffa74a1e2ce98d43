"""`rechunk` on a disk that is full before it is done: the target is the older one or is not there, and with
more room the same call finishes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("zarr", minversion="3")
pytest.importorskip("h5py")

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from small_disk import PAGE, why_none  # noqa: E402

# One process for all of them: the disk, which only it sees, is emptied and given another size.
RUN = """
import errno, json, os, shutil, subprocess, sys
import h5py, numpy as np, zarr
import cornerturn
from cornerturn._chunks import job, planning, sources, targets

DISK, PAGE = sys.argv[1], int(sys.argv[2])
MORE = dict(axes=(2, 0, 1), threads=1)
X = np.random.default_rng(1).random((64, 48, 32), "f4")
OLD = np.arange(8.0)


def room(pages):
    subprocess.run(["mount", "-o", f"remount,size={pages * PAGE}", DISK], check=True)


def used():
    space = os.statvfs(DISK)
    return (space.f_blocks - space.f_bfree) * space.f_frsize // PAGE


def load(target):
    if target.endswith(".npy"):
        return np.load(target)
    if target.endswith(".zarr"):
        return zarr.open_array(target, mode="r")[...]
    with h5py.File(target) as file:
        return file["data"][...]


def make_old(target):
    if target.endswith(".npy"):
        np.save(target, OLD)
    elif target.endswith(".zarr"):
        zarr.create_array(target, data=OLD)
    else:
        with h5py.File(target, "w") as file:
            file["data"] = OLD


def with_a_workspace():
    planning._LEAST = planning._TASK = 0
    job._memory = lambda memory, client: 40000
    sources.ZarrSource.overhead = targets.Target.overhead = property(lambda self: 0)


def once(source, target, more, stages, overwrite, pages):
    room(10000)
    for name in os.listdir("."):
        shutil.rmtree(name) if os.path.isdir(name) else os.unlink(name)
    if source.endswith(".npy"):
        np.save(source, X)
    else:
        zarr.create_array(source, data=X, chunks=(1, 48, 32), compressors=None)
    if overwrite:
        make_old(target)
    assert len(cornerturn.rechunk(source, target, overwrite=overwrite, dry_run=True, **MORE, **more).stages) == stages
    room(used() + pages)
    try:
        cornerturn.rechunk(source, target, overwrite=overwrite, **MORE, **more)
    except OSError as error:
        assert error.errno == errno.ENOSPC or "No space" in str(error), repr(error)
        assert os.path.exists(target) == overwrite and (not overwrite or np.array_equal(load(target), OLD))
        room(10000)
        cornerturn.rechunk(source, target, overwrite=overwrite, resume=True, **MORE, **more)
        full = True
    else:
        full = False
    np.testing.assert_array_equal(load(target), X.transpose(2, 0, 1))
    assert sorted(os.listdir(".")) == sorted([source, target]), os.listdir(".")
    return full


os.chdir(DISK)
report = []
for source, target, more, stages in json.loads(sys.argv[3]):
    if stages == 2:
        with_a_workspace()
    for overwrite in (False, True):
        full = [once(source, target, more, stages, overwrite, pages) for pages in (0, 40, 4000)]
        report.append([target, overwrite, full])
print(json.dumps(report))
"""

CHUNKS = dict(chunks=(32, 8, 48))
# From what to what, how, and in how many stages: between two there is a workspace.
CASES = [
    ("x.npy", "y.npy", {}, 1),
    ("x.zarr", "y.npy", {}, 1),
    ("x.npy", "y.h5", CHUNKS, 1),
    ("x.npy", "y.zarr", CHUNKS | {"codec": "none"}, 1),
    ("x.zarr", "y.zarr", dict(chunks=(1, 64, 48), codec="none"), 2),
]


@pytest.mark.skipif(bool(why_none()), reason=str(why_none()))
def test_rechunk_on_a_full_disk(tmp_path):
    words = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs none "$1" && exec "$2" -c "$3" "$1" "$4" "$5"', "sh"]
    done = subprocess.run(
        [*words, str(tmp_path), sys.executable, RUN, str(PAGE), json.dumps(CASES)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for target, overwrite, full in json.loads(done.stdout):
        assert full[0] and not full[-1], (target, overwrite, full)
