"""The README's headline and table from made-up results, the CPU's tables from others; and that the pages say
what the committed results say."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = [
    "report.py",
    "gpu_report.py",
    "gpu_plots.py",
    "random_report.py",
    "random_gpu_report.py",
    "fields_gpu_report.py",
    "summary.py",
]
CASES = [
    # suite, name, bytes, class; then the share of Cornerturn and of its peer on each machine.
    ("everyday", "matrix", 4, "matrix-aligned", (0.9, 0.1), (0.95, 0.8)),
    ("everyday", "batch", 4, "batched-matrix-aligned", (0.4, 0.1), (0.95, 0.8)),
    ("awkward", "one_row_too_many_4097", 4, "matrix-odd", (0.5, 0.25), (0.8, 0.9)),
    ("small", "matrix_64", 4, "latency", (0.3, 0.2), (0.7, 0.6)),
]


def run(project, script, *arguments):
    command = [sys.executable, project / "bench" / script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=project)


def results(side, subjects):
    """A collection: our run and a peer's, of all cases."""
    runs = []
    for which, (subject, threads) in enumerate(subjects):
        cases = [
            {"suite": suite, "case": name, "class": group, "element_bytes": size, "payload_bytes": 8192,
             "outcome": "ok", "method": "tile: made up", "memcpy_seconds": 1e-4, "seconds": 1e-4 / shares[which % 2],
             "share_of_copy": shares[which % 2], **({"graph_calls": 100} if group == "latency" else {})}
            for suite, name, size, group, *both in CASES for shares in [both[side]]
        ]  # fmt: skip
        provenance = {"commit": "abc", "date": "2026-01-02T00:00:00Z", "cpu": "Some CPU", "virtual_machine": False,
                      "processors": 2, "kernel": "Linux 1", "gpu": "NVIDIA X100", "driver": "1.2",
                      "cuda_of_driver": "13.0", "cuda_of_build": "13.0"}  # fmt: skip
        runs.append({"subject": subject, "version": "9.8", "threads": threads, "provenance": provenance, "cases": cases})
    return {"kind": "cornerturn-bench-collection", "schema": 1, "runs": runs}


@pytest.fixture
def project(tmp_path):
    (tmp_path / "bench").mkdir()
    for name in SCRIPTS:
        shutil.copy(ROOT / "bench" / name, tmp_path / "bench" / name)
    (tmp_path / "docs").mkdir()
    for page, markers in {"README.md": ["bench-headline", "bench-summary"], "docs/results-cpu.md": ["bench"]}.items():
        marked = "".join(f"<!-- {marker}:begin -->\n<!-- {marker}:end -->\n" for marker in markers)
        (tmp_path / page).write_text(f"before\n{marked}after\n")
    both = [("cornerturn", 1), ("numpy", 1), ("cornerturn", 2)], [("cornerturn", 1), ("torch", 1)]
    for side, folder in enumerate(["cpu-some-cpu", "gpu-x100"]):
        (tmp_path / "bench" / "results" / folder).mkdir(parents=True)
        newest = tmp_path / "bench" / "results" / folder / "2026-01-02.json"
        newest.write_text(json.dumps(results(side, both[side])))
    # Results of something else, in the same folder and of a later day.
    (tmp_path / "bench" / "results" / "cpu-some-cpu" / "python-2026-01-03.json").write_text("{}")
    return tmp_path


LINES = {  # of the README's table: seconds of Cornerturn, NumPy and PyTorch on a CPU, Cornerturn and PyTorch on a GPU
    "matrix_4096 4 B": (2e-3, 20e-3, 8e-3, 50e-6, 200e-6),
    "nhwc_to_nchw_rgb 1 B": (1e-3, 20e-3, 4e-3, 50e-6, 100e-6),
    "nchw_to_nhwc_rgb 4 B": (1e-3, 20e-3, 4e-3, 50e-6, 100e-6),
    "attention_bshd_to_bhsd 2 B": (1e-3, 20e-3, 0.5e-3, 50e-6, 100e-6),
    "attention_key_transpose 2 B": (1e-3, 20e-3, 4e-3, 50e-6, 100e-6),
    "aos_to_soa_x3 4 B": (0.125, 2.5, 0.5, 2e-3, 4e-3),
}


