#!/usr/bin/env python3
"""What the warps of every rung wait for, by Nsight Compute's samples.

usage: stalls.py LADDER_PROBE OUTPUT.json [--commit HASH] [--side N] [--report FILE.ncu-rep]

The profiler looks at a warp of each scheduler again and again, and notes where it is and why it does not issue an
instruction. For each rung on a matrix of SIDE x SIDE floats (8192), and for stacks of the same size, OUTPUT.json has
the share of each reason among all samples, the instructions and the source lines at which most samples were taken, and
how many instructions the kernel's warps ran. The GPU's clocks and settings stay as they are found. --report reads an earlier
report instead of profiling.
"""

import argparse
import importlib.util
import json
import os
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REASON = re.compile(r"smsp__pcsamp_warps_issue_stalled_(\w+)$")
METRICS = {
    "seconds": "gpu__time_duration.sum",
    "warp_instructions": "smsp__inst_executed.sum",
    "issue_busy": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "warps_an_sm": "sm__warps_active.avg.per_cycle_active",
    "memory_busy": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
}
TOP = 6  # instructions, and source lines, that are listed


def profile_module():
    """profile.py; the standard library has a module of that name."""
    spec = importlib.util.spec_from_file_location("ladder_profile", HERE / "profile.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shares(samples):
    """Reason -> share of all samples, the largest first; those below half a percent are left out."""
    total = sum(samples.values())
    ordered = sorted(samples.items(), key=lambda item: -item[1])
    return {reason: round(count / total, 4) for reason, count in ordered if total and count >= 0.005 * total}


def text_of(place):
    """The words of a source line, from this tree; nothing where the file is not in it."""
    name, line = place
    path = HERE.parents[1] / name[name.rfind("/src/") + 1 :]
    lines = path.read_text().splitlines() if "/src/" in name and path.exists() else []
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def by_line(by_instruction, everything):
    """The samples of instructions that one source line led to, together; the lines with most samples first."""
    lines = {}
    for _, place, samples in by_instruction:
        of_place = lines.setdefault(place, {})
        for reason, count in samples.items():
            of_place[reason] = of_place.get(reason, 0) + count
    most = sorted(lines.items(), key=lambda item: -sum(item[1].values()))[:TOP]
    return [
        {"place": f"{Path(place[0]).name}:{place[1]}", "text": text_of(place),
         "share": round(sum(samples.values()) / everything, 4), "stalls": shares(samples)}
        for place, samples in most if everything and sum(samples.values())
    ]  # fmt: skip


def of_launch(by_instruction, metrics):
    """`by_instruction`: a list of (sass, (file, line), {reason: samples}), in the code's order."""
    totals = {}
    for _, _, samples in by_instruction:
        for reason, count in samples.items():
            totals[reason] = totals.get(reason, 0) + count
    everything = sum(totals.values())
    at = sorted(by_instruction, key=lambda item: -sum(item[2].values()))[:TOP]
    return {
        **metrics,
        "samples": everything,
        "stalls": shares(totals),
        "at": [
            {"instruction": " ".join(sass.split()), "share": round(sum(samples.values()) / everything, 4),
             "stalls": shares(samples)}
            for sass, _, samples in at if everything and sum(samples.values())
        ],
        "lines": by_line(by_instruction, everything),
    }  # fmt: skip


def place_of(action, pc):
    source = action.source_info(pc)
    return (source.file_name(), source.line()) if source is not None else ("", 0)


def launches_of(report, folders):
    import glob

    for folder in folders:
        sys.path += glob.glob(folder + "/extras/python")
    import ncu_report

    launches = []
    context = ncu_report.load_report(report)
    for index in range(context.num_ranges()):
        for action in context.range_by_idx(index):
            by_address = {}
            for name in action.metric_names():
                reason = REASON.match(name)
                if reason is None or reason[1].endswith("_not_issued"):
                    continue
                metric = action.metric_by_name(name)
                if not metric.has_correlation_ids():
                    continue
                ids = metric.correlation_ids()
                for i in range(metric.num_instances()):
                    count = int(metric.value(i))
                    if count:
                        by_address.setdefault(ids.value(i), {})[reason[1]] = count
            code = [(action.sass_by_pc(pc), place_of(action, pc), samples) for pc, samples in sorted(by_address.items())]
            metrics = {}
            for key, name in METRICS.items():
                metric = action.metric_by_name(name)
                if metric is not None:
                    scale = 1e-9 if key == "seconds" else 1
                    metrics[key] = float(f"{metric.value() * scale:.5g}")
            launches.append(of_launch(code, metrics))
    return launches


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("probe")
    parser.add_argument("output")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--side", default="8192")
    parser.add_argument("--report")
    args = parser.parse_args()

    profile = profile_module()
    kernels = json.loads(profile.output_of(args.probe, "large", args.side, "list"))
    with tempfile.TemporaryDirectory() as folder:
        report = args.report or os.path.join(folder, "stalls.ncu-rep")
        if not args.report:
            profile.output_of(
                "ncu", "--force-overwrite", "--export", report, "--profile-from-start", "off", "--clock-control",
                "none", "--cache-control", "none", "--section", "SourceCounters", "--section", "WarpStateStats",
                "--metrics", ",".join(METRICS.values()), "--import-source", "no", args.probe, "large", args.side, "run",
            )  # fmt: skip
        launches = launches_of(report, profile.NCU_FOLDERS)
    if len(launches) != len(kernels):
        raise SystemExit(f"stalls.py: {len(launches)} launches profiled, {len(kernels)} expected")
    for kernel, launch in zip(kernels, launches):
        kernel.update(launch)
    with open(args.output, "w") as file:
        file.write('{"provenance": ' + json.dumps(profile.provenance(args.commit), indent=1) + ',\n"kernels": [\n')
        file.write(",\n".join(json.dumps(kernel, separators=(",", ":")) for kernel in kernels) + "\n]}\n")
    for kernel in kernels:
        stack = f"{kernel['batch']} x " if kernel["batch"] > 1 else ""
        stalls = ", ".join(f"{reason} {share:.0%}" for reason, share in list(kernel["stalls"].items())[:4])
        print(f"{kernel['rung']:<24} {stack}{kernel['rows']}{' fused' if kernel['fused'] else ''}: {stalls}")


if __name__ == "__main__":
    main()
