#!/usr/bin/env python3
"""Makes the README's table: a row for each kind of case, the CPU beside the GPU.

usage: summary.py publish [CPU.json GPU.json]   writes it from these results (default: the newest)
       summary.py check [CPU.json GPU.json]     fails when the README says something else than they do
"""
import sys
from pathlib import Path

import gpu_report
import random_report
import report
from report import OURS, PAGE, README, ROOT, geometric_mean

MARKER = "bench-summary"
SMALL = "small, in the caches"
ALL = "**all above**"
# Rows: the groups of report.py and the classes of gpu_report.py that each of them holds.
ROWS = {
    "matrices": (["matrix-aligned", "batched-matrix-aligned"], ["matrix-aligned", "batched-matrix-aligned"]),
    "three to six axes": (["rank3+-aligned"], ["rank3+-aligned"]),
    "odd sizes": (
        ["matrix-odd", "matrix-odd-1", "near-power", "rank3+-odd"],
        ["matrix-odd", "batched-matrix-odd", "rank3+-odd"],
    ),
    "long rows stay rows": (["rows"], ["rows"]),
    "short rows, arrays of structures": (["short-rows", "small-inner"], ["short-rows", "small-inner"]),
    "several axes of 2 to 8": (["tiny-modes"], ["tiny-modes"]),
    "every second element": (["holes"], ["holes"]),
    "copies, also misaligned": (["copy"], ["copy"]),
    ALL: ([report.ALL], [gpu_report.ALL]),
    SMALL: ([report.LATENCY], [gpu_report.LATENCY]),
}


class Side:
    """The shares of one table's half: of one machine, ours and the best peer's."""

    def __init__(self, ours, best_peer, groups_of):
        self.ours, self.best_peer, self.groups_of = ours, best_peer, groups_of

    def cells(self, groups):
        keys = self.groups_of(groups)
        best = [b for k in keys if (b := self.best_peer(k)) is not None]
        return [percent([self.ours(k) for k in keys], "**"), percent(best)]

    def standing(self, keys):
        """How often ours is at least as fast as every peer, of the cases that a peer has done."""
        rivals = [(self.ours(k), best) for k in keys if (best := self.best_peer(k)) is not None]
        return f"{sum(own >= best for own, best in rivals)} of {len(rivals)}"


def percent(values, mark=""):
    return f"{mark}{100 * geometric_mean(values):.0f}{mark}" if values else "-"


def cpu_side(shares):
    def groups_of(groups):
        return [key for group in groups for key in shares.keys(group)]

    return Side(lambda key: shares.share(OURS, key), shares.best_peer, groups_of)


def gpu_side(shares):
    def best_peer(key):
        best = shares.best_peer(key)
        return best and best[0]

    return Side(shares.ours.__getitem__, best_peer, shares.keys)


def random_rows(cpu_paths, gpu_paths):
    """The rows of problems that were drawn at random: one, or one for each of several processors and one for the GPU.
    A side without a result has no number."""
    gpu = percent(random_report.gpu_shares(gpu_paths), "**") if gpu_paths else "-"
    found = {}
    for drawn in random_report.on_least_threads(cpu_paths):
        best = [b for k in drawn.ours if (b := drawn.best_peer(k)) is not None]
        shares = percent([drawn.share(k) for k in drawn.ours], "**")
        found[random_report.machine_of(drawn.first)] = [shares, percent(best)]
    if len(found) <= 1:
        cpu = next(iter(found.values()), ["-", "-"])
        return ["| " + " | ".join(["random problems", *cpu, gpu, "-"]) + " |"]
    rows = [f"| random problems, {machine} | {' | '.join(cells)} | - | - |" for machine, cells in found.items()]
    return rows + [f"| random problems, GPU | - | - | {gpu} | - |"] * bool(gpu_paths)


def random_note(cpu_paths, gpu_paths):
    sides = []
    for drawn in random_report.on_least_threads(cpu_paths):
        behind = sum(drawn.behind(k) for k in drawn.ours)
        peers = " or ".join(random_report.TITLES[p] for p in drawn.peers)
        peers = f"; {peers} is faster in {behind} of them" if peers else ""
        sides.append(
            f"{len(drawn.ours)} on {random_report.machine_of(drawn.first)} "
            f"({report.plural(drawn.first['threads'])}{peers}; {random_report.sources_of(drawn)})"
        )
    if gpu_paths:
        sources = ", ".join(source_of(path) for path in gpu_paths)
        sides.append(f"{len(random_report.gpu_shares(gpu_paths))} on the GPU ({sources})")
    return f"Random problems are drawn with seeds that no cost was fitted to: {', '.join(sides)}."


def source_of(path):
    return f"`{path.resolve().relative_to(ROOT)}`"


def text_of(cpu_path, gpu_path):
    runs = report.load(cpu_path)["runs"]
    cpu_shares = report.Shares(runs, min(r["threads"] for r in runs if r["subject"] == OURS))
    gpu_shares = gpu_report.shares_of(gpu_path)
    cpu, gpu = cpu_side(cpu_shares), gpu_side(gpu_shares)
    lines = [
        "| % of a plain copy | **CPU** | its best peer | **GPU** | its best peer |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for title, (groups, classes) in ROWS.items():
        lines.append("| " + " | ".join([title, *cpu.cells(groups), *gpu.cells(classes)]) + " |")
    drawn = [random_report.judged_on_cpus(), random_report.newest_on_gpu()]
    if any(drawn):
        lines += random_rows(*drawn)
    of_cpu = cpu_shares.runs[OURS]["provenance"]
    of_gpu = gpu_shares.runs[OURS]["provenance"]
    cpu_peers = ", ".join(report.TITLES[p] for p in cpu_shares.peers)
    gpu_peers = ", ".join(gpu_report.TITLES[p] for p in gpu_shares.peers)
    notes = [
        f"Cornerturn is first in {cpu.standing(cpu_shares.ours)} cases on the CPU and in "
        f"{gpu.standing(gpu_shares.ours)} on the GPU.",
        "100 is a plain copy of the same bytes in the same run. Each number is a geometric mean over the "
        "public cases (`bench/suites`).",
        f"On the CPU ({of_cpu['cpu']}, {report.plural(cpu_shares.threads)}) the copy is `memcpy`, and the "
        f"peers are {cpu_peers}. On the GPU ({of_gpu['gpu']}) the copy is the fastest of three, and the "
        f"peers are {gpu_peers}. The best peer is the fastest of them in each case.",
    ]
    if any(drawn):
        notes.append(random_note(*drawn))
    notes.append(
        f"The numbers come from {source_of(cpu_path)} and {source_of(gpu_path)}, by `make bench` and "
        f"`make bench-gpu`. [How they are measured, and every table]({PAGE.relative_to(ROOT)})."
    )
    return "\n".join(lines) + "\n\n" + "\n".join(f"- {note}" for note in notes)


def main():
    command, paths = (sys.argv[1] if len(sys.argv) > 1 else ""), [Path(p) for p in sys.argv[2:]]
    if command not in ("publish", "check") or len(paths) not in (0, 2):
        sys.exit(__doc__)
    cpu, gpu = paths or (report.newest_results(), gpu_report.newest_results())
    report.publish_or_check({README: text_of(cpu, gpu)}, MARKER, "bench/summary.py")


if __name__ == "__main__":
    main()
