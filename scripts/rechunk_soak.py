#!/usr/bin/env python3
"""Random jobs of `cornerturn.rechunk`, killed at random, again and again, until each is done.

    .venv/bin/python scripts/rechunk_soak.py --kills 300 --seed 1

After each kill what has the target's name has to be the old array or the new one, whole; in the end it is the new
one, and nothing else is left. The counts of a run are in docs/reliability.md.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings

import h5py
import numpy as np
import zarr

import cornerturn
from cornerturn._chunks.place import place_of

TARGETS = ["t.npy", "t.h5", "t.h5::g/t", "t.zarr", "t.zarr::t", "t.zarr::g/t"]
SOURCES = ["s.npy", "s.h5", "s.zarr"]
OLD = np.arange(1000.0)


def write(path, array, chunks=None):
    name, _, key = path.partition("::")
    if name.endswith(".npy"):
        np.save(name, array)
    elif name.endswith(".h5"):
        with h5py.File(name, "w") as file:
            file.create_dataset(key or "data", data=array, chunks=chunks)
            file["other"] = OLD
    else:
        group = zarr.create_group(name) if key else None
        if group is not None:
            group.create_array("other", data=OLD)
        made = dict(shape=array.shape, dtype=array.dtype, chunks=chunks or array.shape, compressors=None)
        (group.create_array(key, **made) if group is not None else zarr.create_array(name, **made))[...] = array


def read(path):
    name, _, key = path.partition("::")
    if name.endswith(".npy"):
        return np.load(name)
    if name.endswith(".h5"):
        with h5py.File(name) as file:
            return file[key or "data"][...] if (key or "data") in file else None
    folder = os.path.join(name, key)
    return zarr.open_array(folder, mode="r")[...] if os.path.exists(folder) else None


def state(target, want, old):
    """"old", "new" or "none"; anything else ends the soak."""
    if not os.path.lexists(place_of(target).path):
        assert not old, "the target is gone"
        return "none"
    found = read(target)
    if old and "::" in target:
        assert (read(target.partition("::")[0] + "::other") == OLD).all(), "another array has changed"
    if found is None or found.shape == OLD.shape:
        assert (found is None) == (not old) and (found is None or (found == OLD).all()), "the old array has changed"
        return "old" if old else "none"
    assert np.array_equal(found, want), "the target is not whole"
    return "new"


def inode(path):
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return None


def in_a_child(call, record, limit, steps):
    """True where `call` was killed, False where it was done before that: after so many seconds, or when its
    record has been written so many times."""
    child = os.fork()
    if child == 0:
        try:
            call()
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
    begin, last = time.monotonic(), inode(record)
    while time.monotonic() < begin + limit and steps:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        now = inode(record)
        steps -= now not in (None, last)
        last = now or last
        time.sleep(0.0001)
    else:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL), f"exit code {code}"
    return code != 0


def job(random):
    rank = random.randint(1, 4)
    shape = [random.randint(2, {1: 1 << 20, 2: 1200, 3: 100, 4: 32}[rank]) for _ in range(rank)]
    axes = random.sample(range(rank), rank)
    out = [shape[axis] for axis in axes]
    values = np.random.default_rng(random.getrandbits(32)).integers(0, 200, shape)
    array = values.astype(random.choice(["u1", "i2", "f4", ">f4", "f8", "c8"]))
    source, target = random.choice(SOURCES), random.choice(TARGETS)
    write(source, array, tuple([max(1, min(n, n // random.randint(1, 5))) for n in shape]))
    options = dict(axes=axes, memory="32M", threads=random.choice([1, 2]))
    if not target.endswith(".npy"):
        options["chunks"] = [max(1, n // random.randint(1, 6)) for n in out]
    if "zarr" in target:
        options["codec"] = random.choice(["none", "none", "zstd", "gzip"])
    old = random.random() < 0.7
    if old:
        write(target, OLD, (100,))
    return (f"{source}::data" if source.endswith(".h5") else source), target, options, old, array.transpose(axes)


def soak(random, counts):
    before = set(os.listdir("."))
    source, target, options, old, want = job(random)
    counts["jobs"] += 1
    resume, overwrite, limit = False, old, random.choice([0.01, 0.05, 0.2, 0.5])
    while in_a_child(
        lambda: cornerturn.rechunk(source, target, resume=resume, overwrite=overwrite, **options),
        os.path.join(place_of(target).folder, "record.json"),
        *random.choice([(random.random() * limit, -1), (60, random.randint(1, 4))]),
    ):
        counts["kills"] += 1
        now = state(target, want, old)
        counts[f"{now} after a kill"] += 1
        resume, overwrite = random.random() < 0.8, True
        limit *= 1.3
    assert state(target, want, old) == "new", "the run has ended, and the target is not the new array"
    left = set(os.listdir(".")) - before - {source.partition("::")[0], target.partition("::")[0]}
    assert not left, f"left: {left}"
    for name in set(os.listdir(".")) - before:
        shutil.rmtree(name) if os.path.isdir(name) else os.unlink(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    counts = dict.fromkeys(("jobs", "kills", "none after a kill", "old after a kill", "new after a kill"), 0)
    chosen = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        while counts["kills"] < given.kills:
            soak(chosen, counts)
        os.chdir("/")
    print(", ".join(f"{number} {name}" for name, number in counts.items()))


if __name__ == "__main__":
    main()
