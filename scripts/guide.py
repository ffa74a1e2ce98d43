#!/usr/bin/env python3
"""Fills in docs/guide/*.md: what commands say, pictures, tables and the numbers within sentences.

usage: scripts/guide.py [--check]

Marks of a page, all of them comments, so that the page reads as it is:

    <!-- let NAME = cornerturn explain ... -->       the command's JSON report, or a .json file of the
                                                     repository, for the expressions of this page
    <!-- run: COMMAND | START | START -->            what the command prints; of that the paragraphs
    <!-- end -->                                     that begin so, when some are named
    <!-- refused: COMMAND -->                        the same of a command that must refuse
    <!-- end -->
    <!-- figure NAME: COMMAND -->                    images/NAME.svg, which the command draws
    <!-- end -->
    <!-- table V W = 1 2; 3 4                        a row for each value of the variables, from
    r: COMMAND with {V}                              reports for each value, a header and a template
    | header | ... |
    | `{V}` | {r.shared_bytes} |
    -->
    <!-- end -->
    <!-- puzzles: CHAPTER -->                        the puzzles that exercise the chapter
    <!-- end -->
    <!-- measured -->                                where the measured shares come from
    <!-- end -->
    <!-- copies -->                                  the best copies by TMA and through registers, where
    <!-- end -->                                     `ladder_copies` measured them (scripts/measure_ladder.sh)
    <!--=EXPRESSION:FORMAT-->**number**              a number in a sentence

Besides its own names an expression knows leg(), what_if(), wavefronts(), share(), stack_share(), python_share(),
python_time(), python_speed_up(), blocks(), resident(), stall(), busy(), rate(), starts(), python_starts(), gpu() and
tma_verdict(). Commands are those of the
program in build/release, or named by CORNERTURN. --check changes nothing and fails when a page or a
picture is not what would be written.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = os.environ.get("CORNERTURN", str(ROOT / "build" / "release" / "bin" / "cornerturn"))
GUIDE = ROOT / "docs" / "guide"
MEASURED = "bench/results/ladder/h200.json"
FROM_PYTHON = "bench/results/ladder/h200.python.json"
COPIES = "bench/results/ladder/h200.copies.json"
BLOCKS = "bench/results/ladder/h200.blocks.json"
STALLS = "bench/results/ladder/h200-stalls.json"
WIDTH = 100

LET = re.compile(r"^<!-- let (\w+) = (.+?) -->$", re.M)
BLOCK = re.compile(r"^(<!-- (run|refused|figure|table|measured|copies|puzzles)\b(.*?)-->\n)(.*?)^(<!-- end -->)$", re.S | re.M)
VALUE = re.compile(r"(<!--=(.+?)-->\*\*)(.*?)(\*\*)", re.S)
FIELD = re.compile(r"\{([^{}]+?)\}")


class Stale(Exception):
    """A page that cannot be filled in."""


class Data(dict):
    """A JSON object; its members are attributes."""

    __getattr__ = dict.__getitem__


@functools.cache
def output(command: str, code: int = 0) -> str:
    """What `cornerturn ...` prints; it must end with this exit code."""
    words = shlex.split(command)
    if words[0] != "cornerturn":
        raise Stale(f"'{command}': only cornerturn is run")
    plain = {**os.environ, "COLUMNS": str(WIDTH), "NO_COLOR": "1"}
    words[0] = PROGRAM
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=plain)
    if done.returncode != code:
        raise Stale(f"'{command}' ends with {done.returncode}, not {code}: {done.stderr.strip()}")
    return done.stderr if code else done.stdout


@functools.cache
def report(source: str) -> Any:
    text = (ROOT / source).read_text() if source.endswith(".json") else output(source + " --json")
    return json.loads(text, object_hook=Data)


def number(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(number, value)) or "none"
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def against(actual: Any, ideal: Any) -> str:
    return number(actual) if actual == ideal else f"{number(actual)} ({number(ideal)})"


@functools.cache
def legs(rung: str, shape: str = "") -> Data:
    """Sectors or wavefronts of a warp's request and those of the ideal, by leg."""
    sums: dict[str, list[float]] = {}
    for leg in report(f"cornerturn analyse {rung}{' --shape ' * bool(shape)}{shape}").legs:
        n = leg.requests
        of = leg.get("wavefronts") or Data(actual=leg.sectors.mean * n, ideal=leg.sectors.ideal * n)
        total = sums.setdefault(leg.leg, [0, 0, 0])
        total[:] = total[0] + of.actual, total[1] + of.ideal, total[2] + n
        if "sectors" in leg and "wavefronts" in leg:
            total = sums.setdefault(f"sectors of {leg.leg}", [0, 0, 0])
            total[:] = total[0] + leg.sectors.mean * n, total[1] + leg.sectors.ideal * n, total[2] + n
    return Data({name: (a / n, b / n) for name, (a, b, n) in sums.items()})


