"""How files are written: in which order they reach the disk, what is left when a call fails, and that
nothing is replaced but regular files."""

import errno
import functools
import json
import os
import stat
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from command_line import PROGRAM, command, done, random_array, refused, saved

MXFP8 = ["--to", "mxfp8_e4m3", "--scales"]
NO_SUCH_FEATURE = {"unnamed": f"open_unnamed 0 {errno.EOPNOTSUPP}", "reserved": f"fallocate 0 {errno.EOPNOTSUPP}"}


@functools.cache
def shim():
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"cornerturn_file_calls_{os.getpid()}"
    folder.mkdir(exist_ok=True)
    source = Path(__file__).with_name("file_calls.c")
    library = folder / "file_calls.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


class Recorded:
    """One run with the shim: its exit code, what it said, and its calls as (name, path)."""

    def __init__(self, folder, log, words, faults=""):
        log.unlink(missing_ok=True)
        environment = dict(
            os.environ, LD_PRELOAD=str(shim()), FILE_CALLS_IN=str(folder), FILE_CALLS_LOG=str(log),
            FILE_CALLS_FAIL=faults, ASAN_OPTIONS="verify_asan_link_order=0",
        )  # fmt: skip
        result = command(*words, env=environment)
        self.code, self.stderr = result.returncode, result.stderr
        self.calls = [line.split(" ", 1) for line in log.read_text().splitlines()] if log.exists() else []

    def places(self, *names):
        return [i for i, (name, _) in enumerate(self.calls) if name in names]


@pytest.fixture
def log(tmp_path_factory):
    return tmp_path_factory.mktemp("log") / "calls"


@pytest.fixture
def matrix(folder):
    array = random_array((64, 96), "<f4")
    np.save("in.npy", np.nan_to_num(array))
    return np.load("in.npy")


WRITERS = {
    "new": (["transpose", "in.npy", "out.npy"], []),
    "older": (["transpose", "in.npy", "out.npy"], ["out.npy"]),
    "pieces": (["transpose", "in.npy", "out.npy", "--memory", "32MiB"], ["out.npy"]),
    "two files": (["transpose", "in.npy", "out.npy", *MXFP8, "scales.npy"], []),
    "two older files": (["transpose", "in.npy", "out.npy", *MXFP8, "scales.npy"], ["out.npy", "scales.npy"]),
    "picture": (["draw", "sectors", "32:64", "--svg", "out.svg"], []),
}


@pytest.mark.parametrize("without", [(), ("unnamed",), ("unnamed", "reserved")])
@pytest.mark.parametrize("name", WRITERS)
def test_data_is_on_the_disk_before_its_name_and_the_name_before_the_end(folder, matrix, log, name, without):
    words, older = WRITERS[name]
    for path in older:
        Path(path).write_bytes(b"older")
    run = Recorded(folder, log, words, ";".join(NO_SUCH_FEATURE[one] for one in without))
    assert run.code == 0, run.stderr
    files = 2 if "scales.npy" in words else 1
    named = run.places("rename", "renameat2")
    synced, folders = run.places("fsync"), run.places("fsync_folder")
    assert len(named) == len(synced) == len(folders) == files
    assert run.places("write", "pwrite"), "nothing was written"
    assert max(run.places("write", "pwrite", "fchmod", "ftruncate")) < min(synced)
    assert max(synced) < min(named) and max(named) < min(folders)
    assert max(run.places("close")) < min(named), "close may say that a write has failed"


@pytest.mark.parametrize("name", ["new", "two older files"])
def test_without_sync_nothing_waits_for_the_disk(folder, matrix, log, name):
    run = Recorded(folder, log, [*WRITERS[name][0], "--no-sync", "--json"])
    assert run.code == 0 and not run.places("fsync", "fsync_folder")
    assert not json.loads(done("transpose", "in.npy", "out.npy", "--no-sync", "--json"))["synced"]
    assert json.loads(done("transpose", "in.npy", "out.npy", "--json"))["synced"]


# These may fail without harm: an owner that cannot be given, and what has been exchanged and is left.
HARMLESS = {"fchown", "unlink"}


@pytest.mark.parametrize("without", [(), ("unnamed", "reserved")])
@pytest.mark.parametrize("name", WRITERS)
def test_every_call_fails_in_turn(folder, matrix, log, name, without):
    """OUT is old or new, and whole; nothing is left behind; one line says what happened."""
    words, older = WRITERS[name]
    outputs = [path for path in ["out.npy", "scales.npy", "out.svg"] if path in words]
    missing = ";".join(NO_SUCH_FEATURE[one] for one in without)
    assert Recorded(folder, log, words).code == 0
    after = {path: Path(path).read_bytes() for path in outputs}
    before = {path: b"older" if path in older else None for path in outputs}

    def put_back():
        for path, data in before.items():
            Path(path).unlink(missing_ok=True)
            if data is not None:
                Path(path).write_bytes(data)

    def found():
        return {path: Path(path).read_bytes() if Path(path).exists() else None for path in outputs}

    put_back()
    clean = Recorded(folder, log, words, missing)
    assert clean.code == 0 and found() == after
    seen = {call: len(clean.places(call)) for call, _ in clean.calls if call not in HARMLESS}
    tried = 0
    for call, count in seen.items():
        if call == "open_unnamed" or (call == "fallocate" and without):
            continue
        for nth in range(1, count + 1):
            for error in [errno.ENOSPC, errno.EIO]:
                put_back()
                run = Recorded(folder, log, words, f"{call} {nth} {error};{missing}")
                what = (call, nth, error, run.code, run.stderr)
                assert run.code == 2, what
                assert run.stderr.startswith("cornerturn: ") and run.stderr.count("\n") == 1, what
                assert os.strerror(error) in run.stderr, what
                assert found() == (after if call == "fsync_folder" else before), what
                left = {path.name for path in folder.iterdir()} - {"in.npy", *outputs}
                assert not left, (what, left)
                tried += 1
    assert tried >= 12


