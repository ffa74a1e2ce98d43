"""Puts the copies by lists that bench_lists has measured on a GPU into docs/lists.md.

usage: lists_page.py RESULT.json PAGE.md
"""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import marked_page


def markdown(result: dict) -> str:
    """Rows by their length and by which side has the list, then a line for every other case."""
    origin, cases = result["provenance"], result["cases"]
    ways: dict[str, dict[str, float]] = {}
    others = []
    for case in cases:
        known = re.fullmatch(r"rows of (\d+) B, (read|written|both) by a list", case["name"])
        if known:
            ways.setdefault(known[1], {})[known[2]] = case["share"]
        else:
            others.append(case)
    lines = ["| % of a plain copy of the same bytes | read by a list | written by a list | both |", "| --- | ---: | ---: | ---: |"]
    for length, shares in sorted(ways.items(), key=lambda item: int(item[0])):
        cells = [f"{100 * shares[way]:.0f}" if way in shares else "-" for way in ("read", "written", "both")]
        lines.append(f"| rows of {length} B | {' | '.join(cells)} |")
    lines += ["", "| | kernel | % of a plain copy of the same bytes |", "| --- | --- | ---: |"]
    lines += [f"| {case['name']} | `{case['kernel']}` | {100 * case['share']:.0f} |" for case in others]
    return "\n".join(lines) + (
        f"\n\n{origin['gpu']}, {origin['date'][:10]}, commit {origin['commit'][:12]}, by `bench_lists`: {cases[0]['bytes'] >> 20} MiB, random "
        "lists, cold caches, medians; all results are checked.\n"
    )


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    marked_page.put(Path(sys.argv[2]), "gpu-lists", markdown(json.loads(Path(sys.argv[1]).read_text())))


if __name__ == "__main__":
    main()
