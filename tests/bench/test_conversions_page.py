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


def run(result, page, script=SCRIPT):
    return subprocess.run([sys.executable, script, result, page], capture_output=True, text=True)


def test_it_adds_up(tmp_path):
    case = {"case": "matrix_16384", "from": "f32", "to": "bf16", "share": 0.5}
    case |= {"copy_seconds": 1.0, "two_passes_seconds": 4.0}
    blocks = {"case": "transposed", "from": "bf16", "to": "q8_0", "shape": [64, 32], "kernel": "quantise"}
    result = {
        "provenance": {"gpu": "some GPU", "date": "2026-01-02T03", "commit": "abc"},
        "cases": [case, case | {"case": "other", "share": 0.98}],
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
    "script, result",
    [(SCRIPT, "gpu-h200/conversions.json"), (CPU_SCRIPT, "cpu-amd-epyc/conversions-2026-11-22.json")],
)
def test_the_documentation_is_up_to_date(tmp_path, script, result):
    page = tmp_path / "conversions.md"
    before = (ROOT / "docs/conversions.md").read_text()
    page.write_text(before)
    assert run(ROOT / "bench/results" / result, page, script).returncode == 0
    assert page.read_text() == before
