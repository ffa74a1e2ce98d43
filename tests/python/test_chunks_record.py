"""cornerturn.rechunk, killed at every call that changes the file system, run twice at once, with damaged records."""

import json
import os
import shutil
import signal
import sys
import traceback
from pathlib import Path

import pytest

zarr = pytest.importorskip("zarr", minversion="3")
pytest.importorskip("h5py")

from chunk_runs import (  # noqa: E402, F401
    TARGETS, ended, here, interrupted, make_old, many_tasks, quick, run, what_is_there,
)
from cornerturn._chunks import record, renaming, targets  # noqa: E402
from cornerturn._chunks.place import place_of  # noqa: E402

CHANGING = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.link", "os.symlink", "shutil.rmtree"}


def killed_at(number, call):
    """Does `call` in a child, which is killed at its call with this number that changes the file system.

    True where the child was killed, False where it came to its end before that."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return True
        assert os.waitstatus_to_exitcode(status) == 0
        return False
    left = number

    def step():
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event, arguments):
        writes = event == "open" and arguments[2] is not None and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes or event in CHANGING:
            step()

    def before(real):  # calls that are not announced
        def called(*arguments):
            step()
            return real(*arguments)

        return called

    try:
        os.fsync, os.write = before(lambda file: None), before(os.write)
        targets.Hdf5Target.create = before(targets.Hdf5Target.create)
        targets.Hdf5Target.write = before(targets.Hdf5Target.write)
        record.Record.finish_task = before(record.Record.finish_task)
        sys.addaudithook(hook)
        call()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def few(target):
    """Options of a run with few chunks."""
    return {} if target.endswith("npy") else dict(chunks=(5, 12))


def clean():
    for name in os.listdir("."):
        if name != "x.npy":
            shutil.rmtree(name) if os.path.isdir(name) else os.unlink(name)


@pytest.mark.parametrize(
    ("target", "old", "exchange", "stride"),
    [("y.npy", False, True, 3), ("y.npy", True, True, 1), ("y.h5::g/t", True, True, 1), ("y.h5", False, True, 5),
     ("y.zarr", True, False, 3), ("y.zarr::g/t", False, True, 5), ("y.zarr::g/t", True, True, 1)],
)
def test_killed_at_every_call(here, monkeypatch, target, old, exchange, stride):
    """The old or the new array is there at every moment, and a run that resumes ends it."""
    if not exchange:
        monkeypatch.setattr(renaming, "_renameat2", lambda *_: False)
    seen = []
    if old:
        make_old(target)
        Path("had_others").touch()
    before = here.with_name(f"{here.name}-before")
    shutil.copytree(here, before)
    for number in range(0, 300, stride):
        clean()
        shutil.copytree(before, here, dirs_exist_ok=True)
        if not killed_at(number, lambda: run(target, overwrite=old, **few(target))):
            break
        seen.append(what_is_there(target))
        if exchange or not old:
            assert seen[-1] in (("old", "new") if old else (None, "new"))
        try:
            run(target, resume=True, **few(target))
        except FileExistsError as error:
            assert "exists: overwrite=True replaces it" in str(error)  # nothing was begun, or all was done
        else:
            assert what_is_there(target) == "new"
        if what_is_there(target) != "new":
            assert seen[-1] == "old" and not os.path.exists(place_of(target).folder)
            run(target, overwrite=old)
        assert what_is_there(target) == "new"
        assert set(os.listdir(".")) - {"had_others"} == {"x.npy", target.partition("::")[0]}
    assert number == len(seen) * stride > 15 and seen[0] == ("old" if old else None) and seen[-1] == "new"


@pytest.mark.parametrize("target", ["y.npy", "y.h5::g/t", "y.zarr::g/t"])
def test_killed_when_it_resumes_and_when_it_begins_anew(here, target):
    for number in range(0, 300, 13):
        clean()
        make_old(target)
        if not killed_at(number, lambda: run(target, overwrite=True)):
            break
        for again in (5, 11, 23):
            resume = again != 11
            killed_at(again, lambda: run(target, overwrite=True, resume=resume))  # noqa: B023
            assert what_is_there(target) in ("old", "new")
        run(target, overwrite=True)
        assert what_is_there(target) == "new"
        assert sorted(os.listdir(".")) == ["x.npy", target.partition("::")[0]]
    assert number >= 13


@pytest.mark.parametrize("step", ["_remove_pieces", "_remove_array", "remove"])
@pytest.mark.parametrize("target", ["y.npy", "y.h5::g/t", "y.zarr::g/t"])
def test_ended_while_an_earlier_run_is_removed(here, many_tasks, monkeypatch, target, step):
    """The array of the earlier run is there in part, or its list of tasks is: neither is followed."""
    make_old(target)
    interrupted(target, overwrite=True)
    real = getattr(record.Record, step)
    monkeypatch.setattr(record.Record, step, lambda self, *given: (real(self, *given[:1]), ended()))
    with pytest.raises(KeyboardInterrupt):
        run(target, overwrite=True)
    monkeypatch.setattr(record.Record, step, real)
    assert what_is_there(target) == "old"
    run(target, resume=True, overwrite=True)
    assert what_is_there(target) == "new" and not os.path.exists(place_of(target).folder)


@pytest.mark.parametrize("exchange", [True, False])
@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("target", TARGETS)
def test_ended_when_the_array_has_its_name(here, monkeypatch, target, old, exchange):
    """And its record does not say so yet: it is the new array that stays."""
    if old:
        make_old(target)
    if not exchange:
        monkeypatch.setattr(renaming, "_renameat2", lambda *_: False)
    real = record.Record._go_on
    monkeypatch.setattr(record.Record, "_go_on", lambda self, step: ended() if step == record.PLACED else real(self, step))
    with pytest.raises(KeyboardInterrupt):
        run(target, overwrite=old)
    assert what_is_there(target) == "new"
    monkeypatch.setattr(record.Record, "_go_on", real)
    run(target, resume=True)
    assert what_is_there(target) == "new" and not os.path.exists(place_of(target).folder)


@pytest.mark.parametrize("target", ["y.npy", "y.h5", "y.zarr"])
def test_ended_when_the_array_is_there_in_part(here, monkeypatch, target):
    interrupted(target)
    found = record.Record(place_of(target))
    with found.locked():
        found.remove("done")
        found._go_on(record.CREATING)
    run(target, resume=True)
    assert what_is_there(target) == "new" and not os.path.exists(place_of(target).folder)


@pytest.mark.parametrize("target", TARGETS)
def test_an_array_is_on_the_disk_before_an_older_one_goes(here, monkeypatch, target):
    make_old(target)
    synced = []
    for name in ("sync_file", "sync_all"):
        monkeypatch.setattr(record, name, lambda path, name=name: synced.append((name, path, what_is_there(target))))
    run(target, overwrite=True)
    array = record.Record(place_of(target)).array
    assert ("sync_all" if "zarr" in target else "sync_file", array, "old") in synced


class Waiting:
    """A run in a child, which waits when its first task is done until it is told to go on."""

    def __init__(self, target, **more):
        told, self.go = os.pipe()
        here, there = os.pipe()
        self.child = os.fork()
        if not self.child:
            try:
                os.close(self.go)
                os.close(here)
                run(target, progress=lambda *_: (os.write(there, b"1"), os.read(told, 1)), **more)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        os.close(told)
        os.close(there)
        assert os.read(here, 1) == b"1"
        os.close(here)

    def end(self):
        os.close(self.go)
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])

    def kill(self):
        os.kill(self.child, signal.SIGKILL)
        return self.end()


def test_a_lock_that_is_no_longer_the_folders_is_not_enough(here, monkeypatch):
    """While a run waits another one ends, removes the folder, and a third begins."""
    found, real, locked = record.Record(place_of("y.zarr")), record.replacing.lock, []

    def lock(file, how):
        if not locked:
            shutil.rmtree(found.folder)
            os.mkdir(found.folder)
            Path(found.folder, "lock").touch()
        locked.append(os.fstat(file).st_ino)
        real(file, how)

    monkeypatch.setattr(record.replacing, "lock", lock)
    with found.locked():
        assert len(locked) == 2 and locked[1] == os.stat(f"{found.folder}/lock").st_ino != locked[0]
    assert not os.path.exists(found.folder)


@pytest.mark.parametrize("target", TARGETS)
def test_one_run_at_a_time(here, target):
    first = Waiting(target)
    folder = place_of(target).folder
    before = sorted(os.listdir(folder))
    os.symlink(".", "again")
    for name in (target, f"again/{target}"):
        for more in (dict(overwrite=True), dict(resume=True), {}, dict(resume=True, overwrite=True)):
            with pytest.raises(FileExistsError, match=f"target = '{name}' is being written by another run") as error:
                run(name, **more)
            assert "\n" not in str(error.value) and sorted(os.listdir(folder)) == before
    assert first.end() == 0 and what_is_there(target) == "new"
    second = Waiting(target, overwrite=True)
    assert second.kill() == -signal.SIGKILL
    run(target, resume=True)  # the lock of a run that was killed is nobody's
    assert what_is_there(target) == "new" and not os.path.exists(folder)


@pytest.mark.parametrize("target", ["y.npy", "y.h5::g/t", "y.zarr::g/t"])
def test_a_damaged_record_is_refused_by_name(here, many_tasks, target):
    make_old(target)
    interrupted(target, overwrite=True)
    folder = Path(place_of(target).folder)
    whole = {name: (folder / name).read_bytes() for name in ("record.json", "done")}
    array = next(folder.glob("array*"))
    for name, text in whole.items():
        cut = [text[:n] for n in range(0, len(text), max(len(text) // 12, 1))]
        places = range(0, len(text), max(len(text) // 60, 1))
        flipped = [bytes([*text[:n], text[n] ^ 1 << n % 8, *text[n + 1 :]]) for n in places]
        for damaged in [*cut, *flipped, b"\0" * len(text), b"{}", b"[]", b'{"check": 1}', text + text]:
            (folder / name).write_bytes(damaged)
            same = name == "record.json" and _same_json(damaged, text)
            cut_off = name == "done" and (text + text).startswith(damaged[: damaged.rfind(b"\n") + 1])
            if same or cut_off:
                continue
            with pytest.raises(ValueError, match=rf"\.partial' has a damaged .*'{name}'") as error:
                run(target, resume=True)
            assert "\n" not in str(error.value) and what_is_there(target) == "old" and array.exists()
            if name == "record.json":
                with pytest.raises(ValueError, match="damaged record"):
                    run(target, overwrite=True)
            assert what_is_there(target) == "old" and array.exists()
        (folder / name).write_bytes(text)
    run(target, resume=True)
    assert what_is_there(target) == "new" and not folder.exists()


def _same_json(a, b):
    try:
        return json.loads(a) == json.loads(b)
    except ValueError:
        return False


def test_tasks_that_are_none_are_refused(here, many_tasks):
    interrupted("y.zarr")
    found = record.Record(place_of("y.zarr"))
    with found.locked():
        stages = found.what["plan"]["stages"]
    for task in ((0, stages[0]["tasks"]), (len(stages), 0), (0, 99), (7, 0)):
        with found.locked():
            found.finish_task(*task)
        with pytest.raises(ValueError, match="damaged list 'done'"):
            run("y.zarr", resume=True)
        done = Path("y.zarr.partial/done")
        done.write_bytes(b"".join(done.read_bytes().splitlines(keepends=True)[:-1]))
    run("y.zarr", resume=True)
    assert what_is_there("y.zarr") == "new"


def test_a_record_of_another_run_is_not_followed(here, many_tasks):
    """What an earlier run has done is not taken for what this one has done."""
    interrupted("y.zarr", at=2)
    before = Path("y.zarr.partial/done").read_bytes()
    interrupted("y.zarr", at=1, overwrite=True)
    Path("y.zarr.partial/done").write_bytes(before)
    with pytest.raises(ValueError, match="damaged list 'done'"):
        run("y.zarr", resume=True)


def test_a_line_that_was_cut_off_ends_before_the_next_one(here, many_tasks):
    interrupted("y.zarr", at=2)
    done = Path("y.zarr.partial/done")
    whole = done.read_bytes()
    for _ in range(2):
        done.write_bytes(done.read_bytes()[:-3])
        interrupted("y.zarr", at=1, resume=True)
        assert done.read_bytes().startswith(whole[: whole.index(b"\n") + 1])
    run("y.zarr", resume=True)
    assert what_is_there("y.zarr") == "new"


def test_records_of_another_user_are_not_followed(here, monkeypatch):
    interrupted("y.zarr")
    before = sorted(os.listdir("y.zarr.partial"))
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    for more in (dict(resume=True), dict(overwrite=True)):
        with pytest.raises(ValueError, match="belongs to another user"):
            run("y.zarr", **more)
    assert sorted(os.listdir("y.zarr.partial")) == before


@pytest.mark.parametrize("name", ["mine", "old.zarr", "pieces.raw"])
@pytest.mark.parametrize("step", ["begun", "placing"])
def test_what_others_put_into_the_folder_stays(here, monkeypatch, name, step):
    if step == "placing":
        monkeypatch.setattr(record.Record, "_place", ended)
        with pytest.raises(KeyboardInterrupt):
            run("y.zarr")
        monkeypatch.undo()
        os.chdir(here)
    else:
        interrupted("y.zarr")
    Path("y.zarr.partial", name).write_text("mine")
    for more in (dict(resume=True), dict(overwrite=True)):
        with pytest.raises(ValueError, match=f"holds '{name}', which is no part of an interrupted run"):
            run("y.zarr", **more)
    assert Path("y.zarr.partial", name).read_text() == "mine"
    os.unlink(f"y.zarr.partial/{name}")
    Path("y.zarr.partial/array.zarr/c", name).write_text("mine")
    if step == "begun":
        for more in (dict(resume=True), dict(overwrite=True)):
            with pytest.raises(ValueError, match=f"{name}' is no part of a zarr array"):
                run("y.zarr", **more)
    else:
        run("y.zarr", resume=True)
    found = [path for path in Path().rglob(name)]
    assert len(found) == 1 and found[0].read_text() == "mine"


def test_what_others_put_beside_intermediate_files_stays(here):
    interrupted("y.zarr")
    folder = Path("y.zarr.partial/pieces/0")
    folder.mkdir(parents=True)
    for name in ("7.raw", "7.raw.12.34", "7.raw.mine", "7.rawer", "mine.raw"):
        (folder / name).write_text("x")
    others = ["7.raw.mine", "7.rawer", "mine.raw"]
    with pytest.raises(OSError, match="not empty.*pieces/0"):
        run("y.zarr", resume=True)
    assert what_is_there("y.zarr") == "new" and sorted(os.listdir(folder)) == others
    for name in others:
        os.unlink(folder / name)
    run("y.zarr", resume=True)
    assert not os.path.exists("y.zarr.partial")


def test_chunks_that_were_begun_are_not_in_the_result(here):
    interrupted("y.zarr", at=1)
    Path("y.zarr.partial/array.zarr/c/0").mkdir(parents=True, exist_ok=True)
    for name in ("0.12.34.partial", "7.12.34.partial"):
        Path("y.zarr.partial/array.zarr/c/0", name).write_text("begun")
    run("y.zarr", resume=True)
    assert what_is_there("y.zarr") == "new" and not list(Path("y.zarr").rglob("*.partial"))


def test_an_array_that_has_appeared_meanwhile_stays(here):
    for target in ("y.npy", "y.zarr", "y.h5"):
        with pytest.raises(FileExistsError, match="overwrite=True.*the new array is whole, in"):
            run(target, progress=lambda *_, target=target: make_old(target))
        assert what_is_there(target) == "old"
        if target != "y.h5":
            run(target, resume=True, overwrite=True)
            assert what_is_there(target) == "new"


@pytest.mark.parametrize("target", ["y.npy", "y.zarr"])
def test_what_appears_before_the_run_that_was_ended_resumes_stays(here, monkeypatch, target):
    """The record says already that the array gets its name."""
    real = record.Record._place
    monkeypatch.setattr(record.Record, "_place", ended)
    with pytest.raises(KeyboardInterrupt):
        run(target)
    monkeypatch.setattr(record.Record, "_place", real)
    make_old(target)
    with pytest.raises(FileExistsError, match="exists: overwrite=True replaces it; the new array is whole, in"):
        run(target, resume=True)
    assert what_is_there(target) == "old"
    shutil.rmtree(target) if os.path.isdir(target) else os.unlink(target)
    Path(target).write_text("mine")
    with pytest.raises(FileExistsError, match="alone; the new array is whole, in"):
        run(target, resume=True, overwrite=True)
    assert Path(target).read_text() == "mine"


@pytest.mark.parametrize("exchange", [True, False])
@pytest.mark.parametrize("target", ["y.npy", "y.zarr", "y.zarr::t"])
def test_what_appears_at_the_last_moment_stays(here, monkeypatch, target, exchange):
    """Between the look at the target and the call that gives the array its name."""
    path = place_of(target).path

    def appear(*_):
        Path(path).write_text("mine") if target == "y.npy" else os.makedirs(path)

    monkeypatch.setattr(record.groups, "make_missing", appear)
    if not exchange:
        monkeypatch.setattr(renaming, "_renameat2", lambda *_: False)
    with pytest.raises(FileExistsError):
        run(target)
    assert Path(path).read_text() == "mine" if target == "y.npy" else os.listdir(path) == []
    monkeypatch.undo()
    os.chdir(here)
    os.unlink(path) if target == "y.npy" else os.rmdir(path)
    if target.endswith("::t"):
        shutil.rmtree("y.zarr")
    run(target, resume=True)
    assert what_is_there(target) == "new"
