"""The swizzle lab from Python: layouts and swizzles as values, explain, solve, convert_swizzle."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cornerturn
from cornerturn import Layout, Swizzle, convert_swizzle, explain, solve

ROOT = Path(__file__).parents[2]
PROGRAM = Path(os.environ.get("CORNERTURN", ROOT / "build" / "release" / "bin" / "cornerturn"))
SVG = "{http://www.w3.org/2000/svg}"


def title(svg):
    return ElementTree.fromstring(svg).find(SVG + "title").text


def test_importing_the_package_does_not_load_the_lab():
    code = "import cornerturn, sys; assert 'cornerturn._lab' not in sys.modules; cornerturn.Layout; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "cornerturn._lab" in modules and "numpy" not in modules


@pytest.mark.parametrize(
    "layout, text, shape, stride",
    [
        (Layout("(64,64):(64,1)"), "(64,64):(64,1)", (64, 64), (64, 1)),
        (Layout(" ( _8 , (2,4) ) : (1,(8,32)) "), "(8,(2,4)):(1,(8,32))", (8, (2, 4)), (1, (8, 32))),
        (Layout((4, (2, 2)), (1, (8, 4))), "(4,(2,2)):(1,(8,4))", (4, (2, 2)), (1, (8, 4))),
        (Layout([4, 8]), "(4,8):(1,4)", (4, 8), (1, 4)),
        (Layout(32), "32:1", 32, 1),
        (Layout(Layout("3:5")), "3:5", 3, 5),
        (Swizzle(3, 2, 6) @ Layout("(64,64):(64,1)"), "Swizzle<3,2,6> o (64,64):(64,1)", (64, 64), (64, 1)),
        (Layout("Sw<1,0,1> o 16 o 8:1"), "Swizzle<1,0,1> o 16 o 8:1", 8, 1),
    ],
)
def test_a_layout_is_its_notation(layout, text, shape, stride):
    assert str(layout) == text and repr(layout) == f"Layout({text!r})"
    assert eval(repr(layout)) == layout and hash(eval(repr(layout))) == hash(layout)
    assert (layout.shape, layout.stride) == (shape, stride)


def test_a_layout_says_where_elements_lie():
    padded = Layout("(64,64):(65,1)")
    assert (padded(1, 2), padded((1, 2)), padded.size, padded.cosize, padded.rank) == (67, 67, 4096, 4159, 2)
    assert padded(65) == padded(1, 1) == 66  # one number runs along the first mode
    nested = Layout("((2,4),(8,(2,2))):((1,16),(2,(64,128)))")
    assert nested((1, 2), (3, (1, 0))) == nested(5, 11) == 1 + 32 + 6 + 64
    assert padded.offsets() == [[65 * row + column for column in range(64)] for row in range(64)]
    assert Layout("4:2").offsets() == [[0, 2, 4, 6]]
    swizzled = Swizzle(3, 2, 6) @ Layout((64, 64), (64, 1))
    assert swizzled.swizzle == Swizzle(3, 2, 6) and padded.swizzle is None
    assert {offset for row in swizzled.offsets() for offset in row} == set(range(4096))
    assert all(swizzled(5, column) == Swizzle(3, 2, 6)(64 * 5 + column) for column in range(64))
    # Room for what the swizzle moves beyond the last coordinate.
    assert (Swizzle(2, 0, 2) @ Layout("5:1")).cosize == 8


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 4), st.booleans(), st.integers(0, 1 << 20))
def test_a_swizzle_is_xor(bits, base, more, downwards, offset):
    shift = -(bits + more) if downwards else bits + more
    swizzle = Swizzle(bits, base, shift)
    mask = ((1 << bits) - 1) << (base + max(shift, 0))
    read = offset & mask
    assert swizzle(offset) == offset ^ (read >> shift if shift >= 0 else read << -shift)
    assert swizzle(swizzle(offset)) == offset
    assert eval(repr(swizzle)) == swizzle and (swizzle.bits, swizzle.base, swizzle.shift) == (bits, base, shift)
    assert str(swizzle) == f"Swizzle<{bits},{base},{shift}>"


def test_composition():
    rows = Layout("(8,4):(4,1)")
    columns_first = rows @ Layout("(4,8):(8,1)")
    assert columns_first == Layout("(4,8):(1,4)")
    swizzled = Swizzle(2, 0, 2) @ rows
    turned = swizzled @ Layout("(4,8):(8,1)")
    assert all(turned(c, r) == swizzled(r, c) for r in range(8) for c in range(4))
    assert Swizzle(2, 0, 2).of("(8,4):(4,1)") == swizzled != rows


@pytest.mark.parametrize(
    "call, error, part",
    [
        (lambda: Layout("(64,64:(64,1)"), ValueError, "character 7 (':')"),
        (lambda: Layout((2, "a")), TypeError, "shape = 'a'"),
        (lambda: Layout((2, 2), (1, None)), TypeError, "stride = None"),
        (lambda: Layout("4:1", 2), TypeError, "stride = 2"),
        (lambda: Layout((2, 2), (1,)), ValueError, "character"),
        (lambda: Layout("4:1")(), TypeError, "takes a coordinate"),
        (lambda: Layout("4:1")(4), ValueError, "coordinates[0] = 4 is out of range for extent 4"),
        (lambda: Layout("(4,2):(2,1)")(0, -1), ValueError, "coordinates[1] = -1 is out of range for extent 2"),
        (lambda: Layout("(4,2):(2,1)")(0, 0, 0), ValueError, "has 3 coordinates: (4,2):(2,1) has 2 modes"),
        (lambda: Layout("(4,2):(2,1)")(0, (0, 1)), ValueError, "coordinates[1] has 2 coordinates: 2:1 takes a number"),
        (lambda: Layout("4:1")(1.5), TypeError, "coordinates[0] = 1.5"),
        (lambda: Layout("(2,2,2)").offsets(), ValueError, "3 modes"),
        (lambda: Layout("4:1").svg(unit=0), ValueError, "unit = 0"),
        (lambda: Layout("4:1").svg(dtype="b12"), ValueError, "dtype = 'b12': elements of 12 B"),
        (lambda: Layout("4:1").svg(dtype="f5"), TypeError, "dtype = 'f5'"),
        (lambda: Swizzle(3, 2, 1), ValueError, "|S| = 1 is less than B = 3"),
        (lambda: Swizzle(3, 2, 3.0), TypeError, "float"),
        (lambda: Swizzle(1, 0, 1)(-1), ValueError, "offset = -1"),
        (lambda: Swizzle(1, 0, 1) @ 3, TypeError, "@"),
        (lambda: Swizzle(1, 0, 1).of("Swizzle<1,0,1> o 4:1"), ValueError, "is swizzled already"),
        (lambda: Layout("8:1") @ Swizzle(1, 0, 1).of("4:1"), ValueError, "without a swizzle"),
        (lambda: explain("(64,64):(64,1)", "sideways"), ValueError, "access 'sideways'"),
        (lambda: explain("(64,64):(64,1)", ["rows", 3]), TypeError, "access[1] = 3"),
        (lambda: explain("(64,64):(64,1)", "rows", vector=3), ValueError, "vector = 3"),
        (lambda: explain("(64,64):(65,1)", "rows:16"), ValueError, "lane 16 takes 16 B at byte 260"),
        (lambda: explain("(512,512):(512,1)"), ValueError, "more than the 232448 B of shared memory"),
        (lambda: explain("(64,64):(64,1)", device="abacus"), ValueError, "device = 'abacus'"),
        (lambda: explain("(8,8):(8,1)", "rung:nothing"), (ValueError, RuntimeError), "rung:nothing"),
        (lambda: solve((64,)), ValueError, "tile = (64,) is not (rows, columns)"),
        (lambda: solve((0, 64)), ValueError, "a tile of 0 x 64"),
        (lambda: solve((64, 64), write="up"), ValueError, "write = 'up' is none of"),
        (lambda: solve((64, 64), read="up"), ValueError, "read = 'up' is none of"),
        (lambda: solve((64, 64), vector=3), ValueError, "vector = 3 is none of"),
        (lambda: solve((64, 64), "b12"), ValueError, "dtype = 'b12'"),
        (lambda: solve((256, 256)), ValueError, "more than the 232448 B of shared memory"),
        (lambda: solve((24, 40), "uint8", vector=16), ValueError, "no whole number of such accesses"),
        (lambda: solve((64, 64), tma=True, pad=True), ValueError, "TMA writes no padded rows"),
        (lambda: convert_swizzle("tma:256B"), ValueError, "256B"),
        (lambda: convert_swizzle("triton:4,1,8"), ValueError, "elements of a row"),
        (lambda: convert_swizzle("Swizzle<3,2>"), ValueError, "character"),
        (lambda: convert_swizzle("tma:128B", row=-1), ValueError, "row = -1"),
    ],
)  # fmt: skip
def test_mistakes_are_named(call, error, part):
    with pytest.raises(error) as caught:
        call()
    assert part in str(caught.value)


def test_explain():
    cost = explain("(64,64):(64,1)", ["rows:store:16", "blocks:load:16"])
    write, read = cost.accesses
    assert write.clean and (write.op, write.bytes_a_lane, write.requests) == ("store", 16, 32)
    assert not read.clean and (read.wavefronts, read.floor) == (1024, 128)
    assert (cost.wavefronts, cost.floor, cost.clean) == (1152, 256, False)
    assert "8 different words" in read.why and write.why == ""
    assert read.verdict in cost.verdict and cost.shared_bytes == 16384
    assert 1 <= cost.slowdown < 1.2 and explain("(64,64):(64,1)", "columns").slowdown > 2
    assert cost.layout == Layout("(64,64):(64,1)") and cost.remedy == Swizzle(3, 2, 6) @ cost.layout
    assert explain(cost.remedy, ["rows:store:16", "blocks:load:16"]).clean
    assert read.why in cost.text == str(cost)
    assert cost.to_dict()["accesses"][1]["wavefronts"] == 1024
    assert repr(cost) == "<Explanation (64,64):(64,1): 1152 wavefronts, 256 at the floor>"
    halves = explain(Layout("(64,64):(64,1)"), "ldmatrix", dtype="float16")
    assert halves.accesses[0].op == "ldmatrix" and not halves.clean
    stored = explain("(64,64):(64,1)", "columns", store=True, vector=4, device="a100")
    assert stored.accesses[0].op == "store" and "A100" in stored.text


def test_explain_what_cute_prints():
    printed = "Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)"
    want = cornerturn.explain("Swizzle<3,3,3> o (8,64):(64,1)", "columns", dtype="float16")
    assert str(cornerturn.explain(printed, "columns")) == str(want)
    assert str(cornerturn.explain(printed, "columns", dtype="float16")) == str(want)
    assert str(Layout(printed)) == "Swizzle<3,3,3> o (8,64):(64,1)"
    with pytest.raises(ValueError, match="dtype = 'float32' has 4 bytes, but the layout's pointer has elements of 2"):
        cornerturn.explain(printed, dtype="float32")


def test_explain_alone_and_two_elements_at_one_place():
    alone = explain("(8,8):(8,1)")
    assert alone.clean and alone.wavefronts == 0 and alone.remedy is None and alone.slowdown == 1
    assert repr(alone) == "<Explanation (8,8):(8,1): injective>"
    same = explain("(4,8):(4,1)", "rows")
    assert not same.clean and same.same_place == ((0, 4), (1, 0))
    assert "not injective: (0, 4) and (1, 0)" in same.verdict


def test_explain_a_rung():
    try:
        cost = explain("(32,32):(33,1)", "rung:smem")
    except RuntimeError as error:  # a build without the emulator
        assert "Boost" in str(error)
        return
    assert cost.clean and len(cost.accesses) == 2
    assert explain("(32,32):(32,1)", "rung:smem").wavefronts > cost.wavefronts


def test_solve():
    found = solve((64, 64), "float32", write="rows", read="columns", vector=16)
    assert found.layout == found.best.layout == Swizzle(3, 2, 6) @ Layout("(64,64):(64,1)")
    assert found.clean and found.wavefronts == found.floor == 256
    assert "rank 3" in found.proof and found.searched > 100
    assert found.textbook["gives"] == "Swizzle<3,2,4>" and not found.textbook["right"]
    assert set(found.code) == {"cute_cpp", "cute_python", "gluon", "cuda"}
    assert found.code["gluon"] in found.text == str(found)
    assert repr(found) == "<Solution Swizzle<3,2,6> o (64,64):(64,1): free of bank conflicts>"
    assert found.to_dict()["code"] == found.code
    costs = [answer.wavefronts for answer in found.answers]
    assert costs == sorted(costs) and len(costs) > 5
    best = found.best
    assert (best.kind, best.shared_bytes, best.tma, best.address_instructions) == ("swizzle", 16384, False, 4)
    assert best.write["lanes"] == "rows" and best.read["lanes"] == "blocks"
    for answer in found.answers:
        assert answer.clean == (answer.wavefronts == answer.floor)
        places = {answer(row, column) for row in range(64) for column in range(64)}
        assert len(places) == 4096 and max(places) < answer.shared_bytes // 4
        if answer.layout is not None:
            sides = [f"{side['lanes']}:{side['op']}:{side['bytes_a_lane']}" for side in (answer.write, answer.read)]
            assert explain(answer.layout, sides).wavefronts == answer.wavefronts
    with pytest.raises(ValueError, match="row = 64 is out of range for extent 64"):
        best(64, 0)


def test_solve_with_tma_padding_and_what_cute_cannot_write():
    by_tma = solve((64, 64), "float32", vector=16, tma=True)
    assert by_tma.clean and all(answer.tma for answer in by_tma.answers)
    assert by_tma.best.write == {"by": "tma"} and by_tma.floor == by_tma.best.read["floor"]
    assert solve((64, 64), "float32", vector=4, pad=True).layout == Layout("(64,64):(65,1)")
    turned = solve((20, 100), "float32", vector=16)
    assert turned.best.kind == "rotation" and turned.layout is None
    assert set(turned.code) == {"cuda"}
    assert title(turned.svg()) == "20 x 100 elements of 4 B in shared memory"
    assert turned.best.text in turned.draw()


@pytest.mark.parametrize(
    "thing",
    [Layout("Swizzle<3,2,5> o (32,32):(32,1)"), explain("(32,32):(32,1)", "columns"), solve((32, 32), vector=16)],
    ids=["layout", "explanation", "solution"],
)
def test_notebooks_show_pictures(thing):
    svg = thing._repr_svg_()
    assert "32 x 32 elements of 4 B" in title(svg) and "description" not in svg[:200]
    assert ElementTree.fromstring(svg).find(SVG + "desc").text
    text = thing.draw(width=120)
    assert "row\\column" in text and max(map(len, text.splitlines())) <= 120


def test_pictures_of_layouts():
    tile = Layout("(8,8):(8,1)")
    assert ">63<" in tile.svg(offsets=True) and ">63<" not in tile.svg()
    assert "8 x 8 elements of 2 B" in title(tile.svg(dtype="float16", unit=8))
    assert "2 x 4 elements of 4 B" in title(Layout("(2,2,2)")._repr_svg_())
    assert Layout("4:-1")._repr_svg_() is None
    assert len(Layout("(128,128):(128,1)")._repr_svg_()) < 400_000


def test_convert_swizzle():
    floats = convert_swizzle(Swizzle(3, 2, 3), "float32", row=32)
    assert (floats.cute, floats.bytes, floats.tma) == (Swizzle(3, 2, 3), Swizzle(3, 4, 3), "128B")
    assert floats.triton == {"vec": 4, "per_phase": 1, "max_phase": 8} and floats.triton_why_not is None
    for same in ("bytes:Swizzle<3,4,3>", "tma:128B", "triton:4,1,8"):
        assert convert_swizzle(same, "float32", row=32).to_dict() == floats.to_dict()
    halves = floats.recast("float16")
    assert halves.cute == Swizzle(3, 3, 3) and halves.bytes == floats.bytes and halves.itemsize == 2
    torn = convert_swizzle("bytes:Swizzle<1,1,1>", "float64", row=8)
    assert torn.cute is None and torn.triton is None and "tears" in torn.triton_why_not
    assert convert_swizzle("Swizzle<1,0,1>").tma is None
    assert "TMA 128B" in str(floats) and repr(floats) == f"<Conversion {floats}>"


@pytest.mark.skipif(not PROGRAM.exists(), reason="no command line here")
def test_it_is_what_the_command_line_says():
    def said(*words):
        return subprocess.run([PROGRAM, *words], check=True, capture_output=True, text=True).stdout

    cost = explain("(32,32):(33,1)", ["rows:store", "columns"])
    words = ["explain", "(32,32):(33,1)", "--access", "rows:store", "--access", "columns"]
    assert said(*words) == cost.text and json.loads(said(*words, "--json")) == cost.to_dict()
    found = solve((24, 40), "float16")
    words = ["solve", "--tile", "24x40", "--dtype", "f16"]
    assert said(*words) == found.text and json.loads(said(*words, "--json")) == found.to_dict()


def test_all_names_are_there():
    assert all(hasattr(cornerturn, name) for name in cornerturn.__all__)
    assert not hasattr(cornerturn, "Swizzel")


def test_the_page_opens_with_the_question_or_says_how_to_get_it():
    cost = cornerturn.explain("Swizzle<3,2,5> o (32,32):(32,1)", ["columns", "rows:load:4", "rung:smem"], vector=16, store=True)
    try:
        page = cornerturn.lab_page("view=rung&rung=smem")
    except RuntimeError as error:
        assert "emscripten" in str(error) and "pip install ." in str(error)
        with pytest.raises(RuntimeError, match="emscripten"):
            cost.html()
        return
    assert page.startswith("<!DOCTYPE html>") and '"view=rung&rung=smem"' in page
    link = "layout=Swizzle%3C3,2,5%3E o (32,32):(32,1)&bytes=4&access=columns:store:16&access=rows:load:4&access=rung:smem"
    assert f'"{link}"' in cost.html()
