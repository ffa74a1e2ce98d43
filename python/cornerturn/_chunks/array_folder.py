"""The folder of a zarr array: what zarr has put there, and nothing else, is removed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

_METADATA = ("zarr.json", ".zarray", ".zattrs")
_MOST = 64 << 20  # bytes of metadata
_NUMBER = r"(?:0|[1-9][0-9]*)"
_UNFINISHED = r"\.[0-9a-f]+(?:\.[0-9]+)?\.partial"  # what a writer that was killed has left of a file


_UNKNOWN_FOLDER = re.compile(rf"c|(?:c/)?{_NUMBER}(?:/{_NUMBER})*")  # where no metadata say how chunks are named
_UNKNOWN_FILE = re.compile(
    rf"(?:zarr(?:\.json)?|\.zarray|\.zattrs|c|(?:c[/.])?{_NUMBER}(?:[/.]{_NUMBER})*)(?:{_UNFINISHED})?"
)


class Foreign(Exception):
    """Something that is not of the kind that is looked for. Its text says what and why."""


def _json(path: str) -> Any:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        with open(file, "rb", closefd=False) as opened:
            return json.loads(opened.read(_MOST))
    except (OSError, ValueError, RecursionError):
        return None
    finally:
        os.close(file)


def node(folder: str) -> tuple[str, int]:
    """"array", "group" or "", and the version of zarr's format."""
    found = _json(os.path.join(folder, "zarr.json"))
    if isinstance(found, dict) and found.get("node_type") in ("array", "group"):
        return found["node_type"], 3
    for name, kind in ((".zarray", "array"), (".zgroup", "group")):
        if isinstance(_json(os.path.join(folder, name)), dict):
            return kind, 2
    return "", 0


class _Names:
    """The names that files and folders of an array may have, below its own folder."""

    def __init__(self, folder: str):
        kind, version = node(folder)
        self.metadata = {3: ("zarr.json",), 2: (".zarray", ".zattrs")}.get(version, ())
        separator, parts = self._parts(folder, version) if kind == "array" else ("/", [])
        if not kind:  # it was never finished, or its removal was not
            self.metadata = _METADATA
            self.file, self.folder = _UNKNOWN_FILE, _UNKNOWN_FOLDER
            return
        whole = [*map(re.escape, self.metadata), *[re.escape(separator).join(parts)] * bool(parts)]
        # A writer puts its own ending in the place of the last one, or behind it.
        begun = [*whole, "zarr", *[re.escape(".").join(parts[:-1])] * (separator == ".")]
        self.file = re.compile(f"{'|'.join(whole)}|(?:{'|'.join(begun)}){_UNFINISHED}")
        above = [separator.join(parts[: n + 1]) for n in range(len(parts) - 1)] if separator == "/" else []
        self.folder = re.compile("|".join(above) or r"(?!)")

    @staticmethod
    def _parts(folder: str, version: int) -> tuple[str, list[str]]:
        try:
            if version == 2:
                found = _json(os.path.join(folder, ".zarray"))
                first, separator = None, found.get("dimension_separator", ".")
            else:
                found = _json(os.path.join(folder, "zarr.json"))
                keys = found["chunk_key_encoding"]
                first = "c" if keys["name"] == "default" else None
                separator = keys.get("configuration", {}).get("separator", "/" if first else ".")
            rank = len(found["shape"])
            if separator not in ("/", "."):
                raise ValueError
        except (KeyError, TypeError, ValueError, AttributeError):
            raise Foreign(f"{folder!r} has metadata that do not say how its chunks are named") from None
        return separator, ([first] if first else []) + [_NUMBER] * rank or ["0"]


def contents(folder: str) -> Iterator[tuple[str, bool]]:
    """The paths of all that is in the folder of an array, what is deeper first and metadata last, and whether
    each is a folder. Raises Foreign where anything else is there."""
    names = _Names(folder)
    last = []

    def below(path: str, before: str) -> Iterator[tuple[str, bool]]:
        with os.scandir(path) as entries:
            for entry in entries:
                name = before + entry.name
                if entry.is_dir(follow_symlinks=False) and names.folder.fullmatch(name):
                    yield from below(entry.path, name + "/")
                    yield entry.path, True
                elif entry.is_file(follow_symlinks=False) and names.file.fullmatch(name):
                    if name in names.metadata:
                        last.append(entry.path)
                    else:
                        yield entry.path, False
                else:
                    raise Foreign(f"{entry.path!r} is no part of a zarr array")

    yield from below(folder, "")
    yield from ((path, False) for path in last)


def require_array(folder: str) -> None:
    """Raises Foreign unless the folder is that of an array, and holds what zarr has put there alone."""
    kind, _ = node(folder)
    if kind != "array":
        raise Foreign("is a group of zarr" if kind else "is a folder and no zarr array")
    for _ in contents(folder):
        pass


def remove(folder: str) -> None:
    """Removes the array. What was begun and not finished, in metadata or in removal, is an array too."""
    for path, is_folder in contents(folder):
        os.rmdir(path) if is_folder else os.unlink(path)
    os.rmdir(folder)


def remove_unfinished(folder: str) -> None:
    """Removes what writers that were killed have left beside the chunks."""
    pattern = re.compile(f".*{_UNFINISHED}")
    for path, is_folder in contents(folder):
        if not is_folder and pattern.fullmatch(os.path.basename(path)):
            os.unlink(path)


def enclosing(path: str) -> str | None:
    """The folder of the array in which `path` lies, or None."""
    above = os.path.dirname(path)
    while above != path:
        if node(above)[0] == "array":
            return above
        path, above = above, os.path.dirname(above)
    return None
