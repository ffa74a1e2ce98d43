"""`cornerturn check` of a kernel of one's own: the page's file, and what breaks in it."""

import json
import re
import subprocess

import pytest

from command_line import PROGRAM, ROOT, done, refused

PAGE = (ROOT / "docs" / "your-own-kernel.md").read_text()
KERNEL = (ROOT / "examples" / "my_kernel.hpp").read_text()


def check(path, *words):
    result = subprocess.run([PROGRAM, "check", path, *words], capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


def test_the_page_shows_the_file_and_what_it_says(tmp_path):
    """The missing barrier of the page and of the README: both lines, as they print them."""
    assert KERNEL[KERNEL.index("#include") :] in PAGE
    broken = tmp_path / "my_kernel.hpp"
    broken.write_text(KERNEL.replace("    ctx.barrier();\n", ""))
    code, _, errors = check(broken, "--shape", "64,64")
    assert code == 1
    for page in (PAGE, (ROOT / "README.md").read_text()):
        shown = re.search(r"^(cornerturn: 64 x 64: MyKernel.*?)\n```", page, re.S | re.M)[1]
        assert " ".join(shown.split()) in errors


def test_a_sound_kernel(folder):
    report = json.loads(done("check", ROOT / "examples" / "my_kernel.hpp", "--json", "--dtype", "u16"))
    assert report["verified"] and [shape["shape"] for shape in report["shapes"]] == [
        [64, 64], [33, 31], [100, 36], [256, 256],
    ]  # fmt: skip
    legs = {leg["leg"]: leg for leg in report["legs"]}
    assert legs["global store"]["bytes_a_lane"] == 2 and legs["global store"]["sectors"]["max"] == 2
    text = done("check", ROOT / "examples" / "my_kernel.hpp", "--shape", "64,64")
    assert re.search(r"^Predicted: \d+ % of a copy's speed at 64 x 64 on NVIDIA H200; of that time launch", text, re.M)
    assert folder.exists() and not list(folder.iterdir())  # nothing is left behind


def test_the_prediction_is_that_of_the_rung_with_the_same_accesses():
    share = re.compile(r"Predicted: (\d+) % of a copy's speed at 16384 x 16384")
    mine, rung = done("check", ROOT / "examples" / "my_kernel.hpp"), " ".join(done("analyse", "smem_pad").split())
    assert abs(int(share.search(mine)[1]) - int(share.search(rung)[1])) <= 3


BROKEN = {
    "an access outside, and another block's element": (
        "const bool inside = a.inside(tile.row + y, tile.col + x);",
        "const bool inside = true; ctx.load_if(ctx.block_id().x == 1 && x == 0 && y == 0, a.dst);",
        1,
        [
            "out of bounds in src at byte", "lane", "src has 9240 B",
            "race in dst at byte 0", "thread (0,0,0) of block (0,0,0) stores", "nothing orders two blocks",
        ],
    ),
    "a loop without end": ("ctx.barrier();", "while (true) ctx.barrier();", 1, ["500 accesses and waits"]),
    "a syntax error": ("ctx.barrier();", "ctx.barrier()", 2, [re.compile(r"my_kernel\.hpp:2[45]: .*expected ")]),
    "an unknown member": ("ctx.barrier();", "ctx.barier();", 2, ["my_kernel.hpp:24: ", "barier"]),
    "atomics": ("ctx.barrier();", "atomicAdd(a.dst, 1);", 2, ["my_kernel.hpp:24: 'atomicAdd' is not known"]),
    "the whole grid": ("ctx.barrier();", "__threadfence();", 2, ["'__threadfence'", "two launches"]),
    "no kernel": ("static void run(", "static void walk(", 2, ["no struct with a function `run`"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_kernels(name, tmp_path):
    now, then, expected, parts = BROKEN[name]
    assert now in KERNEL
    path = tmp_path / "my_kernel.hpp"
    path.write_text(KERNEL.replace(now, then, 1))
    code, output, errors = check(path, "--shape", "33,70", "--steps", "500")
    assert code == expected, errors
    for part in parts:
        assert part.search(errors) if isinstance(part, re.Pattern) else part in errors
    assert expected == 1 or (output == "" and errors.count("\n") == 1)


def test_bad_arguments(tmp_path):
    kernel = ROOT / "examples" / "my_kernel.hpp"
    refused("check", kernel, "--shape", "5", part="a matrix has two, M,N")
    refused("check", kernel, "--steps", "0", part="--steps = '0'")
    refused("check", kernel, "--kernel", "a;b", part="--kernel = 'a;b' is no name")
    refused("check", tmp_path / "none.hpp", part="FILE = ")
    layouts = tmp_path / "layouts.toml"
    layouts.write_text('[[layout]]\nlayout = "(8,8):(8,1)"\n[[layout.access]]\naccess = "rows"\n')
    done("check", layouts)
    refused("check", layouts, "--steps", "5", part="--steps is for kernels")
    two = tmp_path / "two.hpp"
    two.write_text(KERNEL + KERNEL.replace("MyKernel", "Other"))
    refused("check", two, part="has the kernels MyKernel, Other: --kernel says which")
