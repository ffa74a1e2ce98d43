"""The guide says what the commands say: scripts/guide.py wrote its numbers, tables and pictures."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CORNERTURN_BUILD_DIR", ROOT / "build" / "release"))
MEASURED = [
    "bench/results/access/h200.json",
    *(f"bench/results/ladder/h200{part}.json" for part in ("", ".blocks", "-stalls")),
]


def guide(root, *words):
    environment = {**os.environ, "CORNERTURN": str(BUILD / "bin" / "cornerturn")}
    script = [sys.executable, root / "scripts" / "guide.py", *words]
    return subprocess.run(script, capture_output=True, text=True, env=environment)


def copied(to, pages):
    """These pages, their pictures, and all that they are made from but the program."""
    for name in ["scripts/guide.py", *MEASURED, *(f"docs/guide/{page}" for page in pages)]:
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, to / name)
    (to / "docs" / "guide" / "images").mkdir(parents=True)
    for page in pages:
        for name in re.findall(r"\]\((images/.*?)\)", (ROOT / "docs" / "guide" / page).read_text()):
            shutil.copy(ROOT / "docs" / "guide" / name, to / "docs" / "guide" / name)
    return to / "docs" / "guide"


def test_the_guide_is_current():
    check = guide(ROOT, "--check")
    assert check.returncode == 0, check.stderr


CHANGES = {
    "a number in a sentence": ("2-banks.md", "**38** % of a plain copy.", "**83** % of a plain copy."),
    "a cell of a table": ("3-padding.md", "| 36 | 1 | 4 (1) | 4592 |", "| 36 | 1 | 1 | 4592 |"),
    "what a command prints": ("5-swizzles.md", "B = 3: 3 bits are xor-ed", "B = 4: 4 bits are xor-ed"),
    "what is refused": ("3-padding.md", "takes 16 B at byte 132", "takes 16 B at byte 128"),
    "rows of a table": ("case-study.md", "| 4 rows | none |", "| 8 rows | 0 |"),
    "a picture": ("images/column.svg", ">0, 16<", ">0, 17<"),
    "a picture's words": ("1-coalescing.md", "16 sectors in 16 lines", "4 sectors in 16 lines"),
    "a puzzle": ("4-xor.md", "`cornerturn puzzle start xor`", "`cornerturn puzzle start pad`"),
    "where times are from": ("6-corner-turns.md", "/h200.json`,\nNVIDIA H200, driver 5", "/h200.json`,\nNVIDIA H200, driver 4"),
}


def test_what_is_stale_is_found_and_mended(tmp_path):
    pages = sorted({name for name, _, _ in CHANGES.values() if name.endswith(".md")})
    folder = copied(tmp_path, pages)
    current = {path: path.read_text() for path in folder.rglob("*.*")}
    for name, now, then in CHANGES.values():
        assert current[folder / name].count(now) == 1, now
        (folder / name).write_text((folder / name).read_text().replace(now, then))
    check = guide(tmp_path, "--check")
    assert check.returncode == 1
    assert set(re.findall(r"docs/guide/([\w./-]+)", check.stderr)) == {name for name, _, _ in CHANGES.values()}
    assert guide(tmp_path).returncode == 0
    assert {path: path.read_text() for path in current} == current
    assert guide(tmp_path, "--check").returncode == 0


@pytest.mark.parametrize(
    "name, now, then",
    [
        ("docs/guide/1-coalescing.md", "draw sectors 32:1 -->", "draw sectors 32:2 -->"),
        ("bench/results/ladder/h200.json", '"share_of_copy": 0.', '"share_of_copy": 0.0'),
    ],
)
def test_another_command_or_measurement_makes_a_page_stale(tmp_path, name, now, then):
    copied(tmp_path, ["1-coalescing.md"])
    (tmp_path / name).write_text((tmp_path / name).read_text().replace(now, then))
    check = guide(tmp_path, "--check")
    assert check.returncode == 1 and "1-coalescing.md" in check.stderr


@pytest.mark.parametrize(
    "mark, part",
    [
        ("<!-- run: cornerturn nothing -->\n<!-- end -->", "ends with"),
        ("<!-- refused: cornerturn version -->\n<!-- end -->", "ends with 0, not 2"),
        ("<!-- run: cornerturn version | Nothing -->\n<!-- end -->", "begins with 'Nothing'"),
        ("<!-- puzzles: 11 -->\n<!-- end -->", "no puzzle exercises chapter 11"),
        ("<!-- run: rm -r / -->\n<!-- end -->", "only cornerturn is run"),
        ("It is <!--=nothing.there-->**1**.", "nothing.there"),
        ("It is\n<!--=share('smem', 16384)-->**1**.", "would not take this as a comment"),
    ],
)
def test_wrong_marks_are_named(tmp_path, mark, part):
    (copied(tmp_path, []) / "page.md").write_text(f"# A page\n\n{mark}\n")
    check = guide(tmp_path, "--check")
    assert check.returncode == 1 and "page.md" in check.stderr and part in check.stderr


def test_pictures_that_no_page_shows_are_found(tmp_path):
    picture = copied(tmp_path, []) / "images" / "old.svg"
    picture.write_text("<svg/>")
    assert "images/old.svg" in guide(tmp_path, "--check").stderr
    assert guide(tmp_path).returncode == 0 and not picture.exists()
