#!/usr/bin/env python3
"""Compares what `cornerturn check` counts line by line with what Nsight Compute counted on a GPU.

usage: compare_lines.py LINES.json.gz CHECKED SASS OUTPUT.json [--commit HASH] [--show N] [--only PREFIX]

LINES.json.gz comes from profile_lines.py. CHECKED is a folder with what `cornerturn check PROGRAM.cu --json` prints, as
PROGRAM.json, and SASS one with what `nvdisasm -gi -c` prints of each program's device code, as PROGRAM.sass: it has the
lines of the source for instructions that come from functions of CUDA's headers, too.

The accesses of one kind (a load or store of global or shared memory, an atomic, a copy without a thread) at one
statement of a kernel are one row. A row agrees where the GPU counted as many sectors or wavefronts as `check`; it
weighs as much as it has requests. Where a row does not agree, the bytes and widths that the GPU's instructions moved
say why:

  merged    as many bytes, by fewer and wider instructions
  split     as many bytes, by more and narrower instructions
  fewer     nvcc keeps a value in registers or knows it, or moved the access to another line
  more      nvcc repeats an access, or moved it here from another line
  counted   the same bytes in the same widths, but another count: a fault of the model, or of the profiler
"""

import argparse
import gzip
import json
import re
from collections import Counter
from pathlib import Path

OPS = {
    "LDG": "global_load", "STG": "global_store", "LDS": "shared_load", "STS": "shared_store",
    "LDGSTS": "async_copy", "LDSM": "ldmatrix", "STSM": "stmatrix", "ATOM": "global_atomic",
    "ATOMG": "global_atomic", "RED": "global_atomic", "REDG": "global_atomic", "ATOMS": "shared_atomic",
}  # fmt: skip
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


def measure(kind):
    return "wavefronts" if kind.startswith(("shared", "ld", "st")) else "sectors"


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
    row = rows.setdefault(key, {"requests": 0, "bytes": 0, "actual": 0, "ideal": 0, "widths": Counter()})
    row["requests"] += requests
    row["bytes"] += lanes * width
    row["actual"] += counts[0]
    row["ideal"] += counts[1]
    row["widths"][width] += lanes


def checked_rows(kernel, statements):
    rows = {}
    for line in kernel["lines"]:
        kind = line["op"]
        counts = line.get(measure(kind)) or line.get("sectors") or line.get("wavefronts")
        key = (Path(line["file"]).name, statements.start(line["file"], line["line"]), kind)
        scale = 1 / kernel["launches"]
        add(rows, key, line["width"], line["requests"] * scale, line["lanes"] * scale,
            (counts["actual"] * scale, counts["ideal"] * scale))  # fmt: skip
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
            op = operation(sass, values)
            if op is None or requests == 0:
                continue
            kind, width = op
            known, places = code.get(offset, ("", []))
            if known.split()[:1] != sass.split()[:1] and known.split()[1:2] != sass.split()[1:2]:
                problems.append(f"{launch['name']}: {sass!r} at {offset:#x}, listed as {known!r}")
                places = []
            file, line = user_place(places, place)
            key = (Path(file).name, statements.start(file, line), kind)
            name = {"wavefronts": "memory_l1_wavefronts_shared", "sectors": "memory_l2_theoretical_sectors_global"}[
                measure(kind)]  # fmt: skip
            counts = values.get(name, 0) * scale, values.get(name + "_ideal", 0) * scale
            lanes = values.get("thread_inst_executed_true", values.get("thread_inst_executed", 0)) * scale
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
        return "counted"
    mean = lambda row: row["bytes"] / sum(row["widths"].values())
    return "merged" if mean(theirs) > mean(ours) else "split"


def compare_kernel(kernel, launches, code, statements, problems):
    ours = checked_rows(kernel, statements)
    theirs = counted_rows(launches, code, statements, problems)
    rows = []
    for key in sorted(set(ours) | set(theirs)):
        a, b = ours.get(key), theirs.get(key)
        if a is None and b["actual"] == 0 and b["bytes"] == 0:
            continue  # no lane of any warp took part
        equal = a is not None and (b["actual"] if b else 0) == a["actual"]
        rows.append({
            "file": key[0], "line": key[1], "op": key[2], "equal": equal,
            "why": None if equal else reason(a, b),
            "as_written": a is not None and b is not None and a["widths"] == b["widths"],
            "requests": a["requests"] if a else 0, "counted_requests": b["requests"] if b else 0,
            "checked": a["actual"] if a else 0, "counted": b["actual"] if b else 0,
            "ideal": a["ideal"] if a else 0, "counted_ideal": b["ideal"] if b else 0,
            "widths": dict(a["widths"]) if a else {}, "counted_widths": dict(b["widths"]) if b else {},
        })  # fmt: skip
    return rows


