"""The page of conversions shows what was measured."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "bench/gpu/conversions_page.py"
CPU_SCRIPT = ROOT / "bench/python/conversions_page.py"


def run(result, page, script=SCRIPT, *more):
    return subprocess.run([sys.executable, script, result, page, *more], capture_output=True, text=True)


def test_it_adds_up(tmp_path):
    case = {"case": "matrix_16384", "from": "f32", "to": "bf16", "share": 0.5}
    case |= {"copy_seconds": 1.0, "two_passes_seconds": 4.0}
    blocks = {"case": "transposed", "from": "bf16", "to": "q8_0", "shape": [64, 32], "kernel": "quantise"}
    result = {
        "provenance": {"gpu": "some GPU", "date": "2026-01-02T03", "commit": "abc"},
        "cases": [case, case | {"case": "other", "share": 0.98}],
        "scaled": [blocks | {"to": "i8", "kernel": "tile_convert", "share": 0.5}],
        "quantise": [blocks | {"share": 0.731}],
    }
    (tmp_path / "result.json").write_text(json.dumps(result))
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- gpu-conversions:begin -->\nstale\n<!-- gpu-conversions:end -->\nafter\n")
    done = run(tmp_path / "result.json", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "stale" not in text
    mean = math.sqrt(0.5 * 0.98)
    assert f"| f32 to bf16 | 2 | {100 * mean:.0f} | 50 | 50 | 25 |" in text
    assert "| bf16 to q8_0, transposed | 64 x 32 | `quantise` | 73 |" in text
    assert "| bf16 to i8, transposed | 64 x 32 | `tile` | 50 |" in text
    assert "torch" not in text
    torch = {"torch": "2.0+x", "cases": []}
    for name, compiled in (("matrix_16384", 4.0), ("other", 1.0), ("not ours", 1.0)):
        seconds = {"compiled": compiled, "eager": 8.0, "copy": 1.0}
        torch["cases"].append({"case": name, "from": "f32", "to": "bf16", "seconds": seconds})
    (tmp_path / "torch.json").write_text(json.dumps(torch))
    assert run(tmp_path / "result.json", page, SCRIPT, tmp_path / "torch.json").returncode == 0
    # 0.5 * 4 and 0.98 * 1; 0.5 * 8 and 0.98 * 8
    assert (
        f"`torch.compile` (PyTorch 2.0) takes {math.sqrt(2 * 0.98):.2f} times as long, PyTorch as it is "
        f"{math.sqrt(4 * 7.84):.2f} times: geometric means of 2 cases, of which `torch.compile` is faster in 1. A plain "
        "copy of the same bytes would be 2.00 times as fast as `torch.compile`."
    ) in page.read_text()


def test_a_page_without_marks_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n")
    assert "no marks" in run(ROOT / "bench/results/gpu-h200/conversions.json", page).stderr
    assert page.read_text() == "text\n"


def test_it_adds_up_for_the_cpu(tmp_path):
    def case(title, factor):
        seconds = {"new": 1.0, "numpy new": 2.0 * factor, "copy new": 0.5}
        seconds |= {"out": 0.5, "numpy out": 3.0, "copy out": 0.25 * factor}
        return {"case": title, "seconds": seconds}

    result = {
        "provenance": {"processor": "some CPU", "processors": 2, "numpy": "2", "date": "2026-01-02 03:04", "commit": "abc"},
        "cases": [case("matrix", 1), case("matrix", 4), case("heads", 1)],
    }  # fmt: skip
    (tmp_path / "result.json").write_text(json.dumps(result))
    page = tmp_path / "page.md"
    page.write_text("<!-- cpu-conversions:begin -->\n<!-- cpu-conversions:end -->\n")
    done = run(tmp_path / "result.json", page, CPU_SCRIPT)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "| matrix | 2 | 4.0 | 2.00 | 50 | 6.0 | 6.00 | 100 |" in text
    assert "| heads | 1 | 2.0 | 2.00 | 50 | 6.0 | 6.00 | 50 |" in text


@pytest.mark.parametrize(
    "script, results",
    [
        (SCRIPT, ["gpu-h200/conversions.json", "gpu-h200/conversions-torch.json"]),
        (CPU_SCRIPT, ["cpu-amd-epyc/conversions-2026-11-22.json"]),
    ],
)
def test_the_documentation_is_up_to_date(tmp_path, script, results):
    page = tmp_path / "conversions.md"
    before = (ROOT / "docs/conversions.md").read_text()
    page.write_text(before)
    result, *more = (ROOT / "bench/results" / name for name in results)
    assert run(result, page, script, *more).returncode == 0
    assert page.read_text() == before
