"""The other commands, the pages made from the command line, and what transpose needs of a machine."""

import json
import os
import pty
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from command_line import PROGRAM, ROOT, command, done, random_array, refused


def test_info(folder):
    dtype = np.dtype([("x", "<f4"), ("y", ">i2", (2,))])
    np.save("a.npy", np.zeros((3, 4), dtype, order="F"))
    text = done("info", "a.npy")
    for part in ["(3, 4)", "Fortran", "8 bytes each", ".npy 1.0", "elements 12"]:
        assert part in text
    info = json.loads(done("info", "a.npy", "--json"))
    assert np.dtype([tuple(f) for f in eval(info["dtype"])]) == dtype
    assert info["shape"] == [3, 4] and info["fortran_order"] and info["bytes"] == 96
    assert info["offset"] == 128 and info["elements"] == 12
    data = (folder / "a.npy").read_bytes()
    assert done("info", "-", input=data, text=False).decode().splitlines()[1:] == text.splitlines()[1:]


def test_plan(folder):
    text = done("plan", "--shape", "512,256,4", "--perm", "1,0,2", "--dtype", "f32", "--explain")
    for part in ["problem", "normalised", "candidates", "why"]:
        assert part in text
    plan = json.loads(done("plan", "--shape", "512,256,4", "--perm", "1,0,2", "--json"))
    assert plan["bytes"] == 512 * 256 * 4 * 4
    assert plan["kernel"] in {candidate["kernel"] for candidate in plan["candidates"]}
    np.save("a.npy", random_array((512, 256, 4), "<f4"))
    assert done("plan", "a.npy", "--perm", "1,0,2") == done(
        "plan", "--shape", "512,256,4", "--pattern", "a b c -> b a c"
    )


def test_plan_says_how_often_bytes_are_moved():
    def schedule(memory):
        words = ["plan", "--shape", "50000,50000", "--memory", memory]
        return done(*words), json.loads(done(*words, "--json"))["schedule"]

    size = 50000 * 50000 * 4
    text, report = schedule("8GiB")
    assert "read and written once" in text and report["bytes_read"] == size
    text, report = schedule("48MiB")
    assert "read and written twice" in text and report["bytes_read"] == 2 * size
    assert report["passes"] == 2 and report["buffer_bytes"] < 48 << 20


def test_devices_and_version():
    assert "cpu" in done("devices")
    cpu = json.loads(done("devices", "--json"))[0]
    assert cpu["device"] == "cpu" and cpu["cores"] >= 1 and cpu["isa"]
    version = re.search(r"VERSION (\d+\.\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert done("version") == f"cornerturn {version}\n"


def test_help_lists_every_command():
    text = done("--help")
    for name in ["transpose", "plan", "info", "bench", "ladder", "analyse", "devices", "version"]:
        assert re.search(rf"^  {name} ", text, re.M)
        assert "Usage" in done(name, "--help")


def peak_memory(*words):
    """Most bytes that a run of the command line held in memory at once."""
    script = (
        "import resource, subprocess, sys\n"
        "result = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)\n"
        "assert result.returncode == 0\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, PROGRAM, *map(str, words)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(result.stdout)


counts_memory = pytest.mark.skipif(
    b"__asan_init" in PROGRAM.read_bytes(), reason="AddressSanitizer takes memory of its own"
)


@counts_memory
@pytest.mark.parametrize(
    "shape, perm, memory", [((8000, 6000), "1,0", 32), ((600, 500, 320), "2,0,1", 64)]
)
def test_memory_is_bounded(folder, shape, perm, memory):
    """A file several times as large as the memory allowed, with what was predicted kept."""
    np.save("in.npy", random_array(shape, "<f4"))
    words = ["transpose", "in.npy", "out.npy", "--perm", perm, "--memory", f"{memory}MiB"]
    assert peak_memory(*words) < memory << 20
    assert peak_memory(*words, "--verify") < memory << 20
    axes = tuple(map(int, perm.split(",")))
    expected = np.load("in.npy", mmap_mode="r").transpose(axes)
    assert np.array_equal(np.load("out.npy", mmap_mode="r").view("u4"), expected.view("u4"))
    report = json.loads(done(*words, "--json"))
    for key in ["bytes_read", "bytes_written"]:
        assert report[key] == report["schedule"][key] == report["schedule"]["passes"] * report["bytes"]


@counts_memory
def test_memory_beyond_the_mapped_file(folder):
    array = random_array((8000, 8000), "<f4")
    np.save("in.npy", array)
    assert peak_memory("transpose", "in.npy", "out.npy") < array.nbytes + (64 << 20)


def test_progress_on_a_terminal(folder):
    """More than a second's work shows a line, and wipes it."""
    np.lib.format.open_memmap("in.npy", mode="w+", dtype=np.uint8, shape=(40_000, 30_000))
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, "transpose", "in.npy", "out.npy", "--force", "gather", "--threads", "1"],
        stdout=subprocess.DEVNULL, stderr=slave,
    )  # fmt: skip
    os.close(slave)
    shown = b""
    while b"left" not in shown:
        try:
            data = os.read(master, 4096)
        except OSError:
            break
        if not data:
            break
        shown += data
    process.terminate()
    process.wait(timeout=60)
    os.close(master)
    assert re.search(rb"\r +\d+ %   .* of .*iB   .*/s   .* left", shown), shown
    assert [path.name for path in folder.iterdir()] == ["in.npy"]


PAGES = ["man", "bash", "zsh", "fish"]


@pytest.mark.parametrize("kind", PAGES)
def test_pages_name_every_option(kind):
    page = done("generate", kind).replace("\\-", "-")
    for name in ["transpose", "plan", "info", "bench", "ladder", "analyse", "devices", "version"]:
        assert name in page
        for option in re.findall(r"^  (?:-\w,)?--([a-z-]+)", done(name, "--help"), re.M):
            assert re.search(rf"(--|-l ){option}\b", page), option
    refused("generate", "poem", part="WHAT = 'poem'")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_valid(tmp_path, shell):
    script = tmp_path / "completion"
    script.write_text(done("generate", shell))
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n", script], check=True)


def completed(tmp_path, *words):
    script = tmp_path / "completion"
    script.write_text(done("generate", "bash"))
    line = " ".join(f"'{word}'" for word in words)
    result = subprocess.run(
        ["bash", "-c", f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
         "_cornerturn; printf '%s\\n' \"${COMPREPLY[@]}\""],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    return result.stdout.split()


def test_bash_completes(tmp_path):
    assert completed(tmp_path, "cornerturn", "tr") == ["transpose"]
    assert completed(tmp_path, "cornerturn", "transpose", "--ver") == ["--verify"]
    assert completed(tmp_path, "cornerturn", "transpose", "--effort", "m") == ["measure"]
    (tmp_path / "data.npy").write_bytes(b"")
    assert completed(tmp_path, "cornerturn", "transpose", "dat") == ["data.npy"]


def test_man_page_is_valid(tmp_path):
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    result = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww"],
        input=done("generate", "man"), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not result.stderr
    assert command("generate").returncode == 2
