"""The tables and plots of the GPU's results, from made-up results; and that the page says what the
committed results say."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUITES = ["everyday", "views", "small", "awkward"]
FACTORS = {"cornerturn": 0.95, "torch": 0.4, "triton": 0.8}


def cases():
    for suite in SUITES:
        for case in json.loads((ROOT / "bench" / "suites" / f"{suite}.json").read_text())["cases"]:
            for size, group in zip(case["element_bytes"], case["class"]):
                yield suite, case["name"], size, group


def record(suite, name, size, group, share, **more):
    return {"suite": suite, "case": name, "class": group, "element_bytes": size, "payload_bytes": 8192,
            "outcome": "ok", "method": "tile: made up", "runs": 9, "seconds": 1e-4 / share,
            "copy_seconds": 1e-4, "share_of_copy": share,
            **({"graph_calls": 100, "execute_seconds": 2.5e-6} if group == "latency" else {}), **more}  # fmt: skip


def part(subject, records, date="2026-01-02"):
    provenance = {"commit": "abc", "date": f"{date}T00:00:00Z", "gpu": "NVIDIA X100", "driver": "1.2",
                  "cuda_of_driver": "13.0", "cuda_of_build": "13.0", "sm_clock_mhz": 1980}  # fmt: skip
    return {"kind": "cornerturn-bench", "schema": 1, "subject": subject, "version": "9.8", "details": {},
            "device": "gpu", "threads": 1, "provenance": provenance, "cases": records}  # fmt: skip


@pytest.fixture
def project(tmp_path):
    """A copy of the scripts and the page, where the made-up results may be published."""
    for name in ["report.py", "gpu_report.py", "gpu_plots.py"]:
        (tmp_path / "bench").mkdir(exist_ok=True)
        shutil.copy(ROOT / "bench" / name, tmp_path / "bench" / name)
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "results-gpu.md"
    page.write_text("before\n<!-- bench-gpu:begin -->\n<!-- bench-gpu:end -->\nafter\n")
    return tmp_path


def run(project, *arguments):
    return subprocess.run(
        [sys.executable, project / "bench" / "gpu_report.py", *arguments], capture_output=True, text=True, cwd=project
    )


def write(project, name, content):
    path = project / name
    path.write_text(json.dumps(content))
    return path


@pytest.fixture
def parts(project):
    made = []
    for subject, factor in FACTORS.items():
        records = [record(*case, factor) for case in cases() if subject == "cornerturn" or case[0] != "awkward"]
        made.append(write(project, f"{subject}.json", part(subject, records)))
    warm = record("everyday", "matrix_1024", 4, "matrix-aligned", 0.9, graph_calls=100)
    made.append(write(project, "warm.json", part("cornerturn", [warm], "2026-01-03")))
    candidates = [
        {"kernel": "tile", "candidate": "a", "predicted_seconds": 1e-4, "seconds": 1e-4},
        {"kernel": "tile", "candidate": "b", "predicted_seconds": 1e-4, "wrong": "all of it"},
    ]
    judged = [
        record("everyday", "matrix_4096", 4, "matrix-aligned", 0.98, candidates=candidates),
        record("everyday", "matrix_4096", 8, "matrix-aligned", 0.90, candidates=candidates),
    ]
    made.append(write(project, "candidates.json", part("cornerturn", judged)))
    return made


def test_collect_publish_and_check(project, parts):
    near = record("everyday", "matrix_4096", 4, "matrix-aligned", 0.97)
    far = record("everyday", "matrix_4096", 8, "matrix-aligned", 1.10)
    parts.append(write(project, "cutensor.json", part("cutensor", [near, far])))
    collected = run(project, "collect", *parts)
    assert collected.returncode == 0, collected.stderr
    results = project / "bench" / "results" / "gpu-x100"
    assert sorted(f.name for f in results.iterdir()) == ["2026-01-03-candidates.json", "2026-01-03.json"]
    runs = json.loads((results / "2026-01-03.json").read_text())["runs"]
    assert [r["subject"] for r in runs] == ["cornerturn", "torch", "triton", "cutensor"]
    assert len(runs[0]["cases"]) == len(list(cases())) + 1
    published = run(project, "publish")
    assert published.returncode == 0, published.stderr
    page = project / "docs" / "results-gpu.md"
    details = page.read_text()
    assert details.startswith("before\n") and details.endswith("after\n")
    assert "| matrices | 36 | " in details  # without the warm one
    assert "| **95** / 95 (80) |" in details  # ours, the worst, the best peer
    assert "| 1024 x 1024, in the cache | 1 | - | - | **90** / 90 | - | - |" in details
    assert "driver" in details.lower() and "bench/results/gpu-x100/2026-01-03.json" in details
    far = "everyday/matrix_4096 8 B (cuTENSOR, 0.86x)"
    assert f"A peer is ahead by 5 % or more in {far}. A peer is ahead by less than 5 % in 1 case." in details
    assert "a call with a ready plan 2.5 us" in details
    assert "in 1 of 2 cases (50.0 %)" in details
    for picture in ["benchmark-gpu", "benchmark-gpu-cases"]:
        for kind in ["svg", "png"]:
            assert (project / "docs" / "images" / f"{picture}.{kind}").stat().st_size > 10000

    assert run(project, "check").returncode == 0
    page.write_text(details.replace("**95** / 95 (80)", "**99** / 95 (80)", 1))
    stale = run(project, "check")
    assert stale.returncode == 1 and "docs/results-gpu.md" in stale.stderr


def test_parts_that_do_not_belong_together_are_refused(project, parts):
    again = run(project, "collect", parts[0], parts[0])
    assert again.returncode == 1 and "appears twice" in again.stderr
    other = part("torch", [record("views", "flip_rows_transpose", 1, "matrix-aligned", 0.5)])
    other["provenance"]["gpu"] = "NVIDIA Y200"
    mixed = run(project, "collect", parts[0], write(project, "other.json", other))
    assert mixed.returncode == 1 and "different GPUs" in mixed.stderr
    other = part("cornerturn", [record("views", "flip_rows_transpose", 1, "matrix-aligned", 0.5)])
    other["provenance"]["commit"] = "def"
    mixed = run(project, "collect", parts[0], write(project, "other.json", other))
    assert mixed.returncode == 1 and "different commits" in mixed.stderr
    assert not (project / "bench" / "results").exists()


def test_skipped_cases_give_way_to_measured_ones(project):
    skipped = {**record("everyday", "matrix_4096", 4, "matrix-aligned", 1), "outcome": "skipped"}
    done = record("everyday", "matrix_4096", 4, "matrix-aligned", 0.9)
    files = [write(project, f"{i}.json", part("cornerturn", [c])) for i, c in enumerate([skipped, done, skipped])]
    assert run(project, "collect", "--to", project / "here", *files).returncode == 0
    runs = json.loads((project / "here" / "2026-01-02.json").read_text())["runs"]
    assert [c["outcome"] for c in runs[0]["cases"]] == ["ok"]


def test_weak_names_classes_below_their_goals_and_cases_below_a_peer(project, parts):
    text = run(project, "weak", *parts[:3]).stdout
    assert "matrices                         4 B    95 /  95  goal 97 / 93" in text and "BELOW" in text
    assert "0 cases below a peer" in text
    slow = [record("views", "flip_rows_transpose", 4, "matrix-aligned", 0.3)]
    fast = [record("views", "flip_rows_transpose", 4, "matrix-aligned", 0.6)]
    text = run(project, "weak", write(project, "a.json", part("cornerturn", slow)),
               write(project, "b.json", part("torch", fast))).stdout  # fmt: skip
    assert "1 cases below a peer" in text and "0.50x PyTorch" in text
