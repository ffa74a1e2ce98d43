"""Pictures and the page of `cornerturn explain`."""

import json
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from command_line import PROGRAM, command, done, refused

QUESTION = ["explain", "Swizzle<3,2,5> o (32,32):(32,1)", "--access", "blocks:load:16", "--access", "columns"]
SVG = "{http://www.w3.org/2000/svg}"


def has_page():
    return (Path(PROGRAM).parents[1] / "page" / "lab.html").exists()


def test_the_picture_below_the_text(folder):
    text = done(*QUESTION)
    drawn = done(*QUESTION, "--draw")
    assert drawn.startswith(text)
    picture = drawn[len(text) :]
    assert "columns, request 0 of 32" in picture
    # Row i of 32 floats under <3,2,5>: the 32 lanes of a column meet four and four.
    assert sum(line.lstrip().startswith("again") for line in picture.splitlines()) == 3
    assert "\x1b" not in picture


def test_svg(folder):
    done(*QUESTION, "--svg", "picture.svg")
    titles = [t.text for t in ElementTree.parse("picture.svg").getroot().iter(SVG + "title")]
    assert "Swizzle<3,2,5>: columns, request 0 of 32" in titles
    assert os.listdir(folder) == ["picture.svg"]


def test_html_is_the_page_or_one_line_that_says_how_to_get_it(folder):
    if has_page():
        done(*QUESTION, "--html", "lab.html")
        page = Path("lab.html").read_text()
        assert "layout=Swizzle%3C3,2,5%3E o (32,32):(32,1)&bytes=4&access=blocks:load:16&access=columns" in page
    else:
        assert "make page" in refused(*QUESTION, "--html", "lab.html")
        assert os.listdir(folder) == []


def test_the_solvers_winner_is_drawn(folder):
    done("solve", "--tile", "32x32", "--vector", "16", "--svg", "winner.svg")
    root = ElementTree.parse("winner.svg").getroot()
    assert "32 x 32 elements of 4 B" in root.find(SVG + "title").text
    assert "again" not in [t.text for t in root.iter(SVG + "text")]


@pytest.mark.parametrize("tile, vector, kind", [("40x100", 4, "chunk of"), ("20x100", 16, "rotated by")])
def test_a_winner_that_cute_cannot_write_is_drawn(folder, tile, vector, kind):
    words = ["solve", "--tile", tile, "--vector", vector]
    best = json.loads(done(*words, "--json"))["answers"][0]
    text = done(*words, "--svg", "winner.svg", "--draw")
    root = ElementTree.parse("winner.svg").getroot()
    assert f"{tile.replace('x', ' x ')} elements of 4 B" in root.find(SVG + "title").text
    titles = [title.text for title in root.iter(SVG + "title")]
    assert "layout" not in best and kind in best["text"]
    assert any(title.startswith("Rows one after the other: ") for title in titles)
    assert any(title.startswith(best["text"]) for title in titles)
    assert best["text"] in text
    says = refused(*words, "--html", "lab.html", part="--html: the page shows layouts of CuTe's")
    assert "--svg" in says and not Path("lab.html").exists()


def test_a_rungs_accesses_on_the_page(folder):
    words = ["explain", "(32,32):(32,1)", "--access", "rung:smem"]
    if not has_page():
        refused(*words, "--html", "lab.html", part="make page")
        return
    done(*words, "--html", "lab.html")
    assert "(32,32):(32,1)&bytes=4&access=rung:smem\"" in Path("lab.html").read_text()


@pytest.mark.parametrize(
    "words, link",
    [
        (["tile", "Swizzle<3,2,5> o (32,32):(32,1)"], "layout=Swizzle%3C3,2,5%3E o (32,32):(32,1)&bytes=4"),
        (["sectors", "32:64", "--bytes", "2", "--vector", "2"], "view=sectors&lanes=32:64&bytes=2&vector=2"),
        (["rung", "shuffle", "--bytes", "8"], "view=rung&rung=shuffle&bytes=8"),
    ],
)
def test_what_is_drawn_on_the_page(folder, words, link):
    if not has_page():
        refused("draw", *words, "--html", "lab.html", part="make page")
        return
    done("draw", *words, "--html", "lab.html")
    assert f'"{link}"' in Path("lab.html").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ["tile", "(8,8):(8,1)", "--offsets"],
        ["threads", "(32,2):(2,1)", "--tile", "8x8"],
        ["blocks"],
        ["rung", "cpy_rows", "--block", "1,2"],
        ["rung", "cpy_transpose", "--batch", "8"],
        ["rung", "cpy_transpose", "--fused"],
    ],
)
def test_what_the_page_does_not_show(folder, words):
    refused("draw", *words, "--svg", "x.svg", "--html", "lab.html", part="--html: the page shows")
    assert os.listdir(folder) == []


def test_options_of_accesses_reach_the_page(folder):
    if not has_page():
        pytest.skip("no page in this build")
    words = ["explain", "(64,64):(64,1)", "--access", "blocks", "--access", "rows:load", "--access", "tv:32"]
    done(*words, "--vector", "16", "--store", "--html", "lab.html")
    page = Path("lab.html").read_text()
    assert "&access=blocks:store:16&access=rows:load:16&access=tv:32:1" not in page  # lanes overlap 16 B
    assert "&access=blocks:store:16&access=rows:load:16&access=" in page


def test_files_that_cannot_be(folder):
    refused(*QUESTION, "--svg", "picture.pdf", part="does not end in .svg")
    refused(*QUESTION, "--svg", "no/picture.svg", part="no/picture.svg")
    assert os.listdir(folder) == []


def test_a_wrong_layout_leaves_no_file(folder):
    assert command("explain", "(32,32", "--svg", "picture.svg").returncode == 2
    assert os.listdir(folder) == []
