"""The page of published claims: each has a source with a title and a link, a command that judges it, a
verdict and its limits. That its figures are those of the results' files, scripts/guide.py checks."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("CORNERTURN_BUILD_DIR", ROOT / "build" / "release")) / "bin" / "cornerturn"
PAGE = (ROOT / "docs" / "guide" / "claims.md").read_text()
COMMENT = re.compile(r"<!--.*?-->", re.S)


def table(header):
    """The rows behind this header, cell by cell."""
    lines = COMMENT.sub("", PAGE).partition(header)[2].splitlines()[2:]
    rows = [line for line in lines[: lines.index("")]]
    return [[cell.strip().replace("**", "") for cell in row.strip("|").split("|")] for row in rows]


SOURCES = {name: what for name, what in table("| source | what it is |")}
CLAIMS = table("| no. | claim | source | verdict |")
SECTIONS = {
    int(number): (title, text)
    for number, title, text in re.findall(r"^## (\d+)\. (.*?)\n(.*?)(?=^## |^<!-- measured)", PAGE, re.S | re.M)
}


def plain(text):
    return " ".join(COMMENT.sub("", text).split())


def test_the_table_has_every_claim():
    assert [int(number) for number, *_ in CLAIMS] == list(SECTIONS) == list(range(1, len(CLAIMS) + 1))
    for number, claim, source, _ in CLAIMS:
        assert SECTIONS[int(number)][0] == claim and source in SOURCES, number
    assert f"Here are {len(CLAIMS)} of them" in PAGE


def test_sources_have_a_title_and_a_link():
    assert {source for _, _, source, _ in CLAIMS} == set(SOURCES)
    for name, what in SOURCES.items():
        assert re.search(r"\[[^\]]+\]\(https://[^)]+\)", what), name


@pytest.mark.parametrize("number", SECTIONS)
def test_a_claim_has_source_command_verdict_and_limits(number):
    title, text = SECTIONS[number]
    source, verdict = CLAIMS[number - 1][2:]
    paragraphs = [plain(part) for part in text.strip().split("\n\n")]
    assert re.match(rf"\*\*Source:\*\* {re.escape(source)}[ ,.:;]", paragraphs[0]), title
    assert re.match(r"`(cornerturn|python -m cornerturn\.ladder) .*`", paragraphs[1]), title
    said = paragraphs[2].replace("**", "").lower()
    assert said.startswith((verdict.lower() + ".", f"the answer is {verdict.lower()}.")), (said, verdict)
    assert any(part.startswith("*Limits:* ") for part in paragraphs[3:]), title
    # Measured figures come from the results, by scripts/guide.py.
    verdict_text = text.strip().split("\n\n")[2]
    assert re.findall(r"(?<![*\d.])\d[\d.]*(?= (?:%|GB/s|wavefronts?\b|sectors\b))", COMMENT.sub("", verdict_text)) == [], title


@pytest.mark.parametrize("number", SECTIONS)
def test_the_command_runs(number):
    """Those for a GPU with the emulator, and a small matrix."""
    command = re.search(r"^`(.*?)`", SECTIONS[number][1], re.M | re.S)[1]
    words = shlex.split(command)
    if words[0] == "python":
        return
    small = [word for word in words[1:] if word != "--gpu"]
    if "--shape" in small:
        small[small.index("--shape") + 1] = "64,64"
    small += ["--no-gpu"] if words[1] == "ladder" and "--no-gpu" not in small else []
    done = subprocess.run([PROGRAM, *small], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == (2 if "refuses" in SECTIONS[number][1] else 0), done.stderr


def test_what_needs_a_gpu_says_so():
    for number, (_, text) in SECTIONS.items():
        for command in re.findall(r"^`(cornerturn ladder .*?)`", text, re.M):
            assert {"--gpu", "--no-gpu"} & set(command.split()), number
    assert "Commands with `--gpu`, and `python -m cornerturn.ladder`, need a GPU" in " ".join(PAGE.split())
    assert "no command here" not in (ROOT / "docs" / "guide" / "README.md").read_text().lower()
