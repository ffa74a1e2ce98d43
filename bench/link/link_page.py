#!/usr/bin/env python3
"""Puts what was measured across the link into docs/link.md, with a plot.

usage: link_page.py [FOLDER [PAGE.md PLOT.svg]]

FOLDER (bench/results/link unless said) holds files of `bench_link --json` and of torch_peer.py. Where two
files of one program have a case, that of the later date counts.
"""

import json
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import marked_page  # noqa: E402

OURS, DENSE, PERMUTED = "cornerturn", "dense", "dense, then permuted"
ROUTES = ["direct", "batch", "chunks", "packed"]
STRIDED = "torch: strided copy_"
TORCH = [STRIDED, "torch: contiguous, then copied", "torch: copied, then permuted"]
TORCH_BEST = "torch: the fastest"
SUITES = ["weights", "windows", "images", "conversions", "boxes"]
# Those of the plot: title, colour (Okabe and Ito's palette), dashes, width.
LINES = {
    OURS: ("Cornerturn", "#D55E00", "", 2.6),
    PERMUTED: ("dense copy, then Cornerturn's permutation", "#0072B2", "", 1.6),
    TORCH_BEST: ("PyTorch, the fastest of three ways", "#009E73", "", 1.6),
    STRIDED: ("PyTorch, copy_ of strided views", "#009E73", "5 3", 1.6),
    "cudaMemcpy2DAsync": ("cudaMemcpy2DAsync", "#000000", "", 1.4),
    "cudaMemcpyBatchAsync": ("cudaMemcpyBatchAsync", "#CC79A7", "", 1.6),
}


class Results:
    """The shares of the dense copy of the same run, by case and by who has done it."""

    def __init__(self, folder: Path):
        reports = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
        if not reports:
            sys.exit(f"link_page.py: {folder} holds no results")
        reports.sort(key=lambda report: report["provenance"]["date"])
        self.reports = {report["subject"]: report for report in reports}
        self.randoms = [report["random"] for report in reports if "random" in report]
        self.cases: dict[tuple, dict] = {}
        self.shares: dict[tuple, dict[str, float]] = {}
        for report in reports:
            for case in report["cases"]:
                self.add(case, "" if report["subject"] == OURS else f"{report['subject']}: ")
        for shares in self.shares.values():
            if known := [shares[name] for name in TORCH if name in shares]:
                shares[TORCH_BEST] = max(known)

    def add(self, case: dict, prefix: str) -> None:
        key = case["suite"], case["case"], case["way"], case["memory"]
        seconds = {one["name"]: one["seconds"] for one in case["contestants"] if "seconds" in one and "overwrites" not in one}
        if DENSE not in seconds:
            return
        if not prefix:
            self.cases[key] = case
        of_case = self.shares.setdefault(key, {})
        of_case |= {prefix + name: seconds[DENSE] / value for name, value in seconds.items()}

    def of(self, suites, way=None, memory="pinned") -> list[tuple]:
        """The cases that Cornerturn has done, in the order in which they were measured."""
        return [
            key
            for key in self.cases
            if key[0] in suites and way in (None, key[2]) and key[3] == memory and OURS in self.shares[key]
        ]

    def seconds(self, key, name) -> float | None:
        found = [one.get("seconds") for one in self.cases[key]["contestants"] if one["name"] == name]
        return found[0] if found else None


def mean(values) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def percent(share: float | None) -> str:
    if share is None:
        return "-"
    return f"{100 * share:.0f}" if share >= 0.0995 else f"{100 * share:.1f}" if share >= 0.00995 else f"{100 * share:.2g}"


def bold(cell: str) -> str:
    return cell if cell == "-" else f"**{cell}**"


def row(cells) -> str:
    return f"| {' | '.join(cells)} |\n"


def head(first: str, columns) -> str:
    return row([first, *columns]) + row(["---", *["---:"] * len(columns)])


WAYS = {"into": "into the GPU", "out": "out of it"}


def summary(results: Results) -> str:
    """Geometric means over the cases in pinned memory."""
    names = [OURS, PERMUTED, "cudaMemcpy2DAsync", "cudaMemcpyBatchAsync", TORCH_BEST, STRIDED]
    titles = ["cases", "**Cornerturn**", "worst", "dense copy, then permuted", "`cudaMemcpy2D`", "`cudaMemcpyBatch`", "PyTorch, fastest way", "PyTorch, `copy_`"]
    text = head("pinned memory, % of the dense copy", titles)
    for way, words in WAYS.items():
        for suite in SUITES:
            keys = results.of([suite], way)
            if not keys:
                continue
            cells = [f"{suite}, {words}", str(len(keys))]
            for name in names:
                known = [results.shares[key][name] for key in keys if name in results.shares[key]]
                count = f" ({len(known)})" if 0 < len(known) < len(keys) else ""
                cells.append(percent(mean(known) if known else None) + count)
            cells[2] = bold(cells[2])
            cells.insert(3, percent(min(results.shares[key][OURS] for key in keys)))
            text += row(cells)
    return text


