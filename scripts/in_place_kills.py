#!/usr/bin/env python3
"""Kills `cornerturn transpose --in-place` at random moments, and damages what it leaves.

  scripts/in_place_kills.py --kills 200 --seed 1 --json OUT.json

Each file is transposed by the same command until it has finished, however often it is killed. After a
kill, other commands have to refuse the file or to find a whole array; and now and then a byte of the
journal is changed, or it is cut short: the command then refuses it, and finishes the file with the right
journal, or the change did not matter. At the end the file is what NumPy says. The exit code is 1 where one of
these failed. docs/reliability.md has the counts.
"""

import argparse
import datetime
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("CORNERTURN", ROOT / "build/release/bin/cornerturn"))


class Campaign:
    def __init__(self, folder, seed):
        self.folder = folder
        self.random = random.Random(seed)
        self.counts = dict.fromkeys(["files", "commands", "kills", "half done", "damaged", "refused", "wrong"], 0)
        self.path = folder / "a.npy"
        self.words = []

    def command(self, *words, kill_after=None):
        """The exit code; negative where it was killed."""
        self.counts["commands"] += 1
        process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if kill_after is not None:
            time.sleep(kill_after)
            process.kill()
        return process.wait()

    def wrong(self, what):
        self.counts["wrong"] += 1
        print("wrong:", what, self.words, file=sys.stderr)

    def one_file(self):
        rank = self.random.choice([2, 2, 2, 3, 4])
        sides = [self.random.randint(2, 40) for _ in range(rank)]
        sides[self.random.randrange(rank)] *= max(1, 3_000_000 // int(np.prod(sides)))
        axes = self.random.sample(range(rank), rank)
        array = np.arange(np.prod(sides), dtype=self.random.choice(["<u4", "<u8", "<u2"])).reshape(sides)
        order = self.random.choice("CF")
        np.save(self.path, np.asarray(array, order=order))
        self.words = ["transpose", self.path, "--in-place", "--memory", "32MiB", "--perm", ",".join(map(str, axes))]
        if self.random.random() < 0.7:
            self.words.append("--no-sync")
        self.counts["files"] += 1
        begin = time.monotonic()
        while True:
            # Later and later, so that there is an end.
            after = self.random.random() * 0.3 + (time.monotonic() - begin) / 30
            code = self.command(*self.words, kill_after=after)
            if code == 0:
                break
            if code != -9:
                return self.wrong(f"exit code {code}")
            self.counts["kills"] += 1
            if self.after_kill(array, axes):
                break
        if not np.array_equal(np.load(self.path), array.transpose(axes)):
            self.wrong("bytes")
        if os.listdir(self.folder) != ["a.npy"]:
            self.wrong(f"left behind: {os.listdir(self.folder)}")

    def after_kill(self, array, axes):
        """Is it done already? The journal alone may have been left, or not even that."""
        journals = [name for name in os.listdir(self.folder) if name.endswith("-journal")]
        info = self.command("info", self.path)
        if info == 0:
            found = np.load(self.path)
            done = found.shape == array.transpose(axes).shape and np.array_equal(found, array.transpose(axes))
            if not done and not (found.shape == array.shape and np.array_equal(found, array)):
                self.wrong("neither old nor new")
            return done and not journals
        self.counts["half done"] += 1
        if len(journals) != 1:
            self.wrong(f"journals: {journals}")
        elif self.random.random() < 0.5:
            self.damage(self.folder / journals[0], array, axes)
        return False

    def damage(self, journal, array, axes):
        self.counts["damaged"] += 1
        with tempfile.TemporaryDirectory() as other:
            saved = [(pathlib.Path(shutil.copy(path, other)), path) for path in (journal, self.path)]
            with open(journal, "r+b") as file:
                size = journal.stat().st_size
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
                self.counts["refused"] += 1
                saved.pop()
            elif code != 0 or not np.array_equal(np.load(self.path), array.transpose(axes)):
                self.wrong(f"damaged: exit code {code}")
            for copy, path in saved:
                shutil.copy(copy, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(pathlib.Path(folder), arguments.seed)
        while campaign.counts["kills"] < arguments.kills:
            campaign.one_file()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    result = {"what": "in place, killed", "date": datetime.date.today().isoformat(), "commit": commit.stdout.strip(),
              "seed": arguments.seed, **campaign.counts}  # fmt: skip
    print(json.dumps(result, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    return campaign.counts["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
