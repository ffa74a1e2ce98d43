"""The moving tile: what arrives where, that it moves, and that it stops."""

import re
import subprocess

import pytest

from lab_page import PROGRAM


def show(lab, **what):
    lab.run(f"change({{view: 'moving', {', '.join(f'{name}: {value!r}' for name, value in what.items())}}})")


def numbers(lab, panel):
    """What is drawn in a panel: (row, column) -> number, of elements that are or were there."""
    cells = lab.run("[...document.querySelectorAll('#drawing .element:is(.here, .gone)')].map(e => [e.dataset.at, e.textContent])")
    found = [(at.split(","), text) for at, text in cells]
    return {(int(row), int(column)): int(text) for (name, row, column), text in found if name == panel}


def sectors(lanes):
    text = subprocess.run([PROGRAM, "draw", "sectors", lanes, "--bytes", "8"], check=True, capture_output=True, text=True)
    return int(re.search(r"^(\d+) sector", text.stdout, re.M)[1])


@pytest.mark.parametrize("way", ["tile", "direct"])
def test_every_block_arrives_transposed(lab, way):
    for i in range(2):
        for j in range(3):
            show(lab, block=f"{i},{j}", way=way, step=99)
            source, destination = numbers(lab, "source"), numbers(lab, "destination")
            assert sorted(source) == [(4 * i + r, 4 * j + c) for r in range(4) for c in range(4)]
            assert destination == {(column, row): value for (row, column), value in source.items()}
            written = sectors("4:1") if way == "tile" else sectors("4:8")
            assert f"{4 * sectors('4:1')} read, {4 * written} written" in lab.run("document.getElementById('movingText').innerText")


@pytest.fixture
def calm(lab):
    """The page where the system asks for reduced motion."""
    lab("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    yield lab
    lab("Emulation.setEmulatedMedia", features=[])


def test_rows_are_read_before_columns_are_written(calm):
    lab = calm
    show(lab, block="1,0", way="tile", step=0)
    assert numbers(lab, "tile") == numbers(lab, "destination") == {}
    for step in range(1, 34):
        lab.run("document.getElementById('stepForward').click()")
        assert lab.run("state.step") == step
        assert len(numbers(lab, "tile")) == min(step, 16)
        assert sorted(numbers(lab, "destination")) == [(c, 4 + r) for c in range(4) for r in range(4)][: max(step - 17, 0)]
    assert lab.run("document.getElementById('stepText').textContent") == "step 33 of 33"


def test_it_plays_to_the_end_and_stops(lab):
    show(lab, step=31)
    lab.run("(() => { const begin = requestAnimationFrame; window.frames = 0;"
            " requestAnimationFrame = call => { ++frames; return begin(call); }; })()")  # fmt: skip
    lab.run("document.getElementById('play').click()")
    assert lab.run("document.getElementById('play').textContent") == "pause"
    lab.wait("state.step === 33 && !playing && !gliding")
    assert lab.run("document.getElementById('play').textContent") == "play"
    lab.run("new Promise(done => setTimeout(done, 100))")
    count = lab.run("frames")
    lab.run("new Promise(done => setTimeout(done, 900))")
    assert lab.run("frames") == count > 0 and lab.run("state.step") == 33
    assert lab.run("document.querySelector('.moving')") is None
    lab.run("document.getElementById('play').click()")  # from the beginning again
    assert lab.run("state.step") == 1


@pytest.mark.parametrize("stop", ["document.getElementById('play').click()", "change({view: 'banks'})",
                                  "document.getElementById('stepBack').click()",
                                  "(() => { location.hash = '#view=moving&step=3'; })()"])  # fmt: skip
def test_motion_stops(lab, stop):
    show(lab, step=0)
    lab.run("document.getElementById('play').click()")
    lab.wait("state.step >= 2")
    lab.run(stop)
    lab.run("new Promise(done => setTimeout(done, 100))")
    step = lab.run("state.step")
    lab.run("new Promise(done => setTimeout(done, 900))")
    assert lab.run("state.step") == step and not lab.run("playing || gliding")


def test_an_element_is_on_its_way_before_it_arrives(lab):
    show(lab, step=20)
    before = numbers(lab, "destination")
    lab.run("document.getElementById('stepForward').click()")
    assert numbers(lab, "destination") == before
    lab.wait("document.querySelector('.moving')?.getAttribute('transform')")
    lab.wait("!document.querySelector('.moving') && !gliding")
    assert len(numbers(lab, "destination")) == len(before) + 1


def test_nothing_glides_where_motion_is_not_wanted(calm):
    show(calm, step=0)
    calm.run("window.seen = 0; new MutationObserver(() => { seen += document.querySelectorAll('.moving').length; })"
             ".observe(document.getElementById('drawing'), {childList: true, subtree: true, attributes: true})")  # fmt: skip
    calm.run("document.getElementById('play').click()")
    calm.wait("state.step >= 3")
    assert calm.run("seen") == 0


def test_a_link_opens_at_rest(lab, page):
    lab.open("about:blank", "true")
    lab.open(page.as_uri() + "#view=moving&step=9", "window.lab && window.lab.ready")
    lab.run("new Promise(done => setTimeout(done, 900))")
    assert lab.run("state.step") == 9 and len(numbers(lab, "tile")) == 9
