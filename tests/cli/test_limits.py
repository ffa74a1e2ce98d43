"""What plans, layouts and the emulator may take in memory and time, and what errors say."""

import json
import os
import resource
from pathlib import Path

import numpy as np
import pytest

from command_line import PROGRAM, command, done, random_array, refused

SANITIZED = b"__asan_init" in PROGRAM.read_bytes()  # then it takes memory and time of its own


def limited():
    """A quarter of a GiB of memory, and ten seconds."""
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_DATA, (256 << 20, 256 << 20))
        resource.setrlimit(resource.RLIMIT_CPU, (10, 10))


def within_limits(*words):
    return done(*words, preexec_fn=limited)


LARGE = "(32,20000000):(0,0)"  # 640 million elements at one place: little shared memory


def test_layouts_have_a_limit(folder):
    for words in [["explain", LARGE], ["analyse", LARGE], ["draw", "tile", LARGE]]:
        refused(*words, preexec_fn=limited, part="the layout has more than 2^24 elements")
    many = "(32,40000):(0,0)"
    refused("explain", many, preexec_fn=limited, part=f"{many} has 1280000 elements: a tile has at most 1048576")
    Path("l.toml").write_text(
        "".join(f'[[layout]]\nlayout="{layout}"\ninjective=false\n[[layout.access]]\naccess="rows"\n' for layout in [many, LARGE])
    )
    result = command("check", "l.toml", preexec_fn=limited)
    assert result.returncode == 1 and not result.stderr
    assert "a tile has at most 1048576" in result.stdout and "more than 2^24 elements" in result.stdout


def test_the_largest_tile_is_explained(folder):
    largest = "(1024,1024):(0,0)"
    result = command("explain", largest, "--access", "rows", "--access", "columns", preexec_fn=limited)
    assert result.returncode == 1 and "wavefronts" in result.stdout, result.stderr
    Path("l.toml").write_text(f'[[layout]]\nlayout="{largest}"\ninjective=false\n[[layout.access]]\naccess="rows"\n')
    assert "ok" in within_limits("check", "l.toml")
    refused("solve", "--tile", "60000x30000", preexec_fn=limited)


@pytest.mark.parametrize("on", [[], ["--on", "h200"]])
def test_plans_of_any_problem_are_small(on):
    shapes = ["2147483647,40000000", "100003,99991,3,7", ",".join("3" * 35), ",".join("2" * 56), "1,1,1", "0,5"]
    for shape in shapes:
        result = command("plan", "--shape", shape, "--dtype", "b12", *on, "--explain", preexec_fn=limited)
        assert result.returncode == 0 or (result.returncode == 2 and "takes" in result.stderr), result


def test_the_emulator_has_a_limit():
    for shape in ["8193,8192", "1000000000,1000000000"]:
        part = f"--shape = {shape} is too large for the emulator, which takes at most 67108864 elements: give"
        refused("analyse", "smem", "--shape", shape, part=part)
        refused("ladder", "--no-gpu", "--shape", shape, part=part)


def test_a_device_file_gives_no_more_shared_memory_than_there_can_be(folder):
    device = json.loads((Path(__file__).parents[2] / "devices" / "h200.json").read_text())
    Path("d.json").write_text(json.dumps({**device, "shared_per_sm": 1 << 30, "shared_per_block": 1 << 30}))
    refused("explain", "(32,20):(1,50000000)", "--on", "d.json", part="must be a whole number from 1024 to 16777216")


def test_what_errors_name(folder):
    np.save("a.npy", random_array((3, 4), "<f4"))
    np.save("w.npy", np.ones((64, 64), "<f4"))
    Path("empty").touch()
    Path("s.json").write_text('{"suite":"s","cases":[{"name":1e400}]}')
    Path("d.json").write_text('{"name":"x","arch":1e999}')
    before = sorted(os.listdir())
    plan = ["plan", "--shape", "3,4"]
    for path in ["empty", "/dev/null"]:
        part = f"winners file '{path}' is empty: its first line is '# cornerturn winners 1'"
        refused(*plan, env=dict(os.environ, CORNERTURN_WINNERS=path), part=part)
    refused(*plan, env=dict(os.environ, CORNERTURN_WINNERS="none"), part="CORNERTURN_WINNERS = 'none' cannot be opened")
    for kernel, part in [("xyz", "is unknown"), ("copy", "does not take this problem")]:
        refused(*plan, env=dict(os.environ, CORNERTURN_KERNEL=kernel), part=f"CORNERTURN_KERNEL = '{kernel}' {part}")
    transpose = ["transpose", "a.npy", "o.npy"]
    refused(*transpose, "--memory", "33554431", part="memory = 33554431 B is too little: the least is 33554432 B")
    refused("transpose", "w.npy", "v.npy", "--to", "mxfp8_e4m3", "--scales", "empty/s.npy", part="--scales = 'empty/s.npy'")
    refused("bench", "--suite", "s.json", "--list", part="s.json is not JSON")
    refused(*plan, "--on", "d.json", part="device file 'd.json' is no JSON")
    refused("check", ".", part="FILE = '.' cannot be read: Is a directory")
    refused("explain", "(8,8):(8,1)", "--vector", "-16", part="--vector = -16 is none of 1, 2, 4, 8 and 16 bytes")
    ones = ",".join("1" * 64)
    refused("plan", "--shape", ones, "--dtype", "<V257", part="elements of 257 bytes, more than 256, take one of the 64 axes")
    huge = ["transpose", "/dev/zero", "o", "--raw", "--shape", "9223372036854775807", "--dtype", "u8"]
    refused(*huge, part="a buffer of 9223372036854775807 bytes cannot be had")
    assert sorted(os.listdir()) == before


def test_the_kernel_of_the_environment_is_forced_as_an_option_is(folder):
    """A box at the edge, which the kernel does not take, is left to another."""
    array = random_array((70001, 1025), "u1")
    array.tofile("r")
    words = ["transpose", "r", "o", "--raw", "--shape", "70001,1025", "--dtype", "u8", "--no-sync"]
    text = done(*words, env=dict(os.environ, CORNERTURN_KERNEL="tile"))
    assert "kernel   tile" in text
    assert np.array_equal(np.fromfile("o", "u1").reshape(1025, 70001), array.T)
