#!/usr/bin/env python3
"""Makes the tables and plots of the GPU's results; summary.py makes the README's table from them.

usage: gpu_report.py collect [--to FOLDER] PART.json...
                                          merges parts into FOLDER/<date>.json (default: the GPU's
                                          folder in bench/results); parts with candidates apart
       gpu_report.py publish [RESULTS]    writes tables and plots from RESULTS (default: the newest)
       gpu_report.py check [RESULTS]      fails when the page says something else than RESULTS
       gpu_report.py weak [RESULTS | PART.json...]   classes below their goals, cases below a peer
"""
import re
import sys
from pathlib import Path

import report
from report import DATED, GPU_PAGE, OURS, RESULTS, ROOT, geometric_mean, load, write_whole

PLOT = ROOT / "docs" / "images" / "benchmark-gpu"
HEAT = ROOT / "docs" / "images" / "benchmark-gpu-cases"
MARKER = "bench-gpu"
SIZES = [1, 2, 4, 8]
MEASURED = {
    "torch": "PyTorch",
    "torch_compile": "torch.compile",
    "triton": "Triton",
    "jax": "JAX",
    "cupy": "CuPy",
    "cublas_geam": "cuBLAS geam",
    "cutensor": "cuTENSOR",
    "cccl": "cuda::copy",
}
TITLES = {OURS: "Cornerturn", **MEASURED}
LATENCY, WARM, ALL = "latency", "warm", "all"
# Rows of the tables, the classes that they hold, and the goals: geometric mean and worst case in
# percent, for elements of 1, 2, 4 and 8 bytes.
ROWS = {
    "matrices": (["matrix-aligned", "batched-matrix-aligned"], [(94, 88), (96, 92), (97, 93), (97, 93)]),
    "matrices, odd sizes": (["matrix-odd", "batched-matrix-odd"], [(88, 84), (92, 88), (94, 90), (95, 92)]),
    "rank 3-6": (["rank3+-aligned"], [(86, 78), (91, 84), (94, 86), (95, 90)]),
    "rank 3-6, odd sizes": (["rank3+-odd"], [(75, 65), (82, 75), (90, 83), (91, 84)]),
    "rows kept, long": (["rows"], [(92, 85), (95, 90), (96, 90), (96, 92)]),
    "rows kept, short; arrays of 2-8": (["short-rows", "small-inner"], [(94, 85), (96, 90), (97, 90), (97, 92)]),
    "tiny modes": (["tiny-modes"], [(75, 65), (85, 70), (92, 80), (94, 85)]),
    "copy, also misaligned": (["copy"], [(99, 97)] * 4),
    "every second element": (["holes"], None),
    "small, in a graph": ([LATENCY], [(85, 0)] * 4),
    "1024 x 1024, in the cache": ([WARM], None),
}


def group_of(case):
    """The class of the suite; what is timed warm without being small is a class of its own."""
    return WARM if case.get("graph_calls") and case["class"] != LATENCY else case["class"]


def key_of(case):
    return (*report.key_of(case), group_of(case) == WARM)


def name_of(key):
    return f"{key[0]}/{key[1]} {key[2]} B" + (", warm" if key[3] else "")


# ---------------------------------------------------------------- collect


def has_candidates(part):
    return any("candidates" in case for case in part["cases"])


def folder_of(gpu):
    """NVIDIA H200: gpu-h200"""
    words = re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-").split("-")
    return RESULTS / ("gpu-" + "-".join(w for w in words if w not in ("nvidia", "geforce")))


def collect(arguments):
    target = None
    if arguments[:1] == ["--to"]:
        target, arguments = Path(arguments[1]), arguments[2:]
    parts = [load(path) for path in sorted(arguments)]
    parts = [part for part in parts if part["cases"]]
    if not parts:
        sys.exit("gpu_report.py: no parts to collect")
    gpus = {part["provenance"]["gpu"] for part in parts}
    if len(gpus) != 1:
        sys.exit(f"gpu_report.py: the parts are from different GPUs: {sorted(gpus)}")
    commits = {p["provenance"]["commit"] for p in parts if p["subject"] == OURS}
    if len(commits) > 1:
        sys.exit(f"gpu_report.py: the parts are of different commits: {sorted(commits)}")
    target = target or folder_of(gpus.pop())
    date = max(part["provenance"]["date"] for part in parts)[:10]
    files = {
        f"{date}.json": merged(p for p in parts if not has_candidates(p)),
        f"{date}-candidates.json": merged(p for p in parts if has_candidates(p)),
    }
    target.mkdir(parents=True, exist_ok=True)
    for name, runs in files.items():
        if runs:
            write_whole(target / name, report.dump(runs))
            print(f"{target / name}: {sum(len(run['cases']) for run in runs)} results")


