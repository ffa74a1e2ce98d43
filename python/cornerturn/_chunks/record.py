"""The folder beside a target that is not whole yet: the target itself, and what is done of it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from typing import Any


class Record:
    """`TARGET.partial`: record.json says what is being made, `done` has a line for each finished task."""

    def __init__(self, target: str):
        self.final = target
        self.folder = target + ".partial"
        self.array = os.path.join(self.folder, "array" + os.path.splitext(target)[1])
        self.pieces = os.path.join(self.folder, "pieces")
        self._done: Any = None

    def exists(self) -> bool:
        return os.path.exists(self.folder)

    def begin(self, what: dict[str, Any]) -> None:
        os.makedirs(self.folder)
        self._write("record.json", json.dumps(what, indent=1))

    def _write(self, name: str, text: str) -> None:
        path = os.path.join(self.folder, name)
        with open(path + ".new", "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".new", path)

    def read(self) -> dict[str, Any]:
        try:
            with open(os.path.join(self.folder, "record.json")) as file:
                return json.load(file)
        except (OSError, ValueError):
            raise ValueError(f"target: {self.folder!r} has no record of an interrupted run: overwrite=True") from None

    def done(self) -> set[tuple[int, int]]:
        """The finished tasks, by stage and number. A line that was cut off does not count."""
        found = set()
        with contextlib.suppress(FileNotFoundError), open(os.path.join(self.folder, "done")) as file:
            for line in file:
                words = line.split()
                if line.endswith("\n") and len(words) == 2:
                    found.add((int(words[0]), int(words[1])))
        return found

    def finish_task(self, stage: int, number: int) -> None:
        if self._done is None:
            path = os.path.join(self.folder, "done")
            self._done = open(path, "a")
            self._done.write("\n")  # ends a line that was cut off
        self._done.write(f"{stage} {number}\n")
        self._done.flush()

    def close(self) -> None:
        if self._done is not None:
            self._done.close()
            self._done = None

    def finish(self, overwrite: bool) -> None:
        """The array gets its name, and nothing else is left."""
        self.close()
        shutil.rmtree(self.pieces, ignore_errors=True)
        if os.path.isfile(self.array):
            with open(self.array, "rb") as file:
                os.fsync(file.fileno())
        if os.path.exists(self.final):
            if not overwrite:
                raise FileExistsError(f"target = {self.final!r} has appeared meanwhile: {self.array!r} is whole")
            old = os.path.join(self.folder, "old")
            os.replace(self.final, old)
        os.replace(self.array, self.final)
        shutil.rmtree(self.folder)

    def discard(self) -> None:
        self.close()
        if self.exists():
            shutil.rmtree(self.folder)
