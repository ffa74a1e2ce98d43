"""The swizzle lab on the command line: solve and check."""

import json
import shutil
import subprocess

import pytest

from command_line import command, done, refused

QUESTION = ["solve", "--tile", "64x64", "--dtype", "f32", "--write", "rows", "--read", "columns"]


def test_solve_answers_with_a_proof_and_code():
    text = done(*QUESTION, "--vector", "16")
    for part in [
        "Swizzle<3,2,6> o (64,64):(64,1)\n",
        "free of bank conflicts",
        "words of rank 3 in banks of rank 3",
        "composition(Swizzle<3, 2, 6>{}",
        "cute.make_swizzle(3, 2, 6)",
        "gl.SwizzledSharedLayout(vec=4, per_phase=4, max_phase=8",
        "The textbook rule gives Swizzle<3,2,4>: it is wrong here",
    ]:
        assert part in text
    answer = json.loads(done(*QUESTION, "--vector", "16", "--json"))["answers"][0]
    explained = done("explain", answer["layout"], "--access", "rows:store:16", "--access",
                     f"{answer['read']['lanes']}:load:16")
    assert explained.count("no bank conflict") == 2


@pytest.mark.parametrize("tile", ["64x64", "24x40", "48x80", "32x128"])
def test_the_cuda_form_is_the_layout(folder, tile):
    """Compiled, it gives each element a place of its own, that of the CuTe layout if there is one."""
    report = json.loads(done("solve", "--tile", tile, "--dtype", "f32", "--json"))
    rows, columns = map(int, tile.split("x"))
    code = report["code"]["cuda"].splitlines()[1].replace("__device__ ", "")
    (folder / "at.cpp").write_text(
        f"#include <cstdio>\n{code}\n"
        f"int main() {{ for (int r = 0; r < {rows}; ++r) for (int c = 0; c < {columns}; ++c) "
        'std::printf("%d\\n", at(r, c)); }\n'
    )
    compiler = shutil.which("g++") or shutil.which("c++")
    subprocess.run([compiler, "at.cpp", "-o", "at"], check=True)
    places = [int(line) for line in subprocess.run(["./at"], capture_output=True).stdout.split()]
    best = report["answers"][0]
    assert len(set(places)) == rows * columns
    assert max(places) < best["shared_bytes"] / 4
    banks = [[places[r * columns + c] % 32 for r in range(min(rows, 32))] for c in range(columns)]
    if best["read"]["bytes_a_lane"] == 4 and rows >= 32:
        assert all(len(set(column)) == 32 for column in banks)


def test_solve_for_tma_and_padding():
    tma = json.loads(done(*QUESTION, "--vector", "16", "--tma", "--json"))
    assert tma["conflict_free"] and all(answer["tma"] for answer in tma["answers"])
    padded = json.loads(done(*QUESTION, "--vector", "4", "--pad", "--json"))
    assert padded["answers"][0]["layout"] == "(64,64):(65,1)"


def test_solve_recommends_for_ldmatrix_what_the_textbook_does():
    report = json.loads(done("solve", "--tile", "64x64", "--dtype", "f16", "--read", "ldmatrix", "--json"))
    assert report["conflict_free"] and report["textbook"]["right"]


@pytest.mark.parametrize(
    "words, part",
    [
        (["--tile", "64"], "--tile = '64'"),
        (["--tile", "0x4"], "--tile"),
        (["--tile", "256x256"], "more than the 232448 B of shared memory"),
        (["--tile", "64x64", "--read", "sideways"], "--read = 'sideways'"),
        (["--tile", "64x64", "--vector", "3"], "--vector = 3"),
        (["--tile", "24x40", "--dtype", "u8", "--vector", "16"], "no whole number"),
    ],
)
def test_solve_refuses(words, part):
    refused("solve", *words, part=part)


CHECKED = """
[[layout]]
name = "A"
layout = "{}"
dtype = "f32"

[[layout.access]]
access = "rows:store:16"

[[layout.access]]
access = "blocks:load:16"
wavefronts = 4
"""


def test_check(folder):
    (folder / "good.toml").write_text(CHECKED.format("Swizzle<3,2,6> o (64,64):(64,1)"))
    assert "0 of 2 failed" in done("check", "good.toml")
    (folder / "bad.toml").write_text(CHECKED.format("(64,64):(64,1)"))
    result = command("check", "bad.toml")
    assert result.returncode == 1
    assert "FAILED  A, blocks:load:16: 32 wavefronts in one request, 4 allowed" in result.stdout
    assert "xor address bits 10-12 into bits 4-6" in result.stdout
    report = json.loads(command("check", "bad.toml", "--json").stdout)
    assert report["failed"] == 1 and [f["passed"] for f in report["findings"]] == [True, False]


def test_check_fails_where_two_elements_lie_at_one_place(folder):
    text = "[[layout]]\nlayout = '(4,8):(4,1)'\n{}[[layout.access]]\naccess = 'rows'\n"
    (folder / "bad.toml").write_text(text.format(""))
    result = command("check", "bad.toml")
    assert result.returncode == 1
    assert "not injective: (0,4) and (1,0) both lie at offset 4" in result.stdout
    (folder / "meant.toml").write_text(text.format("injective = false\n"))
    assert "0 of 1 failed" in done("check", "meant.toml")


@pytest.mark.parametrize(
    "text, part",
    [
        ("[[layout]\n", "bad.toml:1: column"),
        ("[[[layout]]\n", "bad.toml:1: column 3"),
        ("# \u0416\ngpu = \u0416\n", "bad.toml:2: characters that are not ASCII stand in comments"),
        ('gpu = """a""""\u0416\n', "bad.toml:1: column "),
        ('gpu = 7""77"77\u023e1).', "bad.toml:1: column "),
        ("gpu = '\u0416'\n", "bad.toml:1: characters that are not ASCII stand in comments"),
        ('gpu = "\\\u0416"\n', "bad.toml:1: characters that are not ASCII stand in comments"),
        ("x = 1\n", "bad.toml:1: 'x' is none of gpu, layout"),
        ("gpu = 'h200'\n", "no [[layout]]"),
        ("[[layout]]\nname = 'A'\n[[layout.access]]\naccess = 'rows'\n", "'layout' is missing"),
        ("[[layout]]\nlayout = 3\n[[layout.access]]\naccess = 'rows'\n", "bad.toml:2: 'layout' is no text"),
        ("[[layout]]\nlayout = '4:1'\n", "no [[access]]"),
        (
            "[[layout]]\nlayout = '4:1'\n[[layout.access]]\naccess = 'rows'\nwavefronts = 0\n",
            "bad.toml:5: 'wavefronts'",
        ),
        ("gpu = 'abacus'\n[[layout]]\nlayout = '4:1'\n[[layout.access]]\naccess = 'rows'\n", "abacus"),
    ],
)
def test_check_refuses(folder, text, part):
    (folder / "bad.toml").write_text(text)
    refused("check", "bad.toml", part=part)


def test_check_refuses_a_file_that_is_not_there(folder):
    refused("check", "none.toml", part="none.toml")
