#!/usr/bin/env python3
"""Writes the tables of docs/reliability.md from the results in bench/results/reliability.

  scripts/reliability.py [--check]    --check only says whether the page is what the results say

The results are files that the project's own commands write: fuzz.json (make fuzz), mutants.json
and mutants_in_place.json (scripts/mutate.py), gpu_campaign.json (gpu_campaign), gpu_checks.json (make test-gpu)
and soak.json (scripts/soak.py); mutants_python.json lists bugs that were planted by hand. What has no file has no
table.
"""

import argparse
import collections
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import marked_page  # noqa: E402

PAGE = ROOT / "docs/reliability.md"
RESULTS = ROOT / "bench/results/reliability"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |",
             "| " + " | ".join(["---"] + ["---:"] * (len(head) - 1)) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def of_fuzzing(result):
    rows = []
    for name, of in sorted(result["targets"].items()):
        share = f"{100 * of['coverage'] / of['points']:.0f} %" if of["points"] else "-"
        rows.append([f"`{name}`", f"{of['seconds'] / 3600:.2f}", f"{of['executions']:,}",
                     f"{of['coverage']:,} ({share})", str(of["corpus"]), str(len(of["found"]))])
    hours = sum(of["seconds"] for of in result["targets"].values()) / 3600
    runs = sum(of["executions"] for of in result["targets"].values())
    found = sum(len(of["found"]) for of in result["targets"].values())
    rows.append(["**all**", f"**{hours:.2f}**", f"**{runs:,}**", "", "", f"**{found}**"])
    return ("## Fuzzing\n\n"
            f"Coverage-guided, with AddressSanitizer and UndefinedBehaviorSanitizer, on {result['date']}, "
            f"commit {result['commit'] or 'unknown'} (`make fuzz`). Covered are ways through the code "
            "that the target is linked with, of which most are out of its reach.\n\n"
            + table(["target", "processor hours", "executions", "covered", "inputs kept", "found"], rows))


def table_of_mutants(result):
    """The table, and what is known of those that were not found."""
    count = collections.defaultdict(collections.Counter)
    why = collections.Counter()
    for mutant in result["results"]:
        for layer in (mutant["layer"], "**all**"):
            count[layer][mutant["verdict"]] += 1
            if mutant["verdict"] == "lived" and "why" in mutant:
                same = mutant["why"].startswith("the result is the same")
                count[layer]["same result" if same else "explained"] += 1
        if mutant["verdict"] == "lived" and "why" in mutant:
            why[mutant["why"]] += 1
    rows = []
    for layer in [*sorted(k for k in count if k != "**all**"), "**all**"]:
        of = count[layer]
        found = of["found"] + of["too long"]
        total = found + of["lived"]
        if total:
            name = layer if "*" in layer else f"`{layer}`" if "/" in layer else f"`src/{layer}`"
            rows.append([name, str(total), str(of["same result"]),
                         str(found), str(of["explained"]),
                         str(of["lived"] - of["explained"] - of["same result"]),
                         f"{100 * found / (total - of['same result']):.0f} %"])
    reasons = "; ".join(f"{reason} ({number})" for reason, number in why.most_common())
    return table(["layer", "planted", "same result", "found", "not found, explained", "not found",
                  "share found"], rows) + (f"\nExplained: {reasons}.\n" if reasons else ""), count["**all**"]


def of_mutants(result):
    rows, count = table_of_mutants(result)
    return ("## Planted bugs\n\n"
            "One operator, number or statement at a time is another, chosen at random; the tests of "
            f"its own layer alone have to see it (`scripts/mutate.py`, {result['date']}, commit "
            f"{result['commit']}). {count['not compiled']} more did not compile, and of "
            f"{count['same code']} the compiler made the same code. Where the result is the "
            "same, no test can see it: the share is that of the others.\n\n" + rows)


def of_mutants_in_place(result):
    rows, _ = table_of_mutants(result)
    by_hand = sum(mutant["chosen"] == "by hand" for mutant in result["results"])
    return ("### In place\n\n"
            f"In the code for arrays and files in place as well, {result['date']}, commit {result['commit']}: {by_hand} "
            "planted by hand in the order of calls, in what is checked and in limits, and "
            f"{len(result['results']) - by_hand} at random.\n\n" + rows)


