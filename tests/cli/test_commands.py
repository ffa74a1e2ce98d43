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


def test_plan_of_an_array_that_is_spread_over_devices(folder):
    words = ["plan", "--shape", "4096,2048", "--perm", "1,0", "--src", "S0", "--dst", "S0"]
    text = done(*words, "--on", "8xh200", "--explain")
    for part in ["56 messages", "one pass", "copy engines", "packed", "7 -> 6", "bound"]:
        assert part in text
    plan = json.loads(done(*words, "--on", "8xh200", "--json"))
    assert plan["src"]["shards"] == [[512, 2048]] * 8 and plan["dst"]["shards"] == [[256, 4096]] * 8
    assert sum(device["sent"] for device in plan["traffic"]) == 4096 * 2048 * 4 * 7 // 8
    np.save("a.npy", random_array((4096, 2048), "<f4"))
    assert done("plan", "a.npy", *words[3:], "--on", "8xh200", "--explain") == text
    grid = ["plan", "--shape", "100,90", "--perm", "0,1", "--mesh", "2,4", "--src", "S0:3,S1:5@1", "--dst", "S0,S1"]
    assert "route" not in done(*grid) and "8 devices" in done(*grid)
    # A host of one's own: links of half the speed.
    mine = json.loads((ROOT / "devices" / "hosts" / "h200.json").read_text())
    for field in [name for name in mine if name.endswith("_bandwidth")]:
        mine[field] /= 2
    (folder / "mine.json").write_text(json.dumps(mine))
    own = json.loads(done(*words, "--on", "8xmine.json", "--json"))
    assert own["bound_seconds"] == pytest.approx(2 * plan["bound_seconds"])
    for wrong, part in [
        (["--on", "8xa100"], "--on = '8xa100' is no described host: use one of <n>xh200, or <n>xFILE.json"),
        (["--on", "h200"], "is no number of GPUs of a host, as 8xh200"),
        (["--on", "8xnone.json"], "none.json"),
        ([], "--mesh is missing"),
        (["--mesh", "4", "--on", "8xh200"], "the mesh has 4 devices, but 8 GPUs of HGX H200 are there"),
        (["--mesh", "2,2"], "--src = S0 has 1 placements, but the mesh has 2 dimensions"),
        (["--mesh", "4", "--to", "bf16"], "excludes"),
    ]:
        refused(*words, *wrong, part=part)


def test_plan_on_a_described_gpu(folder):
    words = ["plan", "--shape", "8,4096,32,128", "--perm", "0,2,1,3", "--dtype", "f16"]
    text = done(*words, "--on", "h200")
    assert "268.4 MB on NVIDIA H200" in text and re.search(r"^why: \w", text, re.M)
    assert done(*words, "--on", "H200") == text
    plan = json.loads(done(*words, "--on", "h200", "--json"))
    assert plan["device"] == "NVIDIA H200" and plan["bytes"] == 8 * 4096 * 32 * 128 * 2
    # No faster than the memory, and not by a factor slower.
    assert 1 < plan["predicted_ns"] / (2 * plan["bytes"] / 4250) < 1.5
    slower = json.loads(done(*words, "--on", "a100", "--json"))
    assert 2 < slower["predicted_ns"] / plan["predicted_ns"] < 3
    # A device of one's own: the numbers of a file, no others.
    mine = json.loads((ROOT / "devices" / "h200.json").read_text())
    mine.update(name="Slow GPU", copy_bandwidth=1e12)
    (folder / "mine.json").write_text(json.dumps(mine))
    own = json.loads(done(*words, "--on", "mine.json", "--json"))
    assert own["device"] == "Slow GPU" and own["predicted_ns"] > 3 * plan["predicted_ns"]


def test_plan_counts_what_a_gpu_would_do():
    """Sectors of a transposition: what the bytes need, and 32 a request where columns are read."""
    words = ["plan", "--shape", "4096,4096", "--dtype", "f32", "--on", "h200"]
    accesses = json.loads(done(*words, "--json"))["accesses"]
    least = 4096 * 4096 * 4 / 32
    by_kernel = {}
    for candidate in accesses["candidates"]:
        by_kernel.setdefault(candidate["kernel"], candidate)
    assert by_kernel["gather"]["sectors_loaded"] == 8 * least
    assert by_kernel["gather"]["sectors_stored"] == least and by_kernel["gather"]["wavefronts"] == 0
    tile = by_kernel["tile"]
    assert tile["sectors_loaded"] == tile["sectors_stored"] == least
    assert tile["wavefronts"] == tile["wavefronts_ideal"] > 0
    assert sum(candidate["chosen"] for candidate in accesses["candidates"]) == 1
    text = done(*words, "--explain")
    for part in ["launch", "candidates", "accesses", "sectors loaded", "wavefronts", "2.10 M (1.00x)"]:
        assert part in text, part
    # Rank 30: no small problem has such modes.
    many = ["plan", "--shape", ",".join(["2"] * 30), "--on", "h200", "--explain"]
    assert "accesses" not in done(*many)


