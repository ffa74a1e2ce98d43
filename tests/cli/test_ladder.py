"""`cornerturn ladder` and `cornerturn analyse`, without a GPU."""

import json
import os
import pty
import re
import signal
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from command_line import PROGRAM, ROOT, done, refused

RUNGS = re.findall(r'name = "(\w+)"', "".join(
    path.read_text() for path in (ROOT / "src" / "workshop" / "rungs").glob("*.hpp")
)) + ["naive_read", "naive_read_8", "naive_read_32"]  # fmt: skip


def ladder(*words):
    return json.loads(done("ladder", "--no-gpu", "--json", *words))


def rung(report, name):
    return next(rung for rung in report["rungs"] if rung["name"] == name)


def legs(report, name):
    return {leg["leg"]: leg for leg in rung(report, name)["predicted"]["legs"]}


@pytest.fixture(scope="module")
def report():
    return ladder()


def test_every_rung_is_verified(report):
    assert report["verified"] and report["shape"] == [512, 512] and report["complaints"] == []
    names = [rung["name"] for rung in report["rungs"] if rung["family"] == "cuda"]
    assert set(RUNGS) <= set(names) and len(names) == len(set(names))
    assert all(rung["verified"] for rung in report["rungs"] if rung["family"] == "cuda")


def test_the_table_has_every_rung_and_says_what_limits_it(report):
    text = done("ladder", "--no-gpu")
    for entry in report["rungs"]:
        if entry["family"] != "cuda":
            continue
        assert re.search(rf"^{entry['name']} .* yes$", text, re.M), entry["name"]
        words = " ".join(text.split())
        assert entry["predicted"]["limit"] in words
        assert entry["name"] == "copy" or f"against {entry['after']}: {entry['than_after']}" in words
    assert max(map(len, text.splitlines())) <= 100


def test_predictions(report):
    """A few figures that anyone can count by hand, at rows of 2 KiB."""
    assert legs(report, "naive_read")["global store"]["sectors"]["mean"] == 16
    assert legs(report, "naive_read_32")["global store"]["sectors"]["mean"] == 32
    for name, wavefronts in {"smem": 32, "smem_pad": 1, "smem_rotate": 1, "smem_chunk_xor": 4}.items():
        load = legs(report, name)["shared load"]
        assert load["wavefronts"]["actual"] == wavefronts * load["requests"]
    assert {leg["bytes_a_lane"] for leg in legs(report, "smem_chunk_xor").values()} == {16}
    assert rung(report, "smem_pad")["predicted"]["shared_bytes"] == (32 * 33 - 1) * 4
    resident = rung(report, "naive_read_32")["predicted"]["resident"]
    assert resident["compute capability 8.9"] == {"blocks": 1, "threads": 1024, "bound": "threads", "registers": 12}
    assert resident["compute capability 9.0"]["blocks"] == 2
    # 36 registers a thread leave room for six blocks of 256, 254 for one.
    for name, threads in {"smem_chunk_xor": 1536, "cute_naive_wide": 256}.items():
        fits = rung(report, name)["predicted"]["resident"]["compute capability 9.0"]
        assert fits["threads"] == threads and fits["bound"] == "registers"


def test_the_ledger_predicts_what_was_measured():
    """Shares of a copy at 16384 squared, against the committed ones of an H200."""
    runs = json.loads((ROOT / "bench" / "results" / "ladder" / "h200.json").read_text())["runs"]
    near, far = [], []
    for dtype in ("f32", "u8", "u16", "f64"):
        predicted = {entry["name"]: entry for entry in ladder("--dtype", dtype)["rungs"]}
        measured = next(run for run in runs if run["shape"] == [16384, 16384] and run["dtype"] == dtype)
        for entry in measured["rungs"]:
            if "measured" not in entry or entry["name"] == "smem_rotate":  # changed since
                continue
            ledger = predicted[entry["name"]]["predicted"]["ledger"]
            assert ledger["shape"] == [16384, 16384] and set(ledger["parts"]) == {
                "memory", "shared", "issue", "starts", "latency",
            }  # fmt: skip
            close = abs(ledger["share_of_copy"] - entry["measured"]["share_of_copy"]) <= 0.05
            (near if close else far).append((dtype, entry["name"]))
    assert len(near) >= 0.9 * len(near + far), far
    # The order of the naive kernels, which no single counter gives.
    naive = ["naive_read_32", "naive_read_8", "naive_read", "naive_write"]
    shares = [rung(ladder("--rung", name), name)["predicted"]["ledger"]["share_of_copy"] for name in naive]
    assert shares == sorted(shares)


