"""The page about the link shows what was measured."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "bench/link/link_page.py"
MARKS = "before\n<!-- bench-link:begin -->\n{}<!-- bench-link:end -->\nafter\n"


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True)


def case(suite, name, way="into", memory="pinned", **seconds):
    """Names of contestants have underlines for what stands between their words."""
    contestants = [{"name": known.replace("__", ", ").replace("_", " "), "seconds": value} for known, value in seconds.items()]
    for one in contestants:
        one["name"] = one["name"].replace("copy ", "copy_") if one["name"].startswith("strided") else one["name"]
    if contestants[0]["name"] == "cornerturn":
        contestants[0]["plan"] = "chunks: 3 pieces"
    return {"suite": suite, "case": name, "way": way, "memory": memory, "bytes": 4 * 10**9, "contestants": contestants}


def report(folder, name, subject, cases, date="2026-01-02T03", **more):
    origin = {"gpu": "X100", "cpu": "Some CPU", "driver": "1.2", "date": date, "commit": "abc", "threads": 8}
    what = {"subject": subject, "version": "3.4", "provenance": origin, "cases": cases, **more}
    (folder / name).write_text(json.dumps(what))


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    overwriting = case("weights", "other", cornerturn=2.0, dense=1.0, cudaMemcpy2DAsync=10.0)
    overwriting["contestants"].append({"name": "dense, then permuted", "seconds": 0.1, "overwrites": True})
    cases = [
        case("weights", "first", cornerturn=1.25, dense=1.0, dense__then_permuted=1.6, chunks=1.25, direct=1.0),
        overwriting,
        case("weights", "first", memory="mapped", cornerturn=4.0, dense=1.0, dense_here=5.0),
        case("windows", "some", "out", cornerturn=1.0, dense=1.0, direct__4_blocks=2.0, direct__16_blocks=1.25),
        case("boxes", "4 KiB", "out", cornerturn=1.0, dense=0.9, cudaMemcpyBatchAsync=3.0),
        case("sizes", "64 KiB", cornerturn=12.5e-6, dense=1e-5, dense__then_permuted=2e-3),
    ]
    random = {"compared": 299, "slower": 2, "worst": 1.046, "seed": 7}
    report(folder, "a.json", "cornerturn", cases, random=random)
    peers = [
        case("weights", "first", dense=2.0, strided_copy_=40.0, contiguous__then_copied=100.0, copied__then_permuted=2.5),
        case("sizes", "64 KiB", dense=3e-5, copied__then_permuted=6e-5),
    ]
    report(folder, "b.json", "torch", peers)
    return folder


def page_of(tmp_path, results):
    page, image = tmp_path / "page.md", tmp_path / "plot.svg"
    page.write_text(MARKS.format("stale\n"))
    done = run(results, page, image)
    assert done.returncode == 0, done.stderr
    return page.read_text(), image.read_text()


def test_it_adds_up(tmp_path, results):
    text, image = page_of(tmp_path, results)
    assert text.startswith("before\n") and text.endswith("after\n") and "stale" not in text
    # 80 % and 50 % have a mean of 63; PyTorch's ways take 40, 100 and 2.5 where its dense copy takes 2.
    assert "| weights, into the GPU | 2 | **63** | 50 | 62 (1) | 10 (1) | - | 80 (1) | 5.0 (1) |" in text
    assert "| first | **80** | 80 | - | - | - | **25** | 20 | - |" in text
    assert "| 4 KiB | - | - | - | **90** | 30 | - |" in text
    assert "| 64 KiB | **12.5** | 10.0 | 2,000 | 20.0 | - | - | - | - |" in text
    assert "faster in 2 of 299 problems" in text and "there one call takes up to 1.05 times as long" in text
    assert "| windows: some, out of it | 50 | - | 80 | - | - |" in text
    assert "| `direct` | 1 | 0 | 1 |" in text and "| `chunks` | 1 | 1 | 0 |" in text
    assert "route in 0 of 1 cases" in text
    assert "X100, Some CPU, driver 1.2; PyTorch 3.4, 8 threads; 2026-01-02, commit abc" in text
    assert "up to 400000.0 GB/s into the GPU and 4.4 GB/s out of it" in text
    assert "into the GPU, 2 cases" in image and "out of it, 2 cases" in image


def test_the_later_of_two_runs_counts(tmp_path, results):
    report(results, "0.json", "cornerturn", [case("weights", "first", cornerturn=4.0, dense=1.0)], date="2026-01-03")
    text, _ = page_of(tmp_path, results)
    assert "| first | **25** | 80 |" in text


def test_no_results_and_no_marks_are_refused(tmp_path, results):
    page, image = tmp_path / "page.md", tmp_path / "plot.svg"
    page.write_text("text\n")
    assert "no marks" in run(results, page, image).stderr
    assert "holds no results" in run(tmp_path / "nothing", page, image).stderr
    assert page.read_text() == "text\n" and not image.exists()


def test_the_documentation_is_up_to_date(tmp_path):
    """Results and what the page says of them are there together, or not at all."""
    folder, plot = ROOT / "bench/results/link", ROOT / "docs/images/link.svg"
    before = (ROOT / "docs/link.md").read_text()
    has = {"<!-- bench-link:begin -->" in before, plot.exists(), folder.exists()}
    assert len(has) == 1
    if has == {False}:
        return
    page, image = tmp_path / "link.md", tmp_path / "link.svg"
    page.write_text(before)
    done = run(folder, page, image)
    assert done.returncode == 0, done.stderr
    assert page.read_text() == before
    assert image.read_text() == plot.read_text()
