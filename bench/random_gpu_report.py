#!/usr/bin/env python3
"""Makes the tables of problems drawn at random on a GPU, of docs/results-gpu.md.

usage: random_gpu_report.py publish [RESULT.json...]  writes the tables (default: the newest results)
       random_gpu_report.py check [RESULT.json...]    fails when the page says something else than the results
       random_gpu_report.py table RESULT.json...      prints the tables

RESULT.json is what `cornerturn bench --device gpu --all-candidates --random COUNT --seed S --json RESULT.json`
writes, where `planning_check RESULT.json --least-bytes` has noted what memory moves at least. Results of peers
lie beside it, as RESULT-torch.json, RESULT-cutensor.json and RESULT-cccl.json (bench/peers/gpu/gpu_peers.py, with the
same options).
"""
import sys
from bisect import bisect

from random_report import ROWS, TOLERANCE, beside_of, newest_on_gpu, percent, regret_of, run
from report import GPU_PAGE, geometric_mean, load

MARKER = "bench-random-gpu"
SIZES = [1, 2, 4, 8]
MB = 1 << 20
BY_BYTES = {
    "of 1 to 4 MB": (0, 4 * MB),
    "of 4 to 16 MB": (4 * MB, 16 * MB),
    "of 16 to 64 MB": (16 * MB, 64 * MB),
    "of 64 to 256 MB": (64 * MB, 256 * MB),
    "larger": (256 * MB, 1 << 62),
}
CLOSE = 1.05  # a choice is good that takes at most so many times as long as the fastest candidate
PEERS = {"torch": "PyTorch", "cutensor": "cuTENSOR", "cccl": "`cuda::copy`"}
AHEAD = 1 / (1 - TOLERANCE)  # a peer is ahead where ours takes more times as long
NEIGHBOURS = 10  # copies of about as many bytes


