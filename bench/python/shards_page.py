"""Puts the figures of bench/python/shards.py into docs/shards.md.

usage: shards_page.py RESULT.json PAGE.md
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import marked_page

COLUMNS = {
    "one pass": "one pass",
    "copy engines": "copy engines",
    "packed": "packed",
    "not in chunks": "not in chunks",
    "three steps": "PyTorch, three steps",
    "DTensor": "DTensor",
    "NCCL alone": "NCCL alone",
    "engines alone": "engines alone",
}
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def size(number: int) -> str:
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if number >= unit:
            return f"{number / unit:g} {name}"
    return f"{number} B"


def known(case: dict) -> dict[str, float]:
    """What the contestants did themselves: copy engines leave to kernels what is no run."""
    moves_elements = case["perm"][-1] != len(case["perm"]) - 1
    return {n: rate for n, rate in case["gb_per_s"].items() if not (n == "copy engines" and moves_elements)}


def rates(case: dict) -> str:
    known_rates = known(case)
    ours = ("one pass", "copy engines", "packed")
    best = max(known_rates.get(name, 0) for name in (*ours, "three steps", "DTensor"))
    cells = []
    for name in COLUMNS:
        rate = known_rates.get(name)
        text = "-" if rate is None else f"{rate:.0f}"
        cells.append(f"**{text}**" if rate == best else text)
    return " | ".join(cells)


def markdown(result: dict) -> str:
    origin = result["provenance"]
    large = [case for case in result["cases"] if case["sent_bytes"] >= 256 * MIB]
    # Rounds that differ by more say something of what else the machine did.
    small = [case for case in result["cases"] if case["spread"].get("in a graph", 9) < 1.1]
    measured = {name for case in large for name in known(case)}
    for name in [name for name in COLUMNS if name not in measured]:
        del COLUMNS[name]
    lines = [f"| GB/s that leave a GPU | {' | '.join(COLUMNS.values())} |", "| --- |" + " ---: |" * len(COLUMNS)]
    for case in large:
        head = f"{case['name']}, {case['item_bytes']} B, {size(case['pair_bytes'])}"
        lines.append(f"| {head} | {rates(case)} |")
    if small:
        lines += ["", "| in a CUDA graph | microseconds |", "| --- | ---: |"]
    for case in small:
        head = f"{case['name']}, {case['item_bytes']} B, {size(case['pair_bytes'])}"
        lines.append(f"| {head} | {case['us']['in a graph']:.0f} |")
    return "\n".join(lines) + (
        "\n\nA size is that of the message between two GPUs. The fastest that does the whole work is bold; NCCL "
        "and copy engines alone move the same bytes in one piece, unpermuted. Medians of calls in a row, the "
        "contestants in turns, the slowest process counts.\n"
        f"{origin['gpus']} {origin['gpu']} of one host, PyTorch {origin['torch']}, NCCL {origin['nccl']}; "
        f"{origin['date'][:10]}, commit {origin['commit']}.\n"
    )


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    result, page = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    marked_page.put(page, "shards", markdown(result))


if __name__ == "__main__":
    main()