@pytest.mark.parametrize("words, part, absent", [
    (("smem",), "pad the rows of the tile, or swizzle them", "already"),
    (("smem", "--shape", "4096,4096"), "pad the rows of the tile, or swizzle them", "already"),
    (("naive_read",), "by transposing a tile in shared memory", "already"),
    (("naive_read_8",), "let a block do more", "transposing a tile"),
    (("cute_tma",), "The memory itself", "pad"),
    (("smem_chunk_xor",), "The memory itself", "16 B a lane"),
])  # fmt: skip
def test_advice_comes_from_the_ledger_and_is_not_what_a_kernel_does_already(words, part, absent):
    report = json.loads(done("analyse", *words, "--json"))
    assert part in report["sentence"] and absent not in report["sentence"]
    largest = max(report["ledger"]["parts"], key=report["ledger"]["parts"].get)
    start = {"memory": ("memory:", "the memory itself"), "shared": ("shared memory:",), "issue": ("the issue of",)}
    assert report["limit"].startswith(start.get(largest, ("latency", "the start of blocks")))
    assert f"Limit: {report['sentence']}" in done("analyse", *words)


def test_what_if(report):
    points = {
        name: {change["change"]: change["points"] for change in rung(report, name)["predicted"]["what_if"]}
        for name in ("smem", "smem_pad", "cute_smem_swizzle_2way", "naive_read_8", "smem_chunk_xor")
    }
    assert points["smem"]["without its bank conflicts"] > 30 > points["smem_pad"]["with 16 B a lane everywhere"] > 3
    assert abs(points["cute_smem_swizzle_2way"]["without its bank conflicts"]) < 3
    assert points["naive_read_8"]["with 256 threads a block"] > 5 and points["smem_chunk_xor"] == {}
    text = " ".join(done("analyse", "smem").split())
    assert re.search(r"What if: without its bank conflicts \d+ % \(\+\d+ points\); with 16 B a lane everywhere", text)
    assert "what if: without its bank conflicts" in " ".join(done("ladder", "--no-gpu", "--rung", "smem").split())


def test_points_only_where_a_speed_is_predicted():
    small = rung(ladder("--rung", "smem", "--shape", "1024,1000"), "smem")["predicted"]
    assert "why_not" in small["ledger"] and small["what_if"] == [] and small["limit"]
    large = json.loads(done("analyse", "cute_smem", "--shape", "4096,4096", "--json"))
    assert large["ledger"]["shape"] == [4096, 4096] and len(large["what_if"]) == 2
    assert "No speed is predicted: there is nothing to move." in done("analyse", "smem", "--shape", "0,5")


@pytest.mark.parametrize("dtype, bytes", [("u8", 1), ("f16", 2), ("f64", 8)])
def test_other_elements(dtype, bytes):
    report = ladder("--shape", "130,77", "--dtype", dtype)
    assert report["verified"] and report["bytes"] == 130 * 77 * bytes
    taken = {rung["name"] for rung in report["rungs"] if "why_not" not in rung}
    assert {"copy", "smem_chunk_xor", "shuffle"} <= taken
    assert f"not of {bytes} B" in rung(report, "smem")["why_not"]


@pytest.mark.parametrize("dtype", ["f32", "f16", "u8"])
@pytest.mark.parametrize("words", [("--batch", "1"), ("--batch", "11"), ("--batch", "9", "--fused")])
def test_stacks_of_matrices(dtype, words):
    """Eight matrices a block and some left over; and the fused case, which is one matrix to the kernel."""
    report = ladder("--shape", "40,33", "--dtype", dtype, "--rung", "cpy_transpose", "--rung", "cpy_flat", *words)
    assert report["verified"] and all(entry["verified"] for entry in report["rungs"])
    blocks = rung(report, "cpy_transpose")["predicted"]["launch"]["grid"][0]
    # Two tiles down and two across; 9 x 33 columns in a row are ten tiles across.
    assert blocks == {"1": 4, "11": 8, "9": 20}[words[1]]