@pytest.fixture
def everyday(project):
    """Results of the README's lines, beside those of the made-up cases."""
    (project / "bench" / "suites").mkdir()
    shutil.copy(ROOT / "bench" / "suites" / "everyday.json", project / "bench" / "suites")
    folder = project / "bench" / "results"
    cases = [
        {"case": f"everyday/{name}", "seconds": dict(zip(["cornerturn", "numpy", "torch"], seconds))}
        for name, seconds in LINES.items()
    ]
    cases.append({"case": "small/of_numpy 1 B", "seconds": {"cornerturn": 1e-6, "numpy": 1.28e-4}})
    provenance = {"processor": "Some CPU", "processors": 2, "numpy": "1.2", "torch": "3.4"}
    result = json.dumps({"provenance": provenance, "cases": cases})
    (folder / "cpu-some-cpu" / "python-2026-01-03.json").write_text(result)
    gpu = json.loads((folder / "gpu-x100" / "2026-01-02.json").read_text())
    for run_, which in zip(gpu["runs"], (3, 4)):
        run_["cases"] = [
            {"suite": "everyday", "case": name, "class": "matrix-aligned", "element_bytes": int(size),
             "outcome": "ok", "share_of_copy": 1e-5 / seconds[which], "seconds": seconds[which], **again}
            for key, seconds in LINES.items() for name, size in [key.removesuffix(" B").split()]
            for again in ({}, {"graph_calls": 100, "seconds": 1.0})
        ]  # fmt: skip
    (folder / "gpu-x100" / "2026-01-02.json").write_text(json.dumps(gpu))
    return project


def test_the_headline_and_the_table_of_the_readme(everyday):
    published = run(everyday, "summary.py", "publish")
    assert published.returncode == 0, published.stderr
    text = (everyday / "README.md").read_text().replace("&nbsp;", " ")
    assert text.startswith("before\n") and text.endswith("after\n")
    # NumPy: 10, 20 five times, and 128 times as long; PyTorch: 4, four of them, and half as long.
    assert "On a CPU (Some CPU) it is **24 times** as fast as NumPy's line" in text
    assert "**2.8 times** as fast as PyTorch's;\non a GPU (NVIDIA X100) it is **2.2 times**" in text
    assert "geometric means of 7,\n6 and 6 public cases" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")][2:]
    assert rows[0] == (
        "| matrix: `x.T` of (4096, 4096) f32 | 20.0 ms (10x) | 8.00 ms (4.0x) | **2.00 ms** | 0.200 ms (4.0x) | **0.050 ms** |"
    )
    assert rows[1].startswith("| images to NCHW: `x.transpose(0, 3, 1, 2)` of (256, 224, 224, 3) u8 | 20.0 ms (20x) |")
    assert rows[2].startswith("| images to NHWC: `x.transpose(0, 2, 3, 1)` of (256, 3, 224, 224) f32 |")
    assert "0.500 ms (0.5x)" in rows[3] and "`x.transpose(0, 2, 1, 3)` of (8, 4096, 32, 128) f16" in rows[3]
    assert "`x.transpose(0, 1, 3, 2)` of (8, 32, 4096, 128) f16" in rows[4]
    assert "`x.T` of (40000000, 3) f32 | 2500 ms (20x) | 500 ms (4.0x) | **125 ms**" in rows[5]
    assert rows[6:] == ["| all public cases, geometric mean | 24x | 2.8x | **1x** | 2.2x | **1x** |"]
    notes = [line for line in text.splitlines() if line.startswith("- ")]
    assert len(notes) == 2 and "first of all libraries in 4 of 4 and 12 of 12 cases" in notes[1]
    assert "56 % of the speed of `memcpy` (one thread)" in notes[1]
    for source in ["cpu-some-cpu/python-2026-01-03.json", "cpu-some-cpu/2026-01-02.json", "gpu-x100/2026-01-02.json"]:
        assert f"`bench/results/{source}`" in notes[1]

    assert run(everyday, "summary.py", "check").returncode == 0
    text = (everyday / "README.md").read_text()
    for old in ["**2.00&nbsp;ms**", "**24 times**"]:
        assert old in text
        (everyday / "README.md").write_text(text.replace(old, "**3.00 ms**"))
        stale = run(everyday, "summary.py", "check")
        assert stale.returncode == 1 and "README.md says something else" in stale.stderr


