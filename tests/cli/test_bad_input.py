"""Bad input: exit code 2, one line that names the argument, no output, the input untouched."""

import os
import resource
import signal
import subprocess
import time

import numpy as np
import pytest

from command_line import PROGRAM, random_array, refused

HEADER = "{'descr': %s, 'fortran_order': False, 'shape': %s, }"


def npy(text, data=b"", version=1):
    length = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode() + data


@pytest.fixture
def matrix(folder):
    """in.npy, and after the test the certainty that nothing has happened to the folder."""
    np.save("in.npy", random_array((6, 5, 4), "<f4"))
    before = (folder / "in.npy").read_bytes()
    yield folder
    assert (folder / "in.npy").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["in.npy"]


CORRUPT = {
    "empty": (b"", "not a .npy file"),
    "another kind": (b"PK\x03\x04" + bytes(100), "not a .npy file"),
    "magic alone": (b"\x93NUMPY", "truncated"),
    "version": (npy(HEADER % ("'<f4'", "(2,)"), bytes(8), version=9), "version 9.0"),
    "length": (b"\x93NUMPY\x01\x00\xff\xff{}", "truncated"),
    "huge length": (b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{}", "2147483647"),
    "object": (npy(HEADER % ("'|O'", "(2,)"), bytes(16)), "Python objects"),
    "object inside": (npy(HEADER % ("[('a', '|O')]", "(2,)"), bytes(16)), "Python objects"),
    "overflow": (npy(HEADER % ("'<f4'", "(4294967296, 4294967296, 4)")), "64 bits"),
    "long number": (npy(HEADER % ("'<f4'", "(99999999999999999999999,)")), "64 bits"),
    "negative": (npy(HEADER % ("'<f4'", "(-2,)")), "shape[0] = -2"),
    "truncated": (npy(HEADER % ("'<f4'", "(3, 3)"), bytes(35)), "36 bytes, 35 are there"),
    "not a dictionary": (npy("[1, 2, 3]"), "not a dictionary"),
    "no end": (npy("{'descr': '<f4"), "does not end"),
    "missing key": (npy("{'descr': '<f4', 'shape': (2,)}", bytes(8)), "fortran_order"),
    "dtype": (npy(HEADER % ("'<f3'", "(2,)"), bytes(6)), "'<f3'"),
    "deep": (npy("(" * 60000), "32 levels"),
    "code": (npy("__import__('os').system('false')"), "byte 0"),
}


@pytest.mark.parametrize("name", CORRUPT)
@pytest.mark.parametrize("way", ["file", "pipe"])
def test_corrupt_files(folder, name, way):
    data, part = CORRUPT[name]
    if way == "pipe":
        line = refused("transpose", "-", "out.npy", input=data, text=False, part=part)
    else:
        (folder / "bad.npy").write_bytes(data)
        line = refused("transpose", "bad.npy", "out.npy", part=part)
        refused("info", "bad.npy", part=part)
    assert "IN = '" in line
    assert not (folder / "out.npy").exists()


@pytest.mark.parametrize("length", [0, 5, 9, 60, 127, 128, 200, 607])
def test_files_cut_anywhere(folder, length):
    np.save("whole.npy", random_array((6, 5, 4), "<f4"))
    (folder / "cut.npy").write_bytes((folder / "whole.npy").read_bytes()[:length])
    refused("transpose", "cut.npy", "out.npy", part="IN = 'cut.npy'")
    assert not (folder / "out.npy").exists()


@pytest.mark.parametrize(
    "options, part",
    [
        (["--perm", "1,0"], "perm = '1,0' has 2 entries, the array has rank 3"),
        (["--perm", "2,0,1,3"], "perm[3] = 3 is out of range for rank 3"),
        (["--perm", "2,0,5"], "perm[2] = 5 is out of range for rank 3"),
        (["--perm", "2,0,-4"], "perm[2] = -4 is out of range for rank 3"),
        (["--perm", "0,1,1"], "perm[2] = 1 repeats perm[1]"),
        (["--perm", "0,x,1"], "perm[1] = 'x' is not a number"),
        (["--perm", ""], "perm = '' has 0 entries, the array has rank 3"),
        (["--perm", "0 1 2"], "perm[0] = '0 1 2' is not a number"),
        (["--perm", "0,,1"], "perm[1] = '' is not a number"),
        (["--perm", "0,1,99999999999999999999"], "is not a number"),
        (["--pattern", "h w c -> c h"], "axis 'w' is dropped"),
        (["--pattern", "h w c -> c h w h"], "axis 'h' is repeated"),
        (["--pattern", "h w -> w h"], "2 axes are named on the left, the array has rank 3"),
        (["--pattern", ""], "'->' is missing"),
        (["--pattern", "h w c"], "'->' is missing"),
        (["--pattern", "h w c -> c h x"], "axis 'w' is dropped"),
        (["--perm", "2,0,1", "--pattern", "a b c -> c b a"], "--perm excludes --pattern"),
        (["--threads", "0"], "--threads = '0'"),
        (["--threads", "many"], "--threads = 'many'"),
        (["--force", "magic"], "kernel = 'magic' is unknown"),
        (["--effort", "little"], "--effort = 'little'"),
        (["--threads", "1025"], "--threads = '1025' is not a number from 1 to 1024"),
        (["--memory", "0"], "--memory = '0' is too little: the least is 32 MiB"),
        (["--memory", "1KiB"], "memory = 1024 B is too little: the least is 33554432 B (32 MiB)"),
        (["--memory", "lots"], "--memory = 'lots'"),
        (["--memory", "99999999999T"], "--memory = '99999999999T'"),
        (["--shape", "3,4"], "--raw"),
        (["--raw"], "--dtype is missing"),
        (["--raw", "--dtype", "f31", "--shape", "2"], "f31"),
        (["--raw", "--dtype", "f4", "--shape", "2"], "--dtype = 'f4'"),
        (["--raw", "--dtype", "f32", "--shape", "2,a"], "--shape[1] = 'a' is not a number"),
        (["--raw", "--dtype", "f32", "--shape", "99"], "396 bytes, 608 are there"),
        (["--raw", "--dtype", "f32", "--shape", "9999999999,9999999999"], "64 bits"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_arguments(matrix, options, part):
    refused("transpose", "in.npy", "out.npy", *options, part=part)


def test_missing_arguments(folder):
    refused("transpose", part="IN")
    refused("transpose", "in.npy", part="OUT")
    refused("transpose", "in.npy", "out.npy", part="IN = 'in.npy' cannot be opened")
    refused("plan", part="--shape")
    refused("info", folder, part="Is a directory")


def test_the_same_file(folder):
    np.save("in.npy", random_array((6, 5), "<f4"))
    before = (folder / "in.npy").read_bytes()
    os.link("in.npy", "hard.npy")
    os.symlink("in.npy", "soft.npy")
    for out in ["in.npy", "./in.npy", folder / "in.npy", "hard.npy", "soft.npy"]:
        refused("transpose", "in.npy", out, part="is the same file as IN")
    refused("transpose", "soft.npy", "hard.npy", part="is the same file as IN")
    result = subprocess.run(
        f"{PROGRAM} transpose in.npy - >> in.npy", shell=True, capture_output=True, check=False
    )
    assert result.returncode == 2 and b"is the same file as IN" in result.stderr
    assert (folder / "in.npy").read_bytes() == before


def test_outputs_that_cannot_be(matrix):
    for out in ["missing/out.npy", ".", "/proc/nothing.npy", "", "x" * 300 + ".npy"]:
        refused("transpose", "in.npy", out, part=f"OUT = '{out}' cannot be written")


def test_outputs_without_permission(folder):
    """Root may write anywhere, so the command runs as nobody."""
    (folder / "open").mkdir(mode=0o777)
    (folder / "closed").mkdir(mode=0o755)
    np.save("open/in.npy", random_array((6, 5), "<f4"))
    (folder / "open").chmod(0o777)
    (folder / "open" / "out.npy").write_bytes(b"keep")
    (folder / "open" / "out.npy").chmod(0o444)
    options = {}
    if os.geteuid() == 0:
        for parent in [folder, *folder.parents]:
            if not os.stat(parent).st_mode & 0o001:
                parent.chmod(parent.stat().st_mode | 0o011)
        options = {"user": 65534, "group": 65534, "extra_groups": []}
    else:
        (folder / "closed").chmod(0o555)
    for out in ["closed/out.npy", "open/out.npy"]:
        refused("transpose", "open/in.npy", out, part="Permission denied", **options)
    assert not list((folder / "closed").iterdir())
    assert (folder / "open" / "out.npy").read_bytes() == b"keep"


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


@pytest.mark.parametrize("memory", [(), ("--memory", "32MiB")])
def test_file_size_limit(folder, memory):
    np.save("in.npy", random_array((300, 400), "<f4"))
    refused("transpose", "in.npy", "out.npy", *memory, part="has no room", preexec_fn=limited)
    assert [path.name for path in folder.iterdir()] == ["in.npy"]


def test_full_disk(folder, tmp_path):
    """A file system with room for less than the result; without the right to mount one, of this one
    more than it has is asked for."""
    small = tmp_path / "small"
    small.mkdir()
    np.save("in.npy", random_array((3000, 400), "<f4"))
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
        try:
            line = refused("transpose", "in.npy", small / "out.npy", part="has no room")
            assert "No space left on device" in line
            assert not list(small.iterdir())
        finally:
            subprocess.run(["umount", str(small)], check=True)
    with open("huge.raw", "wb") as file:
        file.truncate(1 << 43)
    if os.statvfs(".").f_bavail * os.statvfs(".").f_frsize < 1 << 43:
        refused("transpose", "huge.raw", "out.raw", "--raw", "--dtype", "u8", "--shape",
                f"{1 << 21},{1 << 22}", part="has no room")  # fmt: skip
    assert sorted(path.name for path in folder.iterdir()) == ["huge.raw", "in.npy", "small"]


def test_a_disk_that_fills_up_meanwhile(folder, tmp_path):
    """Several results that each fit, but not together: those that find no room leave nothing."""
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small file system takes rights that are not there")
    try:
        np.save("in.npy", random_array((2000, 2000), "<u4"))
        processes = {
            name: subprocess.Popen(
                [PROGRAM, "transpose", "in.npy", small / name], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True,
            )
            for name in ["a.npy", "b.npy", "c.npy", "d.npy"]
        }  # fmt: skip
        whole = []
        for name, process in processes.items():
            _, stderr = process.communicate(timeout=60)
            if process.returncode == 0:
                whole.append(name)
                assert np.array_equal(np.load(small / name), np.load("in.npy").T)
            else:
                assert process.returncode == 2, stderr
                assert f"OUT = '{small / name}'" in stderr and stderr.count("\n") == 1
                assert "No space left on device" in stderr
        assert len(whole) <= 1
        assert sorted(path.name for path in small.iterdir()) == whole
    finally:
        subprocess.run(["umount", str(small)], check=True)


def sparse_matrix(path, rows, columns):
    """Zeros that take no space on disk but time to transpose."""
    np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=(rows, columns))


@pytest.mark.parametrize("memory", [(), ("--memory", "64MiB")])
def test_input_that_shrinks(folder, memory):
    for _ in range(20):
        sparse_matrix("in.npy", 40_000, 40_000)
        process = subprocess.Popen(
            [PROGRAM, "transpose", "in.npy", "out.npy", *memory],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        # The mapping and the first read come after the output has been opened.
        wait_until_working(process)
        os.truncate("in.npy", 1_000_000)
        _, stderr = process.communicate(timeout=120)
        if process.returncode == 0:  # it was done before the file shrank
            continue
        assert process.returncode == 2, stderr
        assert "IN = 'in.npy' shrank while it was read" in stderr and stderr.count("\n") == 1
        assert [path.name for path in folder.iterdir()] == ["in.npy"]
        return
    pytest.fail("the command was always done before its input shrank")


def wait_until_working(process):
    """Returns when `process` holds a file open for writing besides its standard ones."""
    deadline = time.time() + 30
    while time.time() < deadline and process.poll() is None:
        try:
            names = os.listdir(f"/proc/{process.pid}/fd")
            flags = [
                line.split()[1]
                for name in names
                if int(name) > 2
                for line in open(f"/proc/{process.pid}/fdinfo/{name}")
                if line.startswith("flags:")
            ]
        except OSError:
            continue
        if any(int(flag, 8) & os.O_ACCMODE == os.O_RDWR for flag in flags):
            return


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("memory", [(), ("--memory", "64MiB")])
def test_interrupts_leave_nothing(folder, number, code, memory):
    for _ in range(20):
        sparse_matrix("in.npy", 40_000, 40_000)
        process = subprocess.Popen(
            [PROGRAM, "transpose", "in.npy", "out.npy", *memory],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            # A shell starts what it runs in the background with interrupts ignored.
            preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
        )  # fmt: skip
        wait_until_working(process)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=120)
        if process.returncode == 0:
            continue
        assert process.returncode == code
        assert stderr == "cornerturn: interrupted: OUT = 'out.npy' is as it was before the command\n"
        assert [path.name for path in folder.iterdir()] == ["in.npy"]
        return
    pytest.fail("the command was always done before it was interrupted")


def test_a_reader_that_leaves(folder):
    np.save("in.npy", random_array((3000, 3000), "<f4"))
    result = subprocess.run(
        ["bash", "-c", f"{PROGRAM} transpose in.npy - | head -c 100 | wc -c"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert result.stdout.strip() == "100"
    assert [path.name for path in folder.iterdir()] == ["in.npy"]


def test_a_pipe_that_ends_early(folder):
    np.save("in.npy", random_array((300, 300), "<f4"))
    data = (folder / "in.npy").read_bytes()[:-100]
    line = refused("transpose", "-", "out.npy", input=data, text=False, part="is truncated")
    assert "360000 bytes, 359900 are there" in line
    assert not (folder / "out.npy").exists()
