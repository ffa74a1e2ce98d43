#!/usr/bin/env python3
"""Compares what `cornerturn check` counts line by line with what Nsight Compute counted on a GPU.

usage: compare_lines.py OUTPUT.json CHECKED --build FLAGS LINES.json.gz SASS [--build ...] [--provenance KEY=VALUE] [--show N]

CHECKED is a folder with what `cornerturn check PROGRAM.cu --json` prints, as PROGRAM.json. Each build of the programs
by nvcc has its flags, LINES.json.gz from profile_lines.py, and a folder with what `nvdisasm -gi -c` prints of each
program's device code, as PROGRAM.sass: it has the lines of the source for instructions that come from functions of
CUDA's headers, too. Where one build differs and another one agrees, nvcc made the difference.

The accesses of one kind (a load or store of global or shared memory, an atomic, a copy without a thread) at one
statement of a kernel are one row. A row agrees where the GPU counted as many sectors or wavefronts as `check` (both of
a copy without a thread); it weighs as much as it has requests. Where a row does not agree, the bytes and widths that the
GPU's instructions moved say why:

  merged     as many bytes, by fewer and wider instructions
  split      as many bytes, by more and narrower instructions
  moved      nvcc says that the access belongs to another line: with it, all such rows of the kernel agree
  fewer      nvcc keeps a value in registers, or knows it, instead of loading it
  more       nvcc repeats an access
  regrouped  the same bytes in the same widths, but other lanes together: nvcc unrolled a loop or joined two branches
  counted    the same bytes in the same widths by one instruction, but another count: a fault of the model, or of the
             profiler
"""

import argparse
import gzip
import itertools
import json
import re
from collections import Counter
from pathlib import Path

OPS = {
    "LDG": "global_load", "STG": "global_store", "LDS": "shared_load", "STS": "shared_store",
    "LDGSTS": "async_copy", "LDSM": "ldmatrix", "STSM": "stmatrix", "ATOM": "global_atomic",
    "ATOMG": "global_atomic", "RED": "global_atomic", "REDG": "global_atomic", "ATOMS": "shared_atomic",
}  # fmt: skip
METRICS = {"wavefronts": "memory_l1_wavefronts_shared", "sectors": "memory_l2_theoretical_sectors_global"}
TOOLKIT = re.compile(r"/usr/local/cuda|/targets/x86_64-linux/include/")


def operation(sass, values):
    """('global_load', 16) of `@P0 LDG.E.128 R4, ...`; None for what does not go to global or shared memory."""
    match = re.match(r"\s*(?:@!?U?P\w+\s+)?([A-Z0-9]+)((?:\.\w+)*)", sass)
    if not match:
        return None
    name = match[1]
    if name in ("LD", "ST"):  # an address whose memory nvcc does not know
        memory = "shared" if values.get("memory_l1_wavefronts_shared") else "global"
        kind = f"{memory}_{'load' if name == 'LD' else 'store'}"
    elif name in OPS:
        kind = OPS[name]
    else:
        return None
    width = 4
    for modifier in match[2].split("."):
        if re.fullmatch(r"[US]?(8|16|64|128)", modifier):
            width = int(re.sub(r"\D", "", modifier)) // 8
        elif modifier == "F16x2" or modifier == "F16X2":
            width = 4
    return kind, width


def measures(kind):
    if kind == "async_copy":
        return ["sectors", "wavefronts"]
    return ["wavefronts"] if kind.startswith(("shared", "ld", "st")) else ["sectors"]


# The source ---------------------------------------------------------------------------------------


class Statements:
    """The first line of the statement that a line belongs to: compilers differ in which of its lines they name."""

    def __init__(self):
        self.files = {}

    def start(self, file, line):
        if file not in self.files:
            self.files[file] = self.read(file)
        starts = self.files[file]
        return starts[line] if 0 < line < len(starts) else line

    @staticmethod
    def read(file):
        try:
            text = Path(file).read_text(errors="replace")
        except OSError:
            return []
        blank = lambda match: re.sub(r"[^\n]", " ", match[0])
        text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)
        starts, first, depth = [0], None, 0
        for number, row in enumerate(text.split("\n"), 1):
            if row.lstrip().startswith("#"):
                starts.append(number)
                continue
            begin = first
            for letter in row:
                if not letter.isspace() and first is None:
                    first = number
                    begin = begin or number
                depth += (letter in "([") - (letter in ")]")
                if letter in "{}" or (letter == ";" and depth <= 0):
                    first, depth = None, 0
            starts.append(begin or number)
        return starts


