"""`cornerturn check` of a kernel of one's own: the page's file, and what breaks in it."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from command_line import PROGRAM, ROOT, done, refused

PAGE = (ROOT / "docs" / "your-own-kernel.md").read_text()
KERNEL = (ROOT / "examples" / "my_kernel.hpp").read_text()


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """An empty folder, in which temporary ones are made."""
    made = tmp_path / "tmp"
    made.mkdir()
    monkeypatch.setenv("TMPDIR", str(made))
    return made


def check(path, *words):
    result = subprocess.run([PROGRAM, "check", path, *words], capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


def test_the_page_shows_the_file_and_what_it_says(tmp_path):
    """The missing barrier of the page: both lines, as it prints them."""
    assert KERNEL[KERNEL.index("#include") :] in PAGE
    broken = tmp_path / "my_kernel.hpp"
    broken.write_text(KERNEL.replace("    ctx.barrier();\n", ""))
    code, _, errors = check(broken, "--shape", "64,64")
    assert code == 1
    shown = re.search(r"^(cornerturn: 64 x 64: MyKernel.*?)\n```", PAGE, re.S | re.M)[1]
    assert " ".join(shown.split()) in errors


def test_a_sound_kernel(folder):
    report = json.loads(done("check", ROOT / "examples" / "my_kernel.hpp", "--json", "--dtype", "u16"))
    assert report["verified"] and [shape["shape"] for shape in report["shapes"]] == [
        [64, 64], [33, 31], [100, 36], [256, 256],
    ]  # fmt: skip
    legs = {leg["leg"]: leg for leg in report["legs"]}
    assert legs["global store"]["bytes_a_lane"] == 2 and legs["global store"]["sectors"]["max"] == 2
    text = done("check", ROOT / "examples" / "my_kernel.hpp", "--shape", "64,64")
    assert re.search(r"^Predicted: no speed at 64 x 64: the model was fitted to", text, re.M)
    assert report["limit"].startswith("the issue of instructions") and report["place"].startswith("my_kernel.hpp:")
    assert report["ledger"]["shape"] == [16384, 16384] and report["what_if"]
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
    "a loop without end": (
        "ctx.barrier();", "while (true) ctx.barrier();", 1,
        ["endless loop: thread (0,0,0) waits at my_kernel.hpp:24", "500 accesses and waits"],
    ),
    "an endless loop of accesses": (
        "ctx.barrier();", "while (true) ctx.load(a.src);", 1, ["endless loop: thread (0,0,0) is at my_kernel.hpp:24"],
    ),
    "a store into the source": (
        "ctx.barrier();", "ctx.store(const_cast<T*>(a.src), T{}); ctx.barrier();", 1,
        ["store into an input in src at byte 0: thread (0,0,0) stores 4 B at my_kernel.hpp:24"],
    ),
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
    assert expected == 2 or "No speed is predicted: the kernel is wrong." in output and "Predicted" not in output
    for part in parts:
        assert part.search(errors) if isinstance(part, re.Pattern) else part in errors
    assert expected == 1 or (output == "" and errors.count("\n") == 1)


RAW = {
    "stores": (
        "ctx.store_if(inside, a.dst + a.dst_at(tile.row + x, tile.col + y), v);",
        "if (inside) a.dst[a.dst_at(tile.row + x, tile.col + y)] = v;",
        ["raw pointer: ", " B of dst were stored without the context"], "never written",
    ),
    "loads": (
        "ctx.load_if(inside, a.src + a.src_at(tile.row + y, tile.col + x));",
        "inside ? a.src[a.src_at(tile.row + y, tile.col + x)] : T{};",
        ["raw pointer: ", " B of src were loaded without the context"], "touches no memory",
    ),
    "stores into the source": (
        "ctx.barrier();", "const_cast<T*>(a.src)[0] = T{}; ctx.barrier();",
        ["raw pointer: ", " B of src, an input, were overwritten without the context"], "touches no memory",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RAW)
def test_raw_pointers_are_called_so(name, tmp_path):
    now, then, parts, absent = RAW[name]
    path = tmp_path / "my_kernel.hpp"
    assert now in KERNEL
    path.write_text(KERNEL.replace(now, then, 1))
    code, output, errors = check(path, "--shape", "64,64", "--shape", "33,31")
    assert code == 1 and "Predicted" not in output and all(part in errors for part in parts), errors
    assert absent not in output + errors


def test_a_finding_is_printed_once_for_all_shapes(tmp_path):
    path = tmp_path / "my_kernel.hpp"
    path.write_text(KERNEL.replace("ctx.barrier();", ""))
    code, output, errors = check(path)
    assert code == 1 and errors.count("race in shared memory") == 1, errors
    assert errors.startswith("cornerturn: 64 x 64, 33 x 31, 100 x 36, 256 x 256: MyKernel, block (0,0,0): race")
    report = json.loads(check(path, "--json")[1])
    assert all(shape["findings"] for shape in report["shapes"])
    assert report["why_no_speed"] == "the kernel is wrong" and "ledger" not in report


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


def kernel_of(body, launch=""):
    return (
        "#include <cornerturn_emulator.hpp>\n#include <cstdio>\n#include <cstdlib>\n#include <stdexcept>\n"
        "#include <unistd.h>\nstruct MyKernel {\n"
        "template <class T> static Launch launch(const MatrixArgs<T>& a) {\n"
        f"  auto l = tiled_launch(a, 32, 32, {{32, 8, 1}}); {launch} return l; }}\n"
        f"template <class T, class Ctx> CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a) {{ {body} }}\n"
        "};\n"
    )


SANITIZED = "-fsanitize" in os.environ.get("CXX", "")

ENDS = {
    "a loop without accesses": (
        kernel_of("for (volatile int i = 0;;) i = i;"), "stopped after 1 seconds of processor time, which --seconds allows: a thread is in an endless loop"
    ),
    "a wait": (kernel_of("for (;;) pause();"), "stopped after 5 seconds: the kernel waits for something"),
    "closed and endless": (
        kernel_of("close(1); close(2); for (volatile int i = 0;;) i = i;"), "stopped after 1 seconds of processor time"
    ),
    "a large grid": (
        kernel_of("", "l.grid = {2147483647, 65535, 65535};"),
        "33 x 31: the launch has 2147483647 x 65535 x 65535 blocks, and --blocks allows 1048576",
    ),
    "exit": (kernel_of("std::exit(0);"), "the kernel ends its process with exit code 0: it has to return"),
    "another exit": (kernel_of("_exit(3);"), "the kernel ends its process with exit code 3: it has to return"),
    "an exception": (kernel_of("throw std::runtime_error(\"so it is\");"), "the kernel throws an exception: so it is"),
    "any exception": (kernel_of("throw 7;"), "the kernel throws an exception"),
    "a division": (kernel_of("volatile int zero = 0; zero = 7 / zero;"), "it divides an integer by zero"),
    "an abort": (kernel_of("std::abort();"), "it calls abort(), or an assertion fails"),
    "foreign memory": (kernel_of("*reinterpret_cast<volatile int*>(16) = 1;"), "it touches memory without the context"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_kernels_that_do_not_return(name, tmp_path, temporary):
    source, part = ENDS[name]
    path = tmp_path / "my_kernel.hpp"
    path.write_text(source)
    code, output, errors = check(path, "--shape", "33,31", "--seconds", "1")
    *before, last = errors.splitlines()
    assert code == 2 and output == "", errors
    if SANITIZED and before:  # a sanitizer reports first what ends the process, then it ends it
        assert "Sanitizer" in errors and "the kernel ends its process with exit code" in last, errors
    else:
        assert not before and part in last, errors
    assert not list(temporary.iterdir())


def test_a_kernel_may_print(tmp_path):
    path = tmp_path / "my_kernel.hpp"
    path.write_text(KERNEL.replace("ctx.barrier();", 'ctx.barrier(); std::puts("so it is");', 1).replace(
        "struct MyKernel", "#include <cstdio>\nstruct MyKernel", 1))  # fmt: skip
    code, output, errors = check(path, "--shape", "33,31", "--json")
    assert code == 0 and json.loads(output)["verified"] and "so it is\n" in errors


def test_names_of_files(tmp_path):
    (tmp_path / "beside.hpp").write_text("")
    path = tmp_path / "q\"q, two\nlines, a\\b ü'.hpp"
    path.write_text('#include "beside.hpp"\n' + KERNEL)
    code, _, errors = check(path, "--shape", "33,31")
    assert (code, errors) == (0, "")
    path.write_text(KERNEL.replace("ctx.barrier();", "ctx.barier();"))
    code, _, errors = check(path, "--shape", "33,31")
    assert code == 2 and "barier" in errors


def endless_check(tmp_path, dispositions):
    """A check of a kernel that never ends, once it runs, and the kernel's process."""
    started = tmp_path / "started"
    path = tmp_path / "my_kernel.hpp"
    path.write_text(kernel_of(f'std::fclose(std::fopen("{started}", "w")); for (volatile int i = 0;;) i = i;'))
    process = subprocess.Popen(
        [PROGRAM, "check", path, "--shape", "33,31", "--seconds", "300"],
        preexec_fn=lambda: [signal.signal(*disposition) for disposition in dispositions.items()],
    )
    while not started.exists():
        assert process.poll() is None
        time.sleep(0.02)
    (program,) = children_of(process.pid)
    return process, program


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_an_interrupt_leaves_nothing_behind(number, tmp_path, temporary):
    process, program = endless_check(tmp_path, {number: signal.SIG_DFL})
    process.send_signal(number)
    assert process.wait() == 128 + number
    assert not list(temporary.iterdir()) and not os.path.exists(f"/proc/{program}")


def test_a_signal_that_was_ignored_stays_so(tmp_path, temporary):
    process, _ = endless_check(tmp_path, {signal.SIGHUP: signal.SIG_IGN, signal.SIGTERM: signal.SIG_DFL})
    process.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 128 + signal.SIGTERM
    assert not list(temporary.iterdir())


def test_a_kernel_does_not_outlive_the_command(tmp_path):
    process, program = endless_check(tmp_path, {})
    process.kill()
    process.wait()
    while is_running(program):  # its end is told to it, and takes a moment
        time.sleep(0.02)


def children_of(process):
    with open(f"/proc/{process}/task/{process}/children") as children:
        return [int(child) for child in children.read().split()]


def is_running(process):
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_limits_are_numbers():
    kernel = ROOT / "examples" / "my_kernel.hpp"
    refused("check", kernel, "--blocks", "0", part="--blocks = '0' is no number from 1 on")
    refused("check", kernel, "--seconds", "x", part="--seconds")
    refused("check", kernel, "--seconds", "86401", part="--seconds = 86401 is more than 86400")
    refused("check", kernel, "--blocks", "7", "--shape", "100,36", part="8 x 1 x 1 blocks, and --blocks allows 7")
