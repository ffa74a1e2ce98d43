"""What the documentation says exists: options, kernels, folders, files, make targets."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CORNERTURN_BUILD_DIR", ROOT / "build" / "release"))
PROGRAM = BUILD / "bin" / "cornerturn"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def output(*words):
    return subprocess.run(
        [PROGRAM, *words], check=True, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
    ).stdout


def section(text, title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.S | re.M)[1]


@pytest.mark.parametrize("command", ["transpose", "plan", "bench", "ladder", "analyse"])
def test_every_option_is_on_the_page_and_no_other(command):
    page = (ROOT / "docs" / "cli.md").read_text()
    has = set(re.findall(r"--[a-z][a-z-]+", output(command, "--help").partition("Options:")[2]))
    has.discard("--help")
    mentioned = set(re.findall(r"--[a-z][a-z-]+", section(page, command)))
    assert has <= mentioned
    foreign = {"transpose": {"--explain"}}.get(command, set())
    assert mentioned - foreign <= has


def test_every_command_is_on_the_page():
    commands = re.findall(r"^  ([a-z]+) ", output("--help").partition("Subcommands:")[2], re.M)
    page = (ROOT / "docs" / "cli.md").read_text()
    assert len(commands) >= 6
    assert [c for c in commands if f"cornerturn {c}" not in page] == []


def test_every_kernel_is_in_the_architecture():
    explained = output("plan", "--shape", "64,64", "--explain").partition("candidates")[2]
    kernels = {line.replace("*", " ").split()[0] for line in explained.strip().splitlines()}
    families = section((ROOT / "docs" / "architecture.md").read_text(), "Kernel families")
    assert kernels <= set(re.findall(r"^\| `(\w+)`", families, re.M))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_and_paths_exist(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target
    # Files of the example kernel, and the folder that `make bench` fills.
    made_up = {"src/plan/fold.hpp", "src/plan/fold.cpp", "src/cpu/fold.cpp", "bench/results/"}
    for path in re.findall(r"`((?:src|tests|docs|bench|scripts|include)/[\w./-]*)`", text):
        assert path in made_up or (ROOT / path).exists(), path


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = re.findall(r"(?:`|^|FULL=1 )make ([a-z-]+)", page.read_text(), re.M)
    assert set(named) <= targets
