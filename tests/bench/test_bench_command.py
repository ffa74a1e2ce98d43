"""`cornerturn bench` on a tiny suite: structure and exit codes, never timings."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CORNERTURN_BUILD_DIR", ROOT / "build" / "release")).resolve()
QUICK = ["--threads", "1", "--budget", "0.01", "--slow-budget", "0.5", "--min-runs", "2"]

SUITE = {
    "suite": "tiny",
    "cases": [
        {
            "name": "turn",
            "element_bytes": [1, 4],
            "class": ["latency", "latency"],
            "shape": [5, 7],
            "src_strides": [1, 5],
            "dst_strides": [7, 1],
            "src_offset": 0,
            "dst_offset": 0,
        },
        {
            "name": "flip",
            "element_bytes": [3],
            "class": ["latency"],
            "shape": [2, 3, 4],
            "src_strides": [-12, 4, 1],
            "dst_strides": [1, 20, 5],
            "src_offset": 12,
            "dst_offset": 2,
        },
    ],
}


def bench(*arguments):
    return subprocess.run(
        [BUILD / "bin" / "cornerturn", "bench", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(SUITE))
    return path


def measured(suite, tmp_path, *more):
    out = tmp_path / "out.json"
    result = bench("--suite", suite, "--json", out, *QUICK, *more)
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(out.read_text()), result.stdout


def test_every_case_is_measured_and_recorded(suite, tmp_path):
    report, table = measured(suite, tmp_path)
    assert report["kind"] == "cornerturn-bench"
    assert report["subject"] == "cornerturn"
    assert report["threads"] == 1
    assert {"commit", "dirty", "date", "cpu", "caches", "compiler"} <= report["provenance"].keys()
    assert [(c["case"], c["element_bytes"], c["outcome"]) for c in report["cases"]] == [
        ("turn", 1, "ok"),
        ("turn", 4, "ok"),
        ("flip", 3, "ok"),
    ]
    for case in report["cases"]:
        assert case["runs"] >= 2
        assert case["seconds"] >= case["best_seconds"] > 0
        assert case["memcpy_seconds"] > 0 and case["non_temporal_seconds"] > 0
        assert case["method"]
    for word in ("turn", "flip", "% memcpy", "geometric mean", "latency"):
        assert word in table


def test_filters(suite, tmp_path):
    for more, expected in [
        (["--bytes", "4"], [("turn", 4)]),
        (["--dtype", "u8,f32"], [("turn", 1), ("turn", 4)]),
        (["--case", "fl*"], [("flip", 3)]),
        (["--max-bytes", "100"], [("turn", 1), ("flip", 3)]),
    ]:
        report, _ = measured(suite, tmp_path, *more)
        assert [(c["case"], c["element_bytes"]) for c in report["cases"]] == expected, more


def test_a_kernel_can_be_forced(suite, tmp_path):
    report, _ = measured(suite, tmp_path, "--force", "gather")
    assert all(c["method"].startswith("gather") for c in report["cases"])
    assert report["details"]["kernel"] == "gather"


def test_compare(suite, tmp_path):
    measured(suite, tmp_path)
    out = tmp_path / "out.json"
    result = bench("--compare", out, out)
    assert result.returncode == 0
    assert "3 cases in both: 0 faster, 0 slower, 3 the same" in result.stdout


def test_list_measures_nothing(suite, tmp_path):
    result = bench("--suite", suite, "--list", "--json", tmp_path / "out.json")
    assert result.returncode == 0
    assert result.stdout.count("tiny") == 3
    assert not (tmp_path / "out.json").exists()


def test_the_public_suites_are_in_the_program(tmp_path):
    for name, cases in [("everyday", 73), ("ttc57", 228), ("awkward", 27), ("cccl", 25)]:
        result = bench("--suite", name, "--list")
        assert len(result.stdout.splitlines()) == cases, name


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--suite", "no-such"], "no-such is neither a readable file nor one of"),
        (["--bytes", "0"], "--bytes"),
        (["--threads", "0"], "--threads"),
        (["--effort", "heroic"], "heroic"),
        (["--case", "nothing-is-called-so"], "no case of the suites passes"),
        (["--compare", "missing-a.json", "missing-b.json"], "--compare = 'missing-a.json' cannot be opened"),
        (["--dtype", "float31"], "float31"),
        (["--device", "tpu"], "tpu"),
        (["--max-seconds", "-1"], "--max-seconds"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, words):
    result = bench(*arguments)
    assert result.returncode == 2
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="a GPU is here")
def test_without_a_gpu_it_says_so(suite):
    result = bench("--suite", suite, "--device", "gpu")
    assert result.returncode == 2
    assert "no GPU" in result.stderr and len(result.stderr.strip().splitlines()) == 1
    # What measures nothing needs none.
    assert bench("--suite", suite, "--device", "gpu", "--list").returncode == 0


def test_no_case_is_begun_after_the_time_is_up(suite, tmp_path):
    report, _ = measured(suite, tmp_path, "--max-seconds", "1e-9")
    assert {(c["outcome"], c.get("reason")) for c in report["cases"]} == {("skipped", "time is up")}


def test_a_broken_suite_names_case_field_and_rule(tmp_path):
    broken = json.loads(json.dumps(SUITE))
    broken["cases"][1]["src_offset"] = 0
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(broken))
    result = bench("--suite", path)
    assert result.returncode == 2
    assert 'case "flip": src_strides = [-12,4,1] reaches 12 elements before' in result.stderr


def test_ctrl_c_prints_the_table_so_far_and_writes_no_file(suite, tmp_path):
    out = tmp_path / "out.json"
    process = subprocess.Popen(
        [BUILD / "bin" / "cornerturn", "bench", "--suite", f"{suite},small", "--json", out]
        + ["--threads", "1", "--min-runs", "200"],
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = []
    for line in process.stdout:  # the first table is there: it is measuring the next suite now
        lines.append(line)
        if line.startswith("flip"):
            break
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "geometric mean" in rest and "interrupted after" in rest
    assert list(tmp_path.iterdir()) == [suite]