def test_the_lines_of_the_readme_are_those_of_the_suite():
    """What the table prints as Python moves elements as its case does."""
    numpy = pytest.importorskip("numpy")
    spec = importlib.util.spec_from_file_location("summary", ROOT / "bench" / "summary.py")
    summary = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        spec.loader.exec_module(summary)
    finally:
        sys.path.pop(0)
    cases = {c["name"]: c for c in json.loads((ROOT / "bench/suites/everyday.json").read_text())["cases"]}
    for _, name, size in summary.LINES:
        code, shape = summary.line_of(name, size)
        extents = tuple(map(int, re.findall(r"\d+", shape.partition(")")[0])))
        x = numpy.lib.stride_tricks.as_strided(numpy.zeros(1, numpy.uint8), extents, packed_strides(extents))
        moved = eval(code.strip("`"), {"x": x})
        assert list(moved.shape) == cases[name]["shape"] and size in cases[name]["element_bytes"]
        assert list(moved.strides) == cases[name]["src_strides"]


def packed_strides(extents):
    strides = [1]
    for extent in extents[:0:-1]:
        strides.insert(0, strides[0] * extent)
    return tuple(strides)


def drawn(subject, seconds, candidates=None, threads=1):
    """A result of problems drawn at random, of 1e-4 s of memcpy each. The first candidate is the chosen one; the
    fastest of its own runs, which followed other things than the candidates' runs did, does not count."""
    cases = [
        {"suite": "random:2:7::1048576:16000000", "case": f"s7n{i}", "class": "tiny-modes", "element_bytes": 1,
         "outcome": "ok", "memcpy_seconds": 1e-4, "seconds": s, "best_seconds": s / 2, "method": "pack: way 0",
         **({"candidates": [{"kernel": "pack", "candidate": f"way {n}", "seconds": c}
                            for n, c in enumerate(candidates[i])]} if candidates else {})}
        for i, s in enumerate(seconds)
    ]  # fmt: skip
    provenance = {"commit": "abc", "date": "2026-01-02T00:00:00Z", "cpu": "Some CPU", "non_temporal_copy": "AVX2"}
    return {"subject": subject, "version": "9.8", "threads": threads, "provenance": provenance, "cases": cases}


def test_the_tables_of_problems_drawn_at_random(project):
    folder = project / "bench" / "results" / "random"
    folder.mkdir()
    ours = drawn("cornerturn", [2e-4, 4e-4], [[2e-4, 3e-4], [4e-4, 2e-4]])
    (folder / "cpu-some-judged-7.json").write_text(json.dumps(ours))
    # The first is slower than ours, the second faster.
    (folder / "cpu-some-judged-7-numpy.json").write_text(json.dumps(drawn("numpy", [8e-4, 3e-4])))
    both = drawn("cornerturn", [1e-4, 1e-4], threads=2)
    (folder / "cpu-some-judged-7-threads-2.json").write_text(json.dumps(both))
    page = project / "docs" / "results-cpu.md"
    page.write_text("<!-- bench-random:begin -->\n<!-- bench-random:end -->\n")
    published = run(project, "random_report.py", "publish")
    assert published.returncode == 0, published.stderr
    assert "| tiny modes | 2 | 35 / 25 | 1.7 | 1 | 50 | 2.00 |" in page.read_text()
    assert "| tiny modes | 2 | 100 / 100 |\n" in page.read_text() and "2 threads" in page.read_text()
    # Both fastest candidates take twice memcpy's time; NumPy takes eight and three times as long.
    assert "would be 50 / 50 % of memcpy, and a peer would be ahead in 0 of 2" in page.read_text()
    assert page.read_text().count("With the fastest") == 1 and page.read_text().count("Means are geometric") == 1
    assert run(project, "random_report.py", "check").returncode == 0
    assert "memory allows" not in page.read_text()
    page.write_text(page.read_text().replace("35 / 25", "36 / 25"))
    assert run(project, "random_report.py", "check").returncode == 1


