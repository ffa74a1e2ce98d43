#!/usr/bin/env python3
"""Makes the tables of problems drawn at random, of docs/results-cpu.md.

usage: random_report.py publish [RESULT.json...]  writes the CPUs' tables (default: of all results that no fit saw)
       random_report.py check [RESULT.json...]    fails when the page says something else than the results
       random_report.py table RESULT.json...      prints the table

RESULT.json is what `cornerturn bench --threads 1 --all-candidates --random COUNT --seed S --json RESULT.json`
writes, where `planning_check RESULT.json --least-bytes` has noted what memory moves at least. Peers' results of the same problems lie beside it, as RESULT-numpy.json and RESULT-torch.json. Those that no fit saw are
cpu-PROCESSOR-judged-SEED.json in bench/results/random, and those of more threads cpu-PROCESSOR-judged-SEED-threads-N.json.
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

import report
from report import OURS, PAGE, ROOT, TITLES, geometric_mean, key_of, load

FOLDER = report.RESULTS / "random"
MARKER = "bench-random"
JUDGED = re.compile(r"-judged-\d+(-threads-\d+)?$")
PEERS = ["numpy", "torch"]
# A peer is ahead where its time is shorter by more than this.
TOLERANCE = 0.03
CLOSE = 1.1  # a choice that costs no more than this is a good one
ROWS = {
    "matrix-aligned": "matrices, aligned",
    "matrix-odd": "matrices, odd",
    "rank3-aligned": "rank 3 and more, aligned",
    "rank3-odd": "rank 3 and more, odd",
    "rows": "rows",
    "short-rows": "short rows",
    "tiny-modes": "tiny modes",
    "copy": "copies",
}


def beside_of(path, peer):
    return path.with_name(f"{path.stem}-{peer}.json")


class Drawn:
    """Our results of problems drawn at random on a CPU, of one number of threads, with those of peers beside them."""

    def __init__(self, paths):
        self.paths = paths
        self.results = [load(path) for path in paths]
        self.first = self.results[0]
        self.ours = {key_of(c): c for r in self.results for c in r["cases"] if c["outcome"] == "ok"}
        self.peers, self.versions = {}, {}
        for peer in PEERS:
            beside = [load(p) for path in paths if (p := beside_of(path, peer)).exists()]
            if beside:
                self.peers[peer] = {key_of(c): c for r in beside for c in r["cases"] if c["outcome"] == "ok"}
                self.versions[peer] = beside[0]["version"]

    def share(self, key):
        return self.ours[key]["memcpy_seconds"] / self.ours[key]["seconds"]

    def peer_share(self, peer, key):
        case = self.peers[peer].get(key)
        return case["memcpy_seconds"] / case["seconds"] if case else None

    def best_peer(self, key):
        shares = [s for peer in self.peers if (s := self.peer_share(peer, key)) is not None]
        return max(shares, default=None)

    def behind(self, key):
        """Is a peer faster?"""
        return self.is_behind(key, self.share(key))

    def is_behind(self, key, share):
        """Would a peer be faster than this share of memcpy?"""
        best = self.best_peer(key)
        return best is not None and share < best * (1 - TOLERANCE)

    def bound(self, key):
        """The share of a kernel that moves what memory has to, as fast as the faster of two plain copies."""
        case = self.ours[key]
        copy = case["share_of_memcpy"] / case["share_of_best_copy"]
        return copy * min(1.0, 2 * case["payload_bytes"] / case["least_bytes"])

    @property
    def has_bounds(self):
        return all("least_bytes" in case for case in self.ours.values())

    @property
    def has_candidates(self):
        return any(self.regret(key) is not None for key in self.ours)

    def share_of_fastest(self, key):
        """What the fastest candidate would reach; None where no candidates were timed."""
        regret = self.regret(key)
        return None if regret is None else self.share(key) * regret

    def regret(self, key):
        return regret_of(self.ours[key])


def regret_of(case):
    """Time of what was chosen over that of the fastest candidate. The chosen one is a candidate as well, timed
    in turn with the others: what runs before it, such as a copy that fills the caches, is the same for all."""
    timed = [c for c in case.get("candidates", []) if c.get("seconds")]
    times = {f"{c['kernel']}: {c['candidate']}": c["seconds"] for c in timed}
    if not times:
        return None
    chosen = times.get(case.get("method")) or case.get("best_seconds", case["seconds"])
    return chosen / min([*times.values(), chosen])


def by_machine(paths):
    """A Drawn for each processor and number of threads, the fewest first."""
    found = defaultdict(list)
    for path in paths:
        result = load(path)
        found[machine_of(result), result["threads"]].append(path)
    return [Drawn(found[key]) for key in sorted(found)]


def machine_of(result):
    """The processor, and the vectors that were used."""
    provenance = result["provenance"]
    return f"{provenance['cpu']}, {provenance['non_temporal_copy']}"


def on_least_threads(paths):
    """The Drawn of each processor that has the fewest threads."""
    least = {}
    for drawn in by_machine(paths):
        least.setdefault(machine_of(drawn.first), drawn)
    return list(least.values())


def percent(value):
    return f"{100 * value:.0f}"


def row(drawn, title, keys):
    shares = [drawn.share(k) for k in keys]
    cells = [title, str(len(keys)), f"{percent(geometric_mean(shares))} / {percent(min(shares))}"]
    if drawn.has_bounds:
        bounds = [drawn.bound(k) for k in keys]
        cells.append(f"{percent(geometric_mean(bounds))} / {percent(min(bounds))}")
    for peer in drawn.peers:
        ratios = [drawn.share(k) / s for k in keys if (s := drawn.peer_share(peer, k)) is not None]
        cells.append(f"{geometric_mean(ratios):.1f}" if ratios else "-")
    if drawn.peers:
        cells.append(str(sum(drawn.behind(k) for k in keys)))
    regrets = [r for k in keys if (r := drawn.regret(k)) is not None]
    if regrets:
        cells += [percent(sum(r <= CLOSE for r in regrets) / len(regrets)), f"{max(regrets):.2f}"]
    elif drawn.has_candidates:
        cells += ["-", "-"]
    return "| " + " | ".join(cells) + " |"


def table(drawn):
    head = ["problems", "cases", "% of memcpy, mean / worst"]
    head += ["memory allows"] if drawn.has_bounds else []
    head += [f"x {TITLES[peer]}" for peer in drawn.peers]
    head += ["behind a peer"] if drawn.peers else []
    head += ["% chosen well", "worst choice"] if drawn.has_candidates else []
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    groups = defaultdict(list)
    for key, case in drawn.ours.items():
        groups[case["class"]].append(key)
    for group, title in ROWS.items():
        if groups[group]:
            lines.append(row(drawn, title, groups[group]))
    lines.append(row(drawn, "**all**", list(drawn.ours)))
    for size in sorted({key[2] for key in drawn.ours} & {1, 2, 4, 8}):
        lines.append(row(drawn, f"all of {size} B", [k for k in drawn.ours if k[2] == size]))
    return "\n".join(lines)


def caption(drawn):
    p = drawn.first["provenance"]
    specs = {key[0]: key[0].split(":") for key in drawn.ours}  # random:COUNT:SEED:SIZES:MIN:MAX
    seeds = sorted({spec[2] for spec in specs.values()})
    low = min(int(spec[4]) for spec in specs.values())
    highs = sorted({int(spec[5]) for spec in specs.values()})
    up_to = " or ".join(f"{high / 1e6:.0f}" for high in highs)
    drawn_from = f"seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}, {low / 1e6:.0f} to {up_to} MB"
    versions = "".join(f"; {TITLES[peer]} {version}" for peer, version in drawn.versions.items())
    machine = f"{machine_of(drawn.first)}, {report.plural(drawn.first['threads'])}"
    return "\n".join([f"- {machine}; {drawn_from}{versions}. From {sources_of(drawn)}.", *with_fastest(drawn)])


def with_fastest(drawn):
    """What better choices would bring."""
    fastest = {k: share for k in drawn.ours if (share := drawn.share_of_fastest(k)) is not None}
    if not fastest:
        return []
    behind = sum(drawn.is_behind(k, share) for k, share in fastest.items())
    return [
        f"- With the fastest candidate of each problem, mean / worst would be "
        f"{percent(geometric_mean(fastest.values()))} / {percent(min(fastest.values()))} % of memcpy"
        + (f", and a peer would be ahead in {behind} of {len(fastest)}." if drawn.peers else ".")
    ]


def legend(found):
    """What the columns of all tables mean."""
    ahead = f" A peer is ahead where it is more than {100 * TOLERANCE:.0f} % faster." if any(d.peers for d in found) else ""
    lines = [
        f"Means are geometric.{ahead} A choice is good that takes at most {CLOSE:.2f} times as long as the fastest candidate; "
        "the worst choice took so many times as long."
    ]
    if any(drawn.has_bounds for drawn in found):
        lines.append(
            "What memory allows, mean / least: a kernel takes as long as a plain copy of half as many bytes as there "
            "are in the 64-byte lines that hold elements of the source or of the destination, where a line of the "
            "destination that is written in part is read before. The caches hold none of them, and no copy is shorter "
            "than one of the payload. The plain copy is the faster of `memcpy` and a loop with non-temporal stores, "
            "which does not read what it writes."
        )
    return "\n\n".join(lines)


def sources_of(drawn):
    """The files of results, by one pattern where all of them are of the tree's judged seeds."""
    paths = [p.resolve() for p in drawn.paths]
    if all(p.is_relative_to(ROOT) and JUDGED.search(p.stem) for p in paths):
        first = paths[0].relative_to(ROOT)
        return f"`{JUDGED.sub('', str(first.with_suffix('')))}-judged-*.json`"
    return ", ".join(f"`{p}`" for p in drawn.paths)


