#!/usr/bin/env python3
"""Makes the result file of a GPU, bench/results/ladder/<gpu>.json, from `cornerturn ladder --json`; and
<gpu>.copies.json from `ladder_copies`, <gpu>.blocks.json from `ladder_blocks` and `triton_warps.py`.

usage: collect.py RUNS.jsonl OUTPUT.json [--commit HASH]

RUNS.jsonl has one report a line. What a rung is predicted to do is left out: that is the same on
every machine and `cornerturn ladder` says it again. Run on the machine that measured.
"""

import argparse
import datetime
import json
import subprocess
import sys

QUERY = {
    "gpu": "name",
    "driver": "driver_version",
    "sm_clock": "clocks.sm",
    "memory_clock": "clocks.mem",
    "most_sm_clock": "clocks.max.sm",
    "most_memory_clock": "clocks.max.mem",
}


def provenance(commit):
    done = subprocess.run(
        ["nvidia-smi", f"--query-gpu={','.join(QUERY.values())}", "--format=csv,noheader"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    values = done.stdout.strip().splitlines()[0].split(", ")
    return {
        **dict(zip(QUERY, values)),
        "clocks": "as found, not locked; read after the last run",
        "date": datetime.date.today().isoformat(),
        "commit": commit,
        "command": "scripts/measure_ladder.sh",
    }


def slim(run):
    for rung in run.get("rungs", ()):
        rung.pop("predicted", None)
    return run


def text_of(result):
    """JSON with a line a rung, so that two results can be compared line by line."""
    runs = []
    for run in result["runs"]:
        kind = next(key for key, value in run.items() if value and isinstance(value, list) and isinstance(value[0], dict))
        head = {key: value for key, value in run.items() if key != kind}
        rows = ",\n".join("  " + json.dumps(row) for row in run[kind])
        runs.append(json.dumps(head)[:-1] + f', "{kind}": [\n' + rows + "\n]}")
    return '{"provenance": ' + json.dumps(result["provenance"], indent=1) + ',\n"runs": [\n' + ",\n".join(runs) + "\n]}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs")
    parser.add_argument("output")
    parser.add_argument("--commit", default="unknown")
    args = parser.parse_args()
    with open(args.runs) as file:
        runs = [slim(json.loads(line)) for line in file if line.strip()]
    if not runs:
        sys.exit(f"collect.py: {args.runs} has no report")
    with open(args.output, "w") as file:
        file.write(text_of({"provenance": provenance(args.commit), "runs": runs}))


if __name__ == "__main__":
    main()