def test_plan_refuses_devices_that_are_not_there(folder):
    words = ["plan", "--shape", "64,64"]
    refused(*words, "--on", "h300", part="--on = 'h300' is no described GPU: use one of a100, ")
    refused(*words, "--on", "no.json", part="--on = 'no.json' cannot be opened: No such file")
    (folder / "bad.json").write_text('{"name": "x"}')
    refused(*words, "--on", "bad.json", part="device file 'bad.json' has no field 'arch'")
    refused(*words, "--device", "tpu", part="--device = 'tpu' is neither cpu nor gpu")
    refused(*words, "--device", "cpu", "--on", "h200", part="--on excludes --device")
    refused(*words, "--on", "h200", "--force", "strided", part="kernel = 'strided' is unknown on a GPU")
    gpus = [d for d in json.loads(done("devices", "--json")) if d["device"] == "gpu"]
    if "why_not" in gpus[-1]:
        refused(*words, "--device", "gpu", part="no GPU: " + gpus[-1]["why_not"])
    else:
        assert gpus[0]["name"] in done(*words, "--device", "gpu")


def test_a_processor_that_the_environment_describes():
    here = dict(os.environ, CORNERTURN_CPU="amd-zen4,cores=3,l2=1M,l3=96M")
    cpu = json.loads(done("devices", "--json", env=here))[0]
    assert (cpu["model"], cpu["cores"]) == ("AMD Zen 4", 3)
    plan = ["plan", "--shape", "64,64"]
    refused(*plan, env=dict(os.environ, CORNERTURN_CPU="z80"), part="CORNERTURN_CPU = 'z80' is no described CPU")
    refused(*plan, env=dict(os.environ, CORNERTURN_CPU="here,l2=x"), part="CORNERTURN_CPU: 'l2=x' is none of cores=")


def test_devices_and_version():
    text = done("devices")
    assert "cpu" in text and re.search(r"^gpu ", text, re.M)
    devices = json.loads(done("devices", "--json"))
    cpu = devices[0]
    assert cpu["device"] == "cpu" and cpu["cores"] >= 1 and cpu["isa"]
    described = {device["device"]: device for device in devices if device.get("described")}
    assert set(described) == {path.stem for path in (ROOT / "devices").glob("*.json")}
    assert described["h200"]["copy_bandwidth"] == 4.25e12
    for name, device in described.items():
        assert re.search(rf"^{name} +{device['name']} ", text, re.M)
    header = (ROOT / "include" / "cornerturn" / "version.hpp").read_text()
    version = ".".join(re.findall(r"VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))
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


def test_plans_for_few_blocks():
    words = ["plan", "--shape", "8192,8192", "--perm", "1,0", "--on", "h200"]
    assert ", 16 blocks" in done(*words, "--host", "src", "--gpu-blocks", "16", "--explain")
    assert " blocks\n" not in done(*words, "--host", "src", "--gpu-blocks", "0", "--explain")
    refused(*words, "--gpu-blocks", "16", part="--gpu-blocks = 16 limits kernels that reach into host memory: it needs --host")
    refused(*words, "--host", "dst", "--gpu-blocks", "-1", part="--gpu-blocks = -1 is negative")


@pytest.mark.parametrize("way, types", [("pageable-dst", ["bf16", "f32"]), ("pageable-src", ["f32", "bf16"])])
def test_values_cross_in_the_smaller_type(way, types, monkeypatch):
    monkeypatch.setenv("CORNERTURN_CPU", "intel-xeon-avx512,cores=16")
    words = ["plan", "--shape", "8192,16384", "--perm", "0,1", "--on", "h200", "--threads", "16"]
    text = done(*words, "--dtype", types[0], "--to", types[1], "--host", way)
    assert "CPU: convert; bf16 cross" in text