def merged(parts):
    """One run a subject; what was skipped in one part and done in another is done."""
    runs = {}
    for part in parts:
        run = runs.setdefault(part["subject"], {**part, "cases": {}})
        run["provenance"] = min(run["provenance"], part["provenance"], key=lambda p: p["date"])
        for case in part["cases"]:
            old = run["cases"].get(key_of(case))
            if old is not None and old["outcome"] != "skipped" and case["outcome"] != "skipped":
                sys.exit(f"gpu_report.py: {name_of(key_of(case))} of {part['subject']} appears twice")
            if old is None or old["outcome"] == "skipped":
                run["cases"][key_of(case)] = case
    order = [OURS, *MEASURED]
    chosen = sorted(runs.values(), key=lambda run: order.index(run["subject"]))
    return [{**run, "cases": list(run["cases"].values())} for run in chosen]


# ---------------------------------------------------------------- numbers


class Shares:
    """Shares of the plain copy by subject and case."""

    def __init__(self, runs):
        self.runs = {run["subject"]: run for run in runs}
        self.cases = {key_of(c): c for c in self.runs[OURS]["cases"] if c["outcome"] == "ok"}
        self.of = {
            name: {key_of(c): c["share_of_copy"] for c in run["cases"] if c["outcome"] == "ok"}
            for name, run in self.runs.items()
        }
        self.peers = [p for p in MEASURED if self.of.get(p)]
        self.ours = self.of[OURS]

    def best_peer(self, key):
        """(share, name) of the fastest peer, or None."""
        return max(((self.of[p][key], p) for p in self.peers if key in self.of[p]), default=None)

    def keys(self, groups, size=None):
        return [
            key
            for key, case in self.cases.items()
            if (size is None or key[2] == size)
            and (group_of(case) in groups or (ALL in groups and group_of(case) not in (LATENCY, WARM)))
        ]


def newest_results():
    files = sorted((f for f in RESULTS.glob("gpu-*/*.json") if DATED.fullmatch(f.name)), key=lambda f: f.name)
    if not files:
        sys.exit("gpu_report.py: bench/results has no results of a GPU yet; run `make bench-gpu`")
    return files[-1]


def mean(values):
    return f"{100 * geometric_mean(values):.0f}"


# ---------------------------------------------------------------- tables


def rows(shares):
    yield from ((title, groups) for title, (groups, _) in ROWS.items() if shares.keys(groups))
    yield "**all but the last two**", [ALL]


def first_in(shares, keys):
    """How often ours is at least as fast as every peer, of the cases that a peer has done."""
    rivals = [(shares.ours[k], shares.best_peer(k)) for k in keys]
    return sum(own >= best[0] for own, best in rivals if best), sum(best is not None for _, best in rivals)


def summary_table(shares):
    head = ["% of the plain copy", "cases", *(f"{size} B" for size in SIZES), "first in"]
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    for title, groups in rows(shares):
        keys = shares.keys(groups)
        line = [title, str(len(keys))]
        for size in SIZES:
            some = shares.keys(groups, size)
            own = [shares.ours[k] for k in some]
            best = [b[0] for k in some if (b := shares.best_peer(k))]
            cell = f"**{mean(own)}** / {100 * min(own):.0f}" if own else "-"
            line.append(cell + (f" ({mean(best)})" if best else ""))
        won, of = first_in(shares, keys)
        line.append(f"{won} of {of}" if of else "-")
        lines.append("| " + " | ".join(line) + " |")
    return "\n".join(lines)


def library_table(shares):
    head = ["% of the plain copy", f"**{TITLES[OURS]}**", *(TITLES[p] for p in shares.peers)]
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    for title, groups in rows(shares):
        keys = shares.keys(groups)
        line = [title, f"**{mean([shares.ours[k] for k in keys])}**"]
        for peer in shares.peers:
            done = [shares.of[peer][k] for k in keys if k in shares.of[peer]]
            line.append(f"{mean(done)} ({len(done)})" if done else "-")
        lines.append("| " + " | ".join(line) + " |")
    return "\n".join(lines)


def standing(shares):
    won, of = first_in(shares, list(shares.cases))
    return f"first in {won} of {of} cases that another library has done"


def notes(shares, source):
    p = shares.runs[OURS]["provenance"]
    versions = ", ".join(f"{TITLES[n]} {shares.runs[n]['version']}" for n in shares.peers)
    lines = [
        f"- {p['gpu']}: {standing(shares)}.",
        "- Geometric mean / worst case; in brackets the geometric mean of the best peer of each case. "
        "100 is the fastest of three plain copies of the same bytes in the same run; for every second "
        "element, of the bytes of the 32-byte sectors that must move. The public cases of `bench/suites`.",
        f"- Driver {p.get('driver', p['cuda_of_driver'])}, CUDA {p['cuda_of_build']}, clocks as found "
        f"({p.get('sm_clock_mhz', '?')} MHz){'; ' + versions if versions else ''}. "
        f"From `{source}` by `make bench-gpu`.",
    ]
    return "\n".join(lines)


def milli(seconds):
    return f"{1e6 * seconds:.1f} us"


