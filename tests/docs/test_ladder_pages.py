"""The pages of the ladder and of the guide against the results that they are about."""

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LADDER = ROOT / "bench" / "results" / "ladder"
sys.path.insert(0, str(ROOT / "scripts"))

import guide  # noqa: E402
import ledger_misses  # noqa: E402

CHAPTERS = [page for page in sorted((ROOT / "docs" / "guide").glob("*.md")) if page.name != "claims.md"]  # test_claims.py
PAGES = [*CHAPTERS, *sorted((ROOT / "docs" / "kernels").glob("*.md"))]
GENERATED = re.compile(r"^<!-- (?!let )[a-z][\w ]*\b.*?^<!-- end -->$", re.S | re.M)


def sentences(page):
    """Paragraphs without what scripts fill in, code and tables."""
    text = re.sub(r"^```.*?^```$", "", GENERATED.sub("", page.read_text()), flags=re.S | re.M)
    text = re.sub(r"<!--.*?-->\*\*.*?\*\*", "", text, flags=re.S)
    return [part for part in re.split(r"\n\n|\n(?=- )", text) if not part.startswith("|")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shares_in_sentences_come_from_results(page):
    """By a mark with an expression. A paragraph that names a commit tells of another kernel."""
    bare = re.compile(r"(?<![\w.,])\d[\d.]* %")
    found = [part for part in sentences(page) if bare.search(part) and "commit" not in part]
    assert found == []


@pytest.mark.parametrize("page", CHAPTERS, ids=lambda page: page.name)
def test_a_chapter_names_the_results_that_it_quotes(page):
    text = page.read_text()
    called = set(re.findall(r"\b(\w+)\(", " ".join(re.findall(r"<!--.*?-->", text, re.S))))
    for path, functions in guide.SOURCES.values():
        assert (f"`{path}`," in text) == bool(called & set(functions.split())), path



COMPILED = re.compile(r'\{"(\w+)", (\d), (\d+), \{(\d+), \d+\}(?:, \{(\d+), \d+, \d+(?:, (\d+))?\})?')


def test_instructions_and_registers_in_sentences_are_those_of_the_compiled_code():
    tables = (ROOT / "src" / "workshop" / "ladder" / "compiled_table.hpp").read_text().partition("\n};")
    one, stacks = ({(name, int(size)): [int(n or 0) for n in figures] for name, size, *figures in COMPILED.findall(table)}
                   for table in tables[::2])  # fmt: skip
    page = lambda name: " ".join((ROOT / "docs" / name).read_text().split())
    code, registers, path, _ = one["smem_rotate", 4]
    assert f"`smem_rotate` has {code} instructions and {registers} registers" in page("guide/4-xor.md")
    first, turn = stacks["cpy_transpose", 4][2:]
    chapter = page("guide/10-triton-ggml.md")
    assert f"{first} instructions for the first matrix and {turn} for each further one" in chapter
    assert f"takes {first - one['cpy_transpose', 4][2]} instructions more" in chapter
    assert f"takes {one['cute_naive_wide', 4][1]} registers" in page("kernels/cute_naive.md")


def test_two_programs_agree():
    """`ladder_blocks` runs rungs with all their blocks, as `cornerturn ladder` does."""
    runs = json.loads((LADDER / "h200.blocks.json").read_text())["runs"]
    rows = next(run["resident"] for run in runs if "resident" in run)
    ladder = next(run for run in json.loads((LADDER / "h200.json").read_text())["runs"]
                  if run["shape"] == [16384, 16384] and run["dtype"] == "f32")  # fmt: skip
    measured = {entry["name"]: entry["measured"]["share_of_copy"] for entry in ladder["rungs"]}
    most = {}
    for row in rows:
        if row["kernel"] in measured and row["blocks_an_sm"] >= most.get(row["kernel"], row)["blocks_an_sm"]:
            most[row["kernel"]] = row
    assert len(most) > 9
    for name, row in most.items():
        assert abs(row["share_of_copy"] - measured[name]) < 0.02, name


def test_a_cause_is_given_where_one_is_known():
    """The largest matrix, stacks of small elements, eight bytes by shuffles: nothing but that no cause is known."""
    judged = (ROOT / "docs" / "ledger.md").read_text()
    cases = ledger_misses.cases(judged)
    assert len(cases) > 20
    for name, case, *_ in cases:
        why = ledger_misses.reason(name, case)
        assert not re.search(r"\b(?:we|nor)\b", why, re.I), why
        if name != "cpy_rows" and (case.startswith("32768") or re.match(r"\d+ x \d+ x \d+ of", case) or "8 B" in case):
            assert why.endswith("No cause is known.") and not re.search(r"\b(?:because|since|so that)\b", why), why


def test_the_summary_has_the_matrix_whose_rows_begin_anywhere():
    page = (ROOT / "docs" / "kernels" / "README.md").read_text()
    summary = page.partition("<!-- summary -->")[2].partition("<!-- end -->")[0]
    column = [cell.strip() for cell in summary.splitlines()[1].split("|")].index("10007 x 9973")
    rows = {row.split("`")[1]: row.split("|")[column].strip() for row in summary.splitlines() if "`" in row and row.startswith("|")}
    assert rows["cute_tma"] == "-" and int(rows["smem_chunk_xor"]) < int(rows["smem_pad"])
