#!/usr/bin/env python3
"""Fills in what docs/kernels/*.md say in numbers: between `<!-- figures: RUNG... -->` and `<!-- end -->`,
and between `<!-- contest: RUNG... | RUNG... | RUNG... -->` and `<!-- end -->`, which of the first two
groups of rungs is faster, next to the third; between `<!-- python: RUNG -->` and `<!-- end -->`, what was
measured from Python; between `<!-- code: FILE | FIRST | AFTER -->` and `<!-- end -->`, lines of a source; in
README.md also the list of pages and, between `<!-- summary -->` and `<!-- end -->`, all rungs' measured
shares, from Python between `<!-- python summary -->` and `<!-- end -->`, and between `<!-- apart -->` and
`<!-- end -->` where the two measured another share of the same rung. A number in a sentence is
`<!--=EXPRESSION:FORMAT-->**number**`, as in the guide (guide.py). In docs/ledger.md, between
`<!-- ledger -->` and `<!-- end -->`, stands what `ledger_check` says, where it was built, and between
`<!-- misses -->` and `<!-- end -->` why it is off (ledger_misses.py).

usage: scripts/kernel_pages.py [--check]

The drawings (docs/kernels/images), the picture of the tile and the predictions come from `cornerturn draw`,
`cornerturn analyse` and `cornerturn ladder` (build/release, or the program named by CORNERTURN), the
measured share of the copy from bench/results/ladder/<gpu>.json, which bench/ladder/collect.py makes on a
GPU, and from Python from <gpu>.python.json, which `python -m cornerturn.ladder --json` makes. From the same
file comes the picture docs/images/ladder-python.svg. What the profiler saw comes from <gpu>-stalls.json
(ladder_stalls.py). --check changes nothing and fails when a page is not what would be written.
"""

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import guide
import ladder_stalls
import ledger_misses

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = os.environ.get("CORNERTURN", ROOT / "build" / "release" / "bin" / "cornerturn")
PAGES = ROOT / "docs" / "kernels"
RESULTS = ROOT / "bench" / "results" / "ladder"
MARKED = re.compile(r"(<!-- figures: ([\w ]+) -->\n).*?(<!-- end -->)", re.S)
CONTEST = re.compile(r"(<!-- contest: ([\w ]+)\|([\w ]+)\|([\w ]+) -->\n).*?(<!-- end -->)", re.S)
PYTHON = re.compile(r"(<!-- python: (\w+) -->\n).*?(<!-- end -->)", re.S)
PYTHON_SUMMARY = re.compile(r"(<!-- python summary -->\n).*?(<!-- end -->)", re.S)
APART = re.compile(r"(<!-- apart -->\n).*?(<!-- end -->)", re.S)
SUMMARY = re.compile(r"(<!-- summary -->\n).*?(<!-- end -->)", re.S)
CODE = re.compile(r"(<!-- code: (\S+) \| (.+?) \| (.+?) -->\n).*?(<!-- end -->)", re.S)
LEDGER_PAGE = ROOT / "docs" / "ledger.md"
LEDGER = re.compile(r"(<!-- ledger -->\n).*?(<!-- end -->)", re.S)
MISSES = re.compile(r"(<!-- misses -->\n).*?(<!-- end -->)", re.S)
PYTHON_RESULT = RESULTS / "h200.python.json"
PYTHON_PICTURE = ROOT / "docs" / "images" / "ladder-python.svg"
INDEX = re.compile(r"(<!-- index -->\n).*?(<!-- end -->)", re.S)


def report(*words):
    return json.loads(subprocess.run([PROGRAM, *words, "--json"], check=True, stdout=subprocess.PIPE).stdout)


def number(value):
    return f"{value:.1f}".removesuffix(".0")


def against(actual, ideal):
    return number(actual) if number(actual) == number(ideal) else f"{number(actual)} ({number(ideal)})"


