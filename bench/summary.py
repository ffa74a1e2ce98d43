#!/usr/bin/env python3
"""Makes the README's headline and its table: lines that one writes every day, and how long they take.

usage: summary.py publish [PYTHON.json CPU.json GPU.json]   writes both from these results (default: the newest)
       summary.py check [PYTHON.json CPU.json GPU.json]     fails when the README says something else than they do
"""
import sys
from pathlib import Path

import gpu_report
import report
from report import GPU_PAGE, OURS, PAGE, README, ROOT, geometric_mean

HEADLINE = "bench-headline"
TABLE = "bench-summary"
MEASURING = ROOT / "docs" / "measuring.md"
SUITE = "everyday"
# Rows: what is moved, the case of the suite, the bytes of an element.
LINES = [
    ("matrix", "matrix_4096", 4),
    ("images to NCHW", "nhwc_to_nchw_rgb", 1),
    ("images to NHWC", "nchw_to_nhwc_rgb", 4),
    ("attention heads", "attention_bshd_to_bhsd", 2),
    ("attention keys", "attention_key_transpose", 2),
    ("points to x, y, z", "aos_to_soa_x3", 4),
]
DTYPES = {1: "u8", 2: "f16", 4: "f32"}
COLUMNS = {"cpu": ["numpy", "torch"], "gpu": ["torch"]}


class Side:
    """How long ours and the peers of the table took on one machine, by subject and case."""

    def __init__(self, seconds):
        self.by_subject = seconds

    def seconds(self, subject, key):
        return self.by_subject[subject][key]

    def times(self, peer, key):
        """How many times as long as ours a peer takes."""
        return self.seconds(peer, key) / self.seconds(OURS, key)

    def mean(self, peer):
        """Geometric mean of times over all cases that both have done, and their number."""
        both = [key for key in self.by_subject[OURS] if key in self.by_subject[peer]]
        return geometric_mean([self.times(peer, key) for key in both]), len(both)


def cpu_side(result):
    """Calls from Python, of all contestants in the same rounds."""
    return Side({
        subject: {case["case"]: case["seconds"][subject] for case in result["cases"] if subject in case["seconds"]}
        for subject in [OURS, *COLUMNS["cpu"]]
    })  # fmt: skip


def gpu_side(shares):
    """What is measured a second time, in the caches, is left out."""
    return Side({
        subject: {
            f"{c['suite']}/{c['case']} {c['element_bytes']} B": c["seconds"]
            for c in shares.runs[subject]["cases"]
            if c["outcome"] == "ok" and gpu_report.group_of(c) != gpu_report.WARM
        }
        for subject in [OURS, *COLUMNS["gpu"]]
    })  # fmt: skip


def line_of(name, size):
    """The source's shape, and the line of Python that puts its axes into the destination's order."""
    suite = report.load(ROOT / "bench" / "suites" / f"{SUITE}.json")
    case = next(c for c in suite["cases"] if c["name"] == name)
    order = sorted(range(len(case["shape"])), key=lambda axis: -case["src_strides"][axis])
    shape = ", ".join(str(case["shape"][axis]) for axis in order)
    axes = [order.index(axis) for axis in range(len(order))]
    code = "x.T" if axes == [1, 0] else f"x.transpose({', '.join(map(str, axes))})"
    return f"`{code}`", f"({shape}) {DTYPES[size]}"


def milliseconds(seconds):
    ms = 1e3 * seconds
    return f"{ms:.3f} ms" if ms < 1 else f"{ms:.2f} ms" if ms < 10 else f"{ms:.1f} ms" if ms < 100 else f"{ms:.0f} ms"


def factor(times):
    return f"{times:.1f}" if times < 9.95 else f"{times:.0f}"


def row(title, name, size, sides):
    key = f"{SUITE}/{name} {size} B"
    code, shape = line_of(name, size)
    cells = []
    for which, side in sides.items():
        cells += [f"{milliseconds(side.seconds(p, key))} ({factor(side.times(p, key))}x)" for p in COLUMNS[which]]
        cells.append(f"**{milliseconds(side.seconds(OURS, key))}**")
    # A cell with a number stays on one line.
    return "| " + " | ".join([f"{title}: {code} of {shape}", *(cell.replace(" ", "&nbsp;") for cell in cells)]) + " |"


def mean_row(sides):
    cells = ["all public cases, geometric mean"]
    for which, side in sides.items():
        cells += [f"{factor(side.mean(peer)[0])}x" for peer in COLUMNS[which]] + ["**1x**"]
    return "| " + " | ".join(cells) + " |"


