"""What the peers on a GPU are given: their view of a case's geometry, and what the harness hears."""

import ctypes
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "peers" / "gpu"))

import cccl_peer  # noqa: E402
import cutensor_peer  # noqa: E402
import geometry  # noqa: E402
import gpu_peers  # noqa: E402

SUITES = sorted((ROOT / "bench" / "suites").glob("*.json"))


def case_of(shape, src, dst, src_offset=0, dst_offset=0):
    return {"shape": shape, "src_strides": src, "dst_strides": dst,
            "src_offset": src_offset, "dst_offset": dst_offset}  # fmt: skip


def span(case, side):
    return case[side + "_offset"] + 1 + sum(
        max(0, s) * (n - 1) for s, n in zip(case[side + "_strides"], case["shape"])
    )


def view(array, case, side):
    strides = [s * array.itemsize for s in case[side + "_strides"]]
    return np.lib.stride_tricks.as_strided(array[case[side + "_offset"] :], case["shape"], strides)


def reference(case, source):
    out = np.full(span(case, "dst"), -1, "i8")
    view(out, case, "dst")[...] = view(source, case, "src")
    return out


def random_case(generator):
    rank = generator.randint(1, 4)
    shape = [generator.randint(1, 5) for _ in range(rank)]
    axes = list(range(rank))
    generator.shuffle(axes)
    strides = {}
    for side, order in (("src", axes), ("dst", range(rank))):
        step = 1
        strides[side] = [0] * rank
        for axis in reversed(list(order)):
            strides[side][axis] = step
            step *= shape[axis]
            if generator.random() < 0.2:
                step += generator.randint(0, 2)
    return case_of(shape, strides["src"], strides["dst"])


def test_fusing_keeps_every_element():
    generator = random.Random(1)
    for _ in range(300):
        case = random_case(generator)
        modes = geometry.fused(case)
        assert all(m.extent > 1 for m in modes)
        simple = case_of([m.extent for m in modes], [m.src for m in modes], [m.dst for m in modes])
        source = np.arange(span(case, "src"), dtype="i8")
        np.testing.assert_array_equal(reference(simple, source), reference(case, source))


def test_matrices_say_what_is_moved():
    generator = random.Random(2)
    found = 0
    for _ in range(600):
        case = random_case(generator)
        m = geometry.matrices(case, longest_batch=100)
        if m is None:
            continue
        found += 1
        source = np.arange(span(case, "src"), dtype="i8")
        out = np.full(span(case, "dst"), -1, "i8")
        for b in range(m.batch.extent):
            for row in range(m.rows):
                for col in range(m.cols):
                    out[b * m.batch.dst + col * m.dst_pitch + row] = source[b * m.batch.src + row * m.src_pitch + col]
        np.testing.assert_array_equal(out, reference(case, source))
    assert found > 50


def test_packed_permutations_are_transposes():
    generator = random.Random(3)
    found = 0
    for _ in range(600):
        case = random_case(generator)
        packed = geometry.packed_permutation(case)
        if packed is None:
            continue
        found += 1
        shape, axes = packed
        source = np.arange(span(case, "src"), dtype="i8")
        out = np.ascontiguousarray(source.reshape(shape).transpose(axes)).reshape(-1)
        np.testing.assert_array_equal(out, reference(case, source))
    assert found > 100


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_most_public_cases_are_what_the_peers_take(path):
    cases = json.loads(path.read_text())["cases"]
    by_name = {case["name"]: case for case in cases}
    taken = [case for case in cases if geometry.packed_permutation(case)]
    if path.stem in ("everyday", "ttc57", "small", "awkward"):
        assert len(taken) >= 0.7 * len(cases)
    if path.stem == "everyday":
        assert geometry.matrices(by_name["matrix_4096"])[:4] == (4096, 4096, 4096, 4096)
    if path.stem == "views":
        assert geometry.matrices(by_name["transpose_window_of_wider"])[:4] == (7000, 8000, 9000, 7000)
        assert geometry.matrices(by_name["flip_rows_transpose"]) is None
        assert geometry.packed_permutation(by_name["every_second_column"]) is None


def test_offsets_say_how_far_they_are_aligned():
    assert [cutensor_peer.alignment_of(n) for n in (0, 1, 2, 12, 48, 64, 128, 4096, 4100)] == [
        128, 1, 2, 4, 16, 64, 128, 128, 4]  # fmt: skip


