"""The glossary explains each word once, and the pages where readers begin lead to it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "glossary.md").read_text()
MEANINGS, _, REPLACED = PAGE.partition("\n## Words with more than one meaning\n")


def rows(text):
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "---" not in line]


TERMS = [term for row in rows(MEANINGS) if row[0] != "word" for term in row[0].split(", ")]


def test_every_word_is_explained_once_and_in_sentences():
    assert len(TERMS) > 60 and len(TERMS) == len(set(TERMS))
    for word, meaning in rows(MEANINGS):
        assert word == "word" or meaning.endswith("."), word


def test_words_that_stand_for_others_are_explained():
    found = rows(REPLACED)
    assert len(found) > 10
    for _, _, words in found[1:]:
        assert any(term in words for term in TERMS), words


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/index.md"])
def test_readers_find_it(page):
    assert re.search(r"glossary\.md", (ROOT / page).read_text())


def prose(page):
    """The text of a page without code, comments and what its glossary forbids."""
    text = re.sub(r"^```.*?^```|<!--.*?-->", "", (ROOT / page).read_text().partition("## Words with more")[0], flags=re.S | re.M)
    return re.sub(r"`[^`\n]*`", "`code`", text)


PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "python/README.md"]
PAGES += sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))


@pytest.mark.parametrize("page", PAGES)
def test_what_is_transposed_is_not_turned(page):
    assert re.findall(r".{,40}\bturned\b.{,40}", prose(page)) == []


@pytest.mark.parametrize("page", PAGES)
def test_sentences_name_their_subject(page):
    """A reader of "Of these ..." or "The same with ..." must look up what is meant."""
    cells = re.sub(r"\n(?=[^\n|#*-])", " ", prose(page))  # a line each for cells, items and paragraphs
    starts = r"(?:^[-|*#\d.\s]*|(?<=\|) |[.;:!?]\** )(?:Of|The same)\b.{,50}"
    assert re.findall(starts, cells, re.M) == []