def test_both_files_or_neither_in_a_folder_of_others(folder, matrix):
    """In a folder like /tmp nobody replaces what belongs to somebody else."""
    if os.geteuid() != 0:
        pytest.skip("another user is needed")
    for parent in [folder, *folder.parents]:
        if not os.stat(parent).st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
    shared = folder / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    for names in [("theirs.npy", "own.npy"), ("own.npy", "theirs.npy"), ("theirs.npy", "new.npy"), ("new.npy", "theirs.npy")]:
        for name, owner in [("theirs.npy", 0), ("own.npy", 65534)]:
            (shared / name).write_bytes(name.encode())
            (shared / name).chmod(0o666)
            os.chown(shared / name, owner, -1)
        out, scales = (shared / name for name in names)
        line = refused("transpose", "in.npy", out, *MXFP8, scales, user=65534, group=65534, extra_groups=[])
        assert "cannot be given its name" in line and "theirs.npy" in line
        assert {path.name for path in shared.iterdir()} == {"theirs.npy", "own.npy"}
        for name in ["theirs.npy", "own.npy"]:
            assert (shared / name).read_bytes() == name.encode()


def bench(report):
    return ["bench", "--suite", "small", "--case", "matrix_64", "--bytes", "1", "--budget", "0.001",
            "--min-runs", "1", "--json", report]  # fmt: skip


def test_what_is_no_regular_file_is_written_into(folder, matrix):
    os.mkfifo("fifo")
    for words in [["transpose", "in.npy", "fifo"], bench("fifo")]:
        taken = []
        reader = threading.Thread(target=lambda: taken.append(Path("fifo").read_bytes()))
        reader.start()
        done(*words)
        reader.join(timeout=30)
        assert stat.S_ISFIFO(os.stat("fifo").st_mode)
        if words[0] == "transpose":
            assert taken == [saved(matrix.T)]
        else:
            assert json.loads(taken[0])["kind"] == "cornerturn-bench"
    (folder / "real").mkdir()
    os.symlink("real/report.json", "link")  # there is nothing there yet
    done(*bench("link"))
    assert os.path.islink("link") and json.loads(Path("real/report.json").read_text())
    done("transpose", "in.npy", "link")
    assert os.path.islink("link") and Path("real/report.json").read_bytes() == saved(matrix.T)
    if os.geteuid() == 0:
        os.mknod("null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        try:
            open("null", "rb").close()
        except OSError:
            return  # devices are not allowed here
        for words in [["transpose", "in.npy", "null"], bench("null")]:
            done(*words)
            assert stat.S_ISCHR(os.stat("null").st_mode)


@pytest.mark.parametrize("out", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
@pytest.mark.parametrize("report", [[], ["--json"]])
def test_a_name_of_standard_output_is_standard_output(folder, matrix, out, report):
    if out == "/dev/stdout" and not os.path.islink(out):
        pytest.skip("here /dev/stdout is not a link to the open file")
    os.symlink("/proc/self/fd/1", "name")
    os.symlink("name", "link")
    words = ["transpose", "in.npy", out, *report]
    result = command(*words, text=False)
    assert result.returncode == 0 and result.stdout == saved(matrix.T)
    assert bool(result.stderr) == bool(report)
    Path("log").write_bytes(b"what was there")
    with open("log", "ab") as file:
        subprocess.run([PROGRAM, *words], stdout=file, stderr=subprocess.PIPE, check=True)
    assert Path("log").read_bytes() == b"what was there" + saved(matrix.T)
    refused(*words, "--verify", part="cannot be read again", text=False)
    refused("transpose", "in.npy", "out.npy", *MXFP8, out, part=": it has to be a file")
    assert {path.name for path in folder.iterdir()} == {"in.npy", "log", "name", "link"}


def test_an_open_file_is_written_from_where_it_is(folder, matrix):
    with open("log", "w+b") as file:
        file.write(b"before ")
        file.flush()
        name = f"/dev/fd/{file.fileno()}"
        text = done("transpose", "in.npy", name, pass_fds=[file.fileno()])
        assert "moved" in text, "the report goes to standard output, as always"
        file.seek(0)
        assert file.read() == b"before " + saved(matrix.T)


def test_owner_and_mode_are_those_of_the_older_file(folder, matrix):
    Path("out.npy").write_bytes(b"older")
    os.chmod("out.npy", 0o6751)
    if os.geteuid() == 0:
        os.chown("out.npy", 65534, 65533)
        os.chmod("out.npy", 0o6751)
    before = os.stat("out.npy")
    done("transpose", "in.npy", "out.npy")
    after = os.stat("out.npy")
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert stat.S_IMODE(after.st_mode) == 0o751, "new bytes do not run with the rights of a user"


def test_a_reader_that_leaves_leaves_no_scales(folder, log):
    """Where temporary files have names, too."""
    np.save("in.npy", np.ones((2048, 2048), "<f4"))
    environment = dict(os.environ, LD_PRELOAD=str(shim()), FILE_CALLS_IN=str(folder),
                       FILE_CALLS_FAIL=NO_SUCH_FEATURE["unnamed"], ASAN_OPTIONS="verify_asan_link_order=0")  # fmt: skip
    process = subprocess.Popen(
        [PROGRAM, "transpose", "in.npy", "-", *MXFP8, "scales.npy"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
    )  # fmt: skip
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(timeout=60) == 141 and not process.stderr.read()
    assert [path.name for path in folder.iterdir()] == ["in.npy"]
