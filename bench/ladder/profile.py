#!/usr/bin/env python3
"""Compares what is predicted of every rung with what Nsight Compute counts.

usage: profile.py LADDER_PROBE OUTPUT.json [--commit HASH] [--report FILE.ncu-rep]

For each case and leg (an access of the source; all instructions of one kind and width make it up):
how many requests, sectors and wavefronts were predicted and how many the profiler counted for those
instructions; then the hardware's own counters for the whole kernel. Every launch is profiled
REPEATS times, and a difference is a failure: exit code 1. What counts as a difference:

  exact        every repeat must count the predicted figure: all figures of all instructions.
  unsettled    an async copy from a cut tile (rows or columns no multiple of WHOLE): its data comes
               in parts, at times of its own; parts that come together share a wavefront, and late
               ones take another, so that repeats of one launch differ. Each repeat must lie within
               UNSETTLED of the prediction. The kernel-wide counter of such copies
               (..._op_ldgsts) counts what was tried again as well: it is listed, not compared.
  arbitration  the kernel-wide counters of the data stage (l1tex__data_pipe_*) count a wavefront
               again when it lost its turn to other traffic: they must not be below the prediction.
               The figures of the instructions themselves, which do not, are compared exactly.

Legs of the copy engine (TMA) are listed, and not compared: those counters do not see them. The
GPU's clocks and settings stay as they are found. --report reads an earlier report instead of
profiling.
"""

import argparse
import csv
import datetime
import glob
import io
import json
import os
import re
import subprocess
import sys
import tempfile

# Per-instruction figures, by the names that the profiler's source page uses, and in its CSV.
FIGURES = {
    "requests": ("inst_executed", "Instructions Executed"),
    "sectors": ("memory_l2_theoretical_sectors_global", "L2 Theoretical Sectors Global"),
    "wavefronts": ("memory_l1_wavefronts_shared", "L1 Wavefronts Shared"),
}
# The hardware's counters for a whole kernel, and the legs that make them up.
TOTALS = {
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": ("sectors", ("global load", "async copy")),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": ("sectors", ("global store",)),
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": ("wavefronts", ("shared load",)),
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": ("wavefronts", ("shared store",)),
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum":
        ("wavefronts", ("async copy",)),
}
ARBITRATED = "l1tex__data_pipe_"
LISTED = "_op_ldgsts.sum"  # where tiles are cut
REPEATS = 3
UNSETTLED = 0.05
WHOLE = 64  # the sides of all tiles that async copies fill divide it
OPS = {"LDG": "global load", "STG": "global store", "LDS": "shared load", "STS": "shared store",
       "LDGSTS": "async copy"}
NCU_FOLDERS = ["/opt/nvidia/nsight-compute/*", "/usr/local/cuda/nsight-compute*",
               "/usr/local/NVIDIA-Nsight-Compute*"]


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"profile.py: {' '.join(command[:3])} ... failed\n"
                         f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def leg_of(sass):
    """('global load', 16) for `@P0 LDG.E.128 R4, [R2.64]`; None for other instructions."""
    match = re.match(r"\s*(?:@!?U?P\w+\s+)?([A-Z0-9]+)((?:\.\w+)*)", sass)
    if not match or match[1] not in OPS:
        return None
    width = 4
    for modifier in match[2].split("."):
        if re.fullmatch(r"[US]?(8|16|64|128)", modifier):
            width = int(re.sub(r"\D", "", modifier)) // 8
    return OPS[match[1]], width


def instructions_by_module(report):
    """For each profiled launch a list of (sass, {figure: count}) and its totals, by Nsight
    Compute's Python interface."""
    for folder in NCU_FOLDERS:
        sys.path += glob.glob(folder + "/extras/python")
    import ncu_report

    launches = []
    context = ncu_report.load_report(report)
    for index in range(context.num_ranges()):
        for action in context.range_by_idx(index):
            by_address = {}
            for key, (name, _) in FIGURES.items():
                metric = action.metric_by_name(name)
                if metric is None or not metric.has_correlation_ids():
                    continue
                ids = metric.correlation_ids()
                for i in range(metric.num_instances()):
                    by_address.setdefault(ids.value(i), {})[key] = int(metric.value(i))
            code = [(action.sass_by_pc(pc), values) for pc, values in sorted(by_address.items())]
            launches.append((code, {name: int(action.metric_by_name(name).value()) for name in TOTALS}))
    return launches


