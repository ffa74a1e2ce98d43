"""Streams that fail and terminals that close cost nothing but the messages, and nothing that a file
or a name holds reaches a terminal as a command."""

import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from command_line import PROGRAM, command, done, random_array, refused, saved


def shell(line, **options):
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=60, **options)


@pytest.mark.parametrize("how", ["2>&-", "2>/dev/full", "2>&1 >/dev/null | true", "<&- >&- 2>&-"])
def test_an_error_that_nobody_can_read_is_an_error_all_the_same(folder, how):
    for words in ["info missing.npy", "plan --shape x", "explain '(3'", ""]:
        result = shell(f"{PROGRAM} {words} {how}; exit ${{PIPESTATUS[0]}}")
        assert result.returncode == 2, (words, how, result)


@pytest.mark.parametrize("words", ["plan --shape 30,40", "devices --json", "--help", "version", "bench --suite small --list"])
def test_a_report_that_cannot_be_written_is_an_error(folder, words):
    for how, reason in [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")]:
        result = shell(f"{PROGRAM} {words} {how}")
        assert result.returncode == 2, (words, how)
        assert result.stderr == f"cornerturn: standard output cannot be written: {reason}\n"


def test_files_do_not_take_the_place_of_streams_that_are_closed(folder):
    array = random_array((30, 40), "<f4")
    np.save("in.npy", array)
    result = shell(f"{PROGRAM} transpose in.npy out.npy <&- >&- 2>&-")
    assert result.returncode == 2, "the report could not be written"
    assert Path("out.npy").read_bytes() == saved(array.T)
    refused("transpose", "in.npy", "-", stdin=subprocess.DEVNULL, preexec_fn=lambda: os.close(1), part="Bad file descriptor")


def test_work_goes_on_when_its_terminal_is_closed(folder):
    """As of a job that was disowned. The reader of the result is slow, so that there is progress."""
    array = random_array((1000, 1000), "<f4")
    np.save("in.npy", array)
    main, side = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, "transpose", "in.npy", "-"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=side,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )  # fmt: skip
    os.close(side)
    assert b"%" in os.read(main, 100), "there is a line of progress"
    os.close(main)
    time.sleep(0.3)  # the next line comes in less
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and out == saved(array.T)


ESCAPE = "\x1b]0;owned\x07\x1b[31m"


def npy_of(header, data=b"\0" * 8):
    return b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + header.encode("latin1") + b"\n" + data


def hostile_commands(folder):
    """Commands in whose files, names and options there are control sequences."""
    Path("dtype.npy").write_bytes(npy_of("{'descr': [('%s\x9b\x7f', '<f4')], 'fortran_order': False, 'shape': (2,), }" % ESCAPE))
    Path("key.npy").write_bytes(npy_of("{'des%scr': '<f4', 'fortran_order': False, 'shape': (2,), }" % ESCAPE))
    Path("order.npy").write_bytes(npy_of("{'descr': '<f4', 'fortran_order': '%s', 'shape': (2,), }" % ESCAPE))
    name = f"{ESCAPE}\nname.npy"
    np.save(name, np.zeros((2, 2), "<f4"))
    layout = '[[layout]]\nname="%s"\nlayout="(32,32):(32,1)"\n[[layout.access]]\naccess="%s"\n'
    coded = ESCAPE.replace("\x1b", "\\u001b").replace("\x07", "\\u0007")
    Path("name.toml").write_text(layout % (coded, "columns"))
    Path("access.toml").write_text(layout % ("a", coded))
    Path("key.toml").write_text(f'[[layout]]\n"{coded}"="x"\n')
    case = {"name": ESCAPE, "shape": [4], "src_strides": [1], "dst_strides": [1], "src_offset": 0,
            "dst_offset": 0, "element_bytes": [4], "class": [ESCAPE]}  # fmt: skip
    Path("suite.json").write_text(json.dumps({"suite": ESCAPE, "cases": [case]}))
    Path("bad.json").write_text(json.dumps({"suite": ESCAPE, "cases": [{**case, "shape": ESCAPE}]}))
    Path("device.json").write_text(json.dumps({"name": ESCAPE, ESCAPE: 1}))
    Path("winners").write_text(ESCAPE)
    yield from (["info", file] for file in ["dtype.npy", "key.npy", "order.npy", name, ESCAPE])
    yield from (["transpose", file, "out.npy"] for file in ["dtype.npy", "key.npy", name])
    yield ["info", "dtype.npy", "--json"]
    yield ["transpose", "dtype.npy", "out.npy", "--json"]
    yield ["transpose", name, f"{ESCAPE}out.npy"]
    yield ["plan", "dtype.npy"]
    for option in ["--force", "--perm", "--pattern", "--dtype", "--on", "--to", "--threads", "--device", "--memory"]:
        yield ["plan", "--shape", "3,4", option, ESCAPE]
    yield ["plan", "--shape", "3,4", "--on", "device.json"]
    yield ["transpose", name, "out.npy", "--to", "mxfp8_e4m3", "--scales", f"{ESCAPE}/s.npy"]
    yield from (["check", file] for file in ["name.toml", "access.toml", "key.toml", ESCAPE])
    yield ["check", "name.toml", "--json"]
    yield ["explain", ESCAPE]
    yield ["explain", "(32,32):(32,1)", "--access", ESCAPE]
    yield ["draw", "sectors", "32:64", "--svg", ESCAPE]
    yield ["bench", "--suite", "suite.json", "--list"]
    yield ["bench", "--suite", "suite.json", "--min-runs", "1", "--budget", "0.001", "--json", f"{ESCAPE}.json"]
    yield ["bench", "--suite", "bad.json", "--list"]
    yield ["bench", "--suite", ESCAPE]
    yield ["bench", "--compare", ESCAPE, ESCAPE]
    yield ["ladder", "--rung", ESCAPE]
    yield ["analyse", ESCAPE]
    yield [ESCAPE]


def test_nothing_foreign_is_obeyed_by_a_terminal(folder):
    tried = 0
    for words in hostile_commands(folder):
        result = command(*words, text=False)
        said = result.stdout + result.stderr
        assert said and result.returncode in [0, 1, 2], (words, result)
        shown = said.decode()
        assert not [c for c in shown if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)], (words, shown)
        tried += 1
    for variable in ["CORNERTURN_KERNEL", "CORNERTURN_WINNERS", "CORNERTURN_THREADS", "CORNERTURN_CPU"]:
        for value in [ESCAPE, "winners"]:
            line = refused("plan", "--shape", "300,400", env=dict(os.environ, **{variable: value}))
            assert "\x1b" not in line and "\x07" not in line and (variable in line or "winners file" in line)
    assert tried > 35


def test_what_a_terminal_shows_of_a_closed_pipe(folder):
    """A pipe that nobody reads ends the command quietly, as it ends others."""
    result = shell(f"{PROGRAM} bench --suite everyday --list | true; exit ${{PIPESTATUS[0]}}")
    assert result.returncode in [0, 141] and not result.stderr


def test_json_of_reports_is_ascii(folder):
    np.save("größe.npy", np.zeros((2, 3), "<f4"))
    text = done("info", "größe.npy", "--json")
    assert text.isascii() and json.loads(text)["file"] == "größe.npy"
    assert "größe.npy" in done("info", "größe.npy")
