"""Puts the figures of bench_conversions into docs/conversions.md.

usage: conversions_page.py RESULT.json PAGE.md [TORCH.json]    TORCH: of bench/peers/gpu/conversions.py
"""

import json
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import marked_page


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def percent(share: float) -> str:
    return f"{100 * share:.0f}"


def conversions(cases: list[dict]) -> list[str]:
    """A row for each pair of types."""
    pairs = list(dict.fromkeys((case["from"], case["to"]) for case in cases))
    lines = [
        "| transposed, % of a plain copy | cases | geometric mean | worst | 16384 x 16384 | in two passes |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for source, target in pairs:
        own = [case for case in cases if (case["from"], case["to"]) == (source, target)]
        large = [case["share"] for case in own if case["case"].endswith("_16384")]
        twice = [c["copy_seconds"] / c["two_passes_seconds"] for c in own if "two_passes_seconds" in c]
        cells = [
            str(len(own)),
            percent(geometric_mean([case["share"] for case in own])),
            percent(min(case["share"] for case in own)),
            percent(large[0]) if large else "",
            percent(geometric_mean(twice)),
        ]
        lines.append(f"| {source} to {target} | {' | '.join(cells)} |")
    return lines


def name_today(kernel: str) -> str:
    """Stored results name the kernels that changed values apart: tile_convert."""
    return kernel.removesuffix("_convert")


def table(what: str, cases: list[dict]) -> list[str]:
    lines = ["", f"| {what} | shape | kernel | % of a plain copy |", "| --- | --- | --- | ---: |"]
    for case in cases:
        shape, kernel = " x ".join(map(str, case["shape"])), name_today(case["kernel"])
        lines.append(
            f"| {case['from']} to {case['to']}, {case['case']} | {shape} | `{kernel}` "
            f"| {percent(case['share'])} |"
        )
    return lines


def beside_torch(cases: list[dict], torch: dict) -> list[str]:
    """How often PyTorch's times hold ours, each measured beside the plain copy of its own run."""
    ours = {(case["case"], case["from"], case["to"]): case["share"] for case in cases}
    compiled, eager, copies = [], [], []
    for case in torch["cases"]:
        share, seconds = ours.get((case["case"], case["from"], case["to"])), case["seconds"]
        if share is None or not seconds.get("compiled"):
            continue
        compiled.append(share * seconds["compiled"] / seconds["copy"])
        eager.append(share * seconds["eager"] / seconds["copy"])
        copies.append(seconds["compiled"] / seconds["copy"])
    version = torch["torch"].partition("+")[0]
    return [
        "",
        f"`torch.compile` (PyTorch {version}) takes {geometric_mean(compiled):.2f} times as long, PyTorch as it is "
        f"{geometric_mean(eager):.2f} times: geometric means of {len(compiled)} cases, of which `torch.compile` is faster "
        f"in {sum(time < 1 for time in compiled)}. A plain copy of the same bytes would be {geometric_mean(copies):.2f} "
        "times as fast as `torch.compile`.",
    ]


def markdown(result: dict, torch: dict | None) -> str:
    origin = result["provenance"]
    lines = conversions(result["cases"])
    if torch:
        lines += beside_torch(result["cases"], torch)
    if "scaled" in result:
        lines += table("with a vector of scales", result["scaled"])
    lines += table("blocks", result["quantise"])
    return "\n".join(lines) + (
        f"\n\n{origin['gpu']}, {origin['date'][:10]}, commit {origin['commit'][:12]}, by `bench_conversions`: "
        "cold caches, medians, each case beside plain copies that move the same bytes.\n"
    )


def main() -> None:
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    result, page = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    torch = json.loads(Path(sys.argv[3]).read_text()) if len(sys.argv) == 4 else None
    marked_page.put(page, "gpu-conversions", markdown(result, torch))


if __name__ == "__main__":
    main()