def test_problems_drawn_at_random_on_two_processors(project):
    """Each has tables of its own; a result that lies elsewhere is named as it was given."""
    folder = project / "bench" / "results" / "random"
    folder.mkdir()
    (folder / "cpu-some-judged-7.json").write_text(json.dumps(drawn("cornerturn", [2e-4, 4e-4])))
    (folder / "cpu-some-judged-7-threads-2.json").write_text(json.dumps(drawn("cornerturn", [1e-4, 1e-4], threads=2)))
    other = drawn("cornerturn", [1e-4, 4e-4])
    other["provenance"] = {**other["provenance"], "cpu": "Other CPU"}
    (folder / "cpu-other-judged-8.json").write_text(json.dumps(other))
    page = project / "docs" / "results-cpu.md"
    page.write_text("<!-- bench-random:begin -->\n<!-- bench-random:end -->\n")
    assert run(project, "random_report.py", "publish").returncode == 0
    assert page.read_text().count("| **all** | 2 |") == 3
    for words in ["Some CPU, AVX2, one thread", "Some CPU, AVX2, 2 threads", "Other CPU, AVX2, one thread"]:
        assert page.read_text().count(words) == 1
    elsewhere = project / "seven.json"
    elsewhere.write_text(json.dumps(other))
    table = run(project, "random_report.py", "table", elsewhere)
    assert f"From `{elsewhere}`." in table.stdout, table.stderr


def test_what_memory_allows_on_a_cpu(project):
    """The fastest copy takes two thirds of memcpy's time; the second problem moves three times its payload."""
    folder = project / "bench" / "results" / "random"
    folder.mkdir()
    ours = drawn("cornerturn", [2e-4, 4e-4])
    for case, least in zip(ours["cases"], [190, 300], strict=True):
        shares = {"share_of_memcpy": 1e-4 / case["seconds"], "share_of_best_copy": 1e-4 / 1.5 / case["seconds"]}
        case.update(payload_bytes=100, least_bytes=least, **shares)
    (folder / "cpu-some-judged-7.json").write_text(json.dumps(ours))
    (folder / "cpu-some-judged-7-numpy.json").write_text(json.dumps(drawn("numpy", [8e-4, 2e-4])))
    table = run(project, "random_report.py", "table", folder / "cpu-some-judged-7.json").stdout
    assert "| tiny modes | 2 | 35 / 25 | 122 / 100 |" in table