def lines_of_code(path):
    """{mangled name: {offset: (opcode, [(file, line) from the innermost function outwards])}}"""
    functions, code, places, header = {}, None, [], False
    for row in path.read_text(errors="replace").splitlines():
        section = re.match(r"\s*\.section\s+\.text\.([^,\s]+)", row)
        place = re.match(r'\s*//## File "([^"]*)", line (\d+)', row)
        found = re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", row)
        if section:
            code, places = functions.setdefault(section[1], {}), []
        elif place:
            places = places if header else []
            places.append((place[1], int(place[2])))
        elif found and code is not None:
            code[int(found[1], 16)] = (found[2], list(places))
        header = bool(place)
    return functions


# One kernel ---------------------------------------------------------------------------------------


def add(rows, key, width, requests, lanes, counts):
    """`counts`: of each measure of this kind what was counted, and the ideal."""
    empty = {"requests": 0, "bytes": 0, "places": 0, "actual": [0] * len(counts), "ideal": [0] * len(counts)}
    row = rows.setdefault(key, {**empty, "widths": Counter()})
    row["requests"] += requests
    row["bytes"] += lanes * width
    row["places"] += 1
    for i, (actual, ideal) in enumerate(counts):
        row["actual"][i] += actual
        row["ideal"][i] += ideal
    row["widths"][width] += lanes


def checked_rows(kernel, statements):
    rows = {}
    for line in kernel["lines"]:
        kind = line["op"]
        if kind == "prefetch":
            continue
        key = (Path(line["file"]).name, statements.start(line["file"], line["line"]), kind)
        scale = 1 / kernel["launches"]
        add(rows, key, line["width"], line["requests"] * scale, line["lanes"] * scale,
            [(line[what]["actual"] * scale, line[what]["ideal"] * scale) for what in measures(kind)])  # fmt: skip
    return rows


def user_place(places, fallback):
    for file, line in places:
        if not TOOLKIT.search(file):
            return file, line
    return fallback[0] or "?", fallback[1] or 0


def counted_rows(launches, code, statements, problems):
    rows = {}
    scale = 1 / len(launches)
    for launch in launches:
        for offset, sass, place, values in launch["code"]:
            requests = values.get("inst_executed", 0)
            lanes = values.get("thread_inst_executed_true", 0) * scale
            op = operation(sass, values)
            if op is None or lanes == 0:
                continue  # no lane of any warp took part
            kind, width = op
            known, places = code.get(offset, ("", []))
            if known.split()[:1] != sass.split()[:1] and known.split()[1:2] != sass.split()[1:2]:
                problems.append(f"{launch['name']}: {sass!r} at {offset:#x}, listed as {known!r}")
                places = []
            file, line = user_place(places, place)
            key = (Path(file).name, statements.start(file, line), kind)
            names = [METRICS[what] for what in measures(kind)]
            counts = [(values.get(name, 0) * scale, values.get(name + "_ideal", 0) * scale) for name in names]
            add(rows, key, width, requests * scale, lanes, counts)
    return rows


def reason(ours, theirs):
    if theirs is None:
        return "fewer"
    if ours is None:
        return "more"
    if theirs["bytes"] != ours["bytes"]:
        return "fewer" if theirs["bytes"] < ours["bytes"] else "more"
    if theirs["widths"] == ours["widths"]:
        return "regrouped" if theirs["ideal"] != ours["ideal"] or theirs["places"] > 1 else "counted"
    mean = lambda row: row["bytes"] / sum(row["widths"].values())
    return "merged" if mean(theirs) > mean(ours) else "split"


