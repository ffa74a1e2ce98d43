"""The lab's views and its links: a link shows what its sender saw, and the views say what the command line says."""

import json
import random
import subprocess
from collections import Counter
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

from lab_page import PROGRAM

SVG = "{http://www.w3.org/2000/svg}"
# All that a view shows: what follows from the link, the fields, the words and the drawings.
SHOWN = """JSON.stringify([state, location.hash, ...document.querySelectorAll('section:not([hidden]) :is(input, select)')]
  .map(e => e.value ?? e)) + document.querySelector('section:not([hidden])').innerText
  + [...document.querySelectorAll('section:not([hidden]) canvas')].map(c => c.toDataURL()) + document.querySelector('section:not([hidden]) #drawing')?.innerHTML"""


def open_at(lab, page, link):
    lab.open("about:blank", "true")
    lab.open(page.as_uri() + link, "window.lab && window.lab.ready")


def settled(lab):
    """What is shown when the remedy, which comes later, is there."""
    if lab.run("state.view") == "banks":
        lab.run("new Promise(done => setTimeout(done, 150))")
    return lab.run(SHOWN)


def said(*words):
    return subprocess.run([PROGRAM, *map(str, words)], check=True, capture_output=True, text=True).stdout


def text_of(lab, name):
    return lab.run(f"document.getElementById({json.dumps(name)}).innerText")


def some_links():
    """One link for every kind of state, and a few that chance made."""
    links = [
        "#view=rung&rung=smem_chunk_xor&bytes=2",
        "#view=rung&rung=cute_smem_swizzle&layout=(16,16):(16,1)&access=rows",
        "#view=sectors&lanes=(8,4):(1,1024)&bytes=2&vector=2",
        "#view=moving&block=1,2&way=direct&step=7",
        "#view=moving&step=20",
        "#layout=Swizzle<2,3,3> o (32,64):(64,1)&bytes=2&access=ldmatrix&request=2&group=1",
        "#layout=(32,32):(32,1)&bytes=4&access=rung:smem&show=1&request=3",
        "#layout=(32,32):(33,1)&bytes=4&access=rows:store&access=columns&access=tv:32:32&show=2",
        "#layout=(32,32",
        "#view=sectors&lanes=32:-1",
        "#view=rung&rung=nobody",
    ]
    chance = random.Random(55)
    for _ in range(6):
        pick = chance.choice
        view = pick(["rung", "sectors", "moving", "banks"])
        links.append(
            f"#view={view}&layout={pick(['', 'Swizzle<3,0,5> o '])}({pick([16, 32])},32):({pick([32, 36])},1)"
            f"&bytes={pick([1, 2, 4, 8])}&access={pick(['rows', 'columns:store'])}&rung={pick(['copy', 'shuffle', 'smem_chunk_xor'])}"
            f"&lanes={pick(['32:1', '(4,8):(1,100)'])}&vector={pick([1, 2])}&block={pick(['0,0', '1,1'])}&step={chance.randrange(34)}"
        )
    return links


def test_a_link_shows_what_its_sender_saw_and_a_reload_keeps_it(lab, page):
    for link in some_links():
        open_at(lab, page, quote(link, safe="#=&"))
        lab.run("change({})")  # the address is what a sender copies
        before, sent = settled(lab), lab.run("location.hash")
        open_at(lab, page, sent)
        assert settled(lab) == before, link
    lab.run("window.lab.ready = false")
    lab("Page.reload")
    lab.wait("window.lab && window.lab.ready")
    assert settled(lab) == before


@pytest.mark.parametrize("link", ["layout=(32,32", "layout=(32,32):(32,1)&access=sideways", "view=sectors&lanes=32:-1",
                                  "view=rung&rung=nobody", "view=rung&rung=smem&bytes=2"])  # fmt: skip
