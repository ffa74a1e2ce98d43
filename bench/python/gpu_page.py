"""Puts the figures of bench/python/gpu.py into docs/python-frameworks.md.

usage: gpu_page.py RESULT.json PAGE.md
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import marked_page

LARGE = {
    "cornerturn.transpose": "Cornerturn",
    "engine": "its engine",
    "x.permute().contiguous()": "PyTorch",
    "torch.compile": "torch.compile",
}


def markdown(result: dict) -> str:
    origin = result["provenance"]
    lines = ["| back to back, 64 x 64 float32 | us | best |", "| --- | ---: | ---: |"]
    for name, times in result["latency_64x64_f32"].items():
        lines.append(f"| `{name}` | {times['us']:.1f} | {times['best_us']:.1f} |")
    heads = " | ".join(LARGE.values())
    lines += ["", f"| % of PyTorch's copy | {heads} |", "| --- |" + " ---: |" * len(LARGE)]
    for case in result["large"]:
        rates = case["gb_per_s"]
        cells = (f"{100 * rates[name] / rates['copy']:.0f}" for name in LARGE)
        lines.append(f"| {case['name']}, {case['dtype']} | {' | '.join(cells)} |")
    launch = ""
    if "torch.cuda._sleep(0)" in result["latency_64x64_f32"]:
        launch = "`torch.cuda._sleep(0)` launches a kernel that does nothing: no call with a launch takes less. "
    return "\n".join(lines) + (
        "\n\nEvery call makes a new tensor, but where it says `out=out`. "
        f"{launch}Rates are medians of calls in a row, "
        "all contestants in rounds.\n"
        f"{origin['gpu']}, driver {origin['driver_and_clocks'].split(',')[0]}, Python {origin['python']}, "
        f"PyTorch {origin['torch']}, JAX {origin['jax']}, CuPy {origin['cupy']}; "
        f"{origin['date'][:10]}, commit {origin['commit']}.\n"
    )


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    result, page = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    marked_page.put(page, "python-gpu", markdown(result))


if __name__ == "__main__":
    main()