@pytest.mark.parametrize("words, size", [
    (("--shape", "1024,1024"), "1024 x 1024"),
    (("--shape", "100,36", "--batch", "8", "--rung", "cpy_transpose"), "100 x 36"),
])
def test_no_speed_of_a_small_matrix_is_predicted(words, size):
    """The model was fitted to 4096 x 4096 and more; at 1024 x 1024 it is wrong about most rungs."""
    for entry in ladder("--rung", "cpy_flat", *words)["rungs"]:
        ledger = entry["predicted"]["ledger"]
        assert ledger["share_of_copy"] is None and ledger["seconds"] is None
        assert size in ledger["why_not"] and all(seconds > 0 for seconds in ledger["parts"].values() if seconds)
    text = " ".join(done("ladder", "--no-gpu", "--rung", "cpy_flat", *words).split())
    assert f"predicted: no speed at {size}" in text and "of a copy's speed" not in text


def test_bad_stacks():
    refused("ladder", "--no-gpu", "--batch", "0", part="--batch = '0' is no number of matrices")
    report = ladder("--shape", "8,8", "--batch", "3", "--rung", "smem", "--rung", "cute_smem")
    assert {entry["why_not"] for entry in report["rungs"]} == {"it takes one matrix, not a stack of 3"}


@pytest.mark.parametrize("shape", ["0,5", "1,1", "1,700", "33,31"])
def test_odd_shapes(shape):
    assert ladder("--shape", shape)["verified"]


def test_cute_rungs_are_predicted_in_every_build(report):
    cute = [rung for rung in report["rungs"] if rung["family"] == "cute"]
    assert len(cute) >= 12 and all("verified" not in rung for rung in cute)
    for name, wavefronts in {"cute_smem": 32, "cute_smem_swizzle": 1, "cute_smem_swizzle_2way": 2}.items():
        load = legs(report, name)["shared load"]
        assert load["wavefronts"]["actual"] == wavefronts * load["requests"]
    words = ["ladder", "--no-gpu", "--rung", "smem", "--rung", "cute_smem", "--shape", "700,512"]
    assert "CuTe's as found at 444 x 256" in " ".join(done(*words).split())
    assert "cols a multiple of 4" in rung(ladder("--shape", "8,5"), "cute_tma")["why_not"]
    text = done("analyse", "cute_smem_pad", "--shape", "64,96")
    assert "6 blocks of 256 threads" in text and "it runs on a GPU only" in text
    refused("analyse", "cute_tma", "--shape", "8,5", part="cols a multiple of 4")


def test_some_rungs():
    report = ladder("--rung", "smem_pad", "--rung", "smem", "--shape", "64,64")
    assert [rung["name"] for rung in report["rungs"]] == ["smem", "smem_pad"]


def test_plot(folder):
    done("ladder", "--no-gpu", "--shape", "64,64", "--plot", "ladder.svg")
    picture = ElementTree.parse("ladder.svg").getroot()
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert set(RUNGS) <= set(texts)
    refused("ladder", "--shape", "64,64", "--plot", "ladder.png", part="ladder.png' does not end in .svg")
    refused("ladder", "--shape", "64,64", "--plot", "no/ladder.svg", part="--plot = 'no/ladder.svg'")
    assert os.listdir() == ["ladder.svg"]


def test_bad_input_of_the_ladder():
    line = refused("ladder", "--rung", "smen", part="--rung = 'smen' is no rung")
    assert all(name in line for name in RUNGS)
    refused("ladder", "--shape", "4000000000,4000000000", part="does not fit in 64 bits")
    refused("ladder", "--no-gpu", "--shape", "3000000,3000000", part="give a smaller shape")
    refused("ladder", "--shape", "5", part="a matrix has two, M,N")
    refused("ladder", "--shape", "5,-1", part="--shape[1]")
    refused("ladder", "--dtype", "c128", part="1, 2, 4 or 8")
    refused("ladder", "--gpu", "--no-gpu")
    if "why_no_gpu" in json.loads(done("ladder", "--json", "--shape", "1,1")):
        refused("ladder", "--gpu", part="--gpu: ")