def compare_kernel(kernel, launches, code, statements, problems):
    ours = checked_rows(kernel, statements)
    theirs = counted_rows(launches, code, statements, problems)
    rows = []
    for key in sorted(set(ours) | set(theirs)):
        a, b = ours.get(key), theirs.get(key)
        equal = a is not None and b is not None and b["actual"] == a["actual"]
        rows.append({
            "file": key[0], "line": key[1], "op": key[2], "equal": equal,
            "why": None if equal else reason(a, b),
            "as_written": a is not None and b is not None and a["widths"] == b["widths"],
            "requests": a["requests"] if a else 0, "counted_requests": b["requests"] if b else 0,
            "checked": a["actual"] if a else None, "counted": b["actual"] if b else None,
            "widths": dict(a["widths"]) if a else {}, "counted_widths": dict(b["widths"]) if b else {},
        })  # fmt: skip
    find_moved(rows)
    return rows


def total(rows, widths, counts):
    """Lanes by width and counts of some rows together."""
    lanes, sums = Counter(), []
    for row in rows:
        lanes.update(row[widths])
        sums.append(row[counts] or [])
    return lanes, [sum(each) for each in itertools.zip_longest(*sums, fillvalue=0)]


def find_moved(rows):
    """Accesses that nvcc names another line for: together the rows that have fewer and more agree."""
    for op in {row["op"] for row in rows}:
        odd = [row for row in rows if row["op"] == op and row["why"] in ("fewer", "more")]
        if odd and total(odd, "widths", "checked") == total(odd, "counted_widths", "counted"):
            for row in odd:
                row["why"] = "moved"


# All programs -------------------------------------------------------------------------------------


def grouped(launches):
    """Launches of one kernel in one shape, in the order of their first; without those that a fault ended."""
    groups = {}
    for launch in launches:
        if not any(values.get("inst_executed") for *_, values in launch["code"]):
            continue
        groups.setdefault((launch["name"], launch["mangled"], str(launch["grid"]), str(launch["block"])), []).append(launch)
    return list(groups.values())


def pairs_of(name, kernels, launches, problems):
    groups = grouped(launches)
    if len(groups) != len(kernels):
        problems.append(f"{name}: {len(kernels)} kernels checked, {len(groups)} profiled")
    for kernel, group in zip(kernels, groups):
        shape = [kernel["grid"], kernel["block"]]
        seen = [group[0]["grid"], group[0]["block"]]
        if None not in seen and None not in seen[0] and seen != shape:
            problems.append(f"{name}: {kernel['name']} {shape} beside {group[0]['name']} {seen}")
            continue
        yield kernel, group


def find_code(functions, launch):
    """The listing of a launch's kernel: by its mangled name, or else by the opcodes."""
    if launch["mangled"] in functions:
        return functions[launch["mangled"]]
    head = lambda sass: sass.split()[:2]
    fits = [code for code in functions.values()
            if all(offset in code and head(code[offset][0]) == head(sass) for offset, sass, _, _ in launch["code"])]  # fmt: skip
    return fits[0] if len(fits) == 1 else {}


def compare_build(profiled, checked, listings, problems):
    """{program: [{"kernel", "grid", "block", "rows"}]} of one build of the programs."""
    statements, programs = Statements(), {}
    for name, program in sorted(profiled["programs"].items()):
        report = checked / f"{name}.json"
        if "launches" not in program or not report.exists():
            problems.append(f"{name}: {program.get('failed', 'not checked')}")
            continue
        functions = lines_of_code(listings / f"{name}.sass")
        kernels = [kernel for file in json.loads(report.read_text())["files"] for kernel in file["kernels"]]
        programs[name] = []
        for kernel, group in pairs_of(name, kernels, program["launches"], problems):
            code = find_code(functions, group[0])
            if not code:
                problems.append(f"{name}: no listing of {group[0]['name']}")
            rows = compare_kernel(kernel, group, code, statements, problems)
            programs[name].append({"kernel": kernel["name"], "grid": kernel["grid"], "block": kernel["block"], "rows": rows})
    return programs