def counted(count, noun):
    return f"{count} {noun}{'' if count == 1 else 's'}"


def leg_rows(legs):
    """Accesses that share their figures are one row, wherever they stand in the source."""
    rows = {}
    for leg in legs:
        row = rows.setdefault((leg["leg"], leg["bytes_a_lane"]), dict.fromkeys(
            ("requests", "sectors", "sectors_ideal", "used", "moved", "wavefronts", "wavefronts_ideal"), 0))  # fmt: skip
        row["requests"] += leg["requests"]
        if "sectors" in leg:
            row["sectors"] += leg["sectors"]["mean"] * leg["requests"]
            row["sectors_ideal"] += leg["sectors"]["ideal"] * leg["requests"]
            row["used"] += leg["bytes"]["used"]
            row["moved"] += leg["bytes"]["moved"]
        if "wavefronts" in leg:
            row["wavefronts"] += leg["wavefronts"]["actual"]
            row["wavefronts_ideal"] += leg["wavefronts"]["ideal"]
    for (name, width), row in rows.items():
        each = row["requests"]
        sectors = against(row["sectors"] / each, row["sectors_ideal"] / each) if row["moved"] else "-"
        used = f"{100 * row['used'] / row['moved']:.0f} %" if row["moved"] else "-"
        fronts = against(row["wavefronts"] / each, row["wavefronts_ideal"] / each) if row["wavefronts"] else "-"
        yield f"| {name} | {width} | {sectors} | {used} | {fronts} |"


