"""Puts the casts that bench_conversions has measured into docs/casts.md, and those of its peers.

usage: casts_page.py RESULT.json PAGE.md [PEERS.json...]

PEERS.json is what bench/peers/gpu/casts.py has written.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import marked_page

WAYS = {"rows": "as it lies", "transposed": "transposed", "both": "both ways"}
PEERS = ("cornerturn", "torchao", "torch.compile")


def markdown(result: dict) -> str:
    """A row for each format and direction, a column for each size."""
    origin, cases = result["provenance"], result["training"]
    sizes = sorted({case["shape"][0] for case in cases})
    lines = [
        "| % of a plain copy of the same bytes | " + " | ".join(f"{size} squared" for size in sizes) + " |",
        "| --- |" + " ---: |" * len(sizes),
    ]
    shares = {(case["to"], case["case"], case["shape"][0]): case["share"] for case in cases}
    for name, direction in dict.fromkeys((case["to"], case["case"]) for case in cases):
        cells = [f"{100 * shares[found]:.0f}" if (found := (name, direction, size)) in shares else "-" for size in sizes]
        lines.append(f"| {cases[0]['from']} to {name}, {direction} | {' | '.join(cells)} |")
    return "\n".join(lines) + (
        f"\n\n{origin['gpu']}, {origin['date'][:10]}, by `bench_conversions`: cold caches, medians, each case beside "
        "plain copies that move the same bytes.\n"
    )


def peers(reports: list[dict]) -> str:
    """A row for each format and direction, a column for each shape, in which all contestants stand."""
    cases = {(case["format"], case["way"], tuple(case["shape"])): case for report in reports for case in report["cases"]}
    shapes = list(dict.fromkeys(shape for _, _, shape in cases))
    lines = ["| % of a plain copy | " + " | ".join(f"{a} x {b}" for a, b in shapes) + " |", "| --- |" + " ---: |" * len(shapes)]
    first = total = 0
    for form, way in dict.fromkeys((form, way) for form, way, _ in cases):
        cells = []
        for shape in shapes:
            case = cases.get((form, way, shape))
            seconds = case["seconds"] if case else {}
            known = [name for name in PEERS if name in seconds]
            cells.append(", ".join(f"{100 * seconds['copy'] / seconds[name]:.0f}" for name in known) or "-")
            if len(known) > 1:
                total += 1
                first += seconds["cornerturn"] <= min(seconds[name] for name in known)
        lines.append(f"| {form}, {WAYS[way]} | {' | '.join(cells)} |")
    last = reports[-1]
    return "\n".join(lines) + (
        f"\n\nCornerturn, torchao {last['torchao']} where it has a kernel for this GPU, and torch.compile ({last['torch']}), which "
        f"was measured at one size. Cornerturn is first in {first} of the {total} cases that somebody else has. {last['gpu']}, "
        f"{last['date']}, by `bench/peers/gpu/casts.py`, which calls functions of Python.\n"
    )


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    result, page, *others = map(Path, sys.argv[1:])
    marked_page.put(page, "gpu-casts", markdown(json.loads(result.read_text())))
    if others:
        marked_page.put(page, "gpu-casts-peers", peers([json.loads(path.read_text()) for path in others]))


if __name__ == "__main__":
    main()