def instructions_by_page(report):
    """Counts from the pages that the command line prints, for versions without that interface."""
    page = output_of("ncu", "--import", report, "--page", "source", "--print-source", "sass", "--csv",
                     "--print-units", "base")
    launches, header = [], None
    for row in csv.reader(io.StringIO(page)):
        if "Source" in row and FIGURES["requests"][1] in row:
            header = {name: i for i, name in reversed(list(enumerate(row)))}
            launches.append([])
        elif header and len(row) > header["Source"]:
            values = {}
            for key, (_, label) in FIGURES.items():
                text = row[header[label]].replace(",", "") if label in header else ""
                values[key] = int(float(text)) if re.fullmatch(r"[\d.]+", text) else 0
            launches[-1].append((row[header["Source"]], values))
    raw = output_of("ncu", "--import", report, "--page", "raw", "--csv", "--print-units", "base")
    rows = list(csv.DictReader(line for line in raw.splitlines() if line.startswith('"')))[1:]
    totals = [{name: int(float(row[name].replace(",", ""))) for name in TOTALS} for row in rows]
    return list(zip(launches, totals))


def profile(probe, report):
    metrics = [name for name, _ in FIGURES.values()] + list(TOTALS)
    output_of("ncu", "--force-overwrite", "--export", report, "--profile-from-start", "off",
              "--clock-control", "none", "--cache-control", "none", "--metrics", ",".join(metrics),
              "--import-source", "no", probe, "launch", str(REPEATS))


def counted_legs(code):
    """{(operation, bytes a lane): sums of the figures over its instructions, and those of each} of one launch."""
    counted = {}
    for sass, values in code:
        leg = leg_of(sass)
        if leg is None:
            continue
        sums = counted.setdefault(leg, {"instructions": 0, **{key: 0 for key in FIGURES}, "each": []})
        for key in FIGURES:
            sums[key] += values.get(key, 0)
        if values.get("requests", 0) > 0:
            sums["instructions"] += 1
            sums["each"].append({key: values.get(key, 0) for key in FIGURES})
    return counted


def told_apart(parts, each):
    """Adds to each of several accesses of one kind what its own instruction counted. False, and nothing done, where
    there is not one instruction for each of them with the figures that it should have."""
    figures = lambda found: tuple(found.get(key, 0) for key in FIGURES)
    parts, each = sorted(parts, key=figures), sorted(each, key=figures)
    if [figures(part) for part in parts] != [figures(one) for one in each]:
        return False
    for part, one in zip(parts, each):
        part["counted"] = {"instructions": 1, **one}
    return True


def verdict(expected, seen, unsettled=False, arbitrated=False):
    """None, "unsettled" or "wrong" for a figure and what each repeat counted."""
    if all(value == expected for value in seen):
        return None
    if arbitrated and min(seen) >= expected:
        return None
    if unsettled and all(abs(value - expected) <= UNSETTLED * expected for value in seen):
        return "unsettled"
    return "wrong"


class Differences:
    """Compares figures with what was counted, and keeps (verdict, line) for each difference."""

    def __init__(self, case):
        self.name = f"{case['rung']} {case['element_bytes']} B {case['rows']} x {case['cols']}"
        # Matrices that cut tiles: some counts are not settled.
        self.cut = case["rows"] % WHOLE != 0 or case["cols"] % WHOLE != 0
        self.found = []

    def settle(self, what, expected, seen, unsettled=False, arbitrated=False):
        result = verdict(expected, seen, unsettled, arbitrated)
        if result is not None:
            self.found.append((result, f"{self.name}: {what}: {expected} predicted, "
                                       f"{' / '.join(map(str, seen))} counted"))
        return result