def drawing(name):
    """The SVG of a rung's first accesses, as text."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rung.svg"
        subprocess.run([PROGRAM, "draw", "rung", name, "--svg", file], check=True, stdout=subprocess.DEVNULL)
        return file.read_text()


def has_drawing(entry):
    """Not those that differ from another one in their order of blocks."""
    return not entry["name"].startswith("block_order")


def picture(rung):
    name = rung["rung"]
    shared = ", in the banks of shared memory," if any("wavefronts" in leg for leg in rung["legs"]) else ""
    return [] if name.startswith("block_order") else [
        f"![The way of a warp's first accesses in {name}: the lanes in the source{shared} and in the destination]"
        f"(images/{name}.svg)", "",
    ]  # fmt: skip


def first_accesses(rung):
    path = rung.get("path")
    return [] if path is None else [
        "The first accesses of the first warp, from the emulator: row,column of the matrices, slots of the tile:",
        "", "```", *path.splitlines(), "```", "",
    ]  # fmt: skip


def banks(rung):
    tile = rung.get("tile")
    return [] if tile is None else [
        f"The banks in which elements of the {tile['rows']} x {tile['columns']} tile lie, from the rung's own map:",
        "", "```", *tile["banks"].splitlines(), "```", "",
    ]  # fmt: skip


def ledger(name, entry, measurements, judgement):
    """Where the predicted time goes, beside the share that was measured at the same size."""
    predicted = entry["predicted"]["ledger"]
    parts = {**predicted["parts"], "launch": predicted["start_seconds"]}
    rows, cols = predicted["shape"]
    lines = [
        "",
        f"Predicted for {rows} x {cols} on {predicted['device']}, with a cold L2 cache:",
        "",
        f"| share of the copy | {' | '.join(parts)} |",
        "| --- |" + " --- |" * len(parts),
        f"| {100 * predicted['share_of_copy']:.0f} % | "
        + " | ".join(f"{100 * seconds / predicted['seconds']:.0f} %" for seconds in parts.values())
        + " |",
        "",
        "The parts overlap; the largest one bounds the time.",
    ]
    found = measurements[0].get((name, predicted["device"], (rows, cols), "f32"))
    if found is not None:
        points = 100 * (predicted["share_of_copy"] - found[0])
        apart = f"{abs(points):.0f} points {'more' if points > 0 else 'less'} than was measured"
        near = "within 5 points of what was measured"
        lines[-1] += f" The prediction is {near if abs(points) <= 5 else apart}."
    largest = max(predicted["parts"], key=predicted["parts"].get)
    return lines + ladder_stalls.of_rung(name, largest) + ledger_misses.of_rung(name, judgement)


def request_rows(entry):
    """What one request of a warp takes, as a table."""
    predicted = entry["predicted"]
    return [
        f"Predicted for {predicted['shape'][0]} x {predicted['shape'][1]} of f32; for one request of a warp:",
        "",
        "| access | bytes a lane | sectors (ideal) | of their bytes used | wavefronts (ideal) |",
        "| --- | --- | --- | --- | --- |",
        *leg_rows(predicted["legs"]),
        "",
    ]


def prediction(entry):
    predicted = entry["predicted"]
    resident = "; ".join(
        f"{counted(fits['blocks'], 'block')} with {fits['threads']} threads on an SM of {sm} (bound: {fits['bound']})"
        for sm, fits in predicted["resident"].items()
    )
    registers = next(fits.get("registers") for fits in predicted["resident"].values())
    code = f" A thread has {registers} registers." if registers else ""
    if "instructions" in predicted:
        code += f" All branches of the kernel together are {predicted['instructions']} instructions."
    lines = [
        f"- A block has {predicted['launch']['block'][0] * predicted['launch']['block'][1]} threads and "
        f"{predicted['shared_bytes']} B of shared memory.{code}",
        f"- Blocks that run at a time: {resident}.",
        f"- Limit: {predicted['limit']}.",
    ]
    changes = []
    for change in predicted["what_if"]:
        points = round(change["points"])
        changes.append(f"{change['change']} {100 * change['share_of_copy']:.0f} % "
                       f"({points:+d} point{'' if abs(points) == 1 else 's'})")  # fmt: skip
    if changes:
        lines.append(f"- What if, predicted: {'; '.join(changes)}.")
    if "than_after" in entry:
        lines.append(f"- Against `{entry['after']}`, for 128 B of the matrix: it {entry['than_after']}.")
    return lines


def measurements(kind="*.json"):
    """(rung, GPU, shape, dtype) -> share of the plain copy and bytes a second; and where they are from."""
    found, sources = {}, []
    for path in sorted(RESULTS.glob(kind)):
        result = json.loads(path.read_text())
        if "runs" not in result:  # what a profiler counted
            continue
        if kind == "*.json" and "." in path.stem:  # from Python, of copies, of blocks
            continue
        origin = result["provenance"]
        sources.append(f"From `{path.relative_to(ROOT)}`: driver {origin.get('driver', 'unknown')}, clocks as found, "
                       f"{origin['date']}, commit {origin['commit']}.")  # fmt: skip
        for run in result["runs"]:
            if run.get("batch", 1) > 1 or run.get("fused"):  # stacks() has these
                continue
            for entry in run["rungs"]:
                if "share_of_copy" in entry.get("measured", {}):
                    key = (entry["name"], run["gpu"]["name"], tuple(run["shape"]), run["dtype"])
                    measured = entry["measured"]
                    found[key] = (measured["share_of_copy"], measured["cold"]["bytes_per_second"])
    return found, sources


def measured(name, measurements):
    results, sources = measurements
    rows = [
        f"| {gpu} | {shape[0]} x {shape[1]} of {dtype} | {100 * share:.1f} % | {rate / 1e9:.0f} |"
        for (rung, gpu, shape, dtype), (share, rate) in sorted(results.items())
        if rung == name
    ]
    if not rows:
        return []
    return [
        "",
        "Measured with a cold L2 cache, against the plain copy in the same run:",
        "",
        "| GPU | matrix | share of the copy | GB/s |",
        "| --- | --- | --- | --- |",
        *rows,
        "",
        *sources,
    ]


def stacks(names):
    """What was measured of stacks of matrices."""
    lines = []
    for path in sorted(RESULTS.glob("*.json")):
        for run in json.loads(path.read_text()).get("runs", []):
            if run.get("batch", 1) == 1 and not run.get("fused"):
                continue
            for entry in run["rungs"]:
                if entry["name"] in names and "share_of_copy" in entry.get("measured", {}):
                    measured = entry["measured"]
                    lines.append(
                        f"| {run['gpu']['name']} | {run['batch']} of {run['shape'][0]} x {run['shape'][1]} of "
                        f"{run['dtype']}{', fused' if run.get('fused') else ''} | `{entry['name']}` | "
                        f"{100 * measured['share_of_copy']:.1f} % | {measured['cold']['bytes_per_second'] / 1e9:.0f} |"
                    )
    head = ["", "Stacks of matrices, in the same run:", "",
            "| GPU | stack | rung | share of the copy | GB/s |", "| --- | --- | --- | --- | --- |"]  # fmt: skip
    return [*head, *lines] if lines else []


def contest(ours, theirs, others, measurements):
    """A table of f32 matrices on which all of these rungs were measured, and who wins."""
    results, sources = measurements
    names = ours + theirs + others
    cases = sorted({key[1:] for key in results if key[3] == "f32"})
    lines = []
    for gpu, shape, dtype in cases:
        share = {name: results[name, gpu, shape, dtype][0] for name in names if (name, gpu, shape, dtype) in results}
        if len(share) < len(names):
            continue
        best, rival = (max(group, key=share.get) for group in (ours, theirs))
        gain = share[best] / share[rival] - 1
        level = abs(gain) < 0.005
        words = f"{abs(gain):.1%} {'faster' if gain > 0 else 'slower'} than `{rival}`".replace("%", " %")
        words = f"as fast as `{rival}`" if level else words
        cells = " | ".join(f"{100 * share[name]:.1f} %" for name in names)
        lines.append(f"| {shape[0]} x {shape[1]}, {gpu} | {cells} | `{best}` is {words} |")
    if not lines:
        return ""
    head = ["matrix of f32", *(f"`{name}`" for name in names), "verdict"]
    return "\n".join([
        "Shares of the plain copy, cold L2 cache:", "",
        f"| {' | '.join(head)} |", "|" + " --- |" * len(head), *lines, "", *sources, "",
    ])  # fmt: skip


def percent(share):
    return f"{100 * share:.0f}" if share >= 0.01 else f"{100 * share:.1f}"


def summary(entries, measurements, dtype="f32", odd=True):
    """All rungs and the matrices of one type that they were measured on: shares of the copy."""
    results, sources = measurements
    lines = []
    for gpu in sorted({key[1] for key in results}):
        taken = [key[2] for key in results if key[1] == gpu and key[3] == dtype and (odd or key[2][0] == key[2][1])]
        # Not those on which a few rungs alone were measured.
        shapes = sorted(shape for shape in set(taken) if taken.count(shape) >= len(list(entries)) // 2)
        head = [f"{gpu}, % of the copy", *(f"{rows}²" if rows == cols else f"{rows} x {cols}" for rows, cols in shapes)]
        lines += [f"| {' | '.join(head)} |", "| --- |" + " ---: |" * len(shapes)]
        for name in entries:
            cells = [results.get((name, gpu, shape, dtype)) for shape in shapes]
            if any(cells):
                shares = " | ".join("-" if cell is None else percent(cell[0]) for cell in cells)
                lines.append(f"| `{name}` | {shares} |")
        lines.append("")
    return "\n".join([*lines, *sources, ""]) if lines else ""


def apart(results, python):
    """Rungs of which the two programs measured shares that differ by more than 2 points."""
    lines = []
    for (name, gpu, shape, dtype), (share, _) in results[0].items():
        other = python[0].get((name, gpu, shape, "float32"))
        if dtype != "f32" or other is None or shape not in ((4096, 4096), (32768, 32768)):
            continue
        if abs(share - other[0]) > 0.02:
            lines.append((shape, f"| `{name}` | {shape[0]}² | {100 * share:.1f} | {100 * other[0]:.1f} |"))
    head = ["| rung | matrix | `cornerturn ladder` | from Python |", "| --- | --- | ---: | ---: |"]
    return "\n".join([*head, *(line for _, line in sorted(lines, key=lambda row: row[0])), ""])


def from_python(name, results):
    """A Triton rung's squares and largest matrix; the others are in the results' file."""
    found, sources = results
    squares = {key: value for key, value in found.items() if key[2][0] == key[2][1]}
    return "\n".join([*measured(name, (squares, sources)), ""]).lstrip("\n")


def measured_together(names, results):
    """The shares of several rungs, side by side."""
    found, sources = results
    cases = sorted({key[1:] for key in found if key[0] in names})
    if not cases:
        return []
    lines = []
    for gpu, shape, dtype in cases:
        shares = [found.get((name, gpu, shape, dtype)) for name in names]
        cells = " | ".join("-" if share is None else f"{100 * share[0]:.1f}" for share in shares)
        lines.append(f"| {gpu} | {shape[0]} x {shape[1]} of {dtype} | {cells} |")
    return [
        "### Measured",
        "",
        "With a cold L2 cache, in % of the plain copy in the same run:",
        "",
        f"| GPU | matrix | {' | '.join(f'`{name}`' for name in names)} |",
        "| --- | --- |" + " ---: |" * len(names),
        *lines,
        "",
        *sources,
        "",
    ]


def section(names, entries, results):
    """What is the same for all of several rungs is said once, and their measured shares are one table."""
    lines, judgement, said = [], judged(), set()
    for name in names:
        if len(names) > 1:
            lines += [f"### `{name}`", ""]
        rung = report("analyse", name)
        lines += picture(rung)
        parts = {
            "first accesses": first_accesses(rung),
            "banks": banks(rung),
            "requests": request_rows(entries[name]),
        }
        same = [what for what, part in parts.items() if tuple(part) in said]
        for what, part in parts.items():
            lines += [] if what in same else part
            said |= {tuple(part)} if part else set()
        if same:
            listed = " and ".join([", ".join(same[:-1]), same[-1]] if len(same) > 1 else same)
            lines += [f"Its {listed} are as above.", ""]
        lines += prediction(entries[name]) + ledger(name, entries[name], results, judgement)
        lines += (measured(name, results) if len(names) == 1 else []) + stacks([name]) + [""]
    return "\n".join(lines + (measured_together(names, results) if len(names) > 1 else []))


def index_row(page):
    text = page.read_text()
    title, idea = re.match(r"# ([^\n]*)\n\n(.*?)\n\n", text, re.S).groups()
    return f"| [{title}]({page.name}) | {' '.join(idea.split())} |"


def written(page, entries, results):
    text = page.read_text()
    if page.name == "README.md":
        order = [*entries, *triton_rungs()]
        pages = sorted(set(PAGES.glob("*.md")) - {page}, key=lambda p: order.index(rungs_of(p)[0]))
        rows = ["| rung | idea |", "| --- | --- |", *map(index_row, pages)]
        text = SUMMARY.sub(lambda m: m[1] + summary(entries, results) + m[2], text)
        python = measurements("*.python.json")
        names = dict.fromkeys(name for name, *_ in python[0])  # in the order of the climb
        text = PYTHON_SUMMARY.sub(lambda m: m[1] + summary(names, python, "float32", odd=False) + m[2], text)
        text = APART.sub(lambda m: m[1] + apart(results, python) + m[2], text)
        text = with_numbers(text)
        return INDEX.sub(lambda m: m[1] + "\n".join(rows) + "\n" + m[2], text)
    text = PYTHON.sub(lambda m: m[1] + from_python(m[2], measurements("*.python.json")) + m[3], text)
    text = CONTEST.sub(lambda m: m[1] + contest(*(m[i].split() for i in (2, 3, 4)), results) + m[5], text)
    text = CODE.sub(lambda m: m[1] + excerpt(m[2], m[3], m[4]) + m[5], text)
    text = with_numbers(text)
    return MARKED.sub(lambda m: m[1] + section(m[2].split(), entries, results) + m[3], text)


def with_numbers(text):
    return guide.VALUE.sub(lambda m: m[1] + guide.evaluated(m[2], {}) + m[4], text)


def excerpt(path, first, after):
    """The lines of a source from the one that has `first` to the last before the one that has `after`."""
    lines = (ROOT / path).read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if first in line)
    end = next(i for i, line in enumerate(lines) if i > start and after in line)
    if "template" in lines[start - 1]:
        start -= 1
    return "\n".join(["```cpp", *textwrap.dedent("\n".join(lines[start:end])).strip().splitlines(), "```", ""])


@functools.cache
def judged():
    """docs/ledger.md with what `ledger_check` says of the committed measurements."""
    text = LEDGER_PAGE.read_text()
    program = Path(PROGRAM).with_name("ledger_check")
    measured = RESULTS / "h200.json"
    if program.exists() and measured.exists():
        words = [program, "judge", measured, "--cases"]
        out = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
        text = LEDGER.sub(lambda m: f"{m[1]}```\n{out}```\n{m[2]}", text)
    return MISSES.sub(lambda m: f"{m[1]}{ledger_misses.by_reason(text)}\n{m[2]}", text)


def rungs_of(page):
    found = re.findall(r"<!-- (?:figures|python): ([\w ]+) -->", page.read_text())
    return [name for names in found for name in names.split()]


def triton_rungs():
    """In the order of the climb, in which the package names them."""
    text = (ROOT / "python" / "cornerturn" / "ladder" / "_rung.py").read_text()
    return re.findall(r'^    "(triton_\w+)": "', text, re.M)


def picture_mark():
    origin = json.loads(PYTHON_RESULT.read_text())["provenance"]
    return f"<!-- {PYTHON_RESULT.relative_to(ROOT)}, {origin['date']}, commit {origin['commit']} -->"


def draw_python_picture():
    """By the package, with matplotlib; the picture says of which result it is."""
    python = ROOT / ".venv" / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ladder.svg"
        words = ["-m", "cornerturn.ladder", "--from", PYTHON_RESULT, "--plot", file]
        subprocess.run([python if python.exists() else sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
        PYTHON_PICTURE.write_text(f"{file.read_text().rstrip()}\n{picture_mark()}\n")


def main():
    check = "--check" in sys.argv[1:]
    entries = {entry["name"]: entry for entry in report("ladder", "--no-gpu")["rungs"]}
    results = measurements()
    stale = []
    for page in [LEDGER_PAGE, *sorted(PAGES.glob("*.md"))]:
        text = judged() if page == LEDGER_PAGE else written(page, entries, results)
        if text == page.read_text():
            continue
        stale.append(page.name)
        if not check:
            page.write_text(text)
    for entry in filter(has_drawing, entries.values()):
        image = PAGES / "images" / f"{entry['name']}.svg"
        text = drawing(entry["name"])
        if image.exists() and text == image.read_text():
            continue
        stale.append(f"images/{image.name}")
        if not check:
            image.parent.mkdir(exist_ok=True)
            image.write_text(text)
    if PYTHON_RESULT.exists() and not PYTHON_PICTURE.read_text().endswith(picture_mark() + "\n"):
        stale.append(PYTHON_PICTURE.name)
        if not check:
            draw_python_picture()
    if check and stale:
        sys.exit(f"not current: {', '.join(stale)}; run scripts/kernel_pages.py")


if __name__ == "__main__":
    main()
