"""The swizzle lab's page in a headless browser: it follows its fields, its address and the mouse."""

import json
import subprocess
from urllib.parse import unquote

import pytest

from lab_page import PROGRAM


def verdict(lab):
    return lab.run("document.getElementById('verdict').innerText")


def kind(lab):
    return lab.run("document.getElementById('verdict').className")


def address(lab):
    return unquote(lab.run("location.hash"))


def note_at(lab, figure, row, column):
    """Points at a cell; what the page says of it."""
    x, y = lab.run(
        f"(() => {{ const c = document.querySelectorAll('canvas')[{figure}]; c.scrollIntoView();"
        " const r = c.getBoundingClientRect(), g = c.grid;"
        f" return [r.x + g.left + g.width * ({column} + 0.5), r.y + g.top + 18 * ({row} + 0.5)]; }})()"
    )
    lab.mouse("mouseMoved", x, y)
    return lab.run("document.getElementById('note').textContent")


def explained(layout, *accesses):
    """The command line's verdicts on the same question."""
    words = [word for access in accesses for word in ("--access", access)]
    out = subprocess.run([PROGRAM, "explain", layout, *words, "--json"], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def test_the_page_is_one_small_file(page):
    text = page.read_text()
    assert len(text.encode()) < 1 << 20
    assert "@CORE@" not in text and "@SCRIPT@" not in text
    assert "<script src" not in text and "<link rel=\"stylesheet" not in text


def test_it_opens_with_an_answer(lab):
    assert kind(lab) == "clean"
    assert "blocks:load:16" in verdict(lab)
    assert lab.run("document.querySelectorAll('canvas').length") == 4
    assert lab.run("[...document.querySelectorAll('canvas')].every(c => c.getAttribute('aria-label').length > 40)")


def test_an_example_is_chosen_and_solved(lab):
    name = "smem: a tile as it comes"
    lab.run(f"(() => {{ const p = document.getElementById('preset'); p.value = {json.dumps(name)};"
            " p.dispatchEvent(new Event('input')); })()")
    assert kind(lab) == "conflict" and "layout=(32,32):(32,1)" in address(lab)
    lab.run("document.getElementById('solve').click()")
    assert kind(lab) == "clean" and "layout=(32,32):(32,1)" not in address(lab)
    assert lab.run("document.getElementById('preset').value") != name
    lab.run("document.getElementById('solve').click()")
    assert lab.run("document.getElementById('note').textContent").startswith("Nothing to solve")


def test_fields_change_verdict_picture_and_address(lab):
    before = lab.run("document.querySelectorAll('canvas')[2].toDataURL()")
    lab.type("#S", "5")
    assert kind(lab) == "conflict"
    assert "Swizzle<3,2,5> o (64,64):(64,1)" in address(lab)
    assert lab.run("document.getElementById('layout').value") == "Swizzle<3,2,5> o (64,64):(64,1)"
    assert lab.run("document.querySelectorAll('canvas')[2].toDataURL()") != before
    lab.type("#S", "6")
    assert kind(lab) == "clean"
    assert lab.run("document.querySelectorAll('canvas')[2].toDataURL()") == before
    lab.type("#access1", "columns:load")
    assert "access=columns:load" in address(lab)
    lab.type("#columns", "32")
    assert "(64,32):(32,1)" in address(lab)
    lab.type("#padding", "4")
    assert "(64,32):(36,1)" in address(lab)


@pytest.mark.parametrize(
    "layout, access",
    [
        ("Swizzle<5,0,5> o (64,64):(64,1)", "columns:load"),
        ("Swizzle<5,0,6> o (64,64):(64,1)", "columns:load"),
        ("(32,32):(33,1)", "columns:load"),
        ("Swizzle<3,2,5> o (32,32):(32,1)", "blocks:load:16"),
        ("(64,64):(64,1)", "ldmatrix"),
    ],
)
def test_it_says_what_the_command_line_says(lab, layout, access):
    lab.type("#access1", "")
    lab.type("#layout", layout)
    lab.type("#access0", access)
    says = explained(layout, access)["accesses"][0]
    assert lab.run("answer.accesses[0].wavefronts") == says["wavefronts"]
    assert kind(lab) == ("clean" if says["wavefronts"] == says["floor"] else "conflict")


def test_steps_through_requests_and_groups(lab):
    assert "request 0 of 32" in lab.run("document.getElementById('request').textContent")
    lab.click("#after")
    assert "request 1 of 32" in lab.run("document.getElementById('request').textContent")
    assert "request=1" in address(lab)
    lab.click("#before")
    lab.click("#before")
    assert "request 31 of 32" in lab.run("document.getElementById('request').textContent")
    for group in range(1, 5):
        lab.click("#group")
        assert lab.run("document.getElementById('group').textContent") == f"group {group} of 4"
        assert f"group={group - 1}" in address(lab)
        assert lab.run("answer.lines[0][0].rowLabels") == [f"{8 * group - 8}-{8 * group - 1}"]
    lab.click("#group")
    assert "group" not in address(lab)


def test_a_cell_says_coordinate_offset_bank_and_lane(lab):
    # The request is one of 32 lanes of 16 bytes: the first two rows, 16 chunks each.
    assert note_at(lab, 2, 0, 3) == "(0,12) at offset 12, bank 12, lane 3"
    # Row 4: bits 8-10 of the offset, 1, are xor-ed into bits 2-4.
    assert note_at(lab, 2, 4, 0) == "(4,0) at offset 260, bank 4"
    lab("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight")
    assert note_at(lab, 0, 0, 0) == "bank 0, lane 0, word 0"


def test_arrow_keys_reach_every_cell(lab):
    lab.run("document.querySelectorAll('canvas')[2].focus()")
    for key in ("ArrowDown", "ArrowRight"):
        lab("Input.dispatchKeyEvent", type="keyDown", key=key)
    assert lab.run("document.getElementById('note').textContent").startswith("(1,4) at offset 68")


def test_the_address_restores_the_state(lab, page):
    wanted = "#layout=Swizzle%3C2%2C3%2C3%3E%20o%20(32%2C64)%3A(64%2C1)&bytes=2&access=ldmatrix&show=0&request=2&group=1"
    lab.open("about:blank", "true")
    lab.open(page.as_uri() + wanted, "window.lab && window.lab.ready")
    assert lab.run("document.getElementById('B').value") == "2"
    assert lab.run("document.getElementById('bytes').value") == "2"
    assert "request 2 of" in lab.run("document.getElementById('request').textContent")
    assert lab.run("document.getElementById('group').textContent") == "group 2 of 4"
    lab.run("location.hash = '#layout=(16,16):(16,1)&bytes=8&access=rows'")
    lab.run("new Promise(done => setTimeout(done, 50))")
    assert lab.run("document.getElementById('rows').value") == "16"


def test_mistakes_are_said_where_they_are(lab):
    lab.type("#layout", "Swizzle<3,2,2> o (64,64):(64,1)")
    assert kind(lab) == "error" and "less than B" in verdict(lab)
    lab.type("#layout", "(64,64:(64,1)")
    assert "^" in verdict(lab)
    lab.type("#layout", "(64,64):(64,1)")
    lab.type("#access0", "sideways")
    assert "sideways" in verdict(lab)
    lab.type("#access0", "rows")
    assert kind(lab) != "error"


def test_the_remedy_is_a_click_away(lab):
    lab.type("#layout", "(64,64):(64,1)")
    assert kind(lab) == "conflict"
    lab.wait("!document.getElementById('apply').hidden")
    lab.click("#apply")
    assert kind(lab) == "clean"
    assert "Swizzle<" in address(lab)


def test_a_rungs_accesses_are_shown(chromium, tmp_path):
    words = ["explain", "(64,64):(64,1)", "--access", "rung:smem_chunk_xor", "--html", "lab.html", "--json"]
    out = subprocess.run([PROGRAM, *words], check=True, cwd=tmp_path, capture_output=True, text=True)
    says = json.loads(out.stdout)["accesses"]
    chromium.problems.clear()
    chromium.open((tmp_path / "lab.html").as_uri(), "window.lab && window.lab.ready")
    shown = chromium.run("answer.accesses.map(a => [a.wavefronts, a.floor])")
    assert shown == [[access["wavefronts"], access["floor"]] for access in says]
    assert chromium.problems == []


def test_the_command_line_writes_the_page_with_its_question(chromium, tmp_path):
    words = ["explain", "Swizzle<5,0,5> o (64,64):(64,1)", "--access", "columns:load", "--html", "lab.html"]
    subprocess.run([PROGRAM, *words], check=True, cwd=tmp_path, capture_output=True)
    chromium.problems.clear()
    chromium.open((tmp_path / "lab.html").as_uri(), "window.lab && window.lab.ready")
    assert kind(chromium) == "conflict"
    assert "columns:load" in verdict(chromium)
    assert chromium.problems == []