def every_case(results: Results) -> str:
    """A row for a case and a way, with its places side by side."""
    titles = ["pinned", "PyTorch", "pageable", "a plain copy", "PyTorch", "mapped", "a plain copy", "PyTorch"]
    text = head("% of the dense copy in pinned memory", titles)
    places = ["pinned", "pageable", "mapped"]
    rows = dict.fromkeys(key[:3] for place in places for key in results.of(SUITES[:4], memory=place))
    for suite, case, way in sorted(rows, key=lambda one: (SUITES.index(one[0]), list(WAYS).index(one[2]))):
        cells = [f"{case}{', ' + WAYS[way] if way == 'out' else ''}"]
        for place in places:
            shares = results.shares.get((suite, case, way, place), {})
            cells.append(bold(percent(shares.get(OURS))))
            if place != "pinned":
                cells.append(percent(shares.get("dense here")))
            cells.append(percent(shares.get(TORCH_BEST)))
        text += row(cells)
    return text


def boxes(results: Results) -> str:
    names = [OURS, "cudaMemcpyBatchAsync", TORCH_BEST]
    text = head("boxes of", [f"{name}, {way}" for way in ("in", "out") for name in ("**Cornerturn**", "`cudaMemcpyBatch`", "PyTorch")])
    for case in dict.fromkeys(key[1] for key in results.of(["boxes"])):
        cells = [case]
        for way in WAYS:
            shares = results.shares.get(("boxes", case, way, "pinned"), {})
            ours, *others = (percent(shares.get(name)) for name in names)
            cells += [bold(ours), *others]
        text += row(cells)
    return text


def few_blocks(results: Results) -> str:
    """Empty where nobody was limited to few blocks."""
    names = [f"direct, {blocks} blocks" for blocks in (4, 8, 16, 32)]
    text = ""
    for way, words in WAYS.items():
        for key in results.of([*SUITES, "sizes"], way):
            shares = results.shares[key]
            if any(name in shares for name in names):
                text += row([f"{key[0]}: {key[1]}, {words}", *(percent(shares.get(name)) for name in [*names, "direct"])])
    return head("`direct`, % of the dense copy, on so many blocks", ["4", "8", "16", "32", "no limit"]) + text if text else ""


def sizes(results: Results) -> str:
    def microseconds(seconds) -> str:
        return "-" if seconds is None else f"{1e6 * seconds:.1f}" if seconds < 1e-4 else f"{1e6 * seconds:,.0f}"

    text = head("transposed f32, us a call", [f"{name}, {way}" for way in ("in", "out") for name in ("**Cornerturn**", "dense copy", "copy, then permuted", "PyTorch")])
    for case in dict.fromkeys(key[1] for key in results.of(["sizes"])):
        cells = [case]
        for way in WAYS:
            key = ("sizes", case, way, "pinned")
            if key not in results.cases:
                cells += ["-"] * 4
                continue
            ours, *others = (microseconds(results.seconds(key, name)) for name in (OURS, DENSE, PERMUTED))
            cells += [bold(ours), *others]
            torch = results.shares[key].get(TORCH_BEST)
            # By the dense copies of both runs, which are what is compared everywhere.
            cells.append(microseconds(results.seconds(key, DENSE) / torch if torch else None))
        text += row(cells)
    return text


def routes(results: Results) -> str:
    """Empty where the routes were not measured one by one."""
    keys = [key for key in results.cases if any(name in results.shares[key] for name in ROUTES) and OURS in results.shares[key]]
    if not keys:
        return ""
    text = head("route", ["cases that it takes", "chosen in", "fastest in"])
    fastest = {key: max((name for name in ROUTES if name in results.shares[key]), key=lambda name: results.shares[key][name]) for key in keys}
    for name in ROUTES:
        chosen = [key for key in keys if results.cases[key]["contestants"][0]["plan"].startswith(f"{name}:")]
        takes = sum(name in results.shares[key] for key in keys)
        text += row([f"`{name}`", str(takes), str(len(chosen)), str(sum(best == name for best in fastest.values()))])
    near = sum(results.shares[key][OURS] >= 0.95 * results.shares[key][fastest[key]] for key in keys)
    return f"{text}\nThe plan's choice takes at most 1.05 times as long as the fastest route in {near} of {len(keys)} cases, in all kinds of memory.\n"


