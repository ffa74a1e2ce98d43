"""The folder beside a target that is not whole yet: the target itself, and what is done of it.

A run may be killed at any moment, and the folder may be damaged, another user's, or no folder of ours at all.
So one run at a time has it locked; what it holds is followed only where it is whole; and what is removed has a
name that is given to it here. The power may fail too: names and bytes that are not synced are then there or not, each
by itself. So what a step of the record relies on is on the disk before the record says so.

    lock           is held while a run works here
    record.json    what is being made, and the step that the work has reached; it is replaced as a whole
    placing        a small array without a record, whole, that is about to get its name
    done           a line for each finished task, and one where all before it is on the disk
    array.SUFFIX   what is made
    pieces         intermediate files
    old            the array that was replaced, until it is removed
    group          a group that is made for the array
    zarr.json      new metadata of a group that holds it
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import stat
import time
import zlib
from collections.abc import Iterator
from typing import Any

from cornerturn._chunks import array_folder, groups, replacing
from cornerturn._chunks.array_folder import Foreign
from cornerturn._chunks.place import Place
from cornerturn._chunks.renaming import exchange, rename_new, sync_all, sync_file, sync_folder, sync_tree

_PROGRAM = "cornerturn rechunk"
_MOST = 64 << 20  # bytes of a record
_EVERY = 60.0  # seconds after which what is done is brought to the disk
_ON_DISK = (-1, 0)  # in the list of finished tasks: all before is on the disk

# The steps of a run. The array is begun; tasks write to it; it is given its name; what else is left is removed.
CREATING, WORKING, PLACING, PLACED = "creating", "working", "placing", "placed"
DISCARDING = "discarding"  # all is removed, since another run begins anew


class Record:
    def __init__(self, place: Place):
        self.place, self.final, self.folder = place, place.path, place.folder
        self.array = self._at("array" + os.path.splitext(place.path)[1])
        self.pieces, self.old, self.placing = self._at("pieces"), self._at("old"), self._at("placing")
        self.what: dict[str, Any] = {}
        self.step = ""  # none: nothing is begun
        self._state: dict[str, Any] = {}
        self._lock: int | None = None
        self._done: Any = None
        self._synced = 0.0

    def _at(self, name: str) -> str:
        return os.path.join(self.folder, name)

    # ---- one run at a time ----

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """The folder is there, is ours, and no other run works in it."""
        while self._lock is None:
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.folder)
            with contextlib.suppress(FileNotFoundError):  # another run has removed it meanwhile
                self._require_own()
                self._read()
                self._lock = self._try_lock()
        try:
            self._read()  # nothing changes it any more
            if self.step == DISCARDING:
                self.discard()
            elif self.step in (CREATING, WORKING) and self._state.get("boot") != boot():
                self._keep_what_is_on_the_disk()
            yield
        finally:
            self.close()
            if not self.step:  # nothing is begun, or all is done
                self._remove_folder()
            os.close(self._lock)
            self._lock = None

    def _try_lock(self) -> int | None:
        """None where another run has removed the folder meanwhile."""
        lock = os.open(self._at("lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        with contextlib.ExitStack() as failed:
            failed.callback(os.close, lock)
            try:
                replacing.lock(lock, fcntl.LOCK_EX)
            except BlockingIOError:
                raise FileExistsError(f"target = {self.place.name!r} is being written by another run") from None
            if not os.path.samestat(os.stat(self._at("lock"), follow_symlinks=False), os.fstat(lock)):
                return None
            failed.pop_all()
        return lock

    # ---- is it ours, and is it whole? ----

    def refusal(self, why: str) -> ValueError:
        return ValueError(
            f"target = {self.place.name!r}: {self.folder!r} {why}: it is neither followed nor removed, move it away"
        )

    def _require_own(self) -> None:
        found = os.lstat(self.folder)
        if not stat.S_ISDIR(found.st_mode):
            raise self.refusal("is no folder")
        if found.st_uid != os.geteuid():
            raise self.refusal("belongs to another user")
        names = set(os.listdir(self.folder))
        begun = "record.json" in names
        known = {"lock", "record.json", "record.json.new", "placing"}
        if begun:
            known |= {"done", os.path.basename(self.array), "pieces", "old", "group", "zarr.json"}
        for name in sorted(names - known):
            why = "which is no part of an interrupted run" if begun else "and has no record of an interrupted run"
            raise self.refusal(f"holds {name!r}, {why}")
        for name in {"lock", "record.json", "record.json.new", "placing", "done"} & names:
            found = os.lstat(self._at(name))
            if not stat.S_ISREG(found.st_mode):
                raise self.refusal(f"holds {name!r}, which is no regular file")
            if name == "lock" and found.st_size:
                raise self.refusal("holds 'lock', which is not empty")

    def _read(self) -> None:
        try:
            file = os.open(self._at("record.json"), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            self.step, self.what, self._state = "", {}, {}
            return
        with open(file, "rb") as opened:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                raise self.refusal("has a record of another user, or none")
            try:
                state = json.loads(opened.read(_MOST))
                check = state.pop("check")
                whole = check == _check(state) and state["program"] == _PROGRAM
                self.step, self.what = state["step"], state["what"]
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                whole = False
        if not whole:
            raise self.refusal("has a damaged record 'record.json'")
        self._state = state

    # ---- what is written to it ----

    def begin(self, what: dict[str, Any]) -> None:
        self.what = json.loads(json.dumps(what))
        old = replacing.identity(self.final)
        self._state = dict(program=_PROGRAM, run=os.urandom(8).hex(), boot=boot(), old=old, what=self.what)
        self._go_on(CREATING)

    def _go_on(self, step: str) -> None:
        self._state["step"] = step
        self._write("record.json", json.dumps({**self._state, "check": _check(self._state)}, indent=1))
        self.step = step

    def _write(self, name: str, text: str) -> None:
        path = self._at(name)
        with open(path + ".new", "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".new", path)
        sync_folder(self.folder)

    def create(self, make: Any) -> None:
        """`make()` makes the array. What a run that was killed has begun is removed before."""
        self._remove_array(self.array)
        if self.place.kind == "hdf5":
            replacing.copy_others(self.place, self.array, self._state["old"])
        make()
        sync_tree(self.array)
        self._go_on(WORKING)

    def finish_task(self, stage: int, number: int) -> None:
        if self._done is None:
            self._done = open(self._at("done"), "a+b")
            self._done.truncate(self._whole_lines())
            self._synced = time.monotonic()
        self._write_line(stage, number)
        if time.monotonic() >= self._synced + _EVERY:
            sync_all(self.folder)
            self._write_line(*_ON_DISK)
            self._synced = time.monotonic()

    def _write_line(self, stage: int, number: int) -> None:
        self._done.write(self._line(stage, number))
        self._done.flush()

    def _line(self, stage: int, number: int) -> bytes:
        text = f"{stage} {number}"
        check = zlib.crc32(f"{self._state['run']} {text}".encode())
        return f"{text} {check:08x}\n".encode()

    def _lines(self) -> Iterator[tuple[bytes, tuple[int, int] | None]]:
        """The lines of `done`, and what each says; None where it is not whole."""
        with contextlib.suppress(FileNotFoundError), open(self._at("done"), "rb") as file:
            for line in file.read().splitlines(keepends=True):
                try:
                    stage, number, _ = line.split()
                    task = int(stage), int(number)
                    yield line, task if line == self._line(*task) else None
                except ValueError:
                    yield line, None

    def done(self) -> set[tuple[int, int]]:
        """The finished tasks, by stage and number. A last line that was cut off does not count."""
        found = set()
        for line, task in self._lines():
            if task is not None:
                found.add(task)
            elif line.endswith(b"\n"):
                raise self.refusal("has a damaged list 'done' of what is done")
        return found - {_ON_DISK}

    def _keep_what_is_on_the_disk(self) -> None:
        """The machine has started anew since the run began: tasks count that were on the disk when it said so.

        A file of HDF5 is written in no order in which one may find it half written: it begins anew.
        """
        end = at = 0
        for line, task in self._lines():
            if task is None:
                break
            at += len(line)
            end = at if task == _ON_DISK else end
        with open(self._at("done"), "ab") as file:
            file.truncate(0 if self.place.kind == "hdf5" else end)
            os.fsync(file.fileno())
        self._state["boot"] = boot()
        self._go_on(CREATING if self.place.kind == "hdf5" else self.step)

    def _whole_lines(self) -> int:
        """The bytes of `done` before a line that was cut off."""
        with open(self._at("done"), "rb") as file:
            return file.read().rfind(b"\n") + 1

    def close(self) -> None:
        if self._done is not None:
            self._done.close()
            self._done = None

    # ---- the end ----

    def finish(self) -> None:
        """The array gets its name, and nothing else is left. It goes on where it was killed."""
        self._finish_array()
        self._remove_record()

    def _finish_array(self) -> None:
        self.close()
        overwrite = self.what.get("overwrite", False)
        if self.step == WORKING:
            self._finish_files()
        with groups.locked(self.place):
            if self.step == WORKING:
                self.check_final(overwrite, self._state["old"])
                self._state["new"] = replacing.identity(self.array)
                self._state["consolidated"] = groups.consolidated(self.place)
                self._go_on(PLACING)
            if self.step == PLACING:
                self._place(overwrite)
                sync_folder(os.path.dirname(self.final))
                sync_folder(self.folder)
                groups.consolidate(self._state["consolidated"], self._at("zarr.json"))
                self._go_on(PLACED)
        self._remove_pieces()
        self._remove_array(self.array)
        self._remove_array(self.old)
        groups.remove_begun(self._at("group"))
        self.remove("zarr.json")

    def _finish_files(self) -> None:
        if self.place.kind != "zarr":
            sync_file(self.array)
            return
        self._require_array(self.array)
        array_folder.remove_unfinished(self.array)
        sync_all(self.array)

    def check_final(self, overwrite: bool, old: replacing.Identity | None) -> None:
        """Raises FileExistsError where the target, which `old` was when the run began, is not replaced."""
        kept = self.array if self.step else ""  # without a record nothing keeps what was made
        try:
            replacing.check_present(self.place, overwrite)
        except FileExistsError as error:
            raise FileExistsError(f"{error}; the new array is whole, in {kept!r}" if kept else str(error)) from None
        if self.place.kind == "hdf5" and replacing.identity(self.final) != old:
            where = f", whose result has the other datasets as they were: it is in {kept!r}" if kept else ""
            raise FileExistsError(
                f"target = {self.place.name!r} has changed since the run began{where}, and {self.final!r} is as it is"
            )

    def _place(self, overwrite: bool) -> None:
        new = self._state["new"]
        here = replacing.identity(self.array)
        if here is None or here != new and replacing.identity(self.final) == new:
            return  # a run that was killed then has placed it
        if here != new:
            raise self.refusal("holds another array than the one that was made")
        present = replacing.identity(self.final) is not None
        self.check_final(overwrite, self._state["old"])
        groups.make_missing(self.place, self._at("group"))
        if present and self.place.kind != "zarr":
            os.replace(self.array, self.final)
            return
        if present:
            groups.drop(self._state["consolidated"], self._at("zarr.json"))
            if exchange(self.array, self.final):
                return
            os.rename(self.final, self.old)
        rename_new(self.array, self.final)

    def discard(self) -> None:
        """Nothing of an earlier run is left. One that was giving the array its name has done so first."""
        if self.step in (PLACING, PLACED):
            self._finish_array()
        elif self.step:
            self.close()
            self._require_array(self.array)
            self._go_on(DISCARDING)
            self._remove_pieces()
            self._remove_array(self.array)
        self._remove_record()
        self.what, self._state = {}, {}

    def _remove_record(self) -> None:
        self.remove("done", "record.json.new")
        if self.step:
            sync_folder(self.folder)  # the record goes last
        self.remove("record.json")
        self.step = ""

    def remove(self, *names: str) -> None:
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._at(name))

    def _remove_array(self, path: str) -> None:
        if os.path.lexists(path):
            self._require_array(path)
            array_folder.remove(path) if self.place.kind == "zarr" else os.unlink(path)

    def _require_array(self, path: str) -> None:
        """Nothing that others have put into the folder of the array is removed with it."""
        try:
            for _ in array_folder.contents(path) if self.place.kind == "zarr" and os.path.lexists(path) else ():
                pass
        except Foreign as error:
            raise self.refusal(f"does not hold the array alone ({error})") from None

    def _remove_pieces(self) -> None:
        folders = [self.pieces]
        with contextlib.suppress(FileNotFoundError):
            folders += sorted(os.path.join(self.pieces, name) for name in os.listdir(self.pieces))
        for folder in reversed(folders):
            with contextlib.suppress(FileNotFoundError):
                for name in os.listdir(folder):
                    if re.fullmatch(r"[0-9]+\.raw(\.[0-9]+\.[0-9]+)?", name):
                        os.unlink(os.path.join(folder, name))
                os.rmdir(folder)

    def _remove_folder(self) -> None:
        self.remove("record.json.new", "placing", "lock")  # the lock last: from then on another run may begin here
        with contextlib.suppress(OSError):
            os.rmdir(self.folder)


def boot() -> str:
    """What the system calls the time since it started. Where it says nothing nobody else has started here."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return _process


_process = os.urandom(8).hex()


def _check(state: dict[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(state, sort_keys=True).encode()):08x}"
