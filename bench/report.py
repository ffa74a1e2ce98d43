#!/usr/bin/env python3
"""Makes the tables and the plot of the CPU's results; summary.py makes the README's from them.

usage: report.py collect PART.json...    merge parts into bench/results/cpu-<model>/<date>.json
       report.py publish [RESULTS.json]  tables and plot from RESULTS (default: the newest)
       report.py check [RESULTS.json]    fails when the page says something else than RESULTS
       report.py weak [RESULTS.json | PART.json...]   cases and classes below their targets
"""
import json
import math
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
README = ROOT / "README.md"
PAGE = ROOT / "docs" / "results-cpu.md"
GPU_PAGE = ROOT / "docs" / "results-gpu.md"
PLOT = ROOT / "docs" / "images" / "benchmark"
MARKER = "bench"
DATED = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
OURS = "cornerturn"
PEERS = ["numpy", "torch", "mkl", "eigen", "onednn"]
TITLES = {
    OURS: "Cornerturn",
    "numpy": "NumPy",
    "torch": "PyTorch",
    "mkl": "MKL",
    "eigen": "Eigen",
    "onednn": "oneDNN",
}
# Rows of the tables: title, and the share of memcpy that is aimed at, in percent.
ROWS = {
    "matrix-aligned": ("matrices", 90),
    "batched-matrix-aligned": ("batches of matrices", 90),
    "matrix-odd": ("matrices, odd sizes, 2-8 B", 85),
    "matrix-odd-1": ("matrices, odd sizes, 1 B", 70),
    "near-power": ("8193 x 8191", 60),
    "rank3+-aligned": ("rank 3-6", 90),
    "rank3+-odd": ("rank 3, odd sizes", 90),
    "rows": ("rows kept, long", 90),
    "short-rows": ("rows kept, short", 75),
    "small-inner": ("arrays of 2-8", 110),
    "tiny-modes": ("tiny modes", 75),
    "holes": ("every second element", None),
    "copy": ("copy, misaligned", 130),
}
# A peer that is ahead by less is counted, and not named.
NEAR = 0.95
LATENCY = "latency"
CACHED = (LATENCY, ("small, in the caches", None))
ALL = "all"


def group_of(case):
    """The table's row: classes of the suites, some of them split further."""
    if case["case"].startswith("one_row_too_many"):
        return "near-power"
    if case["class"] == "matrix-odd" and case["element_bytes"] == 1:
        return "matrix-odd-1"
    return case["class"]


def key_of(case):
    return case["suite"], case["case"], case["element_bytes"]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def newest_results():
    files = sorted((f for f in RESULTS.glob("cpu-*/*.json") if DATED.fullmatch(f.name)), key=lambda f: f.name)
    if not files:
        sys.exit("report.py: bench/results has no results yet; run bench/run.sh")
    return files[-1]


# ---------------------------------------------------------------- collect


def collect(paths):
    runs = {}
    for path in sorted(paths):
        part = load(path)
        key = (part["subject"], part["threads"])
        run = runs.setdefault(key, {**part, "cases": []})
        if part["subject"] == OURS and part["provenance"]["commit"] != run["provenance"]["commit"]:
            sys.exit(f"report.py: {path} is of another commit than other parts; measure --fresh")
        run["provenance"] = min(run["provenance"], part["provenance"], key=lambda p: p["date"])
        run["cases"] += part["cases"]
        if len({key_of(c) for c in run["cases"]}) != len(run["cases"]):
            sys.exit(f"report.py: {path} repeats cases of other parts")
    if not runs:
        sys.exit("report.py: no parts to collect")
    provenances = [run["provenance"] for run in runs.values()]
    models = {p["cpu"] for p in provenances}
    if len(models) != 1:
        sys.exit(f"report.py: the parts are from different processors: {sorted(models)}")
    slug = re.sub(r"[^a-z0-9]+", "-", models.pop().lower()).strip("-")
    date = max(p["date"] for p in provenances)[:10]
    target = RESULTS / f"cpu-{slug}" / f"{date}.json"
    # What was measured before on this day and not again is kept.
    if target.exists():
        for run in load(target)["runs"]:
            runs.setdefault((run["subject"], run["threads"]), run)
    for run in runs.values():
        if run["subject"] != OURS:  # a peer is known by its version, not by our commit
            run["provenance"] = {
                k: v for k, v in run["provenance"].items() if k not in ("commit", "dirty")
            }
    order = [OURS] + PEERS
    chosen = sorted(runs.values(), key=lambda r: (r["threads"], order.index(r["subject"])))
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, dump(chosen))
    print(f"{target.relative_to(ROOT)}: {sum(len(r['cases']) for r in chosen)} results")


