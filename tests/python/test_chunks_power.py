"""cornerturn.rechunk without power: after a loss at any moment the old or the new array is there, whole, and the next
run ends the work. CORNERTURN_STATES=5000 looks at so many states of each target."""

import itertools
import os
import random
from pathlib import Path
from types import SimpleNamespace

import pytest

zarr = pytest.importorskip("zarr", minversion="3")
pytest.importorskip("h5py")

from chunk_runs import here, make_old, many_tasks, run, what_is_there  # noqa: E402, F401
from power_loss import Inodes, Recording, empty  # noqa: E402

from cornerturn._chunks import record, renaming, replacing, runners, targets, unnamed  # noqa: E402
from cornerturn._chunks.place import place_of  # noqa: E402

STATES = int(os.environ.get("CORNERTURN_STATES", "40"))
KEPT = ("x.npy", "had_others")


class Machine:
    """What runs here may lose its power."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.boots = str(folder), 0
        self.inodes = Inodes()
        self.recording = None
        monkeypatch.setattr(runners, "_MOST_HANDS", 1)
        # What is done is synced after the third of four tasks.
        monkeypatch.setattr(record, "time", SimpleNamespace(monotonic=itertools.count().__next__))
        monkeypatch.setattr(record, "_EVERY", 3)
        monkeypatch.setattr(record, "boot", lambda: f"boot {self.boots}")
        monkeypatch.setattr(replacing, "identity", self.identity)
        monkeypatch.setattr(os, "fsync", lambda file: self.recording and self.recording.fsync(file))
        for module in (record, renaming):
            monkeypatch.setattr(module, "sync_all", lambda path: self.recording and self.recording.look(None))
        # HDF5 writes to files without a word to Python, and files that are open are written without one.
        for kind, name in [(targets.Hdf5Target, "create"), (targets.Hdf5Target, "write"), (record.Record, "_write_line")]:
            real = getattr(kind, name)
            monkeypatch.setattr(kind, name, lambda *given, real=real: (real(*given), self.look()))

    def look(self):
        if self.recording:
            self.recording.look()

    def identity(self, path, real=replacing.identity):
        found = real(path)
        inodes = self.recording.inodes if self.recording else self.inodes
        return found and [inodes.known(path), *found[1:]]

    def record(self, call):
        with Recording(self.folder, KEPT).lasting() as self.recording:
            call()
        found, self.recording = self.recording, None
        return found

    def lose_power(self, tree):
        self.inodes.close()
        self.inodes = Inodes()
        self.boots += 1
        empty(self.folder, KEPT)
        tree.write(self.folder, self.inodes)


@pytest.fixture
def machine(here, monkeypatch):
    made = Machine(here, monkeypatch)
    yield made
    made.inodes.close()


def states(recording, number, seed):
    """Different ones: of all moments, in a random order, one after the other."""
    chosen, seen, moments = random.Random(seed), set(), list(recording.moments())
    chosen.shuffle(moments)
    for again in range(number):
        for moment in moments:
            disk = recording.disk(moment)
            tree = disk.all_names_and_no_data() if again == 0 else disk.random_state(chosen)
            if tree.key() not in seen:
                seen.add(tree.key())
                yield moment, tree
            if len(seen) == number:
                return


def whole(target, old):
    found = what_is_there(target)
    assert found in (("old", "new") if old else (None, "new"))
    root = target.partition("::")[0]
    if root.endswith("zarr") and "::" in target and os.path.exists(root):
        group = zarr.open_group(root, mode="r")
        for name in group:
            assert group[name] is not None
    return found


@pytest.mark.parametrize(
    ("target", "old", "recorded"),
    [("y.npy", True, True), ("y.npy", False, True), ("y.npy", True, False), ("y.npy", False, False), ("y.h5::g/t", True, True),
     ("y.h5", False, True), ("y.h5", False, False), ("y.zarr", True, True), ("y.zarr", False, True), ("y.zarr::g/t", True, True),
     ("y.zarr::g/t", False, True)],
)
def test_power_is_lost_at_any_moment(machine, many_tasks, monkeypatch, target, old, recorded):
    if recorded:  # small files have no record else
        monkeypatch.setattr(unnamed, "MOST", dict.fromkeys(unnamed.MOST, -1))
    if old:
        make_old(target)
    options = {} if target.endswith("npy") else dict(chunks=(10, 3))
    recording = machine.record(lambda: run(target, overwrite=old, **options))
    assert what_is_there(target) == "new"
    if old and "::" in target:
        Path("had_others").touch()
    seen = []
    for moment, tree in states(recording, STATES, f"{target} {old}"):
        machine.lose_power(tree)
        told = f"moment {moment} of {len(recording.steps)}"
        try:
            seen.append(whole(target, old))
            try:
                run(target, resume=True, **options)
            except FileExistsError as error:
                assert "exists: overwrite=True replaces it" in str(error)  # nothing was begun, or all was done
                assert not os.path.exists(place_of(target).folder)
            else:
                assert whole(target, old) == "new"
            if what_is_there(target) != "new":
                run(target, overwrite=old, **options)
            assert whole(target, old) == "new"
            assert set(os.listdir(".")) - {"had_others"} == {"x.npy", target.partition("::")[0]}
        except BaseException as error:
            raise AssertionError(f"{told}: {type(error).__name__}: {error}") from error
    assert set(seen) == {"old" if old else None, "new"}


def test_the_list_says_what_is_on_the_disk_when_it_is(here, many_tasks, monkeypatch):
    seen = []
    monkeypatch.setattr(record, "_EVERY", 0)
    monkeypatch.setattr(record, "sync_all", lambda path: seen.append(Path("y.zarr.partial/done").read_bytes().split(b"\n")))
    run("y.zarr", chunks=(10, 3))
    # A task, then the sync, then the line that says so; and once more before the array gets its name.
    assert [len(lines) - 1 for lines in seen] == [1, 3, 5, 7, 8]
    assert [line.startswith(b"-1 ") for line in seen[-1][:-1]] == [False, True] * 4
