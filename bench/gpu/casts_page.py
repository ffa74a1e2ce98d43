"""Puts the casts that bench_conversions has measured into docs/casts.md.

usage: casts_page.py RESULT.json PAGE.md
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import marked_page


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
        cells = [f"{100 * shares[name, direction, size]:.0f}" for size in sizes]
        lines.append(f"| {cases[0]['from']} to {name}, {direction} | {' | '.join(cells)} |")
    return "\n".join(lines) + (
        f"\n\n{origin['gpu']}, {origin['date'][:10]}, by `bench_conversions`: cold caches, medians, each case beside "
        "plain copies that move the same bytes.\n"
    )


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    marked_page.put(Path(sys.argv[2]), "gpu-casts", markdown(json.loads(Path(sys.argv[1]).read_text())))


if __name__ == "__main__":
    main()
