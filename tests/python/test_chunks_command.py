"""cornerturn rechunk: the command of the Python package."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")

from cornerturn import __main__ as entry  # noqa: E402
from cornerturn._chunks import command  # noqa: E402

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "build" / "release" / "bin" / "cornerturn"
X = np.arange(60 * 12 * 20, dtype="f4").reshape(60, 12, 20)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    return tmp_path


def test_as_a_user_calls_it(here, capsys):
    words = ["x.npy", "y.zarr", "--chunks", "60,6,5", "--pattern", "t y x -> y x t", "--memory", "64MiB"]
    assert command.main([*words, "--plan"]) == 0
    assert "chunks (1, 20, 1) -> (6, 5, 60)" in capsys.readouterr().out and not Path("y.zarr").exists()
    assert command.main([*words, "--dtype", "float64"]) == 0
    said = capsys.readouterr()
    assert "1 stage" in said.err and not said.out
    array = zarr.open_array("y.zarr", mode="r")
    assert array.chunks == (6, 5, 60) and array.dtype == "f8"
    np.testing.assert_array_equal(array[:], X.transpose(1, 2, 0))
    assert command.main(words) == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith("y.zarr' exists: --overwrite replaces it")
    assert command.main([*words, "--overwrite", "--quiet"]) == 0 and capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--chunks", "a,b,c"], "--chunks = 'a,b,c' is no list of whole numbers"),
        (["--chunks", "t=4,y=5,x=6"], "there is no dimension 't', but none that has a name"),
        (["--chunks", "t=4,z=5,x=6", "--pattern", "t y x -> x y t"], "has to name each of t, y, x once"),
        (["--pattern", "t y x"], "write the names of the axes before and after"),
        (["--pattern", "t (y x) -> t y x"], "write the names of the axes before and after"),
        (["--pattern", "t y x -> t y z"], "each axis has to stand once on both sides"),
        (["--pattern", "t y -> y t"], "axes = (1, 0) has 2 entries, x has rank 3"),
        (["--perm", "0,1,7"], "axes[2] = 7 is out of range for rank 3"),
        (["--memory", "7"], "memory = '7' is too little"),
    ],
)
def test_bad_input_is_one_line(here, capsys, words, message):
    assert command.main(["x.npy", "y.zarr", *words]) == 2
    said = capsys.readouterr().err
    assert said.startswith("cornerturn: ") and message in said and said.count("\n") == 1
    assert [path.name for path in here.iterdir()] == ["x.npy"]


def test_extents():
    axes, names = command.order_and_names("t y x -> y x t", None)
    assert axes == [1, 2, 0] and names == ["t", "y", "x"]
    assert command.extents("--chunks", "8760,72,144", axes, names) == [72, 144, 8760]
    assert command.extents("--chunks", "x=144,t=8760,y=-1", axes, names) == [-1, 144, 8760]
    assert command.extents("--chunks", "1,2,3", [1, 2, 0], []) == [1, 2, 3]


def test_extents_may_begin_with_all_of_an_axis(here):
    assert command.main(["x.npy", "y.zarr", "--chunks", "-1,2,2", "--shards", "-1,4,4", "--quiet"]) == 0
    import zarr

    stored = zarr.open_array("y.zarr", mode="r")
    assert stored.chunks[1:] == (2, 2) and stored.chunks[0] == stored.shape[0]
    assert stored.shards == (stored.shape[0], 4, 4)


def test_progress_says_how_much_is_left(monkeypatch, capsys):
    monkeypatch.setattr("cornerturn._progress.time.monotonic", iter([10.0, 20.0]).__next__)
    progress = command.Bar()
    progress(1 << 20, 100 << 20)
    progress(11 << 20, 100 << 20)
    progress.end()
    assert capsys.readouterr().err.strip() == "11 %  11 MiB of 100 MiB  1 MiB/s  0:01:29 left"


# The command, which Ctrl-C reaches when the third chunk of the target has been written. A shell that
# starts tests in the background leaves SIGINT ignored, and its children inherit that.
INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from cornerturn._chunks import targets, command
write, written = targets.ZarrTarget.write, []
def counted(self, box, values):
    write(self, box, values)
    written.append(box)
    if len(written) == 3:
        os.kill(os.getpid(), signal.SIGINT)
targets.ZarrTarget.write = counted
sys.exit(command.main(sys.argv[1:]))
"""


def test_an_interrupt_can_be_resumed(here):
    rows = 40
    array = zarr.create_array("a.zarr", shape=(rows, 256, 256), chunks=(1, 256, 256), dtype="f4", compressors=None)
    for i in range(rows):
        array[i] = i + 1
    words = ["a.zarr", "b.zarr", "--chunks", f"{rows},2,256", "--codec", "gzip", "--memory", "32M", "--threads", "1"]
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, *words], capture_output=True, text=True)
    assert done.returncode == 130, done.stderr
    assert done.stderr.splitlines()[-1] == "cornerturn: interrupted: the same command with --resume goes on"
    partial = Path("b.zarr.partial")
    assert partial.exists() and not Path("b.zarr").exists()
    again = subprocess.run(
        [sys.executable, "-m", "cornerturn", "rechunk", *words, "--resume"], capture_output=True, text=True
    )
    assert again.returncode == 0, again.stderr
    assert (zarr.open_array("b.zarr")[:, 7, 9] == np.arange(1, rows + 1)).all() and not partial.exists()


def test_the_options_are_those_of_the_page():
    page = (ROOT / "docs" / "cli.md").read_text()
    section = re.search(r"^## rechunk\n(.*?)(?=^## )", page, re.S | re.M)[1]
    has = {word for action in command._parser()._actions for word in action.option_strings if word.startswith("--")}
    assert set(re.findall(r"--[a-z]+", section)) == has - {"--help"}


@pytest.mark.skipif(not PROGRAM.exists(), reason="no command line here")
def test_the_program_says_where_rechunk_lives():
    done = subprocess.run([PROGRAM, "rechunk", "a", "b"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "Python package" in done.stderr


def test_help_has_examples_that_work(tmp_path, monkeypatch, capsys):
    h5py = pytest.importorskip("h5py")
    monkeypatch.chdir(tmp_path)
    zarr.create_array("maps.zarr", data=np.zeros((4, 5, 6), "f4"), chunks=(2, 5, 6), dimension_names=("t", "y", "x"))
    with h5py.File("volume.h5", "w") as file:
        file["raw"] = np.zeros((4, 5, 6), "f4")
    np.save("big.npy", np.zeros((4, 600), "f4"))
    monkeypatch.setattr("sys.argv", ["cornerturn", "help", "rechunk"])
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == 0
    examples = re.findall(r"^  cornerturn rechunk (.*)$", capsys.readouterr().out.partition("Examples:")[2], re.M)
    assert len(examples) == 3
    for example in examples:
        assert command.main(example.split()) == 0, capsys.readouterr().err