def leg(rung: str, name: str, shape: str = "") -> str:
    """Sectors a request of "global load" or "global store", wavefronts of "shared load" or
    "shared store": "16 (4)" where 4 would do, "-" where the rung has no such access."""
    return against(*legs(rung, shape).get(name, ("-", "-")))


def what_if(analysed: Data, change: str) -> str:
    """The share of a copy in %, and the points, that `analyse` predicts with this change: "92 (+11)"; or "-"."""
    for found in analysed.what_if:
        if found.change == change:
            return f"{100 * found.share_of_copy:.0f} ({round(found.points):+d})"
    return "-"


def wavefronts(explained: Data, access: int) -> str:
    """What the worst request of an access takes, which `explain` was given: "16 (4)" where 4 is the floor."""
    request = explained.accesses[access].worst_request
    return against(request.wavefronts, request.wavefronts - request.conflicts)


def share(rung: str, rows: int, dtype: str = "f32", cols: int = 0) -> float:
    """What a rung was measured to reach of the plain copy, in %, for a matrix that is square unless said."""
    return 100 * measured(rung, rows, dtype, MEASURED, cols).share_of_copy


def stack_share(rung: str, batch: int, side: int, dtype: str = "f32", fused: bool = False) -> float:
    """The share of a stack of square matrices, in %."""
    for run in report(MEASURED).runs:
        about = run.shape, run.dtype, run.get("batch", 1), run.get("fused", False)
        if about == ([side, side], dtype, batch, fused):
            return 100 * next(entry for entry in run.rungs if entry.name == rung).measured.share_of_copy
    raise Stale(f"{rung} was not measured with {batch} x {side} x {side} of {dtype}")


def blocks(part: str, **about: Any) -> Any:
    """The one row of a part of `ladder_blocks`, or of `triton_warps.py`, whose figures are these."""
    rows = [row for run in report(BLOCKS).runs for row in run.get(part, ())
            if all(row.get(name) == value for name, value in about.items())]  # fmt: skip
    if len(rows) != 1:
        raise Stale(f"{len(rows)} rows of '{part}' have {about}")
    return rows[0]


def resident(rung: str, count: int) -> str:
    """The share of a rung in % with so many blocks on an SM at a time; "-" where no more than fewer fit."""
    try:
        return f"{100 * blocks('resident', kernel=rung, blocks_an_sm=count).share_of_copy:.0f}"
    except Stale:
        return "-"


def profiled(rung: str, batch: int = 1, fused: bool = False) -> Data:
    for kernel in report(STALLS).kernels:
        if (kernel.rung, kernel.batch, kernel.fused) == (rung, batch, fused):
            return kernel
    raise Stale(f"{rung} was not profiled")


def stall(rung: str, reason: str, batch: int = 1, fused: bool = False) -> float:
    """The share of the profiler's samples in which a warp of the rung waited for this, in %."""
    return 100 * profiled(rung, batch, fused).stalls.get(reason, 0)


def busy(rung: str, what: str) -> float:
    """For how much of the time, in %, the "memory" was busy, or the "issue" of instructions."""
    return profiled(rung)[f"{what}_busy"]


def measured(rung: str, rows: int, dtype: str, source: str, cols: int = 0) -> Data:
    """What was measured of a rung, or of what it is compared with, for a matrix that is square unless said."""
    for run in report(source).runs:
        if run.shape == [rows, cols or rows] and run.dtype == dtype and not run.get("batch"):
            return next(entry for entry in run.rungs if entry.name == rung).measured
    raise Stale(f"{rung} was not measured at {rows} x {cols or rows} of {dtype}")


def python_share(rung: str, rows: int, cols: int = 0) -> float:
    """The share of float32, as measured from Python."""
    return 100 * measured(rung, rows, "float32", FROM_PYTHON, cols).share_of_copy


def python_time(rung: str, rows: int, cols: int = 0) -> float:
    """Milliseconds of float32, as measured from Python."""
    return 1e3 * measured(rung, rows, "float32", FROM_PYTHON, cols).cold.seconds


def python_speed_up(rung: str, rows: int, cols: int = 0, over: str = "pytorch_eager") -> float:
    """How many times as fast as PyTorch, or as another rung, for float32 from Python."""
    return python_time(over, rows, cols) / python_time(rung, rows, cols)


