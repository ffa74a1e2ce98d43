"""Finds in disassembled code what one thread of a kernel runs, and where it waits for global memory.

The way through the code is not computed from the values of registers. It is the shortest one from the
first instruction to an EXIT that makes a given number of accesses of each kind: those that the emulator
counted. nvdisasm disassembles; it comes with the CUDA toolkit and with Triton.
"""

import importlib.util
import re
import shutil
import subprocess
from collections import deque
from pathlib import Path

KINDS = {"LDG": "global load", "STG": "global store", "LDS": "shared load", "STS": "shared store"}
WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
INSTRUCTION = re.compile(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?);")
WORDS = re.compile(r"(@!?U?P\w+\s+)?([A-Z0-9]+)((?:\.\w+)*)\s*(.*)")
REGISTER = re.compile(r"\bR(\d+)\b")


def nvdisasm():
    """The program, or None."""
    triton = importlib.util.find_spec("triton")
    places = [Path("/usr/local/cuda/bin/nvdisasm")]
    if triton is not None:
        places.append(Path(triton.origin).parent / "backends" / "nvidia" / "bin" / "nvdisasm")
    return shutil.which("nvdisasm") or next((str(path) for path in places if path.exists()), None)


class Code:
    """One kernel: its instructions, and where its labels point."""

    def __init__(self):
        self.lines = []
        self.labels = {}

    def access(self, at):
        """(kind, bytes a lane) of an instruction, or None."""
        _, name, suffixes, _ = WORDS.match(self.lines[at]).groups()
        if name not in KINDS:
            return None
        widths = [WIDTHS[word] for word in suffixes.split(".") if word in WIDTHS]
        return KINDS[name], widths[-1] if widths else 4

    def next(self, at):
        """Where a thread may go on; None: nowhere, as it ends."""
        condition, name, _, rest = WORDS.match(self.lines[at]).groups()
        if name == "EXIT":
            return [None] if condition is None else [None, at + 1]
        label = re.search(r"`\(\.(\w+)\)", rest) if name == "BRA" else None
        if label is None:
            return [at + 1]
        there = [self.labels[label[1]]]
        return [*there, at + 1] if condition or re.match(r"!?U?P\d", rest) else there

    def shortest(self, wanted):
        """The instructions of the shortest way with `wanted`, {(kind, bytes): accesses}; None: there is none."""
        kinds, goal = list(wanted), tuple(wanted.values())
        start = 0, (0,) * len(goal)
        before, open_ends = {start: None}, deque([start])
        while open_ends:
            state = open_ends.popleft()
            at, done = state
            if at >= len(self.lines):
                continue
            access = self.access(at)
            if access is not None:
                if access not in wanted:
                    continue
                done = tuple(n + (kind == access) for n, kind in zip(done, kinds))
                if any(n > most for n, most in zip(done, goal)):
                    continue
            for there in self.next(at):
                if there is None and done == goal:
                    return [step[0] for step in ways_back(before, state)][::-1]
                if there is not None and (there, done) not in before:
                    before[there, done] = state
                    open_ends.append((there, done))
        return None

    def trips(self, path):
        """How often a value is used of a global load that was issued since the last such wait."""
        waits, coming = 0, set()
        for at in path:
            access = self.access(at)
            operands = WORDS.match(self.lines[at])[4]
            arriving = set()
            if access is not None and access[0] == "global load":
                target, operands = operands.split(",", 1)
                first = int(REGISTER.search(target)[1])
                arriving = set(range(first, first + max(1, access[1] // 4)))
            if coming & {int(name) for name in REGISTER.findall(operands)}:
                waits, coming = waits + 1, set()
            coming |= arriving
        return waits


def ways_back(before, state):
    while state is not None:
        yield state
        state = before[state]


def disassembled(cubin):
    """Mangled name -> Code of each kernel in a file."""
    done = subprocess.run([nvdisasm(), "-c", cubin], check=True, capture_output=True, text=True)
    found, code = {}, None
    for line in done.stdout.splitlines():
        if line.startswith(".text."):
            code = found[line[len(".text.") :].rstrip(":")] = Code()
        elif code is not None and line.startswith(".L_"):
            code.labels[line[1:].rstrip(":")] = len(code.lines)
        elif code is not None and (text := INSTRUCTION.match(line)):
            code.lines.append(text[1].strip())
    return found
