"""The benchmark of the Python package runs, and adds up what it measured."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("cornerturn")


def test_it_measures_cases(tmp_path):
    command = [sys.executable, ROOT / "bench/python/cpu.py", "--seconds", "0", "--max-bytes", "2e4",
               "--json", tmp_path / "out.json"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["provenance"]["numpy"] and report["provenance"]["commit"]
    cases = report["cases"]
    assert len(cases) > 10 and all(case["bytes"] <= 2e4 and case["runs"] >= 3 for case in cases)
    every = report["summary"]["all"]
    ratios = [case["seconds"]["numpy"] / case["seconds"]["cornerturn"] for case in cases]
    assert every["cases"] == len(cases)
    assert math.isclose(every["numpy"]["geometric_mean"] ** len(cases), math.prod(ratios), rel_tol=1e-6)
    assert every["numpy"]["worst"] == min(ratios)
    assert every["numpy"]["ahead"] == sum(ratio > 1 for ratio in ratios)
    assert f"{every['numpy']['worst']:.2f}" in done.stdout


    # The page shows what was measured.
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- python-cpu:begin -->\nold\n<!-- python-cpu:end -->\nafter\n")
    again = [*command[:2], "--from", tmp_path / "out.json", "--page", page]
    assert subprocess.run(again, capture_output=True, text=True).returncode == 0
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert f"| **all** | {len(cases)} | {every['numpy']['geometric_mean']:.1f} |" in text


def test_the_documentation_shows_the_results_that_are_kept(tmp_path):
    kept = sorted((ROOT / "bench" / "results").glob("cpu-*/python-*.json"))
    if not kept:
        pytest.skip("no results are kept")
    page = tmp_path / "python.md"
    page.write_text((ROOT / "docs" / "python.md").read_text())
    command = [sys.executable, ROOT / "bench/python/cpu.py", "--from", kept[-1], "--page", page]
    subprocess.run(command, check=True, capture_output=True)
    assert page.read_text() == (ROOT / "docs" / "python.md").read_text()


@pytest.mark.parametrize("what", ["rechunk", "hdf5", "xarray"])
def test_the_documentation_shows_the_results_of_chunks(what):
    kept = sorted((ROOT / "bench" / "results").glob(f"cpu-*/chunks-{what}-*.json"))
    if not kept:
        pytest.skip("no results are kept")
    pytest.importorskip("zarr")
    command = [sys.executable, ROOT / "bench/python/chunks.py", what, "--from", kept[-1]]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert said.strip() in (ROOT / "docs" / "chunks.md").read_text()


def test_the_documentation_shows_what_a_gpu_did(tmp_path):
    kept = ROOT / "bench" / "results" / "python" / "h200.json"
    page = tmp_path / "frameworks.md"
    page.write_text((ROOT / "docs" / "python-frameworks.md").read_text())
    subprocess.run([sys.executable, ROOT / "bench/python/gpu_page.py", kept, page], check=True)
    assert page.read_text() == (ROOT / "docs" / "python-frameworks.md").read_text()


def test_it_measures_conversions(tmp_path):
    pytest.importorskip("ml_dtypes")
    command = [sys.executable, ROOT / "bench/python/conversions.py", "--seconds", "0", "--cases", "small*",
               "--types", "f32 *8", "--json", tmp_path / "out.json"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    cases = json.loads((tmp_path / "out.json").read_text())["cases"]
    assert [(c["case"], c["to"]) for c in cases] == [("small", "i8"), ("small batch", "i8")]
    for case in cases:
        assert case["runs"] >= 3 and all(0 < case["least"][k] <= s for k, s in case["seconds"].items())
    worst = min(case["seconds"]["numpy new"] / case["seconds"]["new"] for case in cases)
    assert f"at worst {worst:.2f}x" in done.stdout


@pytest.mark.parametrize("script", ["cpu.py", "conversions.py"])
def test_no_case_is_left(script):
    command = [sys.executable, ROOT / "bench/python" / script, "--cases", "none of them"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0 and "no case is left" in done.stderr


def test_small_matrices_and_recipes(tmp_path):
    """What is measured of small ones is put on a page; so is what was measured of the recipes."""
    page = tmp_path / "page.md"
    page.write_text("<!-- python-small:begin -->\nold\n<!-- python-small:end -->\n"
                    "<!-- python-recipes:begin -->\nold\n<!-- python-recipes:end -->\n")  # fmt: skip
    small = [sys.executable, ROOT / "bench/python/small.py"]
    subprocess.run([*small, "--rounds", "1", "--json", tmp_path / "small.json"], check=True, capture_output=True)
    report = json.loads((tmp_path / "small.json").read_text())
    assert len(report["cases"]) == 20
    for case in report["cases"]:  # ahead from 48 x 48 on
        case["seconds"]["numpy new"] = case["seconds"]["new"] * (2 if case["side"] in (2, *range(48, 300)) else 0.5)
    (tmp_path / "small.json").write_text(json.dumps(report))
    subprocess.run([*small, "--from", tmp_path / "small.json", "--page", page], check=True, capture_output=True)
    report["cases"] = [{"title": "heads", "line": "x.permute()", "before": 0.004, "after": 0.0016}]
    (tmp_path / "recipes.json").write_text(json.dumps(report))
    recipes = [sys.executable, ROOT / "bench/python/recipes.py", "--from", tmp_path / "recipes.json", "--page", page]
    subprocess.run(recipes, check=True, capture_output=True)
    text = page.read_text()
    assert "from 48 x 48 float32 on, and from 48 x 48 float64 on" in text and "| 2 x 2 float32 |" in text
    assert "| heads | `x.permute()` | 4.00 | 1.60 | 2.5 |" in text and "old" not in text


def test_in_place_puts_its_table_on_a_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- in-place:begin -->\nold\n<!-- in-place:end -->\n")
    known = ["processor", "processors", "numpy", "date", "commit"]
    seconds = {"memcpy": 1, "memcpy of all threads": 0.5, "cornerturn": 2, "threads": 1, "copy back": 5, "numpy": 10}
    report = {
        "provenance": {**dict.fromkeys(known, "?"), "load": 1},
        "cases": [
            {"class": "square", "seconds": seconds},
            {"class": "square", "seconds": {**seconds, "mkl": 4}},
            {"class": "odd", "seconds": {**seconds, "fftw": 100}},
        ],
    }
    (tmp_path / "in.json").write_text(json.dumps(report))
    command = [sys.executable, ROOT / "bench/python/in_place.py", "--from", tmp_path / "in.json", "--page", page]
    subprocess.run(command, check=True, capture_output=True)
    text = page.read_text()
    assert "| square | 2 | 50 | 50 | 20 | - | 25 | 10 | 3.2 / 2.0 |" in text and "old" not in text
    assert "| odd | 1 | 50 | 50 | 20 | 1.0 | - | 10 | 5.0 / 5.0 |" in text


def test_in_place_is_measured_and_checked():
    """Small cases of every kind: each contestant that is here gets them right."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import in_place\n"
        "in_place.CASES[:] = [in_place.Case('x', b, m, n, e) for b, m, n, e in"
        " [(1, 60, 60, 1), (1, 60, 40, 4), (3, 20, 50, 8), (1, 30, 7, 16)]]\n"
        "for case in in_place.measure_all(1): print(sorted(case['seconds']))"
    )
    done = subprocess.run([sys.executable, "-c", program, ROOT / "bench/python"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("'copy back', 'cornerturn'") == 4
