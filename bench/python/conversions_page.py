"""Puts the figures of conversions.py into docs/conversions.md.

usage: conversions_page.py RESULT.json PAGE.md
"""

import json
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import marked_page


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def row(title: str, cases: list[dict]) -> str:
    cells = [str(len(cases))]
    for kind in ("new", "out"):
        numpy = [case["seconds"][f"numpy {kind}"] / case["seconds"][kind] for case in cases]
        copy = [case["seconds"][f"copy {kind}"] / case["seconds"][kind] for case in cases]
        cells += [f"{geometric_mean(numpy):.1f}", f"{min(numpy):.2f}", f"{100 * geometric_mean(copy):.0f}"]
    return f"| {title} | {' | '.join(cells)} |"


def markdown(result: dict) -> str:
    cases, origin = result["cases"], result["provenance"]
    lines = [
        "| | cases | new: x NumPy | worst | % of a copy | `out=`: x NumPy | worst | % of a copy |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for title in dict.fromkeys(case["case"] for case in cases):
        lines.append(row(title, [case for case in cases if case["case"] == title]))
    lines.append(row("all", cases))
    return "\n".join(lines) + (
        f"\n\n{origin['processor']}, {origin['processors']} processors, NumPy {origin['numpy']}, "
        f"{origin['date'][:10]}, commit {origin['commit']}, by `make bench-convert`.\n"
    )


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    result, page = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    marked_page.put(page, "cpu-conversions", markdown(result))


if __name__ == "__main__":
    main()