def test_a_mistake_leaves_nothing_of_what_was_before(lab, page, link):
    for view in ("sectors", "rung", "banks"):
        lab.run(f"change({{view: '{view}'}})")
    lab.run(f"change(parse({json.dumps(link)}))")
    before = settled(lab)
    open_at(lab, page, lab.run("location.hash"))
    assert settled(lab) == before


def test_every_change_is_in_the_link(lab, page):
    changes = [
        ("rungTab", None, "view=rung"), ("rung", "shuffle", "rung=shuffle"), ("rungBytes", "8", "bytes=8"),
        ("rungAfter", None, "rung=block_order_rows"), ("rungBefore", None, "rung=shuffle"),
        ("sectorsTab", None, "view=sectors"), ("lanes", "32:2", "lanes=32:2"), ("laneBytes", "2", "bytes=2"),
        ("vector", "2", "vector=2"), ("movingTab", None, "view=moving"), ("block", "1,1", "block=1,1"),
        ("step", "5", "step=5"), ("stepForward", None, "step=6"), ("stepBack", None, "step=5"),
        ("way", "direct", "way=direct"), ("banksTab", None, "layout="),
    ]  # fmt: skip
    for name, value, part in changes:
        lab.run(
            f"(() => {{ const e = document.getElementById({json.dumps(name)});"
            + ("e.click()" if value is None else f"e.value = {json.dumps(value)}; e.dispatchEvent(new Event('input'))")
            + "; })()"
        )
        assert part in lab.run("decodeURIComponent(location.hash)").split("#")[1], (name, value)
    before = settled(lab)
    open_at(lab, page, lab.run("location.hash"))
    assert settled(lab) == before