def text_of(paths):
    found = by_machine(paths)
    return "\n\n".join([*(f"{table(drawn)}\n\n{caption(drawn)}" for drawn in found), legend(found)])


def judged_on_cpus():
    """The results of seeds that no cost was fitted to; maybe none."""
    return sorted(p for p in FOLDER.glob("cpu-*.json") if JUDGED.search(p.stem))


def newest_on_gpu(kind="seed"):
    """The results of the commit that has the newest of that kind; maybe none."""
    drawn = {p: load(p)["provenance"] for p in FOLDER.glob("gpu-*.json") if re.search(rf"-{kind}-\d+$", p.stem)}
    if not drawn:
        return []
    newest = max(drawn.values(), key=lambda p: p["date"])
    return sorted(path for path, p in drawn.items() if p["commit"] == newest["commit"])


def gpu_shares(paths):
    return [c["copy_seconds"] / c["seconds"] for p in paths for c in load(p)["cases"] if c.get("seconds")]


def run(script, usage, page, marker, text_of, newest):
    """Does what the arguments of a script say whose `page` shows text_of(paths of results) between marks."""
    command, paths = (sys.argv[1] if len(sys.argv) > 1 else ""), [Path(p) for p in sys.argv[2:]]
    if command == "table" and paths:
        print(text_of(paths))
    elif command not in ("publish", "check"):
        sys.exit(usage)
    elif not (paths := paths or newest()):
        sys.exit(f"{script}: bench/results/random has no such results")
    else:
        report.publish_or_check({page: text_of(paths)}, marker, script)


if __name__ == "__main__":
    run("bench/random_report.py", __doc__, PAGE, MARKER, text_of, judged_on_cpus)