def mark_agreeing_elsewhere(programs, others):
    """Of rows that differ: does the very row agree in another build? Then it was nvcc that made the difference."""
    place = lambda row: (row["file"], row["line"], row["op"])
    for name, kernels in programs.items():
        for kernel, other in zip(kernels, others.get(name, [])):
            agreeing = {place(row) for row in other["rows"] if row["equal"]}
            for row in kernel["rows"]:
                row["elsewhere"] = place(row) in agreeing


def summed(kernels):
    rows = [row for kernel in kernels for row in kernel["rows"]]
    requests = lambda some: round(sum(row["requests"] for row in some))
    odd = [row for row in rows if not row["equal"]]
    why = sorted({row["why"] for row in odd if row["requests"]})
    return {
        "lines": len(rows),
        "lines_equal": len(rows) - len(odd),
        "requests": requests(rows),
        "requests_equal": requests(row for row in rows if row["equal"]),
        "requests_as_written": requests(row for row in rows if row["as_written"]),
        "requests_as_written_equal": requests(row for row in rows if row["as_written"] and row["equal"]),
        "requests_different": {reason: requests(row for row in odd if row["why"] == reason) for reason in why},
        "requests_equal_elsewhere": requests(row for row in odd if row.get("elsewhere")),
    }


def result_of(build, programs):
    """What the committed file says of one build: sums, families of programs, kernels."""
    families = {}
    for name, kernels in programs.items():
        families.setdefault(name.split("_")[0], []).extend(kernels)
    families["all"] = [kernel for kernels in programs.values() for kernel in kernels]
    shape = lambda kernel: {key: kernel[key] for key in ("kernel", "grid", "block")}
    return {
        "build": build,
        "sums": {name: {"kernels": len(kernels), **summed(kernels)} for name, kernels in families.items()},
        "kernels": [{"program": name, **shape(kernel), **summed([kernel])}
                    for name, kernels in programs.items() for kernel in kernels],
    }  # fmt: skip


def write_result(path, provenance, results):
    with path.open("w") as file:
        file.write('{"provenance": ' + json.dumps(provenance, indent=1) + ',\n"builds": [')
        for i, result in enumerate(results):
            file.write(",\n" if i else "\n")
            file.write(f'{{"build": {json.dumps(result["build"])},\n"sums": {json.dumps(result["sums"], indent=1)},\n"kernels": [\n')
            file.write(",\n".join(json.dumps(kernel) for kernel in result["kernels"]) + "\n]}")
        file.write("\n]}\n")


def show(programs, most):
    odd = [(name, kernel["kernel"], row) for name, kernels in programs.items() for kernel in kernels
           for row in kernel["rows"] if not row["equal"]]  # fmt: skip
    odd.sort(key=lambda found: -max(found[2]["requests"], found[2]["counted_requests"]))
    for name, kernel, row in odd[:most]:
        print(f"{row['why']:9} {'(agrees elsewhere)' if row.get('elsewhere') else ''} {name} {kernel} {row['file']}:{row['line']} "
              f"{row['op']}: {row['requests']:g} requests, {row['checked']} checked, {row['counted']} counted, "
              f"lanes by width {row['widths']} {row['counted_widths']}")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("checked", type=Path)
    parser.add_argument("--build", nargs=3, action="append", required=True, metavar=("FLAGS", "LINES.json.gz", "SASS"))
    parser.add_argument("--provenance", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--show", type=int, default=0, help="rows that differ, the heaviest first")
    args = parser.parse_args()

    problems, builds, provenance = [], [], {}
    for flags, lines, listings in args.build:
        with gzip.open(lines, "rt") as file:
            profiled = json.load(file)
        provenance.update(profiled["provenance"])
        builds.append((flags, compare_build(profiled, args.checked, Path(listings), problems)))
    for (_, programs), (_, others) in itertools.permutations(builds, 2):
        mark_agreeing_elsewhere(programs, others)
    provenance.update(pair.split("=", 1) for pair in args.provenance)
    results = [result_of(flags, programs) for flags, programs in builds]
    write_result(args.output, provenance, results)
    for (_, programs), result in zip(builds, results):
        show(programs, args.show)
        print(result["build"], json.dumps(result["sums"]["all"]))
    for problem in problems:
        print("problem:", problem)


if __name__ == "__main__":
    main()