class Peer:
    version = "1"

    def prepare(self, case, stream):
        self.prepared = case, stream
        return "too odd" if case["element_bytes"] == 3 else None

    def run(self, src, dst):
        self.ran = src, dst
        if src == 666:
            raise ValueError("no such\nmemory")

    def own_seconds(self):
        return 0.25


def ask(function, *arguments):
    answer = ctypes.create_string_buffer(16)
    returned = function(*arguments, ctypes.cast(answer, ctypes.POINTER(ctypes.c_char)), 16)
    return answer.value.decode(), returned


def test_the_harness_hears_reasons_and_errors():
    peer = Peer()
    prepare, run, seconds = gpu_peers.callbacks(peer, gpu_peers.Chosen(2))
    case = {"suite": "s", "class": "c", "element_bytes": 4}
    assert ask(prepare, json.dumps(case).encode(), 5)[0] == ""
    assert peer.prepared == (case, 5)
    assert ask(prepare, json.dumps({**case, "element_bytes": 3}).encode(), 5)[0] == "too odd"
    assert ask(prepare, json.dumps(case).encode(), 5)[0] == ""
    assert ask(prepare, json.dumps(case).encode(), 5)[0] == "only 2 of each "  # cut, and it ends
    assert ask(run, 1, 2)[0] == "" and peer.ran == (1, 2)
    assert ask(run, 666, 2)[0] == "ValueError: no "
    assert ask(seconds) == ("", 0.25)


def test_a_peer_that_is_not_there_is_skipped(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('no torch today')\n")
    script = ROOT / "bench" / "peers" / "gpu" / "gpu_peers.py"
    result = subprocess.run(
        [sys.executable, script, "--peer", "torch", "--suite", "small"],
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode == 3
    assert result.stdout == "torch: skipped: ImportError: no torch today\n"


class CcclLibrary:
    """What cccl_peer.py loads: it notes the arguments, and knows a bad address."""

    def __init__(self):
        def copy(*arguments):
            self.arguments = arguments
            return b"no such memory" if arguments[5] == 666 else None

        self.cornerturn_cccl_copy = copy
        self.cornerturn_cccl_version = lambda: 3006012


def cccl_of(monkeypatch):
    library = CcclLibrary()
    monkeypatch.setattr(cccl_peer.ctypes, "CDLL", lambda path: library)
    return cccl_peer.Cccl("somewhere.so"), library


def test_cuda_copy_gets_what_is_to_be_moved(monkeypatch):
    peer, library = cccl_of(monkeypatch)
    assert peer.version == "CCCL 3.6.12"
    generator = random.Random(4)
    taken = 0
    for _ in range(300):
        case = {**random_case(generator), "element_bytes": 8}
        if peer.prepare(case, 7):
            continue
        taken += 1
        peer.run(1000, 5000)
        size, rank, extents, src, dst, *addresses = library.arguments
        assert (size, addresses) == (8, [1000, 5000, 7]) and rank == len(extents) == len(src) == len(dst)
        source = np.arange(span(case, "src"), dtype="i8")
        moved = case_of(list(extents), list(src), list(dst))
        np.testing.assert_array_equal(reference(moved, source), reference(case, source))
    assert taken > 250
    peer.prepare({**case_of([3], [2], [1], 5, 6), "element_bytes": 4}, 7)
    peer.run(1000, 5000)
    assert library.arguments[5:] == (1020, 5024, 7)
    with pytest.raises(RuntimeError, match="cuda::copy: no such memory"):
        peer.run(646, 5000)


def test_cuda_copy_says_what_it_does_not_take(monkeypatch):
    peer, _ = cccl_of(monkeypatch)

    def reason(*case, size=4):
        return peer.prepare({**case_of(*case), "element_bytes": size}, 0) or ""

    assert "1, 2, 4, 8 and 16 bytes" in reason([2, 3], [1, 2], [3, 1], size=3)
    assert reason([2, 3], [1, -2], [3, 1]) == "" and reason([], [], [], size=16) == ""
    # The last index is one too many, also against the axis.
    assert reason([2], [2**31 - 2], [1]) == ""
    assert "32 bits" in reason([2], [2**31 - 1], [1]) and "32 bits" in reason([2], [1], [1 - 2**31])
    # Rows of 5 elements that are 4 apart, as odd and even ones may be.
    assert "interleaved" in reason([2, 5], [5, 1], [3, 2]) and reason([2, 2], [2, 1], [3, 1]) == ""