def compare_leg(differences, leg, parts, counted):
    """One kind of access: adds to its `parts` what was counted, together where they cannot be told apart."""
    sums = dict(counted[0].get(leg, {}))
    each = sums.pop("each", [])
    if len(parts) < 2 or not told_apart(parts, each):
        for part in parts:
            part["counted"] = {**sums, "accesses": len(parts)} if len(parts) > 1 else dict(sums)
    for key in ("sectors", "wavefronts"):
        expected = sum(part.get(key, 0) for part in parts)
        seen = [sums.get(leg, {}).get(key, 0) for sums in counted]
        unsettled = differences.cut and leg[0] == "async copy" and key == "wavefronts"
        what = f"{leg[0]} of {leg[1]} B, {key}"
        if differences.settle(what, expected, seen, unsettled) == "unsettled":
            for part in parts:
                part["counted"][key] = seen


def compare_totals(differences, legs, launches):
    """The sums over all accesses; returns what was counted."""
    counted = {}
    for metric, (key, ops) in TOTALS.items():
        expected = sum(leg.get(key, 0) for leg in legs if leg["op"] in ops)
        seen = [totals[metric] for totals in launches]
        if not (differences.cut and metric.endswith(LISTED)):
            differences.settle(metric, expected, seen, arbitrated=metric.startswith(ARBITRATED))
        counted[metric] = seen[0] if len(set(seen)) == 1 else seen
    return counted


def compare(case, launches):
    """Adds what was counted to the case's legs; returns (verdict, line) for each difference."""
    counted = [counted_legs(code) for code, _ in launches]
    legs = [leg for leg in case["legs"] if not leg.get("copy_engine")]
    predicted = {}
    for leg in legs:
        predicted.setdefault((leg["op"], leg["bytes_a_lane"]), []).append(leg)

    differences = Differences(case)
    ran = {leg for sums in counted for leg, values in sums.items() if values["requests"]}
    for leg in sorted(set(predicted) | ran):
        compare_leg(differences, leg, predicted.get(leg, []), counted)
    case["totals"] = compare_totals(differences, legs, [totals for _, totals in launches])
    if any(result == "wrong" for result, _ in differences.found):  # the evidence: all instructions
        case["instructions"] = [[[sass, values] for sass, values in code if any(values.values())]
                                for code, _ in launches]
    return differences.found


def provenance(commit):
    gpu, driver = output_of("nvidia-smi", "--query-gpu=name,driver_version",
                            "--format=csv,noheader").strip().splitlines()[0].split(", ")
    return {
        "gpu": gpu,
        "driver": driver,
        "profiler": output_of("ncu", "--version").strip().splitlines()[-1],
        "clocks": "as found (--clock-control none)",
        "date": datetime.date.today().isoformat(),
        "commit": commit,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("probe")
    parser.add_argument("output")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--report")
    args = parser.parse_args()

    cases = json.loads(output_of(args.probe, "predict"))
    with tempfile.TemporaryDirectory() as folder:
        report = args.report or os.path.join(folder, "ladder.ncu-rep")
        if not args.report:
            profile(args.probe, report)
        try:
            launches = instructions_by_module(report)
        except (ImportError, AttributeError, TypeError) as error:
            print(f"profile.py: no use of ncu_report ({error}); reading the pages", file=sys.stderr)
            launches = instructions_by_page(report)
    if len(launches) != REPEATS * len(cases):
        raise SystemExit(f"profile.py: {len(launches)} launches profiled, "
                         f"{REPEATS} of {len(cases)} cases expected")
    found = []
    for i, case in enumerate(cases):
        found += compare(case, launches[REPEATS * i:REPEATS * (i + 1)])

    with open(args.output, "w") as file:
        file.write('{"provenance": ' + json.dumps(provenance(args.commit), indent=1) + ',\n"cases": [\n')
        file.write(",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]}\n")
    legs = sum("counted" in leg for case in cases for leg in case["legs"])
    for result, line in found:
        print(("differs: " if result == "wrong" else "unsettled: ") + line)
    wrong = sum(result == "wrong" for result, _ in found)
    print(f"{legs} legs of {len(cases)} cases compared, {REPEATS} times each: {wrong} differences, "
          f"{len(found) - wrong} unsettled within {UNSETTLED:.0%}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
