#!/usr/bin/env python3
"""Random jobs, ended at random moments, again and again, until each is done; then every element is compared.

    .venv/bin/python scripts/soak.py --seconds 3600 --seed 1 --json bench/results/reliability/soak.json

A job is a `cornerturn.rechunk`, or a `cornerturn transpose` of a file: into another one, with another type or in
blocks, or in place. Some run two at once on the same target, or beside other jobs. They end by SIGKILL, SIGTERM or
SIGINT. After each end what has the target's name is the old array or the new one, whole, or in place the file is
refused until the same command has finished it. When a job is done nothing else is left. scripts/reliability.py puts
the counts into docs/reliability.md.
"""

import argparse
import collections
import datetime
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("CORNERTURN", str(ROOT / "build/release/bin/cornerturn"))
sys.path.insert(0, str(ROOT / "tests/python"))
import chunk_arrays  # noqa: E402
import cornerturn  # noqa: E402
from cornerturn._chunks.place import place_of  # noqa: E402

SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
ENDED = {-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, 128 + signal.SIGINT, 128 + signal.SIGTERM}


class Child:
    """A call in a process of its own. What it says goes to a file."""

    def __init__(self, call, said):
        self.said, self.code = said, None
        self.pid = os.fork()
        if self.pid:
            return
        code = 0
        try:
            file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, 1)
            os.dup2(file, 2)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            call()
        except KeyboardInterrupt:
            code = 128 + signal.SIGINT
        except BaseException:
            code = 2
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(code)

    def has_ended(self, wait=False):
        if self.code is None:
            done, status = os.waitpid(self.pid, 0 if wait else os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if done else None
        return self.code is not None

    def end(self, number):
        if not self.has_ended():
            os.kill(self.pid, number)
            until = time.monotonic() + 120
            while not self.has_ended() and time.monotonic() < until:
                time.sleep(0.001)
            if not self.has_ended():
                os.kill(self.pid, signal.SIGKILL)
                self.has_ended(wait=True)
                raise AssertionError(f"signal {number} has not ended it")

    def text(self):
        return pathlib.Path(self.said).read_text(errors="replace")


class Rechunk:
    name = "rechunk"
    sources = ["x.npy", "x.h5", "x.zarr", "x2.zarr"]
    refusals = ("is being written by another run", "exists: overwrite=True", "an interrupted run is in")

    def __init__(self, random):
        rank = random.randint(1, 4)
        shape = [random.randint(2, {1: 1 << 20, 2: 1200, 3: 100, 4: 32}[rank]) for _ in range(rank)]
        shape[0] += tuple(shape) == chunk_arrays.OLD.shape
        axes = random.sample(range(rank), rank)
        out = [shape[axis] for axis in axes]
        values = np.random.default_rng(random.getrandbits(32)).integers(0, 200, shape)
        array = values.astype(random.choice(["u1", "i2", "f4", ">f4", "f8", "c8"]))
        source, self.target = random.choice(self.sources), random.choice(chunk_arrays.TARGETS)
        chunks = tuple([max(1, min(n, n // random.randint(1, 5))) for n in shape])
        chunk_arrays.save(source, array, chunks, version=2 if "2" in source else 3)
        options = dict(axes=axes, memory="32M", threads=random.choice([1, 2]))
        if not self.target.endswith(".npy"):
            options["chunks"] = [max(1, n // random.randint(1, 6)) for n in out]
        if "zarr" in self.target:
            options["codec"] = random.choice(["none", "none", "zstd", "gzip"])
        self.old = random.random() < 0.7
        if self.old:
            chunk_arrays.make_old(self.target)
        self.options, self.want = options, array.transpose(axes)
        self.source = f"{source}::data" if source.endswith(".h5") else source
        self.resume, self.overwrite = False, self.old
        self.record = os.path.join(place_of(self.target).folder, "record.json")
        self.keeps = {source, self.target.partition("::")[0]}

    def call(self):
        cornerturn.rechunk(self.source, self.target, resume=self.resume, overwrite=self.overwrite, **self.options)

    def again(self, random):
        self.resume, self.overwrite = random.random() < 0.8, True

    def state(self):
        found = chunk_arrays.what_is_there(self.target, self.want, others=self.old)
        assert found or not self.old, "the target is gone"
        return found or "none"


class Transpose:
    """`cornerturn transpose` of a file into another one, with and without other values."""

    name = "transpose"
    refusals = ()
    record = None

    def __init__(self, random):
        rank = random.choice([2, 2, 3, 4])
        shape = [random.randint(2, 40) for _ in range(rank)]
        shape[random.randrange(rank)] *= max(1, random.randint(10_000, 3_000_000) // int(np.prod(shape)))
        axes = random.sample(range(rank), rank)
        values = np.random.default_rng(random.getrandbits(32)).integers(-100, 100, shape)
        array = values.astype(random.choice(["i2", "i4", "f4", "f8"]))
        np.save("x.npy", array)
        self.words = ["transpose", "x.npy", "y.npy", "--perm", ",".join(map(str, axes))]
        self.words += random.choice([[], ["--memory", "32MiB"]])
        self.words += ["--no-sync"] * (random.random() < 0.7) + ["--verify"] * (random.random() < 0.3)
        self.want = array.transpose(axes)
        self.of_values(random)
        self.old = random.random() < 0.7
        if self.old:
            np.save("y.npy", chunk_arrays.OLD)
        self.keeps = {"x.npy", "y.npy"}

    def of_values(self, random):
        pass

    def call(self):
        os.execv(PROGRAM, [PROGRAM, *self.words])

    def again(self, random):
        pass

    def state(self):
        if not os.path.exists("y.npy"):
            assert not self.old, "the target is gone"
            return "none"
        found = np.load("y.npy")
        if np.array_equal(found, chunk_arrays.OLD):
            return "old"
        assert found.dtype == self.want.dtype and found.shape == self.want.shape, "the target is neither old nor new"
        assert found.tobytes() == self.want.tobytes(), "the target is not whole"
        return "new"


class Convert(Transpose):
    """With another type of value, or in blocks. What it has to become is made in memory."""

    name = "convert"

    def of_values(self, random):
        to = random.choice(["f32", "f64", "f16", ">f4", "i32", "q8_0"])
        self.words += ["--to", to, "--pad"] if to == "q8_0" else ["--to", to]
        plain = np.ascontiguousarray(self.want)
        if to == "q8_0":
            padded = np.pad(plain.astype("f4"), [(0, 0)] * (plain.ndim - 1) + [(0, -plain.shape[-1] % 32)])
            self.want = q8_0(padded)
        else:
            names = dict(f32="f4", f64="f8", f16="f2", i32="i4")
            self.want = plain.astype(names.get(to, to))


def q8_0(values):
    """ggml's blocks: the scale of 32 values in f16, then the values in 8 bits."""
    blocks = values.reshape(*values.shape[:-1], -1, 32)
    scale = np.abs(blocks).max(axis=-1).astype("f4") / np.float32(127)
    inverse = np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale != 0)
    scaled = blocks * inverse[..., None]
    rounded = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled).astype("i1")
    both = np.concatenate([scale.astype("f2")[..., None].view("u1"), rounded.view("u1")], axis=-1)
    return both.reshape(*values.shape[:-1], -1)


class InPlace:
    name = "in place"
    refusals = ("another process", "is being", "locked", "at work")
    record = None

    def __init__(self, random):
        rank = random.choice([2, 2, 2, 3, 4])
        sides = [random.randint(2, 40) for _ in range(rank)]
        sides[random.randrange(rank)] *= max(1, 3_000_000 // int(np.prod(sides)))
        axes = random.sample(range(rank), rank)
        if axes == sorted(axes):
            axes.reverse()
        array = np.arange(np.prod(sides), dtype=random.choice(["<u4", "<u8", "<u2"])).reshape(sides)
        np.save("y.npy", np.asarray(array, order=random.choice("CF")))
        self.words = ["transpose", "y.npy", "--in-place", "--memory", "32MiB", "--perm", ",".join(map(str, axes))]
        self.words += ["--no-sync"] * (random.random() < 0.7)
        self.axes, self.array = axes, array
        self.random, self.keeps, self.counts = random, {"y.npy"}, collections.Counter()

    call, again = Transpose.call, Transpose.again

    def state(self):
        journals = [name for name in os.listdir(".") if name.endswith("-journal")]
        if not self.is_whole():
            assert len(journals) == 1, f"journals: {journals}"
            if self.random.random() < 0.5:
                self.damage(journals[0])
            if not self.is_whole():
                return "half done"
            journals = []
        if self.times_done() == 0:
            return "old"
        return "new, with a journal" if journals else "new"

    def times_done(self):
        """Two at once may have done it one after the other, and again."""
        found, want = np.load("y.npy"), self.array
        for times in range(24):  # the order of every permutation of four axes divides 12
            if np.array_equal(found, want):
                return times
            want = want.transpose(self.axes)
        raise AssertionError("the file is neither old nor new")

    def is_whole(self):
        return self.command("info", "y.npy") == 0

    def command(self, *words):
        return subprocess.run([PROGRAM, *words], capture_output=True).returncode

    def damage(self, journal):
        """One other bit, or less of it: it is refused, and the right one finishes the file; or it did not matter."""
        self.counts["damaged journals"] += 1
        with tempfile.TemporaryDirectory(dir="..") as other:
            saved = [(shutil.copy(path, other), path) for path in (journal, "y.npy")]
            with open(journal, "r+b") as file:
                size = os.path.getsize(journal)
                if self.random.random() < 0.2:
                    file.truncate(self.random.randrange(size))
                else:
                    # Half of them where the headings are.
                    place = self.random.randrange(size if self.random.random() < 0.5 else 6000)
                    file.seek(place)
                    byte = file.read(1)[0]
                    file.seek(place)
                    file.write(bytes([byte ^ 1 << self.random.randrange(8)]))
            code = self.command(*self.words)
            if code == 2:  # with the right journal the file that was refused is finished all the same
                self.counts["refused journals"] += 1
                saved.pop()
            else:
                assert code == 0, f"damaged: exit code {code}"
                self.times_done()
            for copy, path in saved:
                shutil.copy(copy, path)


KINDS = {kind.name: kind for kind in (Rechunk, Transpose, Convert, InPlace)}


def inode(path):
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


def wait(children, limit, record, steps):
    """Until all have ended, so many seconds have passed, or the record has been written so many times."""
    begin, last = time.monotonic(), inode(record or "")
    while time.monotonic() < begin + limit and steps and not all([child.has_ended() for child in children]):
        now = inode(record or "")
        steps -= now not in (None, last)
        last = now or last
        time.sleep(0.0002)


def one_job(kind, seed, two):
    """Does a job in the working folder, which is empty, until it is done. Its counts."""
    chosen = random.Random(seed)
    job, counts = KINDS[kind](chosen), collections.Counter(jobs=1)
    limit, alone = chosen.choice([0.01, 0.05, 0.2, 0.5]), False
    while True:
        alone = not two or chosen.random() < 0.4
        children = [Child(job.call, f"../said-{os.path.basename(os.getcwd())}-{n}") for n in range(1 if alone else 2)]
        by_steps = job.record and chosen.random() < 0.5
        wait(children, *((60, job.record, chosen.randint(1, 4)) if by_steps else (chosen.random() * limit, None, -1)))
        for child in children:
            # One of two that have the same target goes on now and then.
            if not alone and chosen.random() < 0.3:
                child.has_ended(wait=True)
            child.end(chosen.choice(SIGNALS))
            refused = child.code == 2 and not alone and any(why in child.text() for why in job.refusals)
            assert child.code == 0 or child.code in ENDED or refused, f"exit code {child.code}: {child.text()}"
            counts["refused"] += refused
            counts["kills"] += child.code in ENDED
        found = job.state()
        counts[found] += 1
        if alone and children[0].code == 0 or kind == "in place" and found == "new":
            break
        job.again(chosen)
        limit *= 1.3
    assert found == "new", f"the run has ended, and the target is {found}"
    left = set(os.listdir(".")) - job.keeps
    assert not left, f"left: {left}"
    return counts + getattr(job, "counts", collections.Counter())


def together(jobs, seed, folder):
    """Several jobs, beside each other in folders of their own. Their counts, and what was wrong."""
    running = []
    for number, (kind, two) in enumerate(jobs):
        own = os.path.join(folder, str(number))
        os.mkdir(own)

        def run(own=own, kind=kind, two=two, number=number):
            os.chdir(own)
            counts = one_job(kind, f"{seed} {number}", two)
            pathlib.Path(f"../counts-{number}").write_text(json.dumps(counts))

        running.append(Child(run, os.path.join(folder, f"all-{number}")))
    found = []
    for number, child in enumerate(running):
        child.has_ended(wait=True)
        ok = child.code == 0
        found.append((json.loads(pathlib.Path(folder, f"counts-{number}").read_text()) if ok else {}, "" if ok else child.text()))
    return found


def soak(seconds, seed):
    chosen, rows, wrong = random.Random(seed), collections.defaultdict(collections.Counter), []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        several = random.Random(chosen.random()).random() < 0.2
        jobs = [(chosen.choice(list(KINDS)), chosen.random() < 0.25) for _ in range(3 if several else 1)]
        own = chosen.getrandbits(40)
        with tempfile.TemporaryDirectory() as folder:
            found = together(jobs, own, folder)
        for (kind, two), (counts, error) in zip(jobs, found, strict=True):
            row = rows[f"{kind}, {'two at once' if two else 'one'}"]
            row.update(counts)
            row["beside others"] += several
            row["wrong"] += bool(error)
            if error:
                wrong.append(f"{jobs} {own}: {error}")
                print("wrong:", wrong[-1], file=sys.stderr, flush=True)
        print(json.dumps(rows), flush=True)
    return rows, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    begin = time.monotonic()
    rows, wrong = soak(given.seconds, given.seed)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    result = {"what": "soak", "date": datetime.date.today().isoformat(), "commit": commit.stdout.strip(),
              "seed": given.seed, "seconds": round(time.monotonic() - begin), "rows": rows}  # fmt: skip
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
