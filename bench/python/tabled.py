"""What the benchmarks of Python share that make one table: options, provenance, output."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from cpu import ROOT, provenance

sys.path.insert(0, str(ROOT / "bench"))
import marked_page  # noqa: E402


def run(
    description: str,
    rounds: int,
    measure: Callable[[int], list[dict]],
    markdown: Callable[[dict], str],
    mark: str,
) -> None:
    """Measures the cases in so many rounds, or reads them, and prints the table."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--json", type=Path, help="write all of it to this file")
    parser.add_argument("--page", type=Path, help="put the table between the marks on this page")
    parser.add_argument("--from", dest="known", type=Path, help="do not measure: results that --json wrote")
    arguments = parser.parse_args()
    if arguments.known:
        report = json.loads(arguments.known.read_text())
    else:
        origin = provenance(argparse.Namespace(suite=[Path(sys.argv[0]).name], max_bytes=None, seconds=None))
        report = {"provenance": origin, "cases": measure(arguments.rounds)}
    print(markdown(report), end="")
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    if arguments.page:
        marked_page.put(arguments.page, mark, markdown(report))