def started(*words, **options):
    # A shell starts what it runs in the background with interrupts ignored.
    return subprocess.Popen([PROGRAM, *words], stdout=subprocess.DEVNULL, **options,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # fmt: skip


def test_progress_and_interrupt(folder):
    """More than a second's work shows a line on a terminal; Ctrl-C ends it and leaves nothing."""
    master, slave = pty.openpty()
    process = started("ladder", "--no-gpu", "--shape", "8192,8192", "--plot", "ladder.svg", stderr=slave)
    os.close(slave)
    shown = b""
    while b"left" not in shown:
        shown += os.read(master, 4096)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    os.close(master)
    assert re.search(rb"\r +\d+ %   .* of .*iB   .*/s   .* left", shown), shown
    assert os.listdir() == []


def test_analyse_a_rung():
    text = done("analyse", "smem")
    for part in ["256 blocks of 32 x 8 threads", "4096 B of shared memory", "32.0 (1.0)",
                 "lanes 0 and 1 want words 0 and 32, both in bank 0", "pad the rows"]:  # fmt: skip
        assert part in text
    report = json.loads(done("analyse", "naive_write", "--shape", "100,36", "--dtype", "i32", "--json"))
    assert report["verified"] and report["findings"] == [] and report["shape"] == [100, 36]
    load = next(leg for leg in report["legs"] if leg["leg"] == "global load")
    assert load["sectors"]["min"] < load["sectors"]["max"] and load["bytes"]["used"] == 100 * 36 * 4
    assert load["bytes"]["moved"] > load["bytes"]["used"]


def test_analyse_for_another_gpu():
    text = done("analyse", "naive_read_32", "--on", "rtx4090")
    assert "on NVIDIA GeForce RTX 4090; of that time memory" in text
    assert "An SM of that GPU holds 1 block at a time. Nothing of this was measured there" in text
    words = "analyse", "cpy_one_element", "--json"
    here = json.loads(done(*words))
    assert here["ledger"]["fitted_to_device"] and here["ledger"]["resident_blocks"] == 2
    assert json.loads(done(*words, "--on", ROOT / "devices" / "h200.json")) == here
    there = json.loads(done(*words, "--on", "rtx4090"))["ledger"]
    assert not there["fitted_to_device"] and there["resident_blocks"] == 1
    assert there["share_of_copy"] > here["ledger"]["share_of_copy"]  # its memory is slower
    assert "Nothing of this was measured" not in done("analyse", "naive_read_32")


def test_analyse_a_layout():
    text = done("analyse", "Swizzle<3,3,3> o (8,64):(64,1)", "--bytes", "2")
    assert "8 rows of 64" in text and "512 elements of 2 B" in text
    assert re.search(r"^columns  16 B a lane +4 wavefronts, no", text, re.M)
    plain = json.loads(done("analyse", "(8,64):(64,1)", "--bytes", "2", "--json"))
    assert plain["size"] == 512 and plain["cosize"] == 512
    costs = {(access["walk"], access["bytes_a_lane"]): access["worst_request"] for access in plain["accesses"]}
    assert {width for walk, width in costs if walk == "rows"} == {2, 4, 8, 16}
    # Eight rows of 128 bytes: all eight lanes of a group want the same four banks.
    assert costs["columns", 16]["wavefronts"] == 32 and costs["rows", 16]["wavefronts"] == 4
    assert "lanes 0 and 1 want words 0 and 32" in costs["columns", 16]["collision"]
    assert "no multiple of 16" in done("analyse", "(32,32):(33,1)")


@pytest.mark.parametrize(
    "words, part",
    [
        (["analyse", "smen"], "WHAT = 'smen' is no rung; there are copy, "),
        (["analyse", "(32,32:(33,1)"], "character 7 (':')"),
        (["analyse", "Swizzle<3,3,2> o (8,8):(8,1)"], "|S| = 2 is less than B = 3"),
        (["analyse", "(2,3,4):(1,2,6)"], "3 modes"),
        (["analyse", "(2,3):(1,2)", "--bytes", "3"], "1, 2, 4, 8 or 16"),
        (["analyse", "(2,3):(1,2)", "--bytes", "x"], "--bytes[0] = 'x'"),
        (["analyse", "(2,3):(1,2)", "--shape", "1,2"], "for rungs"),
        (["analyse", "smem", "--bytes", "4"], "for layouts"),
        (["analyse", "(2,3):(1,2)", "--on", "h200"], "--on is for rungs"),
        (["analyse", "smem", "--on", "h2000"], "--on = 'h2000'"),
        (["analyse", "smem", "--dtype", "u8"], "it takes elements of 4 B, not of 1 B"),
        (["analyse"], "WHAT"),
    ],
)
def test_bad_input_of_analyse(words, part):
    refused(*words, part=part)


def test_a_mistake_in_a_layout_is_pointed_at_on_a_terminal():
    master, slave = pty.openpty()
    process = started("analyse", "(32,32:(33,1)", stderr=slave)
    os.close(slave)
    assert process.wait(timeout=60) == 2
    lines = os.read(master, 4096).decode().splitlines()
    os.close(master)
    assert lines[1:] == ["(32,32:(33,1)", "      ^"]
