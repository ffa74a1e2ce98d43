#!/usr/bin/env python3
"""Counts every pattern of access_probe with Nsight Compute and writes the measured table.

usage: profile.py ACCESS_PROBE OUTPUT.json [--commit HASH]

The table holds, for each pattern, the counters of the one request it issues: wavefronts of shared
patterns, sectors and tag look-ups of global ones, and the profiler's own per-instruction figures.
The GPU's clocks and settings stay as they are found.
"""

import argparse
import csv
import datetime
import json
import subprocess
import sys
import time

COUNTERS = {
    "ld.shared": ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld"],
    "st.shared": ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st"],
    "ldmatrix": ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld"],
    "stmatrix": ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st"],
    "ld.global": ["l1tex__t_sectors_pipe_lsu_mem_global_op_ld",
                  "l1tex__t_set_accesses_pipe_lsu_mem_global_op_ld"],
    "st.global": ["l1tex__t_sectors_pipe_lsu_mem_global_op_st",
                  "l1tex__t_set_accesses_pipe_lsu_mem_global_op_st"],
    "cp.async.ca": ["l1tex__data_pipe_lsu_wavefronts_mem_shared",
                    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld",
                    "l1tex__t_set_accesses_pipe_lsu_mem_global_op_ld"],
}
COUNTERS["cp.async.cg"] = COUNTERS["cp.async.ca"]
# Per-instruction figures, by the names that the profiler's source page uses.
SHARED_FIGURES = ["memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"]
GLOBAL_FIGURES = ["memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal",
                  "memory_l1_tag_requests_global"]
ASYNC_FIGURES = ["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"]


def figures_of(instruction):
    if instruction.startswith("cp.async"):
        return SHARED_FIGURES + GLOBAL_FIGURES + ASYNC_FIGURES
    return GLOBAL_FIGURES if instruction.endswith("global") else SHARED_FIGURES


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"profile.py: {' '.join(command[:3])} ... failed\n"
                         f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def count(probe, first, patterns, metrics):
    """One dictionary of counters for each of `patterns`, which are neighbours from `first` on."""
    text = output_of("ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
                     "--cache-control", "none", "--metrics", ",".join(metrics),
                     probe, "--from", str(first), "--count", str(len(patterns)))
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(lines))[1:]  # the first row holds the units
    if len(rows) != len(patterns):
        raise SystemExit(f"profile.py: {len(rows)} launches profiled, {len(patterns)} expected")
    return [{metric: number(row[metric]) for metric in metrics if row.get(metric)} for row in rows]


def number(text):
    try:
        return int(float(text.replace(",", "")))
    except ValueError:
        return None


def chunks(patterns, size):
    """Ranges of at most `size` neighbours that are the same instruction."""
    first = 0
    while first < len(patterns):
        last = first
        while (last < len(patterns) and last - first < size
               and patterns[last]["instruction"] == patterns[first]["instruction"]):
            last += 1
        yield first, last
        first = last


def provenance(commit):
    gpu, driver = output_of("nvidia-smi", "--query-gpu=name,driver_version",
                            "--format=csv,noheader").strip().splitlines()[0].split(", ")
    return {
        "gpu": gpu,
        "driver": driver,
        "cuda": output_of("nvcc", "--version").strip().splitlines()[-2].split("release ")[1],
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
    parser.add_argument("--chunk", type=int, default=250)
    args = parser.parse_args()

    patterns = json.loads(output_of(args.probe, "--list"))
    started = time.time()
    for pass_name in ("counters", "figures"):
        for first, last in chunks(patterns, args.chunk):
            part = patterns[first:last]
            kind = part[0]["instruction"]
            metrics = ([m + ".sum" for m in COUNTERS[kind]] if pass_name == "counters"
                       else figures_of(kind))
            for pattern, counters in zip(part, count(args.probe, first, part, metrics)):
                pattern.setdefault("counters", {}).update(counters)
            print(f"{last} patterns after {time.time() - started:.0f} s", file=sys.stderr)
    write(args.output, provenance(args.commit), patterns)


def write(path, provenance, patterns):
    """Counters by instruction, then one pattern a line, so that tables compare well."""
    columns = {}
    for pattern in patterns:
        columns.setdefault(pattern["instruction"], list(pattern.get("counters", {})))
    with open(path, "w") as file:
        file.write('{"provenance": ' + json.dumps(provenance, indent=1) + ',\n"counters": ')
        file.write(json.dumps(columns, indent=1) + ',\n"patterns": [\n')
        lines = []
        for pattern in patterns:
            counts = [pattern["counters"].get(name) for name in columns[pattern["instruction"]]]
            line = {key: value for key, value in pattern.items() if key != "counters"}
            lines.append(json.dumps({**line, "counts": counts}, separators=(",", ":")))
        file.write(",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    main()