def median_of(cases, field):
    values = sorted(case[field] for case in cases if case.get(field))
    return values[len(values) // 2] if values else None


def latency_lines(shares):
    cases = [shares.cases[k] for k in shares.keys([LATENCY])]
    parts = [
        f"{what} {milli(value)}"
        for what, field in (
            ("a call with a ready plan", "execute_seconds"),
            ("planning something new", "first_plan_seconds"),
            ("planning it again", "cached_plan_seconds"),
        )
        if (value := median_of(cases, field))
    ]
    return f"Host time (medians over the suite `small`): {', '.join(parts)}." if parts else ""


def behind(shares):
    """[(ratio to the best peer, key, the peer)] of the cases below it, worst first."""
    rivals = [(key, shares.best_peer(key)) for key in shares.cases]
    return sorted((shares.ours[k] / best[0], k, best[1]) for k, best in rivals if best and shares.ours[k] < best[0])


def slowest(shares):
    keys = sorted(shares.keys([ALL]), key=lambda k: shares.ours[k])[:12]
    lines = ["| slowest cases | B | % of the plain copy | kernel |", "| --- | ---: | ---: | --- |"]
    for k in keys:
        method = shares.cases[k].get("method", "").split(":")[0]
        lines.append(f"| {k[0]}/{k[1]} | {k[2]} | {100 * shares.ours[k]:.0f} | {method} |")
    lost = [(ratio, f"{name_of(k)} ({TITLES[peer]}, {ratio:.2f}x)") for ratio, k, peer in behind(shares)]
    return "\n".join(lines) + "\n\n" + report.ahead(lost)


def choice_line(path):
    """How good the planner's choices are, from the file of candidates beside `path`."""
    candidates = path.with_name(path.stem + "-candidates.json")
    if not candidates.exists():
        return ""
    good, cases = choice_score(load(candidates)["runs"])
    return (
        f"The planner's choice is within 3 % of the fastest of its candidates in {good} of {cases} cases "
        f"({100 * good / cases:.1f} %), by `{candidates.resolve().relative_to(ROOT)}`."
    )


def choice_score(runs):
    good = cases = 0
    for run in runs:
        for case in run["cases"]:
            if case["outcome"] != "ok" or "candidates" not in case:
                continue
            best = min([case["seconds"], *(c["seconds"] for c in case["candidates"] if "seconds" in c)])
            cases += 1
            good += case["seconds"] <= 1.03 * best
    return good, cases


# ---------------------------------------------------------------- publish


def shares_of(path):
    return Shares(load(path)["runs"])


def sections(path):
    """What stands between the markers of each page."""
    shares = shares_of(path)
    source = path.resolve().relative_to(ROOT)
    table = f"{summary_table(shares)}\n\n{notes(shares, source)}"
    details = [
        f"![Share of the plain copy, case by case](images/{PLOT.name}.svg)",
        table,
        "By library, geometric mean over the cases that it does (their number):",
        library_table(shares),
        f"![Every case by class and element size](images/{HEAT.name}.svg)",
        latency_lines(shares),
        choice_line(path),
        slowest(shares),
    ]
    return {GPU_PAGE: "\n\n".join(part for part in details if part)}


def publish(path):
    report.publish_sections(sections(path), MARKER)
    import gpu_plots

    gpu_plots.draw(shares_of(path), PLOT, HEAT)


def check(path):
    report.check_sections(sections(path), MARKER, "bench/gpu_report.py")


# ---------------------------------------------------------------- weak


def weak(paths):
    parts = [run for path in paths for run in load(path).get("runs", [load(path)])]
    shares = Shares(merged(parts))
    print(standing(shares))
    for title, (groups, goals) in ROWS.items():
        for size, goal in zip(SIZES, goals or [(0, 0)] * 4):
            keys = sorted(shares.keys(groups, size), key=lambda k: shares.ours[k])
            if keys:
                print_row(shares, title, size, goal, keys)
    lost = behind(shares)
    print(f"\n{len(lost)} cases below a peer:")
    for ratio, key, peer in lost:
        print(f"    {name_of(key):<44} {100 * shares.ours[key]:4.0f} %  {ratio:.2f}x {TITLES[peer]}")
    good, cases = choice_score(parts)
    if cases:
        print(f"choice within 3 % of the fastest candidate: {good} of {cases}")


def print_row(shares, title, size, goal, keys):
    own = [shares.ours[k] for k in keys]
    average, worst = 100 * geometric_mean(own), 100 * min(own)
    verdict = "ok" if average >= goal[0] and worst >= goal[1] else "BELOW"
    print(f"{title:<32} {size} B {average:5.0f} / {worst:3.0f}  goal {goal[0]} / {goal[1]}  {len(keys):3} cases  {verdict}")
    for k in keys:
        if verdict == "BELOW" and 100 * shares.ours[k] < max(goal[1], goal[0] - 3):
            print(f"    {name_of(k):<44} {100 * shares.ours[k]:4.0f} %  {shares.cases[k].get('method', '')[:90]}")


def main():
    command, rest = (sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[2:]
    if command == "collect" and rest:
        collect(rest)
    elif command in ("publish", "check") and len(rest) <= 1:
        {"publish": publish, "check": check}[command](Path(rest[0]) if rest else newest_results())
    elif command == "weak":
        weak([Path(p) for p in rest] or [newest_results()])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