def notes(results: Results) -> str:
    origin = results.reports[OURS]["provenance"]
    text = ""
    for random in results.randoms:
        text += (
            f"- A dense copy that is then permuted on the GPU is faster in {random['slower']} of {random['compared']} problems drawn at random "
            f"(seed {random['seed']}, 64 KiB to 64 MiB, pinned memory); there one call takes up to {random['worst']:.2f} times as long.\n"
            if random["slower"]
            else f"- A dense copy that is then permuted on the GPU is faster in none of {random['compared']} problems drawn at random "
            f"(seed {random['seed']}, 64 KiB to 64 MiB, pinned memory).\n"
        )
    rates = {way: max((results.cases[key]["bytes"] / results.seconds(key, DENSE) for key in results.of([*SUITES, "sizes"], way)), default=0) for way in WAYS}
    text += f"- The dense copy moves up to {rates['into'] / 1e9:.1f} GB/s into the GPU and {rates['out'] / 1e9:.1f} GB/s out of it.\n"
    torch = results.reports.get("torch")
    peer = f"; PyTorch {torch['version']}, {torch['provenance']['threads']} threads" if torch else ""
    return (
        f"{text}- {origin['gpu']}, {origin['cpu']}, driver {origin['driver']}{peer}; {origin['date'][:10]}, commit {origin['commit'][:10]}; by "
        "`bench_link` and `bench/link/torch_peer.py`, each beside the dense copies of its own run.\n"
    )


def markdown(results: Results) -> str:
    parts = [
        "![Share of the dense copy, case by case](images/link.svg)\n",
        summary(results),
        "In brackets: of how many cases the mean is, where others do not do all of them.\n",
        "Every case but the boxes; a plain copy is `cudaMemcpyAsync` of as many bytes from or to such memory:\n",
        every_case(results),
    ]
    if results.of(["boxes"]):
        parts += ["64 MiB in boxes that lie scattered on the host's side, in pinned memory, % of the dense copy:\n", boxes(results)]
    if results.of(["sizes"]):
        parts += ["From 64 KiB on, in pinned memory:\n", sizes(results)]
    parts += [few_blocks(results), routes(results), notes(results)]
    return "\n".join(part for part in parts if part)


def plot(results: Results) -> str:
    """Two panels, one for each way: everybody's shares in pinned memory, sorted."""
    width, panel, height, left, top = 860, 370, 300, 56, 58
    shown = [results.shares[key].get(name, 0) for key in results.of(SUITES) for name in LINES]
    most = max(120, 20 * math.ceil(5 * max(shown, default=0)))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top + height + 118}" font-family="DejaVu Sans, Arial, sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{left}" y="22" font-size="15">Across the link of an {results.reports[OURS]["provenance"]["gpu"]}, pinned memory</text>',
    ]

    def y(share):
        return top + height * (1 - 100 * share / most)

    for place, (way, words) in enumerate(WAYS.items()):
        x0 = left + place * (panel + 48)
        keys = results.of(SUITES, way)
        parts.append(f'<text x="{x0}" y="{top - 12}">{words}, {len(keys)} cases, each one\'s fastest first</text>')
        for tick in range(0, most + 1, 20):
            colour = "#737373" if tick == 100 else "#e0e0e0"
            parts.append(f'<path d="M{x0} {y(tick / 100):.1f}h{panel}" stroke="{colour}"/>')
            parts.append(f'<text x="{x0 - 6}" y="{y(tick / 100) + 4:.1f}" text-anchor="end">{tick} %</text>')
        step = panel / max(1, len(keys) - 1)
        for name, (_, colour, dashes, thick) in reversed(LINES.items()):
            values = sorted((results.shares[key][name] for key in keys if name in results.shares[key]), reverse=True)
            points = " ".join(f"{x0 + n * step:.1f},{y(value):.1f}" for n, value in enumerate(values))
            dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{thick}" stroke-linejoin="round"{dashed}/>')
    for number, (title, colour, dashes, thick) in enumerate(LINES.values()):
        x, line = left + number % 2 * (panel + 48), top + height + 40 + number // 2 * 24
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        parts.append(f'<path d="M{x} {line - 4}h28" stroke="{colour}" stroke-width="{thick}"{dashed}/><text x="{x + 36}" y="{line}">{title}</text>')
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    if len(sys.argv) not in (1, 2, 4):
        sys.exit(__doc__)
    usual = [ROOT / "bench/results/link", ROOT / "docs/link.md", ROOT / "docs/images/link.svg"]
    folder, page, image = [*map(Path, sys.argv[1:]), *usual[len(sys.argv) - 1 :]]
    results = Results(folder)
    marked_page.put(page, "bench-link", markdown(results))
    image.write_text(plot(results))


if __name__ == "__main__":
    main()
