"""The swizzle lab on the command line: explain and convert-swizzle."""

import json

import pytest

from command_line import command, done, refused

TILE = "(64,64):(64,1)"


def test_explain_says_who_meets_whom_and_what_helps():
    text = done("explain", TILE, "--access", "rows:store:16", "--access", "blocks:load:16")
    assert "no bank conflict: 4 wavefronts a request, the floor" in text
    assert "want banks 0-3 with 8 different words each" in text
    assert "xor address bits 10-12 into bits 4-6" in text
    swizzle = json.loads(
        done("explain", TILE, "--access", "blocks", "--vector", "16", "--json")
    )["remedy"]["layout"]
    text = done("explain", swizzle, "--access", "rows:store:16", "--access", "blocks:load:16")
    assert "different words" not in text and "Remedy" not in text
    for part in ["M = 2", "S = 6", "the pattern repeats after 32 rows", "the memory takes longer: "]:
        assert part in text


PRINTED = "Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)"


def test_what_cute_prints_is_explained():
    """Its swizzle counts bytes, and its pointer says what the elements are."""
    layout = "Swizzle<3,3,3> o (8,64):(64,1)"
    want = done("explain", layout, "--dtype", "f16", "--access", "columns")
    assert done("explain", PRINTED, "--access", "columns") == want
    assert done("explain", PRINTED, "--dtype", "bf16", "--access", "columns") == want
    assert done("draw", "tile", PRINTED) == done("draw", "tile", layout, "--bytes", "2")
    assert done("analyse", PRINTED) == done("analyse", layout, "--bytes", "2")
    for words in (["explain", PRINTED, "--dtype", "f32"], ["draw", "tile", PRINTED, "--bytes", "4"], ["analyse", PRINTED, "--bytes", "4"]):
        refused(*words, part="the layout's pointer has elements of 16 bits, but 32 were asked for")


def test_the_time_is_that_of_the_ledger():
    """Where nothing but the tile bounds a rung both say one number; elsewhere the ledger has more parts."""
    walks = ["--access", "rows:store", "--access", "columns:load"]
    tiles = {"smem": "(32,32):(32,1)", "smem_pad": "(32,32):(33,1)", "cute_smem_swizzle_2way": "Swizzle<5,0,5> o (64,64):(64,1)"}
    for rung, layout in tiles.items():
        share = 1 / json.loads(done("explain", layout, *walks, "--json"))["time"]["slowdown"]
        ledger = json.loads(done("analyse", rung, "--json"))["ledger"]
        largest = max(ledger["parts"], key=ledger["parts"].get)
        assert share > ledger["share_of_copy"] - 0.005, rung
        assert largest != "shared" or share < ledger["share_of_copy"] + 0.015, rung
        assert (largest == "shared") == (rung == "smem")


def test_explain_as_json():
    report = json.loads(done("explain", TILE, "--access", "columns", "--store", "--json"))
    access = report["accesses"][0]
    assert access["op"] == "store" and access["wavefronts"] == 128 * 32 and access["floor"] == 128
    assert not report["clean"]
    assert report["time"]["slowdown"] > 2
    assert [lane["bank"] for lane in access["worst_request"]["lanes"]] == [0] * 32
    slower = json.loads(done("explain", TILE, "--access", "columns", "--on", "a100", "--json"))
    assert slower["time"]["slowdown"] != report["time"]["slowdown"]


def test_explain_a_rungs_accesses_in_another_layout():
    plain = done("explain", "(32,32):(32,1)", "--access", "rung:smem")
    assert "32 wavefronts in the worst request" in plain
    padded = done("explain", "(32,32):(33,1)", "--access", "rung:smem")
    assert padded.count("no bank conflict") == 2


def test_explain_reports_two_elements_at_one_place_and_fails():
    result = command("explain", "(4,8):(4,1)", "--access", "rows")
    assert result.returncode == 1 and not result.stderr
    assert "NOT INJECTIVE: (0,4) and (1,0) both lie at offset 4" in result.stdout
    report = command("explain", "(4,8):(4,1)", "--json")
    assert report.returncode == 1
    assert json.loads(report.stdout)["not_injective"] == {"a": [0, 4], "b": [1, 0], "offset": 4}


@pytest.mark.parametrize(
    "words, part",
    [
        (["(64,64:(64,1)", "--access", "rows"], "character 7 (':')"),
        (["(64,64):(65,1)", "--access", "rows:16"], "lane 16 takes 16 B at byte 260"),
        (["(512,512):(512,1)"], "more than the 232448 B of shared memory"),
        ([TILE, "--access", "sideways"], "access 'sideways'"),
        ([TILE, "--access", "table:0,(1,64)"], "character 3"),
        ([TILE, "--access", "rows", "--vector", "3"], "--vector = 3 is none of 1, 2, 4, 8 and 16 bytes"),
        ([TILE, "--access", "rows", "--dtype", "b12"], "elements of 12 B"),
        ([TILE, "--access", "rung:nothing"], "no such rung"),
        ([TILE, "--on", "gpu9000"], "--on"),
    ],
)
def test_explain_refuses(words, part):
    refused("explain", *words, part=part)


def test_explain_load_and_store_exclude_each_other():
    assert command("explain", TILE, "--access", "rows", "--load", "--store").returncode == 2


def test_convert_swizzle():
    text = done("convert-swizzle", "Swizzle<3,2,3>", "--dtype", "f32", "--row", "32")
    first = text.splitlines()[0]
    for part in ["CuTe Swizzle<3,2,3>", "bytes Swizzle<3,4,3>", "per_phase=1", "TMA 128B"]:
        assert part in first
    assert text.count("TMA 128B") == 5
    for same in ["bytes:Swizzle<3,4,3>", "tma:128B", "triton:4,1,8"]:
        assert done("convert-swizzle", same, "--row", "32") == text
    halves = json.loads(done("convert-swizzle", "tma:64B", "--dtype", "f16", "--json"))[0]
    assert halves["cute"] == "Swizzle<2,3,3>" and halves["tma"] == "64B"
    assert halves["triton"] is None


@pytest.mark.parametrize(
    "words, part",
    [
        (["Swizzle<3,2>"], "character"),
        (["Swizzle<3,2,1>"], "less than B"),
        (["tma:256B"], "256B"),
        (["triton:4,1,8"], "need the elements of a row"),
        (["triton:3,1,8", "--row", "64"], "vec = 3"),
    ],
)
def test_convert_swizzle_refuses(words, part):
    refused("convert-swizzle", *words, part=part)