def rate(rung: str, side: int, cache: str, dtype: str = "f32") -> float:
    """GB/s with a "cold" or a "warm" L2 cache."""
    return measured(rung, side, dtype, MEASURED)[cache].bytes_per_second / 1e9


def starts(rung: str, side: int, threads: int) -> float:
    """10^9 blocks of so many threads a second, of a rung that moves an element a thread."""
    return side * side / threads / measured(rung, side, "f32", MEASURED).cold.seconds / 1e9


def python_starts(rung: str, side: int) -> float:
    """10^9 programs of one element a second."""
    return side * side / measured(rung, side, "float32", FROM_PYTHON).cold.seconds / 1e9


def gpu() -> Data:
    """The GPU of the measurements."""
    return report(MEASURED).runs[0].gpu


def best_copies() -> list[tuple[Any, Any, Any]]:
    """(run, best copy by TMA, best copy through registers); none where they were not measured."""
    if not (ROOT / COPIES).exists():
        return []
    best = lambda run, kind: min((copy for copy in run.copies if copy.kind == kind), key=lambda copy: copy.seconds)
    return [(run, best(run, "tma"), best(run, "registers")) for run in report(COPIES).runs]


def tma_verdict() -> str:
    """Is the best copy by TMA within 1 % of the best one through registers, or ahead of it?"""
    ratios = [registers.seconds / tma.seconds for _, tma, registers in best_copies()]
    if not ratios:
        return "no, with this box"
    return "yes, with the right box" if min(ratios) > 0.99 else "no"


def copies() -> str:
    lines = []
    for run, tma, registers in best_copies():
        rate = lambda copy: f"{8 * run.shape[0] * run.shape[1] / copy.seconds / 1e9:.0f} GB/s"
        boxes = sum(copy.kind == "tma" for copy in run.copies)
        lines.append(
            f"- {run.shape[0]} x {run.shape[1]}: the best of {boxes} boxes, {tma.box_rows} x {tma.box_cols} elements, reaches "
            f"{rate(tma)}. The best of {len(run.copies) - boxes} copies through registers, with {registers.threads} threads a "
            f"block and {counted(registers.vectors, 'vector')} a thread, reaches {rate(registers)}. That is a ratio of "
            f"{registers.seconds / tma.seconds:.3f}.\n"
        )
    if lines:
        of = report(COPIES).provenance
        lines.append(f"\n`{COPIES}`, {of.gpu}, driver {of.driver}, {of.date}, commit {of.commit}.\n")
    return "".join(lines)


SOURCES = {  # of what the functions of expressions say
    "Shares of the copy": (MEASURED, "share stack_share rate starts gpu"),
    "Blocks, waits, numbering and tiles": (BLOCKS, "blocks resident"),
    "What warps waited for": (STALLS, "stall busy"),
    "Measured from Python": (FROM_PYTHON, "python_share python_starts python_time python_speed_up"),
}


def origin(text: str) -> str:
    """Where the measurements of this page are from."""
    called = set(re.findall(r"\b(\w+)\(", " ".join(re.findall(r"<!--.*?-->", text, re.S))))
    lines = []
    for what, (path, functions) in SOURCES.items():
        if called & set(functions.split()):
            of = report(path).provenance
            when = f"driver {of.driver}, clocks as found, {of.date}, commit {of.commit}"
            lines.append(f"{what}: `{path}`,\n{of.gpu}, {when}.\n")
    return "\n".join(lines)


def evaluated(field: str, names: dict[str, Any]) -> str:
    """The value of `expression` or `expression:format`."""
    expression, _, form = re.fullmatch(r"(.+?)(:([\w.,]+))?", field, re.S).groups()
    functions = {function.__name__: function for function in (
        leg, what_if, wavefronts, share, stack_share, python_share, python_time, python_speed_up, blocks, resident, stall, busy, rate,
        starts, python_starts, gpu, tma_verdict, len, max, min, round,
    )}  # fmt: skip
    try:
        value = eval(expression, {"__builtins__": {}, **functions, **names})
        return format(value, form) if form else number(value)
    except Exception as problem:
        raise Stale(f"'{field}': {problem!r}") from problem


def filled(template: str, names: dict[str, Any]) -> str:
    return FIELD.sub(lambda field: evaluated(field[1], names), template)


def wrapped(line: str) -> str:
    """Prose in lines of at most WIDTH; tables and pictures, which have gaps, stay."""
    blanks = line[: len(line) - len(line.lstrip())]
    if len(line) <= WIDTH or "  " in line.strip():
        return line
    return textwrap.fill(line.strip(), WIDTH, initial_indent=blanks, subsequent_indent=blanks)