def dump(runs):
    """JSON with one case a line, so that diffs stay readable."""
    blocks = []
    for run in runs:
        head = json.dumps({k: v for k, v in run.items() if k != "cases"}, indent=1)
        cases = ",\n  ".join(json.dumps(c, separators=(",", ":")) for c in run["cases"])
        blocks.append(f'{head[:-2]},\n "cases": [\n  {cases}\n ]\n}}')
    return '{"kind":"cornerturn-bench-collection","schema":1,"runs":[\n' + ",\n".join(blocks) + "\n]}\n"


def write_whole(path, text):
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


# ---------------------------------------------------------------- numbers


class Shares:
    """Shares of memcpy by subject and case, for one number of threads."""

    def __init__(self, runs, threads):
        self.threads = threads
        self.runs = {r["subject"]: r for r in runs if r["threads"] == threads}
        self.by_subject = {
            name: {key_of(c): c for c in run["cases"] if c["outcome"] == "ok"}
            for name, run in self.runs.items()
        }
        self.peers = [p for p in PEERS if self.by_subject.get(p)]
        self.ours = self.by_subject.get(OURS, {})

    def share(self, subject, key):
        case = self.by_subject[subject].get(key)
        return case["memcpy_seconds"] / case["seconds"] if case else None

    def best_peer(self, key):
        shares = [s for p in self.peers if (s := self.share(p, key)) is not None]
        return max(shares, default=None)

    def keys(self, group):
        """Our cases of a group; ALL is every case but those that stay in the caches."""
        groups = {k: group_of(c) for k, c in self.ours.items()}
        return [k for k, g in groups.items() if g == group or (group == ALL and g != LATENCY)]

    def shares(self, subject, group):
        """The shares of the cases in a group that the subject can do."""
        done = self.by_subject.get(subject, {})
        return [self.share(subject, k) for k in self.keys(group) if k in done]

    def ratios(self):
        """Ours to the best peer, for each case that a peer has done."""
        return {
            key: self.share(OURS, key) / best
            for key in self.ours
            if (best := self.best_peer(key)) is not None
        }


def percent(values):
    return f"{100 * geometric_mean(values):.0f}" if values else "-"


def table(shares, more=None):
    """Markdown; `more` holds our shares on more threads."""
    ratios = shares.ratios()
    head = ["% of memcpy", "cases", f"**{TITLES[OURS]}**"]
    head += [f"{more.threads} threads"] if more else []
    head += [TITLES[p] for p in shares.peers] + ["x best peer"]
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    for group, (title, _) in [*ROWS.items(), (ALL, ("**all above**", None)), CACHED]:
        keys = shares.keys(group)
        if not keys:
            continue
        best = [ratios[k] for k in keys if k in ratios]
        row = [title, str(len(keys)), f"**{percent(shares.shares(OURS, group))}**"]
        row += [percent(more.shares(OURS, group))] if more else []
        row += [percent(shares.shares(p, group)) for p in shares.peers]
        row += [f"{geometric_mean(best):.1f}" if best else "-"]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def standing(shares):
    ratios = shares.ratios()
    if not ratios:
        return ""
    first = sum(r >= 1 for r in ratios.values())
    mean = geometric_mean(list(ratios.values()))
    return (
        f"first in {first} of {len(ratios)} cases, {mean:.1f}x the best peer of each case "
        "(geometric mean)"
    )


def plural(threads):
    return "one thread" if threads == 1 else f"{threads} threads"


