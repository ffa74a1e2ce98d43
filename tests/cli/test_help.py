"""What the command line says of itself, of wrong words, on a terminal and after Ctrl-C."""

import fcntl
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import termios
import time

import numpy as np
import pytest

from command_line import PROGRAM, ROOT, command, done, refused

COMMANDS = re.findall(r"^  ([a-z-]+) ", done("--help").partition("Subcommands:")[2].partition("Examples:")[0], re.M)
ELSEWHERE = {"rechunk"}  # the Python package has it


@pytest.mark.parametrize("words", [["--version"], ["-V"], ["version"]])
def test_the_version(words):
    header = (ROOT / "include" / "cornerturn" / "version.hpp").read_text()
    version = ".".join(re.findall(r"VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))
    assert done(*words) == f"cornerturn {version}\n"


def test_help_for_nothing():
    """Who gives no command sees all of them, and a script that forgets it fails."""
    result = command()
    assert result.returncode == 2 and not result.stdout
    assert result.stderr == done("--help") == done("help") == done("-h")
    assert len(COMMANDS) > 12 and ELSEWHERE < set(COMMANDS)


@pytest.mark.parametrize(
    "words, part",
    [
        (["transpos"], "'transpos' is no command: did you mean transpose? 'cornerturn --help' lists all"),
        (["tranpsose"], "did you mean transpose?"),
        (["help", "exlpain"], "did you mean explain?"),
        (["conv"], "did you mean convert-swizzle?"),
        (["in.npy", "out.npy"], "'in.npy' is no command: 'cornerturn --help' lists all"),
        (["--versoin"], "'--versoin' is no option of cornerturn: did you mean --version?"),
        (["transpose", "a", "b", "--verfy"], "'--verfy' is no option of transpose: did you mean --verify? "
         "'cornerturn transpose --help' lists all"),
        (["plan", "--shap=3,4"], "'--shap' is no option of plan: did you mean --shape?"),
        (["plan", "--shape", "3,4", "--frobnicate"], "'--frobnicate' is no option of plan: 'cornerturn plan --help' lists all"),
        (["transpose", "a", "b", "c"], "'c' is a word more than transpose takes"),
        (["help", "rechunk"], "pip install 'cornerturn[chunks]'"),
        ([""], "'' is no command"),
        (["x" * 10000], "is no command"),
    ],
)  # fmt: skip
def test_wrong_words(folder, words, part):
    refused(*words, part=part)


def prepare(name):
    """What the examples of a command read."""
    np.save("in.npy", np.zeros((4, 5, 6), "f4"))
    np.save("photo.npy", np.zeros((4, 5, 3), "u1"))
    np.save("rows.npy", np.array([3, -1, 0]))
    with open("in.raw", "wb") as file:
        file.write(bytes(480 * 640 * 3))
    with open("layouts.toml", "w") as file:
        file.write('[[layout]]\nname = "tile of A"\nlayout = "Swizzle<3,3,3> o (8,64):(64,1)"\ndtype = "f16"\n[[layout.access]]\naccess = "rows:load:16"\n')


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ELSEWHERE])
def test_examples_work(folder, name):
    """Every command's help ends with examples, which do what they say."""
    prepare(name)
    examples = re.findall(r"^  (cornerturn .*)$", done("help", name).partition("Examples:\n")[2], re.M)
    assert examples
    for example in examples:
        program, *words = shlex.split(example)
        assert words[0] == name
        done(*words, *(["--list"] if name == "bench" and "--list" not in words else []))


@pytest.mark.parametrize("columns, width", [(50, 50), (80, 80), (300, 100)])
def test_help_fits_the_terminal(columns, width):
    """All but words that no line can hold, and examples, which are there to be copied."""
    environment = dict(os.environ, COLUMNS=str(columns))
    for name in ["transpose", "bench", "check"]:
        lines = done(name, "--help", env=environment).partition("Examples:")[0].splitlines()
        assert any(len(line) > width - 20 for line in lines)
        for line in lines:
            assert len(line) <= width or " " not in line.strip() or line.startswith("Usage"), line


def in_terminal(words, columns=0):
    """The exit code of a command in a terminal, and what stands there after it."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(PROGRAM, ["cornerturn", *words])
    if columns:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    shown = b""
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:  # Linux says so that nobody writes any more
            break
        if not data:
            break
        shown += data
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode(errors="replace")


def test_no_binary_on_a_terminal(folder):
    """Neither is an array waited for that somebody would have to type."""
    np.save("in.npy", np.zeros((2, 3), "f4"))
    for words, said in [
        (["transpose", "in.npy", "-"], "OUT = '-' is a terminal, which cannot show an array"),
        (["transpose", "in.npy", "/dev/stdout"], "is a terminal, which cannot show an array"),
        (["transpose", "-", "out.npy"], "IN = '-' is a terminal: an array comes from a file"),
    ]:
        code, shown = in_terminal(words)
        assert code == 2 and said in shown and "NUMPY" not in shown
    assert sorted(path.name for path in folder.iterdir()) == ["in.npy"]
    code, shown = in_terminal(["transpose", "in.npy", "/dev/tty"])  # who names it means it
    assert code == 0 and "NUMPY" in shown


def test_one_meaning_for_sizes(folder):
    """K and KiB are 1024, kB is 1000, behind every option that takes a size."""

    def count(option, size):
        return len(done("bench", "--list", option, size).splitlines())

    np.save("in.npy", np.zeros((2, 3), "f4"))
    for size in ["32MiB", "32M", "32 mib", "33554432B"]:
        assert count("--max-bytes", size) == count("--max-bytes", "33554432")
    assert done("bench", "--list", "--random", "3", "--seed", "1", "--min-bytes", "2MB") == done(
        "bench", "--list", "--random", "3", "--seed", "1", "--min-bytes", "2000000")  # fmt: skip
    for option, words in {"--max-bytes": ["bench", "--list"], "--min-bytes": ["bench", "--list"],
                          "--memory": ["transpose", "in.npy", "out.npy"]}.items():  # fmt: skip
        for wrong in ["1X", "x", "1.5G", "-1", "99999999999G", "1KiBs"]:
            refused(*words, f"{option}={wrong}", part=f"{option} = '{wrong}' is not a size such as 512MiB, 2G or 1000000")


def interrupted(words, ready):
    """What a command says when it is interrupted as soon as `ready`, or None where it was done before."""
    process = subprocess.Popen(
        [PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        # A shell starts what it runs in the background with interrupts ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    while process.poll() is None and not ready():
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    return stderr if process.returncode == 130 else None


def test_ctrl_c_in_place_says_what_goes_on(folder):
    """What it says can be pasted, and finishes the work."""
    x = np.random.default_rng(0).integers(0, 256, (2_000, 8_001), "u1")
    words = ["transpose", "my file.npy", "--in-place", "--threads=1", "--memory", "32MiB"]
    for _ in range(20):
        np.save("my file.npy", x)
        said = interrupted(words, lambda: len(list(folder.iterdir())) > 1)
        if said is None:
            continue
        state, _, line = said.partition(" this ")
        assert shlex.split(line.partition(": ")[2]) == ["cornerturn", *words]
        if "is unchanged so far" in state:
            assert np.array_equal(np.load("my file.npy"), x)
        else:
            assert state == "cornerturn: interrupted: IN = 'my file.npy' is in the middle of the change, and its journal keeps what the change needs:"
            break
    done(*words)
    assert np.array_equal(np.load("my file.npy"), x.T)
    assert [path.name for path in folder.iterdir()] == ["my file.npy"]
