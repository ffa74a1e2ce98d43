"""Pictures: the terminal's, and SVG files that appear whole or not at all."""

import os
import pty
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from command_line import PROGRAM, done, refused

TILE = ["draw", "tile", "Swizzle<3,2,5> o (32,32):(32,1)", "--vector", "4"]
SVG = "{http://www.w3.org/2000/svg}"


def in_terminal(*words, **environment):
    """What the command line writes to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, *words], stdout=theirs, stdin=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm", **environment}
    )
    os.close(theirs)
    written = b""
    try:
        while part := os.read(ours, 65536):
            written += part
    except OSError:  # Linux's word for the end of a terminal
        pass
    os.close(ours)
    assert process.wait() == 0
    return written.decode()


def test_a_tile_in_the_terminal_is_plain_where_colours_are_unwelcome():
    plain = done(*TILE)
    assert "\x1b" not in plain
    assert "32 x 32 elements of 4 B over the 32 banks" in plain
    assert "4   4   0  12   8  20  16  28  24" in plain
    assert "\x1b[48;2;" in in_terminal(*TILE, NO_COLOR="")
    assert "\x1b" not in in_terminal(*TILE, NO_COLOR="1")
    assert "\x1b" not in in_terminal(*TILE, NO_COLOR="", TERM="dumb")


@pytest.mark.parametrize(
    "words",
    [
        TILE[1:],
        ["tile", "(64,64):(65,1)", "--bytes", "2", "--offsets"],
        ["threads", "((4,8),(2,2)):((32,1),(16,8))", "--tile", "16x8"],
        ["sectors", "32:64"],
        ["rung", "cpy_rows"],
        ["blocks", "--shape", "100,70", "--tile", "16x16", "--order", "groups", "--group", "2"],
    ],
)
def test_an_svg_is_well_formed_and_says_what_it_shows(words, folder):
    text = done("draw", *words, "--svg", "picture.svg")
    root = ElementTree.parse("picture.svg").getroot()
    assert root.tag == SVG + "svg"
    assert root.find(SVG + "title").text in text
    assert len(root.find(SVG + "desc").text) > 40
    assert len(root.findall(".//" + SVG + "text")) > 20
    assert os.listdir(folder) == ["picture.svg"]


def test_blocks_say_what_they_leave_unfinished():
    words = ["draw", "blocks", "--shape", "256,256", "--tile", "16x16", "--resident", "16"]
    assert "; 0 of the written lines" in done(*words, "--order", "output")
    assert "; 256 of the written lines" in done(*words, "--order", "input")


def test_curves_launch_blocks_that_have_no_tile():
    words = ["draw", "blocks", "--tile", "64x64", "--resident", "16", "--order"]
    whole = done(*words, "hilbert", "--shape", "256,256")
    assert "Of 16 blocks 0 lie outside" in whole
    assert " 0    0*   1*  14*  15*\n" in whole and " 64    3*   2*  13*  12*\n" in whole
    # Five tiles a side in a square of eight.
    assert "Of 64 blocks 39 lie outside" in done(*words, "morton", "--shape", "320,320")


@pytest.mark.parametrize(
    "words, part",
    [
        (["chart", "8:1"], "KIND = 'chart' is none of tile, threads, sectors, blocks and rung"),
        (["tile"], "LAYOUT is missing"),
        (["tile", "(8,8"], "(8,8"),
        (["tile", "(8,8):(8,1)", "--bytes", "5"], "elements of 5 B"),
        (["threads", "(32,4):(1,32)"], "--tile is missing"),
        (["sectors", "64:1"], "a layout of 64 lanes: a warp has 32"),
        (["blocks", "8:1"], "LAYOUT is not for blocks"),
        (["blocks", "--order", "spiral"], "'spiral' is no order of blocks"),
        (["blocks", "--tile", "8"], "--tile = '8' is not rows and columns"),
        (["blocks", "--resident", "0"], "0 resident blocks: at least 1"),
        (["blocks", "--shape", "100000,100000"], "no more than 65536"),
        (["tile", "8:1", "--svg", "picture.png"], "--svg = 'picture.png' does not end in .svg"),
        (["tile", "8:1", "--svg", "no/picture.svg"], "no/picture.svg"),
    ],
)
def test_refusals(words, part, folder):
    refused("draw", *words, part=part)
    assert os.listdir(folder) == []


def test_a_rung_is_drawn_with_its_lanes_and_banks(folder):
    """32 lanes in one bank without padding, in all banks with it."""
    def read(name):
        text = done("draw", "rung", name)
        panel = text[text.index("3. Shared memory") :].split("\n\n")[0]
        return [line.split()[1:] for line in panel.splitlines()[2:34]]

    for name, mark, bank in (("smem", "!", lambda lane: 0), ("smem_pad", "*", lambda lane: lane)):
        for lane, cells in enumerate(read(name)):
            if lane < len(cells):  # as many banks as fit the width
                assert cells[bank(lane)] == f"{lane}{mark}" and set(cells) <= {".", f"{lane}{mark}"}, (name, lane)
    done("draw", "rung", "naive_read_32", "--svg", "rung.svg")
    descriptions = [element.text for element in ElementTree.parse("rung.svg").iter(SVG + "desc")]
    assert "32 sectors where 4 would do; 128 of their 1024 bytes are used." in descriptions
    refused("draw", "rung", "smen", part="LAYOUT = 'smen' is no rung")
    refused("draw", "rung", "smem", "--bytes", "2", part="it takes elements of 4 B")


def test_the_tile_stands_between_its_two_panels():
    """A row goes in, a column comes out, and one element is both: 5 stored by lane 5, >7 loaded by lane 7."""
    for name, loaded in {"smem_pad": lambda lane: f">{lane}*", "cute_smem": lambda lane: f">{lane}*"}.items():
        text = done("draw", "rung", name)
        panels = text.split("\n\n")
        titles = [panel.splitlines()[0] for panel in panels if panel]
        tile = next(i for i, title in enumerate(titles) if title.startswith("The tile: "))
        assert titles[tile - 1].startswith("2. Shared memory") and titles[tile + 1].startswith("3. Shared memory")
        rows = [line.split() for line in panels[tile].splitlines()[2:34]]
        assert rows[0][:4] == ["0", "0>0*", "1", "2"]
        assert [row[1] for row in rows[1:]] == [loaded(lane) for lane in range(1, 32)]
        assert set(rows[5][2:]) == {"."}


def test_a_block_is_drawn_beside_where_it_goes():
    first, text = done("draw", "rung", "smem"), done("draw", "rung", "smem", "--block", "1,2")
    assert "smem: the way of a warp's first accesses, block 1,2" in text
    blocks = text[text.index("Blocks of the source") :].split("\n\n")[0]
    rows = [line.split() for line in blocks.splitlines()[2:]]
    assert rows[1][1:5] == ["1,0", "1,1", "1,2*", "1,3"]  # of the source
    assert rows[2][-4:] == ["0,2", "1,2*", "2,2", "3,2"]  # of the destination
    panel = lambda words, title: words[words.index(title) :].split("\n\n")[0].splitlines()
    # Tiles of 32 x 32: row 32 and columns 64 to 95 of the source, row 64 and columns 32 to 63 of the destination.
    for title, row, column in [("1. The source", 32, 64), ("4. The destination", 64, 32)]:
        head, line = panel(text, title)[1:3]
        assert head.split()[1] == str(column) and line.split()[0] == str(row)
        assert line.split()[1:] == panel(first, title)[2].split()[1:]
    wide = done("draw", "rung", "cute_tma_store", "--block", "1,1")
    head, line = panel(wide, "1. The source")[1:3]
    assert head.split()[1] == "64" and line.split()[0] == "32"  # tiles of 32 x 64
    refused("draw", "rung", "smem", "--block", "16,0", part="have 16 x 16 blocks of smem")
    refused("draw", "rung", "copy", "--block", "0,0", part="copy: its blocks have no tiles of the matrix")
    refused("draw", "rung", "smem", "--block", "1", part="--block = '1' is not rows and columns")
    refused("draw", "tile", "8:1", "--block", "0,0", part="--block is for a rung")


def test_unchanged_rows_and_periods_are_marked():
    text = done("draw", "tile", "Swizzle<4,0,4> o (32,16):(16,1)")
    swizzled = [line.split() for line in text[text.index("Swizzle<4,0,4>") :].splitlines() if "=" in line]
    assert [next(word for word in line if word.endswith("=")) for line in swizzled[-2:]] == ["0=", "16="]
    assert not re.search(r"\d=", done("draw", "tile", "Swizzle<3,0,3> o (32,16):(16,1)"))


def test_stacks_of_a_rung_are_drawn(folder):
    words = ["draw", "rung", "cpy_transpose"]
    stack, fused = done(*words, "--batch", "3"), done(*words, "--batch", "3", "--fused", "--svg", "stack.svg")
    for text in (stack, fused):
        assert "accesses in a stack of 3 matrices" in text and "4. The destination: where they store it" in text
    assert "stack" not in done(*words)
    words = "A row of the source has that row of all matrices."
    assert words in fused and words not in stack
    assert words in ElementTree.parse("stack.svg").getroot().find(SVG + "desc").text
    refused("draw", "rung", "smem", "--batch", "3", part="it takes one matrix, not a stack of 3")
    refused("draw", "rung", "cpy_transpose", "--batch", "0", part="--batch = '0' is no number of matrices from 1 on")
