"""What the benchmarks of Python share: options, provenance, output."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import marked_page  # noqa: E402


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def commit() -> str:
    """What is measured. A bundle (scripts/python_bundle.sh) says it in a file."""
    known = ROOT / "commit"
    if known.exists():
        return known.read_text().strip()
    git = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    said = subprocess.run(git, cwd=ROOT, capture_output=True, text=True)
    return said.stdout.strip() or "unknown"


def provenance(arguments: argparse.Namespace) -> dict[str, object]:
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M"),
        "commit": commit(),
        "processor": processor(),
        "processors": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "kernel": platform.release().partition("-")[0],
        "python": platform.python_version(),
        "numpy": installed("numpy"),
        "torch": installed("torch"),
        "suites": arguments.suite,
        "max_bytes": arguments.max_bytes,
        "seconds": arguments.seconds,
    }


def add_outputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, help="write all of it to this file")
    parser.add_argument("--page", type=Path, help="put the table between the marks on this page")
    parser.add_argument("--from", dest="known", type=Path, help="do not measure: results that --json wrote")


def write(report: dict, arguments: argparse.Namespace, markdown: Callable[[dict], str], mark: str) -> None:
    """Writes the report to the file and the page that the options name."""
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    if arguments.page:
        marked_page.put(arguments.page, mark, markdown(report))


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
    add_outputs(parser)
    arguments = parser.parse_args()
    if arguments.known:
        report = json.loads(arguments.known.read_text())
    else:
        origin = provenance(argparse.Namespace(suite=[Path(sys.argv[0]).name], max_bytes=None, seconds=None))
        report = {"provenance": origin, "cases": measure(arguments.rounds)}
    print(markdown(report), end="")
    write(report, arguments, markdown, mark)