def of_mutants_in_python(result):
    rows, _ = table_of_mutants(result)
    return ("### In Python\n\n"
            f"In the package as well, {result['date']}, commit {result['commit']}: {len(result['results'])} planted by hand "
            "in conditions, in the order of statements, in limits and in what is checked; the tests of the file they are in "
            "have to see them.\n\n" + rows)


def of_gpu(result):
    rows = []
    for part in result["parts"]:
        if part.get("skipped") and not part["runs"]:
            continue
        rows.append([part["part"], f"{part['problems']:,}", f"{sum(part['runs'].values()):,}",
                     str(part["refused"]), str(len(part["wrong"]))])
    by_kernel = collections.Counter()
    for part in result["parts"]:
        if part["part"].startswith(("random", "more than")):
            by_kernel.update(part["runs"])
    kernels = ", ".join(f"`{name}` {runs:,}" for name, runs in by_kernel.most_common())
    return ("## The campaign against a GPU\n\n"
            f"On one {result['gpu']['name']}, {result['date']}, seed {result['seed']} "
            "(`build/cuda/bin/gpu_campaign`).\n\n"
            + table(["what", "problems", "runs", "refused", "wrong"], rows)
            + f"\nRuns of problems by kernel: {kernels}.\n")


def of_checks(result):
    rows = [[f"`{check['tool']}`", str(check["tests"]), f"{check['seconds']}",
             "nothing" if check["clean"] else "**errors**"] for check in result["checks"]]
    return ("## compute-sanitizer\n\n"
            f"One run of every kernel and rung in small sizes, on one {result['gpu']}, {result['date']}, commit "
            f"{result['commit']} (`make test-gpu`).\n\n"
            + table(["tool", "tests", "seconds", "found"], rows))


def of_soak(result):
    columns = {"jobs": ("jobs",), "beside others": ("beside others",), "ended": ("kills",), "refused": ("refused",),
               "then the older array, or none": ("old", "none"), "half done": ("half done",),
               "the newer one": ("new", "new, with a journal"), "wrong": ("wrong",)}
    rows = [[name, *[f"{sum(row.get(key, 0) for key in keys):,}" for keys in columns.values()]]
            for name, row in sorted(result["rows"].items())]
    total = [sum(row.get(key, 0) for row in result["rows"].values() for key in keys) for keys in columns.values()]
    rows.append(["**all**", *[f"**{number:,}**" for number in total]])
    of = [sum(row.get(f"{what} journals", 0) for row in result["rows"].values()) for what in ("damaged", "refused")]
    return ("## Jobs that are ended\n\n"
            f"{result['seconds'] / 60:.0f} minutes of random jobs, ended by SIGKILL, SIGTERM or SIGINT at random moments until "
            f"each was done, on {result['date']}, commit {result['commit']}, seed {result['seed']} (`scripts/soak.py`): "
            "`rechunk`, and `transpose` of files into others, with other values or in blocks, and in place; one or two at "
            "once on the same target, and some beside other jobs. After each end what had the target's name was the older "
            "array or the newer one, or in place it was refused until the same command had finished it; at the end all "
            f"elements were compared, and nothing else was left. {of[0]:,} journals were damaged by one bit, or cut short: "
            f"{of[1]:,} were refused, after which the right one finished the file; the others did not matter.\n\n"
            + table(["jobs of", *columns], rows))


WRITERS = {
    "fuzz.json": of_fuzzing,
    "mutants.json": of_mutants,
    "mutants_in_place.json": of_mutants_in_place,
    "mutants_python.json": of_mutants_in_python,
    "gpu_campaign.json": of_gpu,
    "gpu_checks.json": of_checks,
    "soak.json": of_soak,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    parts = [writer(json.loads((RESULTS / name).read_text()))
             for name, writer in WRITERS.items() if (RESULTS / name).exists()]
    before = PAGE.read_text()
    marked_page.put(PAGE, "campaigns", "\n".join(parts))
    if arguments.check and PAGE.read_text() != before:
        PAGE.write_text(before)
        sys.exit("docs/reliability.md is not what bench/results/reliability says")


if __name__ == "__main__":
    main()