def printed(command: str, text: str, parts: list[str]) -> str:
    paragraphs = text.strip("\n").split("\n\n")
    for part in parts:
        if not any(paragraph.startswith(part) for paragraph in paragraphs):
            raise Stale(f"'{command}' prints nothing that begins with '{part}'")
    lines = []
    for paragraph in paragraphs:
        if not parts or paragraph.startswith(tuple(parts)):
            lines += [*map(wrapped, paragraph.split("\n")), ""]
        elif not lines or lines[-2:] != ["...", ""]:
            lines += ["...", ""]
    return "\n".join(["```", f"$ {command}", *lines[:-1], "```", ""])


def pictured(name: str, command: str, images: Path) -> str:
    path = images / f"{name}.svg"
    output(f"{command} --svg {shlex.quote(str(path))}")
    texts = [(element.tag.rpartition("}")[2], element.text or "") for element in ElementTree.parse(path).iter()]
    summary = next(text for tag, text in texts if tag == "desc")
    panels = "; ".join(dict.fromkeys([text for tag, text in texts if tag == "title"][1:]))
    ended = re.sub(r"(?<=\. )[a-z]", lambda first: first[0].upper(), summary.strip().rstrip(".") + ".")
    alternative = " ".join(f"{ended} Shown: {panels}.".split()).replace("[", "(").replace("]", ")")
    return f"![{alternative}](images/{name}.svg)\n"


def puzzles(chapter: int) -> str:
    found = [puzzle for puzzle in report("cornerturn puzzle").puzzles if chapter in puzzle.chapters]
    if not found:
        raise Stale(f"no puzzle exercises chapter {chapter}")
    return "".join(f"- `cornerturn puzzle start {puzzle.name}`: {puzzle.teaches}\n" for puzzle in found)


def table(body: str, names: dict[str, Any]) -> str:
    first, *lines = body.strip().split("\n")
    variables, _, values = first.partition("=")
    sources = [re.fullmatch(r"(\w+): (.+)", line) for line in lines if not line.startswith("|")]
    header, row = [line for line in lines if line.startswith("|")]
    out = [header, re.sub(r"[^|]+", " --- ", header)]
    for words in values.split(";"):
        cells = [int(word) if word.isdigit() else word for word in shlex.split(words)]
        known = {**names, **dict(zip(variables.split(), cells, strict=True))}
        for source in sources:
            known[source[1]] = report(filled(source[2], known))
        out.append(filled(row, known))
    return "\n".join(out) + "\n"


def written(text: str, images: Path) -> str:
    """The page with everything filled in; its pictures are drawn into this folder."""
    if wrong := re.search(r"^ *<!--=.*|<!--=(?:(?!--).)*--(?!>).*", text, re.M):
        raise Stale(f"Markdown would not take this as a comment within a sentence: {wrong[0]}")
    names = {name: report(source) for name, source in LET.findall(text)}

    def block(match: re.Match[str]) -> str:
        begin, kind, body, _, end = match.groups()
        body = body.strip().removeprefix(":").strip()
        if kind == "measured":
            return begin + origin(text) + end
        if kind == "copies":
            return begin + copies() + end
        if kind == "puzzles":
            return begin + puzzles(int(body)) + end
        if kind == "table":
            return begin + table(body, names) + end
        if kind == "figure":
            name, _, command = body.partition(": ")
            return begin + pictured(name, command, images) + end
        command, *parts = (part.strip() for part in body.split("|"))
        return begin + printed(command, output(command, 2 if kind == "refused" else 0), parts) + end

    text = BLOCK.sub(block, text)
    return VALUE.sub(lambda match: match[1] + evaluated(match[2], names) + match[4], text)


def main() -> int:
    check = "--check" in sys.argv[1:]
    stale = []
    with tempfile.TemporaryDirectory() as folder:
        drawn = Path(folder)
        new = {}
        for page in sorted(GUIDE.glob("*.md")):
            try:
                new[page] = written(page.read_text(), drawn).encode()
            except Stale as problem:
                sys.exit(f"{page.name}: {problem}")
        new |= {GUIDE / "images" / path.name: path.read_bytes() for path in drawn.glob("*.svg")}
        for path, content in new.items():
            if not path.exists() or path.read_bytes() != content:
                stale.append(path)
                if not check:
                    path.parent.mkdir(exist_ok=True)
                    path.write_bytes(content)
        for path in set((GUIDE / "images").glob("*")) - set(new):
            stale.append(path)
            if not check:
                path.unlink()
    if check and stale:
        names = ", ".join(str(path.relative_to(ROOT)) for path in sorted(stale))
        sys.exit(f"not current: {names}; run scripts/guide.py")
    return 0


if __name__ == "__main__":
    sys.exit(main())
