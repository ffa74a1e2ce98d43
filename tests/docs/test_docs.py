"""What the documentation says exists: options, kernels, folders, files, make targets."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CORNERTURN_BUILD_DIR", ROOT / "build" / "release"))
PROGRAM = BUILD / "bin" / "cornerturn"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def output(*words):
    return subprocess.run(
        [PROGRAM, *words], check=True, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
    ).stdout


def section(text, title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.S | re.M)[1]


@pytest.mark.parametrize("command", ["transpose", "plan", "bench", "ladder", "analyse", "draw", "explain", "solve", "convert-swizzle", "check", "puzzle"])
def test_every_option_is_on_the_page_and_no_other(command):
    page = (ROOT / "docs" / "cli.md").read_text()
    has = set(re.findall(r"--[a-z][a-z-]+", output(command, "--help").partition("Options:")[2]))
    has.discard("--help")
    mentioned = set(re.findall(r"--[a-z][a-z-]+", section(page, command)))
    assert has <= mentioned
    foreign = {"transpose": {"--explain"}}.get(command, set())
    assert mentioned - foreign <= has


def test_every_command_is_on_the_page():
    commands = re.findall(r"^  ([a-z]+) ", output("--help").partition("Subcommands:")[2].partition("Examples:")[0], re.M)
    page = (ROOT / "docs" / "cli.md").read_text()
    assert len(commands) >= 6
    assert [c for c in commands if f"cornerturn {c}" not in page] == []


def test_every_rung_has_a_page_with_its_figures():
    """What the pages say in numbers is what the kernels do: scripts/kernel_pages.py wrote it."""
    pages = "".join(page.read_text() for page in (ROOT / "docs" / "kernels").glob("*.md"))
    named = {name for names in re.findall(r"<!-- figures: ([\w ]+) -->", pages) for name in names.split()}
    rungs = json.loads(output("ladder", "--no-gpu", "--shape", "64,64", "--json"))["rungs"]
    assert {rung["name"] for rung in rungs if rung["family"] == "cuda"} <= named
    script = [sys.executable, ROOT / "scripts" / "kernel_pages.py", "--check"]
    check = subprocess.run(script, capture_output=True, text=True, env={**os.environ, "CORNERTURN": str(PROGRAM)})
    assert check.returncode == 0, check.stderr


def test_the_ladders_page_shows_what_the_command_says():
    def words(text):
        return " ".join(text.split())

    shown = re.findall(r"^```\n\$ cornerturn ([a-z0-9, -]+)\n(.*?)^```", (ROOT / "docs/kernels/README.md").read_text(), re.S | re.M)
    assert shown
    for command, excerpt in shown:
        assert words(excerpt) in words(output(*command.split()))


def test_the_start_page_shows_an_example():
    shown = re.search(r"^```cpp\n(.*?)^```", (ROOT / "docs" / "reference.md").read_text(), re.S | re.M)[1]
    assert shown == (ROOT / "examples" / "permute_4d.cpp").read_text()


def test_stale_figures_are_found(tmp_path):
    """A copy of two pages and the script, with one figure changed."""
    for name in ["scripts/kernel_pages.py", "scripts/guide.py", "scripts/ledger_misses.py", "scripts/ladder_stalls.py", "python/cornerturn/ladder/_rung.py", "src/workshop/rungs/smem_chunk_xor.hpp", "docs/ledger.md", "docs/kernels/smem.md", "docs/kernels/smem_pad.md"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    page = tmp_path / "docs" / "kernels" / "smem.md"
    page.write_text(page.read_text().replace("| shared load | 4 | - | - | 32 (1) |", "| shared load | 4 | - | - | 16 (1) |"))
    # A measurement turns up: its rung's page is out of date as well.
    measured = {"share_of_copy": 0.5, "cold": {"bytes_per_second": 2e12}}
    run = {"gpu": {"name": "Some GPU"}, "shape": [1024, 1024], "dtype": "f32",
           "rungs": [{"name": "smem_pad", "measured": measured}]}  # fmt: skip
    results = tmp_path / "bench" / "results" / "ladder" / "some.json"
    results.parent.mkdir(parents=True)
    origin = {"driver": "1.2", "date": "2026-01-01", "commit": "abc"}
    results.write_text(json.dumps({"provenance": origin, "runs": [run]}))
    env = {**os.environ, "CORNERTURN": str(PROGRAM)}
    script = [sys.executable, tmp_path / "scripts" / "kernel_pages.py"]
    check = subprocess.run([*script, "--check"], capture_output=True, text=True, env=env)
    assert check.returncode == 1 and "smem.md" in check.stderr and "smem_pad.md" in check.stderr
    subprocess.run(script, check=True, env=env)
    assert "| 32 (1) |" in page.read_text()
    row = "| Some GPU | 1024 x 1024 of f32 | 50.0 % | 2000 |"
    assert row in (page.parent / "smem_pad.md").read_text() and row not in page.read_text()
    assert subprocess.run([*script, "--check"], env=env).returncode == 0


def explained(*words):
    """The families of `plan --explain`."""
    lines = output("plan", "--shape", "64,64", *words, "--explain").partition("candidates")[2].partition("accesses")[0]
    return {line.replace("*", " ").split()[0] for line in lines.strip().splitlines()}


def families(list_of_families):
    """Those of a list in src/plan, each with the operations that its header names."""
    text = (ROOT / list_of_families).read_text()
    names = re.findall(r"(\w+)::Family\b", text.partition("TypeList<")[2].partition(";")[0])
    headers = {Path(path).stem: ROOT / "src" / path for path in re.findall(r'#include "(.*)"', text)}
    operations = {name: re.search(r"Operations operations\{(.*?)\}", headers[name].read_text(), re.S)[1] for name in names}
    of_lists = {name for name in names if "takes_lists = true" in headers[name].read_text()}
    return {
        name: {word.replace("_", " ") for word in re.findall(r"Operation::(\w+)", operations[name])} for name in names
    }, of_lists


@pytest.mark.parametrize(
    "column, list_of_families, words",
    [(1, "src/plan/cpu/families.hpp", []), (2, "src/plan/gpu/families.hpp", ["--on", "h200"])],
    ids=["cpu", "gpu"],
)
def test_every_kernel_is_in_the_table_of_operations(column, list_of_families, words):
    page = (ROOT / "docs" / "engine.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.partition("| operation |")[2].partition("\n\n")[0].splitlines()[2:]]
    named = {row[0]: set(re.findall(r"`(\w+)`", row[column])) for row in rows}
    listed, of_lists = families(list_of_families)
    assert set().union(*named.values()) == set(listed)
    assert explained(*words) == set(listed) - of_lists  # the problem has no list
    for operation, names in named.items():
        takes = {name for name, operations in listed.items() if operation in operations}
        # Some refuse every conversion for which another one is better.
        assert names == takes or operation == "convert" and names < takes, operation
    if column == 1:
        assert set(listed) == set(re.findall(r"^\| `(\w+)` \|", section(page, "On a CPU"), re.M))
    else:
        headings = " ".join(re.findall(r"^### (.*)", section(page, "On a GPU"), re.M))
        assert set(listed) <= set(re.findall(r"\w+", headings))


def test_the_version_is_in_one_place():
    """Everything but the changelog, which has a section for it, reads it from the header."""
    header = (ROOT / "include" / "cornerturn" / "version.hpp").read_text()
    major, minor, patch = re.findall(r"VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header)
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(rf"^## \[{major}\.{minor}\.{patch}\] - \d{{4}}-\d\d-\d\d$", changelog, re.M)
    assert changelog.index("## [Unreleased]") < changelog.index(f"## [{major}.")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("no clone of the repository")
    kinds = (".md", ".txt", ".toml", ".cmake", ".in", ".py", ".sh", ".hpp", ".h", ".cpp", ".yml")
    written = re.compile(rf"(?i)\b(cornerturn|version)\b[\"' =:(]+v?{major}\.{minor}(\.{patch})?\b")
    files = [ROOT / name for name in listed.stdout.split("\0") if name.endswith(kinds) and (ROOT / name).exists()]
    assert len(files) > 300
    assert [str(path) for path in files if written.search(path.read_text())] == []


def test_the_changelog_is_for_users():
    """What random problems of some seed gained is no reason to upgrade; it stands in the commit."""
    unreleased = section((ROOT / "CHANGELOG.md").read_text(), r"\[Unreleased\]")
    assert set(re.findall(r"^### (.*)", unreleased, re.M)) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert re.findall(r".*(?:\bseeds?\b|random problems|bench/results).*", unreleased) == []


def test_one_thing_is_no_plural():
    """What scripts write into pages: "1 vector a thread", "in 1 wavefront"."""
    nouns = "blocks|threads|wavefronts|sectors|vectors|requests|elements|matrices|registers|instructions|rows|columns"
    several = re.compile(rf"(?<![\w.,-])1 (?:{nouns})\b(?! x)")
    found = [f"{page.name}: {line}" for page in PAGES for line in page.read_text().splitlines() if several.search(line)]
    assert found == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_and_paths_exist(page):
    text = re.sub(r"<!--.*?-->", "", page.read_text(), flags=re.S)  # the templates of tables
    prose = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    for target in re.findall(r"\]\(([^)#]+)\)", prose):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target
    # Files of the example kernels, and the folders that `make bench` and `make bundle` fill.
    made_up = {"src/plan/cpu/fold.hpp", "src/plan/cpu/fold.cpp", "src/cpu/fold.cpp", "src/kernels/each.hpp",
               "src/plan/gpu/each.hpp", "src/plan/gpu/each.cpp", "devices/cpu/my-cpu.json",
               "bench/results/",
               "bench/results/ladder"}  # fmt: skip
    for path in re.findall(r"`((?:src|tests|docs|bench|scripts|include)/[\w./-]*)`", text):
        assert path in made_up or (ROOT / path).exists(), path


def anchors(page):
    """As GitHub and the site name headings."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M)
    heads = [re.sub(r"\[([^\]]*)\]\([^)]*\)|`", r"\1", head).lower() for head in re.findall(r"^#+ (.*)", text, re.M)]
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", head).strip()) for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_into_pages_lead_to_headings(page):
    text = re.sub(r"<!--.*?-->", "", page.read_text(), flags=re.S)
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", text):
        led = (page.parent / target).resolve() if target else page
        assert led.exists() and anchor in anchors(led), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = re.findall(r"(?:`|^|FULL=1 )make ([a-z-]+)", page.read_text(), re.M)
    assert set(named) <= targets