def standing(shares, share, best_peer):
    """How often ours is at least as fast as every peer, of the cases that a peer has done."""
    rivals = [(share(k), best) for k in shares if (best := best_peer(k)) is not None]
    return f"{sum(own >= best for own, best in rivals)} of {len(rivals)}"


def cpu_standing(shares):
    return standing(shares.ours, lambda k: shares.share(OURS, k), shares.best_peer)


def gpu_standing(shares):
    won, of = gpu_report.first_in(shares, list(shares.cases))
    return f"{won} of {of}"


def copies(values):
    return f"{100 * geometric_mean(values):.0f} %"


def link(page, text):
    return f"[{text}]({page.relative_to(ROOT)})"


def source_of(path):
    return f"`{path.resolve().relative_to(ROOT)}`"


def headline(sides, results):
    cpu, gpu = sides["cpu"], sides["gpu"]
    numpy, torch, on_gpu = cpu.mean("numpy"), cpu.mean("torch"), gpu.mean("torch")
    return (
        f"On a CPU ({results.of_cpu['processor']}) it is **{factor(numpy[0])} times** as fast as NumPy's line and "
        f"**{factor(torch[0])} times** as fast as PyTorch's;\non a GPU ({results.of_gpu['gpu']}) it is **{factor(on_gpu[0])} times** "
        f"as fast as PyTorch's. These are geometric means of {numpy[1]},\n{torch[1]} and {on_gpu[1]} public cases."
    )


def table(sides, results):
    lines = [
        "| the line of today | CPU: NumPy | PyTorch | **Cornerturn** | GPU: PyTorch | **Cornerturn** |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *(row(title, name, size, sides) for title, name, size in LINES),
        mean_row(sides),
    ]
    python, cpu, gpu = results.of_cpu, results.cpu, results.gpu
    torch = gpu.runs["torch"]["version"]
    all_of_cpu = [cpu.share(OURS, k) for k in cpu.keys(report.ALL)]
    all_of_gpu = [gpu.ours[k] for k in gpu.keys([gpu_report.ALL])]
    notes = [
        f"Machines: {python['processor']}, {report.plural(python['processors'])}, NumPy {python['numpy']}, PyTorch {python['torch']}; "
        f"{results.of_gpu['gpu']}, PyTorch {torch}. In brackets: how many times as long as Cornerturn.",
        "How it is measured: medians of calls, after each result has been compared element by element. The limit of most "
        f"cases is a plain copy of the same bytes: Cornerturn has {copies(all_of_cpu)} of the speed of `memcpy` ({report.plural(cpu.threads)}) and "
        f"{copies(all_of_gpu)} of that of the fastest copy on the GPU. It is first of all libraries in "
        f"{cpu_standing(cpu)} and {gpu_standing(gpu)} cases. {link(MEASURING, 'The rules')}; every table of {link(PAGE, 'the CPU')} and "
        f"{link(GPU_PAGE, 'the GPU')}; from {', '.join(map(source_of, results.paths))}.",
    ]
    return "\n".join(lines) + "\n\n" + "\n".join(f"- {note}" for note in notes)


class Results:
    """The files that the README is made of: of Python, of the CPU's cases beside all peers, of the GPU's."""

    def __init__(self, paths):
        self.paths = paths
        self.python = report.load(paths[0])
        runs = report.load(paths[1])["runs"]
        self.cpu = report.Shares(runs, min(r["threads"] for r in runs if r["subject"] == OURS))
        self.gpu = gpu_report.shares_of(paths[2])
        self.of_cpu = self.python["provenance"]
        self.of_gpu = self.gpu.runs[OURS]["provenance"]


def newest_python():
    files = sorted(report.RESULTS.glob("cpu-*/python-*.json"), key=lambda f: f.name)
    if not files:
        sys.exit("summary.py: bench/results has no results of Python; run `make bench-python`")
    return files[-1]


def main():
    command, paths = (sys.argv[1] if len(sys.argv) > 1 else ""), [Path(p) for p in sys.argv[2:]]
    if command not in ("publish", "check") or len(paths) not in (0, 3):
        sys.exit(__doc__)
    results = Results(paths or [newest_python(), report.newest_results(), gpu_report.newest_results()])
    sides = {"cpu": cpu_side(results.python), "gpu": gpu_side(results.gpu)}
    report.publish_or_check({README: headline(sides, results)}, HEADLINE, "bench/summary.py")
    report.publish_or_check({README: table(sides, results)}, TABLE, "bench/summary.py")


if __name__ == "__main__":
    main()