def test_the_tables_of_problems_drawn_on_a_gpu(project):
    """Copies of 1 GB/s: what takes three times its payload to move reaches two thirds of a copy at most."""
    folder = project / "bench" / "results" / "random"
    folder.mkdir()
    of = {"suite": "random:2:3::1048576:16000000", "class": "tiny-modes", "element_bytes": 1}
    cases = [
        {**of, "case": f"n{size}", "payload_bytes": size, "least_bytes": least, "copy_seconds": size * 1e-9, "seconds": size * 4e-9,
         "method": "tile: of 64", "candidates": [{"kernel": "pack", "candidate": "of 4", "seconds": size * 2e-9},
                                                 {"kernel": "tile", "candidate": "of 64", "seconds": size * 3e-9}]}
        for size, least in [(2 << 20, 4 << 20), (8 << 20, 24 << 20)]
    ]  # fmt: skip
    result = folder / "gpu-x100-seed-3.json"
    result.write_text(json.dumps({"provenance": {"commit": "abc", "date": "1", "gpu": "X100"}, "cases": cases}))
    page = project / "docs" / "results-gpu.md"
    page.write_text("<!-- bench-random-gpu:begin -->\n<!-- bench-random-gpu:end -->\n")
    published = run(project, "random_gpu_report.py", "publish")
    assert published.returncode == 0, published.stderr
    assert "the plans are the model's" in page.read_text()
    assert "| tiny modes | 2 | 25 / 25 | - | - | - | 82 | 50 | 0 | 1.50 |" in page.read_text()
    assert run(project, "random_gpu_report.py", "check").returncode == 0

    learned = {"details": {"effort": "automatic"}, "provenance": {"commit": "abc", "date": "1", "gpu": "X100"}}
    result.write_text(json.dumps({**learned, "cases": cases}))
    assert run(project, "random_gpu_report.py", "publish").returncode == 0
    assert "the plans are those that calls have learned" in page.read_text()

    peer = {"cases": [{**case, "seconds": seconds} for case, seconds in zip(cases, [1, 4e-3], strict=True)]}
    (folder / "gpu-x100-seed-3-torch.json").write_text(json.dumps(peer))
    assert run(project, "random_gpu_report.py", "publish").returncode == 0
    assert "| tiny modes | 2 | 25 / 25 | - | - | - | 82 | 1 | 50 | 0 | 1.50 |" in page.read_text()
    torch = (
        "PyTorch takes 2 of them and 3.8 times as long as ours in the mean; it is ahead in 1, where ours takes up to "
        "8.39 times as long."
    )
    assert torch in page.read_text()

    # The first problem in 2 % less time than ours, the second not taken: not more are behind a peer.
    peer = {"cases": [{**cases[0], "seconds": 0.98 * cases[0]["seconds"]}, {k: v for k, v in cases[1].items() if k != "seconds"}]}
    (folder / "gpu-x100-seed-3-cutensor.json").write_text(json.dumps(peer))
    assert run(project, "random_gpu_report.py", "publish").returncode == 0
    tensor = "cuTENSOR takes 1 of them and 1.0 times as long as ours in the mean; it is ahead in none."
    assert f"{torch} {tensor}\n" in page.read_text()
    assert "| tiny modes | 2 | 25 / 25 | - | - | - | 82 | 1 | 50 | 0 | 1.50 |" in page.read_text()

    del cases[0]["least_bytes"]
    result.write_text(json.dumps({"provenance": {"commit": "abc", "date": "1", "gpu": "X100"}, "cases": cases}))
    assert "planning_check --least-bytes" in run(project, "random_gpu_report.py", "check").stderr


def test_the_table_of_fields_on_a_gpu(project):
    """Copies of 1 GB/s; the second problem moves four times its payload, and has a peer that is ahead."""
    folder = project / "bench" / "results" / "random"
    folder.mkdir()
    of = {"suite": "fields:2:3::1048576:16000000", "class": "fields-to-arrays", "element_bytes": 4, "payload_bytes": 8 << 20}
    cases = [
        {**of, "case": f"f3n{n}", "least_bytes": least, "copy_seconds": 8e-3, "seconds": 16e-3, "method": "gather: of 4",
         "candidates": [{"kernel": "gather", "candidate": "of 4", "seconds": 16e-3}]}
        for n, least in enumerate([16 << 20, 64 << 20])
    ]  # fmt: skip
    result = {"provenance": {"commit": "abc", "date": "1", "gpu": "X100"}, "cases": cases}
    (folder / "gpu-x100-fields-3.json").write_text(json.dumps(result))
    (folder / "gpu-x100-fields-3-torch.json").write_text(json.dumps({"cases": [{**cases[1], "seconds": 10e-3}]}))
    # What else was drawn is not in this table.
    other = {"provenance": {"commit": "def", "date": "2", "gpu": "X100"}, "cases": []}
    (folder / "gpu-x100-seed-3.json").write_text(json.dumps(other))
    page = project / "docs" / "results-gpu.md"
    page.write_text("<!-- bench-fields-gpu:begin -->\n<!-- bench-fields-gpu:end -->\n")
    published = run(project, "fields_gpu_report.py", "publish")
    assert published.returncode == 0, published.stderr
    text = page.read_text()
    assert "2 problems of seeds 3 on one X100, in the same columns." in text
    assert "PyTorch takes 1 of them and 0.6 times as long as ours in the mean; it is ahead in 1" in text
    # The mean of 100 and 25 % is 50 %.
    assert "| fields to an array each | 2 | - | - | 50 / 50 | - | 50 | 1 | 50 | 100 | 1.00 |" in text
    assert run(project, "fields_gpu_report.py", "check").returncode == 0