class Copies:
    """How long the plain copies took that were measured, by bytes."""

    def __init__(self, cases):
        self.known = sorted((c["payload_bytes"], c["copy_seconds"]) for c in cases)

    def seconds(self, size):
        """What a copy of so many bytes takes, after those nearest to it."""
        at = bisect(self.known, (size, 0))
        first = max(0, min(at - NEIGHBOURS // 2, len(self.known) - NEIGHBOURS))
        rates = sorted(seconds / known for known, seconds in self.known[first : first + NEIGHBOURS])
        return size * rates[len(rates) // 2]


class Drawn:
    def __init__(self, paths, rows=ROWS):
        self.paths = paths
        self.rows = rows
        self.results = [load(path) for path in paths]
        self.cases = [c for result in self.results for c in result["cases"] if c.get("seconds")]
        unknown = [path.name for path, r in zip(paths, self.results) if "least_bytes" not in r["cases"][0]]
        if unknown:
            sys.exit(f"{unknown[0]} does not say what memory moves: run planning_check --least-bytes")
        self.copies = Copies(self.cases)
        self.peers = {}  # their shares of a copy by case
        for peer in PEERS:
            results = [load(p) for path in paths if (p := beside_of(path, peer)).exists()]
            if results:
                cases = [c for result in results for c in result["cases"] if c.get("seconds")]
                self.peers[peer] = {(c["suite"], c["case"]): self.share(c) for c in cases}

    def lag(self, case, peers):
        """How many times as long as the fastest of these peers takes; 0 where none has the case."""
        key = (case["suite"], case["case"])
        return max((self.peers[peer].get(key, 0) for peer in peers), default=0) / self.share(case)

    def is_behind(self, case):
        return self.lag(case, self.peers) > AHEAD

    def share(self, case):
        return case["copy_seconds"] / case["seconds"]

    def best(self, case):
        times = [c["seconds"] for c in case["candidates"] if c.get("seconds")]
        return case["copy_seconds"] / min([*times, case["seconds"]])

    def floor(self, case):
        """The share of a kernel that takes no longer than a copy of what memory has to move."""
        if case["least_bytes"] <= 2 * case["payload_bytes"]:
            return 1.0
        half = case["least_bytes"] // 2
        return min(1.0, self.copies.seconds(case["payload_bytes"]) / self.copies.seconds(half))

    def groups(self):
        """Title and cases of each row."""
        for group, title in self.rows.items():
            yield title, [c for c in self.cases if c["class"] == group]
        yield "**all**", self.cases
        for title, (low, high) in BY_BYTES.items():
            yield title, [c for c in self.cases if low <= c["payload_bytes"] < high]


def cells(cases, value):
    """Geometric mean / worst by bytes of an element."""
    for size in SIZES:
        values = [value(c) for c in cases if c["element_bytes"] == size]
        yield f"{percent(geometric_mean(values))} / {percent(min(values))}" if values else "-"


def table(drawn, value, last_titles, last_of):
    head = ["class", "cases", *(f"{size} B" for size in SIZES), *last_titles]
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    for title, cases in drawn.groups():
        if cases:
            row = [title, str(len(cases)), *cells(cases, value), *last_of(cases)]
            lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def mean_of(value, cases):
    return percent(geometric_mean([value(c) for c in cases]))


def choices(drawn, cases):
    """The mean of the fastest candidates, and how good the choices are."""
    regrets = [regret_of(c) for c in cases]
    good = sum(r <= CLOSE for r in regrets) / len(regrets)
    behind = [str(sum(map(drawn.is_behind, cases)))] if drawn.peers else []
    return [*behind, mean_of(drawn.best, cases), percent(good), f"{max(regrets):.2f}"]


def told_of_peer(drawn, peer):
    """How many problems it takes, how long it takes for them, and in how many it is ahead."""
    lags = [lag for case in drawn.cases if (lag := drawn.lag(case, [peer])) > 0]
    if not lags:
        return f"{PEERS[peer]} takes none of them."
    ahead = [lag for lag in lags if lag > AHEAD]
    worst = f", where ours takes up to {max(ahead):.2f} times as long" if ahead else ""
    return (
        f"{PEERS[peer]} takes {len(lags)} of them and {1 / geometric_mean(lags):.1f} times as long as ours in the mean; "
        f"it is ahead in {len(ahead) or 'none'}{worst}."
    )


def told_of_peers(drawn):
    """Where peers were measured: what being behind one means, and how each of them does."""
    if not drawn.peers:
        return []
    means = (
        f"Behind a peer are problems of which one is more than {100 * TOLERANCE:.0f} % faster, each by the copies of its "
        "own run on the same GPU."
    )
    return [" ".join([means, *(told_of_peer(drawn, peer) for peer in drawn.peers)])]


def share_table(drawn):
    last = ["memory allows", *["behind a peer"] * bool(drawn.peers), "best candidate", "% chosen well", "worst choice"]
    return table(drawn, drawn.share, last, lambda cases: [mean_of(drawn.floor, cases), *choices(drawn, cases)])


def legend():
    return (
        "Each cell is the share of the plain copy, geometric mean / worst, by bytes of an element. The last columns are of all "
        "sizes. What memory allows is the mean of kernels that take as long as a plain copy of as many bytes as there are in the "
        "32-byte sectors that hold elements of the source or of the destination, where a sector of the destination that is "
        "written in part is read before. Then follow the mean of the fastest candidates, how many choices take at most "
        f"{CLOSE:.2f} times as long as the fastest candidate, and how many times as long the worst one takes."
    )


def text_of(paths):
    drawn = Drawn(paths)
    p = drawn.results[0]["provenance"]
    learned = all(r.get("details", {}).get("effort") == "automatic" for r in drawn.results)
    whose = "those that calls have learned" if learned else "the model's"
    first = (
        f"{len(drawn.cases)} problems that no fit has seen, of seeds {seeds_of(drawn)} on one {p['gpu']}, each with every "
        f"candidate's time; the plans are {whose}."
    )
    return "\n\n".join([first, share_table(drawn), legend(), *told_of_peers(drawn)])


def seeds_of(drawn):
    return ", ".join(sorted(c["suite"].split(":")[2] for c in (r["cases"][0] for r in drawn.results)))


if __name__ == "__main__":
    run("bench/random_gpu_report.py", __doc__, GPU_PAGE, MARKER, text_of, newest_on_gpu)
