"""What a folder may hold after a loss of power: a run is recorded, and of what it has done since the last syncs
any part is on the disk.

A file keeps what it held when it was synced last; of what was written to it since then any sectors are there, and
zeros where a sector is missing that was never written. A name is there as it was when its folder was synced last;
of what was done to names since then any part is there. A rename is done or not done, until both folders are synced.
"""

import contextlib
import os
import shutil
import sys
import threading

SECTOR = 512
_CHANGING = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.link"}
_recording = []


def _hook(event, arguments):
    if _recording and threading.get_ident() not in _recording[-1].at_work:
        writes = event == "open" and (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes or event in _CHANGING:
            _recording[-1].look()


class Inodes:
    """Files and folders, by numbers that are never used again; while they are held the system does not use theirs."""

    def __init__(self):
        self._numbers, self._held = {}, []

    def number(self, path, number=None):
        return self._number(os.lstat(path), path, os.O_PATH | os.O_NOFOLLOW, number)

    def number_of_open(self, file):
        """That of a file without a name."""
        return self._number(os.fstat(file), f"/proc/self/fd/{file}", os.O_PATH, None)

    def _number(self, found, path, flags, number):
        key = found.st_dev, found.st_ino
        if key not in self._numbers or number is not None:
            self._held.append(os.open(path, flags))
            self._numbers[key] = len(self._numbers) + 10 if number is None else number
        return self._numbers[key]

    def known(self, path):
        found = os.lstat(path)
        return self._numbers.get((found.st_dev, found.st_ino), found.st_ino)

    def close(self):
        while self._held:
            os.close(self._held.pop())


class Tree:
    """What lies below a folder: for each inode the bytes and the time of a file, or the names in a folder."""

    def __init__(self, files, folders):
        self.files, self.folders = files, folders

    @staticmethod
    def of(path, inodes, without=()):
        tree = Tree({}, {})

        def add(path, number):
            tree.folders[number] = {}
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.name in without:
                        continue
                    inner = tree.folders[number][entry.name] = inodes.number(entry.path)
                    if entry.is_dir(follow_symlinks=False):
                        add(entry.path, inner)
                    else:
                        with open(entry.path, "rb") as file:
                            tree.files[inner] = file.read(), os.fstat(file.fileno()).st_mtime_ns

        add(path, 0)
        return tree

    def write(self, path, inodes):
        def put(path, number):
            for name, inner in self.folders[number].items():
                below = os.path.join(path, name)
                if inner in self.folders:
                    os.mkdir(below)
                    put(below, inner)
                else:
                    data, time = self.files[inner]
                    with open(below, "wb") as file:
                        file.write(data)
                    os.utime(below, ns=(time, time))
                inodes.number(below, inner)

        put(path, 0)

    def key(self):
        """Equal for trees that hold the same."""
        reached, left = [], [0]
        while left:
            number = left.pop()
            for name, inner in sorted(self.folders[number].items()):
                reached.append((number, name, inner, self.files.get(inner)))
                left += [inner] * (inner in self.folders)
        return tuple(reached)


class Recording:
    """The changes below a folder, in their order, while it lasts: trees, and what was synced when."""

    def __init__(self, path, without=()):
        self.path, self.without = path, without
        self.inodes, self.steps, self.at_work = Inodes(), [], set()
        self._lock = threading.Lock()
        self.inodes.number(path, 0)

    def look(self, synced=(), unnamed=None):
        """`synced` are the numbers of inodes, or None for all of them. `unnamed` is what a file without a name holds."""
        with self._lock:
            self.at_work.add(threading.get_ident())
            while True:
                with contextlib.suppress(FileNotFoundError):  # another thread has changed it meanwhile
                    tree = Tree.of(self.path, self.inodes, self.without)
                    break
            self.at_work.discard(threading.get_ident())
            tree.files.update(unnamed or {})
            self.steps.append((tree, synced))

    def fsync(self, file):
        found = os.fstat(file)
        if found.st_nlink:
            self.look([self.inodes.number(os.path.realpath(f"/proc/self/fd/{file}"))])
            return
        number = self.inodes.number_of_open(file)
        self.look([number], {number: (os.pread(file, found.st_size, 0), found.st_mtime_ns)})

    @contextlib.contextmanager
    def lasting(self):
        self.look(None)
        if not _hook_is_on:
            sys.addaudithook(_hook)
            _hook_is_on.append(True)
        _recording.append(self)
        try:
            yield self
        finally:
            _recording.pop()
            self.look()

    def moments(self):
        return range(1, len(self.steps))

    def disk(self, moment):
        """What may be there after a loss of power at this moment."""
        disk = Disk(self.steps[0][0])
        for (before, _), (after, synced) in zip(self.steps[:moment], self.steps[1 : moment + 1], strict=True):
            disk.change(before, after)
            disk.sync(after, synced)
        return disk


_hook_is_on = []


class Disk:
    def __init__(self, tree):
        self.files = {number: [held] for number, held in tree.files.items()}  # what is durable, then what came later
        self.folders = {number: dict(names) for number, names in tree.folders.items()}
        # Changes of names that need not be there: (folder, name, inode or None), some at a time, and the folders that
        # have not been synced since.
        self.later = []

    def change(self, before, after):
        names = []
        for folder in {**before.folders, **after.folders}:
            was, now = before.folders.get(folder, {}), after.folders.get(folder, {})
            names += [(folder, name, now.get(name)) for name in {**was, **now} if was.get(name) != now.get(name)]
            self.folders.setdefault(folder, {})
        if names:
            self.later.append((names, {folder for folder, _, _ in names}))
        for number, held in after.files.items():
            versions = self.files.setdefault(number, [(b"", held[1])])
            if versions[-1] != held:
                versions.append(held)

    def sync(self, tree, synced):
        if synced is None:
            synced = [*self.files, *self.folders]
        settled, left, done = set(), [], []
        for names, folders in reversed(self.later):  # what was done to a name before is of no account any more
            folders -= set(synced)
            entries = {(folder, name) for folder, name, _ in names}
            if not folders or entries & settled:
                settled |= entries
                done.insert(0, names)
            else:
                left.insert(0, (names, folders))
        for names in done:
            self._apply(self.folders, names)
        self.later = left
        for number in synced:
            if number in self.files:
                self.files[number] = self.files[number][-1:]

    @staticmethod
    def _apply(folders, names):
        for folder, name, inner in names:
            if inner is None:
                folders[folder].pop(name, None)
            else:
                folders[folder][name] = inner

    def tree(self, names, data):
        """`names(n)` says whether the n-th later change of names is there; `data(file, versions)` what a file holds."""
        folders = {number: dict(held) for number, held in self.folders.items()}
        for number, (each, _) in enumerate(self.later):
            if names(number):
                self._apply(folders, each)
        return Tree({number: data(number, versions) for number, versions in self.files.items()}, folders)

    def all_names_and_no_data(self):
        return self.tree(lambda n: True, lambda number, held: held[0])

    def random_state(self, random):
        """One kind or another: nothing later is there; zeros; no change of names; one change of names is lost, or all
        after it; the data of one file are there, or are lost; or any part."""
        later = [number for number, versions in self.files.items() if versions[1:]]
        lost = random.randrange(len(self.later) + 1)
        one = random.choice(later) if later else None
        share = random.random()
        chosen = [random.random() < share for _ in self.later]
        kinds = [
            (lambda n: False, lambda number, held: held[0]),
            (lambda n: True, lambda number, held: (held[0][0].ljust(len(held[-1][0]), b"\0"), held[-1][1])),
            (lambda n: False, lambda number, held: held[-1]),
            (lambda n: n != lost, lambda number, held: held[-1]),
            (lambda n: n < lost, lambda number, held: held[0]),
            (lambda n: True, lambda number, held: held[-1 if number == one else 0]),
            (lambda n: True, lambda number, held: held[0 if number == one else -1]),
            (chosen.__getitem__, lambda number, held: _torn(held, random)),
            (chosen.__getitem__, lambda number, held: _torn(held, random)),
        ]
        return self.tree(*random.choice(kinds))


def _torn(versions, random):
    """Any sectors of what was written since the file was durable."""
    if len(versions) == 1 or random.random() < 0.2:
        return versions[0]
    size = len(random.choice(versions)[0])
    parts = []
    for at in range(0, size, SECTOR):
        part = random.choice(versions)[0][at : at + SECTOR]
        parts.append(part.ljust(min(SECTOR, size - at), b"\0")[: size - at])
    return b"".join(parts), random.choice(versions)[1]


def empty(path, without=()):
    for name in os.listdir(path):
        if name not in without:
            below = os.path.join(path, name)
            shutil.rmtree(below) if os.path.isdir(below) and not os.path.islink(below) else os.unlink(below)