def test_the_tables_of_the_cpu(project):
    published = run(project, "report.py", "publish")
    assert published.returncode == 0, published.stderr
    page = project / "docs" / "results-cpu.md"
    text = page.read_text()
    assert "| matrices | 1 | **90** | 90 | 10 | 9.0 |" in text
    assert "| 8193 x 8191 | 1 | **50** | 50 | 25 | 2.0 |" in text
    assert "No peer is ahead in any case." in text and "Some CPU, 2 processors" in text
    assert (project / "docs" / "images" / "benchmark.svg").stat().st_size > 10000
    assert run(project, "report.py", "check").returncode == 0
    page.write_text(text.replace("**90**", "**91**"))
    stale = run(project, "report.py", "check")
    assert stale.returncode == 1 and "docs/results-cpu.md" in stale.stderr


@pytest.mark.parametrize(
    "script",
    ["report.py", "gpu_report.py", "random_report.py", "random_gpu_report.py", "fields_gpu_report.py", "summary.py"],
)
def test_the_pages_say_what_the_results_say(script):
    checked = run(ROOT, script, "check")
    assert checked.returncode == 0, checked.stderr


def test_the_first_screen_of_the_readme():
    """Six lines with their times, two notes; nothing but the scripts writes a number of results."""
    text = (ROOT / "README.md").read_text()
    first = text.partition("\n## ")[0]
    assert len(first.splitlines()) <= 50
    inside = text.partition("<!-- bench-summary:begin -->")[2].partition("<!-- bench-summary:end -->")[0]
    assert inside in first
    rows = [line for line in inside.splitlines() if line.startswith("| ")][2:]
    assert len(rows) == 7 and len([line for line in inside.splitlines() if line.startswith("- ")]) == 2
    time, factor = r"\d+(\.\d+)?&nbsp;ms", r"\d+(\.\d)?x"
    cell = re.compile(rf"{time}&nbsp;\({factor}\)|\*\*{time}\*\*|{factor}|\*\*1x\*\*")
    for row in rows:
        cells = [text.strip() for text in row.strip("|").split("|")][1:]
        assert len(cells) == 5 and all(map(cell.fullmatch, cells)), row
    by_hand = re.sub(r"<!-- (bench-[a-z]+):begin -->.*?<!-- \1:end -->", "", first, flags=re.S)
    assert not re.search(r"\d+(\.\d+)? (%|x|ms|times)", by_hand)


# Scripts that take one file: part of which page, from which results.
PARTS = {
    "first_calls_page": ("results-gpu.md", "first-calls-gpu", "gpu-h200/first-calls-*.json"),
    "latency_page": ("results-gpu.md", "latency-gpu", "gpu-h200/latency-*.json"),
    "in_place_page": ("results-gpu.md", "in-place-gpu", "gpu-h200/in-place-*.json"),
}


@pytest.mark.parametrize("script", PARTS)
def test_other_parts_of_the_page_say_what_the_results_say(script):
    spec = importlib.util.spec_from_file_location(script, ROOT / "bench" / "gpu" / f"{script}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page, marker, results = PARTS[script]
    newest = max((ROOT / "bench" / "results").glob(results), key=lambda path: path.name)
    text = module.markdown(json.loads(newest.read_text()))
    assert f"<!-- {marker}:begin -->\n{text}<!-- {marker}:end -->" in (ROOT / "docs" / page).read_text()