def caption(by_threads, source):
    first = next(iter(by_threads.values()))
    p = first.runs[OURS]["provenance"]
    versions = ", ".join(f"{TITLES[n]} {first.runs[n]['version']}" for n in first.peers)
    lines = [f"- {plural(n).capitalize()}: {standing(s)}." for n, s in by_threads.items() if standing(s)]
    machine = f"{p['cpu']}{' (virtual machine)' if p['virtual_machine'] else ''}, {p['processors']} processors, {p['kernel']}"
    lines.append(
        "- Geometric means over the public cases of up to 800 MB "
        "(`bench/suites`: everyday, ttc57, awkward, views, small); 100 is `memcpy` of the same bytes "
        "in the same run. A peer's mean is over the cases it can do. "
        f"{plural(min(by_threads)).capitalize()} where nothing else is said."
    )
    lines.append(f"- {machine}; {versions}. From `{source}` by `make bench`.")
    return "\n".join(lines)


# ---------------------------------------------------------------- publish


def shares_of(path):
    """By number of threads, the least first."""
    runs = load(path)["runs"]
    by_threads = {
        n: Shares(runs, n)
        for n in sorted({r["threads"] for r in runs})
        if any(r["subject"] == OURS and r["threads"] == n for r in runs)
    }
    if not by_threads:
        sys.exit(f"report.py: {path} has no result of {OURS}; run bench/run.sh")
    return by_threads


def sections(path):
    """What stands between the markers of each page."""
    by_threads = shares_of(path)
    one, *more = by_threads.values()
    details = [
        f"![Share of memcpy, case by case](images/{PLOT.name}.svg)",
        table(one, more[0] if more else None),
        caption(by_threads, path.resolve().relative_to(ROOT)),
    ]
    details += [slowest(one), *(f"{plural(n).capitalize()}: {behind(shares)}" for n, shares in by_threads.items())]
    return {PAGE: "\n\n".join(details)}


def publish(path):
    publish_sections(sections(path), MARKER)
    threads, shares = next(iter(shares_of(path).items()))
    plot(shares, threads)


def publish_sections(sections, marker):
    for page, text in sections.items():
        replace_between_markers(page, text, marker)


def check_sections(sections, marker, script):
    begin, end = markers(marker)
    stale = [page for page, text in sections.items()
             if f"{begin}\n{text}\n{end}" not in page.read_text(encoding="utf-8")]  # fmt: skip
    if stale:
        names = ", ".join(str(page.relative_to(ROOT)) for page in stale)
        sys.exit(f"{names} says something else than the results: run `{script} publish`")


def publish_or_check(sections, marker, script):
    """Does what the first argument of `script` says with what belongs between the marks of some pages."""
    if sys.argv[1] == "publish":
        publish_sections(sections, marker)
    else:
        check_sections(sections, marker, script)


def slowest(shares):
    """The ten slowest cases."""
    keys = sorted(shares.keys(ALL), key=lambda k: shares.share(OURS, k))[:10]
    lines = ["| slowest cases | B | % of memcpy | kernel |", "| --- | ---: | ---: | --- |"]
    for k in keys:
        method = shares.ours[k].get("method", "").split(":")[0]
        lines.append(f"| {k[0]}/{k[1]} | {k[2]} | {100 * shares.share(OURS, k):.0f} | {method} |")
    return "\n".join(lines)


def behind(shares):
    """The cases where a peer is ahead."""
    lost = sorted((r, k) for k, r in shares.ratios().items() if r < 1)
    return ahead((r, f"{k[0]}/{k[1]} {k[2]} B ({r:.2f}x)") for r, k in lost)


def ahead(cases):
    """Where a peer is ahead: cases are (our share of its speed, name), the worst first."""
    cases = list(cases)
    far = [name for ratio, name in cases if ratio < NEAR]
    near = len(cases) - len(far)
    by = f"{100 * (1 - NEAR):.0f} %"
    parts = [f"A peer is ahead by {by} or more in {', '.join(far)}."] if far else []
    parts += [f"A peer is ahead by less than {by} in {near} case{'s' * (near != 1)}."] if near else []
    return " ".join(parts) or "No peer is ahead in any case."


def markers(name):
    return f"<!-- {name}:begin -->", f"<!-- {name}:end -->"


def replace_between_markers(path, text, name):
    begin, end = markers(name)
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    head, found, rest = old.partition(begin)
    if not found or end not in rest:
        print(f"{path.relative_to(ROOT)} has no {begin} ... {end}: left as it is")
        return
    tail = rest.partition(end)[2]
    write_whole(path, f"{head}{begin}\n{text}\n{end}{tail}")
    print(f"{path.relative_to(ROOT)}: table written")