# All programs -------------------------------------------------------------------------------------


def grouped(launches):
    """Launches of one kernel in one shape, in the order of their first."""
    groups = {}
    for launch in launches:
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


def summed(kernels):
    rows = [row for kernel in kernels for row in kernel["rows"]]
    total = sum(row["requests"] for row in rows)
    written = sum(row["requests"] for row in rows if row["as_written"])
    why = Counter()
    for row in rows:
        if not row["equal"]:
            why[row["why"]] += row["requests"]
    return {
        "kernels": len(kernels),
        "kernels_equal": sum(all(row["equal"] for row in kernel["rows"]) for kernel in kernels),
        "lines": len(rows),
        "lines_equal": sum(row["equal"] for row in rows),
        "requests": round(total),
        "requests_equal": round(sum(row["requests"] for row in rows if row["equal"])),
        "requests_as_written": round(written),
        "requests_as_written_equal": round(sum(r["requests"] for r in rows if r["as_written"] and r["equal"])),
        "requests_different": {key: round(value) for key, value in why.most_common()},
        "lines_that_check_lacks": sum(row["requests"] == 0 for row in rows),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lines")
    parser.add_argument("checked", type=Path)
    parser.add_argument("sass", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--show", type=int, default=40, help="rows that differ, the heaviest first")
    parser.add_argument("--only", default="", help="programs whose names begin so")
    args = parser.parse_args()

    with gzip.open(args.lines, "rt") as file:
        profiled = json.load(file)
    statements, problems, programs = Statements(), [], {}
    for name, program in sorted(profiled["programs"].items()):
        checked = args.checked / f"{name}.json"
        if not name.startswith(args.only):
            continue
        if "launches" not in program or not checked.exists():
            problems.append(f"{name}: {program.get('failed', 'not checked')}")
            continue
        functions = lines_of_code(args.sass / f"{name}.sass")
        kernels = [kernel for file in json.loads(checked.read_text())["files"] for kernel in file["kernels"]]
        programs[name] = []
        for kernel, group in pairs_of(name, kernels, program["launches"], problems):
            code = find_code(functions, group[0])
            if not code:
                problems.append(f"{name}: no listing of {group[0]['name']}")
            rows = compare_kernel(kernel, group, code, statements, problems)
            programs[name].append({"kernel": kernel["name"], "grid": kernel["grid"], "block": kernel["block"], "rows": rows})

    sums = {name: summed(kernels) for name, kernels in programs.items()}
    families = {}
    for name, kernels in programs.items():
        families.setdefault(name.split("_")[0], []).extend(kernels)
    everything = {name: summed(kernels) for name, kernels in families.items()}
    everything["all"] = summed([kernel for kernels in programs.values() for kernel in kernels])
    provenance = {**profiled["provenance"], "commit": args.commit}
    kernels = [
        {"program": name, "kernel": kernel["kernel"], "grid": kernel["grid"], "block": kernel["block"],
         **{key: value for key, value in summed([kernel]).items() if not key.startswith("kernels")}}
        for name, all_of in programs.items() for kernel in all_of
    ]  # fmt: skip
    with args.output.open("w") as file:
        file.write('{"provenance": ' + json.dumps(provenance) + ',\n"all": ' + json.dumps(everything, indent=1))
        file.write(',\n"kernels": [\n' + ",\n".join(json.dumps(kernel) for kernel in kernels) + "\n]}\n")

    differing = [(name, kernel["kernel"], row) for name, all_of in programs.items() for kernel in all_of
                 for row in kernel["rows"] if not row["equal"]]  # fmt: skip
    differing.sort(key=lambda found: -max(found[2]["requests"], found[2]["counted_requests"]))
    for name, kernel, row in differing[: args.show]:
        print(f"{row['why']:8} {name} {kernel} {row['file']}:{row['line']} {row['op']}: {row['requests']:g} requests, "
              f"{row['checked']:g} checked, {row['counted']:g} counted, lanes by width {row['widths']} {row['counted_widths']}")  # fmt: skip
    for problem in problems[:40]:
        print("problem:", problem)
    for name, one in {**sums, **everything}.items():
        share = 100 * one["requests_equal"] / max(one["requests"], 1)
        written = 100 * one["requests_as_written_equal"] / max(one["requests_as_written"], 1)
        print(f"{name:24} {one['kernels']:4} kernels, {one['lines_equal']}/{one['lines']} lines, {share:6.2f} % of "
              f"{one['requests']} requests equal; {written:6.2f} % of {one['requests_as_written']} as written; "
              f"{one['requests_different']}")  # fmt: skip


if __name__ == "__main__":
    main()