def test_no_view_is_wider_than_a_narrow_window(lab, page):
    lab("Emulation.setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=1, mobile=False)
    for view in ("banks", "sectors", "rung", "moving"):
        open_at(lab, page, f"#view={view}")
        assert lab.run("document.documentElement.scrollWidth <= innerWidth"), view
    lab("Emulation.clearDeviceMetricsOverride")


def test_every_rung_of_the_ladder_is_there(lab):
    told = json.loads(said("ladder", "--no-gpu", "--shape", "32,32", "--json"))["rungs"]
    assert lab.run("ladder.rungs.map(rung => rung.name)") == [rung["name"] for rung in told]
    assert lab.run("ladder.rungs.every(rung => Object.values(rung.sizes).every(size => size.legs.length && size.lines.length))")


@pytest.mark.parametrize("name, dtype", [("smem", "f32"), ("naive_read", "f32"), ("smem_chunk_xor", "u8"),
                                         ("shuffle", "f64"), ("cpy_rows", "f32"), ("cute_smem_pad", "f32")])  # fmt: skip
def test_a_rung_shows_what_the_command_line_says(lab, page, tmp_path, name, dtype):
    size = {"u8": 1, "f32": 4, "f64": 8}[dtype]
    open_at(lab, page, f"#view=rung&rung={name}&bytes={size}")
    told = json.loads(said("analyse", name, "--dtype", dtype, "--json"))
    words = text_of(lab, "rungVerdict")
    assert told["shows"] in words and told["sentence"] in words and f"{told['shared_bytes']} B of shared" in words

    def figure(actual, ideal):
        one = [f"{round(10 * value + 1e-9) / 10:g}" for value in (actual, ideal)]
        return one[0] if one[0] == one[1] else f"{one[0]} ({one[1]})"

    rows = lab.run("[...document.querySelectorAll('#legs tbody tr')].map(r => [...r.cells].map(c => c.innerText))")
    assert len(rows) == len(told["legs"])
    for row, leg in zip(rows, told["legs"]):
        assert row[:4] == [leg["leg"], leg["place"], str(leg["bytes_a_lane"]), str(leg["requests"])]
        sectors, wavefronts, count = leg.get("sectors"), leg.get("wavefronts"), leg["requests"]
        assert row[4] == (figure(sectors["mean"], sectors["ideal"]) if sectors else "-")
        assert row[6] == (figure(wavefronts["actual"] / count, wavefronts["ideal"] / count) if wavefronts else "-")

    # The picture is that of `draw`: its captions, and every label in every panel.
    said("draw", "rung", name, "--bytes", size, "--svg", tmp_path / "rung.svg")
    groups = [g for g in ElementTree.parse(tmp_path / "rung.svg").getroot().iter(SVG + "g") if g.get("role")]
    captions = lab.run("[...document.querySelectorAll('#rungPicture figcaption')].map(c => c.innerText.split('\\n'))")
    assert captions == [[g.find(SVG + "title").text, g.find(SVG + "desc").text] for g in groups] and groups
    panels = lab.run(
        "rungNamed(state.rung).sizes[state.bytes].lines.flat().map(n => wholePanel(ladder.panels[n])).map(p =>"
        " [p.rowAxis, p.columnAxis, ...p.rowLabels, ...p.columnLabels, ...p.labels.split('|')])"
    )
    for panel, group in zip(panels, groups):
        drawn = [text.text for text in group.iter(SVG + "text") if text.get("class") not in ("t", "d")]
        assert Counter(label for label in panel if label) == Counter(label for label in drawn if label)


def test_the_command_line_writes_the_page_at_a_rung(chromium, page, tmp_path):
    subprocess.run([PROGRAM, "draw", "rung", "smem_pad", "--html", "lab.html"], check=True, cwd=tmp_path, capture_output=True)
    chromium.problems.clear()
    chromium.open((tmp_path / "lab.html").as_uri(), "window.lab && window.lab.ready")
    assert chromium.run("[state.view, state.rung]") == ["rung", "smem_pad"]
    assert "smem_pad: " in text_of(chromium, "rungVerdict") and chromium.problems == []


def test_a_rungs_tile_can_be_changed(lab, page):
    open_at(lab, page, "#view=rung&rung=smem")
    lab.click("#toTile")
    assert lab.run("state.view") == "banks" and lab.run("state.layout") == "(32,32):(32,1)"
    told = json.loads(said("explain", "(32,32):(32,1)", "--access", "rung:smem", "--json"))["accesses"]
    assert lab.run("answer.accesses.map(a => [a.name, a.wavefronts, a.floor])") == [
        [access["access"], access["wavefronts"], access["floor"]] for access in told
    ]
    for wrong, part in [("rung:nobody", "no such rung"), ("rung:smem_chunk_xor", "64 x 64"), ("rung:copy", "no tile")]:
        lab.type("#access0", wrong)
        assert part in text_of(lab, "verdict") and wrong in text_of(lab, "verdict")


@pytest.mark.parametrize("lanes, size, vector", [("32:1", 4, 1), ("32:1024", 4, 1), ("32:4096", 4, 4), ("32:2", 4, 1),
                                                 ("(8,4):(1,1024)", 4, 1), ("(4,8):(1,100)", 2, 1), ("7:3", 8, 1)])  # fmt: skip
def test_sectors_are_those_of_the_command_line(lab, page, lanes, size, vector):
    open_at(lab, page, f"#view=sectors&lanes={lanes}&bytes={size}&vector={vector}")
    told = said("draw", "sectors", lanes, "--bytes", size, "--vector", vector).splitlines()[1]
    assert told in text_of(lab, "sectorsVerdict")
    assert told.startswith(f"{lab.run('window.lab.sectors.sectors')} sector")


def test_a_mistake_in_the_lanes_is_said(lab):
    lab.run("change({view: 'sectors'})")
    for wrong, part in [("32:-1", "negative"), ("64:1", "a warp has 32"), ("(8,4", "^")]:
        lab.type("#lanes", wrong)
        assert part in text_of(lab, "sectorsVerdict")
        assert lab.run("document.getElementById('sectorsVerdict').className") == "verdict error"