def plot(shares, threads):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    # Okabe and Ito's palette: distinguishable with any colour vision.
    style = {
        OURS: ("#D55E00", "-", 2.6),
        "numpy": ("#0072B2", "--", 1.5),
        "torch": ("#009E73", "-.", 1.5),
        "mkl": ("#56B4E9", ":", 2.0),
        "eigen": ("#CC79A7", "-", 1.2),
        "onednn": ("#000000", (0, (4, 1, 1, 1)), 1.2),
    }
    plt.rcParams.update({"font.size": 11, "svg.hashsalt": "cornerturn", "font.family": "DejaVu Sans"})
    figure, axes = plt.subplots(figsize=(8, 4.5))
    axes.axhline(100, color="0.45", linewidth=1)
    axes.text(len(shares.keys(ALL)), 104, "memcpy", color="0.35", ha="right", va="bottom", fontsize=9)
    for subject in [OURS, *shares.peers]:
        values = sorted((100 * s for s in shares.shares(subject, ALL)), reverse=True)
        if not values:
            continue
        colour, dashes, width = style[subject]
        label = f"{TITLES[subject]} ({percent([v / 100 for v in values])} %, {len(values)} cases)"
        axes.plot(range(1, len(values) + 1), values, color=colour, linestyle=dashes, linewidth=width,
                  label=label)
    axes.set_yscale("log")
    ticks = [1, 2, 5, 10, 20, 50, 100, 200]
    axes.set_yticks(ticks, [f"{t} %" for t in ticks])
    axes.minorticks_off()
    axes.set_ylim(0.2, 250)
    axes.set_xlim(0, None)
    axes.set_xlabel("public cases, each library's fastest first")
    axes.set_ylabel("speed as share of memcpy")
    axes.set_title(f"Transposing and permuting, {plural(threads)}", loc="left", fontsize=12)
    axes.grid(axis="y", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="lower left", ncols=2)
    figure.tight_layout()
    PLOT.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PLOT.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(PLOT.with_suffix(".png"), dpi=160)
    print(f"{PLOT.relative_to(ROOT)}.svg and .png written")


# ---------------------------------------------------------------- weak


def weak(paths):
    runs = []
    for path in paths:
        content = load(path)
        runs += content.get("runs", [content])
    merged = {}
    for run in runs:
        target = merged.setdefault((run["subject"], run["threads"]), {**run, "cases": []})
        target["cases"] += run["cases"]
    for threads in sorted({t for _, t in merged}):
        shares = Shares(list(merged.values()), threads)
        if shares.ours:
            print(f"== {plural(threads)}: {standing(shares)}")
            print_weak(shares)


def print_weak(shares):
    ratios = shares.ratios()
    for group, (title, target) in [*ROWS.items(), CACHED]:
        keys = sorted(shares.keys(group), key=lambda k: shares.share(OURS, k))
        if not keys:
            continue
        mean = 100 * geometric_mean([shares.share(OURS, k) for k in keys])
        verdict = "" if target is None else "ok" if mean >= target else "BELOW"
        print(f"{title:<28} {mean:5.0f} %  target {target or '-':>4}  "
              f"min {100 * shares.share(OURS, keys[0]):4.0f}  {len(keys):3} cases  {verdict}")
        for key in keys:
            share = 100 * shares.share(OURS, key)
            ratio = ratios.get(key)
            behind = ratio is not None and ratio < 1.1
            if behind or (group != LATENCY and share < max(45, 0.9 * (target or 0))):
                best = f"{ratio:.2f}x best peer" if ratio is not None else ""
                print(f"    {key[1]:<30} {key[2]} B {share:5.0f} %  {best:<18} "
                      f"{shares.ours[key].get('method', '')[:70]}")


def main():
    command, paths = (sys.argv[1] if len(sys.argv) > 1 else ""), [Path(p) for p in sys.argv[2:]]
    if command == "collect" and paths:
        collect(paths)
    elif command == "publish" and len(paths) <= 1:
        publish(paths[0] if paths else newest_results())
    elif command == "check" and len(paths) <= 1:
        check_sections(sections(paths[0] if paths else newest_results()), MARKER, "bench/report.py")
    elif command == "weak":
        weak(paths or [newest_results()])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
