"""Redistribution between processes: shards_worker.py holds the cases, and runs in processes of its own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    pytest.skip("PyTorch without torch.distributed and gloo", allow_module_level=True)

ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name("shards_worker.py")
EXAMPLE = ROOT / "examples" / "python" / "shards.py"
CASES = re.findall(r"^def (case_\w+)", WORKER.read_text(), re.M)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """One run of all processes for all tests of this file."""
    folder = tmp_path_factory.mktemp("shards")
    (code,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "shards.md").read_text(), re.S | re.M)
    (folder / "page.py").write_text(code + "dist.destroy_process_group()\n")
    (code,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.S | re.M)
    (folder / "readme.py").write_text(code + "dist.destroy_process_group()\n")
    words = [sys.executable, WORKER, folder, folder / "page.py", folder / "readme.py", EXAMPLE]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def report(folder, case, world):
    for rank in range(world):
        file = folder / f"{case}-{world}-{rank}"
        assert file.exists(), f"rank {rank} of {world} did not come to {case}"
        assert file.read_text() == "", f"rank {rank} of {world}"


@pytest.mark.parametrize("world", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("case", CASES)
def test_processes(reports, case, world):
    report(reports, case, world)


def test_without_a_group(reports):
    report(reports, "lone_process_without_a_group", 1)


@pytest.mark.parametrize("case", ["lone_dead_rank", "lone_late_rank"])
def test_the_others_get_an_error_in_time(reports, case):
    for rank in (0, 2):
        assert (reports / f"{case}-3-{rank}").read_text() == ""


def test_the_page_shows_what_happens(reports):
    matrix = torch.arange(48.0).reshape(4, 12)
    for rank in range(4):
        shard = matrix.T[3 * rank : 3 * rank + 3].tolist()
        assert (reports / f"page.py-4-{rank}").read_text() == f"{rank} {shard}\n"


def test_the_readme_prints_the_same_from_one_process_and_from_four(reports):
    for world in (1, 4):
        assert (reports / f"readme.py-{world}-0").read_text() == "[1.0, 13.0, 25.0, 37.0] (12, 4)\n"


def test_one_process_and_four_print_the_same(reports):
    alone = (reports / "shards.py-1-0").read_text()
    assert alone.startswith("transposed (600, 1000)") and "Error" not in alone
    assert (reports / "shards.py-4-0").read_text() == alone
    assert [(reports / f"shards.py-4-{rank}").read_text() for rank in (1, 2, 3)] == [""] * 3
