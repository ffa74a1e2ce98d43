"""Every rung on a GPU, called from Python: compared with PyTorch bit by bit, all of the output written
and nothing beside it; and the run that measures them. `pytest -m gpu` is what needs a GPU."""

import json

import pytest

torch = pytest.importorskip("torch")
ladder = pytest.importorskip("cornerturn.ladder")
from cornerturn.ladder import _rung  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU"),
    pytest.mark.skipif(
        _rung._ladder is None or _rung._ladder.why_no_gpu() is not None,
        reason="this build has no device code",
    ),
]

INTEGER = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
SHAPES = [(1, 1), (5, 7), (1, 300), (300, 1), (33, 31), (64, 64), (100, 36), (130, 258), (1024, 512),
          (65537, 2), (2, 65535), (4092, 4100)]  # fmt: skip
GUARD = 4096


def operands(rows, cols, itemsize, offset=0):
    """a, and b between guards, all of which differs from what is expected; all whole numbers."""
    dtype = INTEGER[itemsize]
    words = torch.randint(-(2**31), 2**31 - 1, ((rows * cols * itemsize + 7) // 4 + 2,), dtype=torch.int32, device="cuda")
    a = words.view(torch.uint8)[: rows * cols * itemsize].view(dtype)
    if offset:
        a = torch.cat([a[:offset], a])[offset:] if rows * cols >= offset else a
    whole = torch.full((rows * cols * itemsize + 2 * GUARD + 64,), 0xA5, dtype=torch.uint8, device="cuda")
    first = GUARD + offset * itemsize
    b = whole[first : first + rows * cols * itemsize].view(dtype)
    return a.view(rows, cols), whole, b


def check(rung, rows, cols, itemsize, offset=0, stream=None):
    """False where the rung does not apply."""
    a, whole, b = operands(rows, cols, itemsize, offset)
    expected = (a.t() if rung.transposes else a).contiguous()
    b.copy_(~expected.view(-1))
    before = a.clone()
    torch.cuda.synchronize()
    target = b.view(expected.shape)
    if rung.why_not(rows, cols, itemsize) is not None:
        with pytest.raises(ValueError, match="does not apply"):
            rung(a, target)
        return False
    try:
        rung(a, target, stream=stream)
    except ValueError as error:
        assert offset and "multiples of 16 bytes" in str(error)
        return False
    torch.cuda.synchronize()
    assert torch.equal(target, expected), f"{rows} x {cols} of {itemsize} B"
    assert torch.equal(a, before)
    first = GUARD + offset * itemsize
    assert (whole[:first] == 0xA5).all() and (whole[first + b.nbytes :] == 0xA5).all()
    return True


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
@pytest.mark.parametrize("name", ladder.rungs())
def test_every_rung(name, itemsize):
    rung = getattr(ladder, name)
    shapes = [shape for shape in SHAPES if not slow(name, shape[0] * shape[1])]
    if name == "triton_block_tuned":  # it compiles all configurations for each kind of shape
        shapes = [(33, 31), (1024, 512), *([(5, 7), (1, 300), (65537, 2)] if itemsize == 4 else [])]
    done = [check(rung, rows, cols, itemsize) for rows, cols in shapes]
    assert any(done) or rung.why_not(64, 64, itemsize)


def slow(name, elements):
    return name in ("triton_1d", "triton_2d", "triton_trans_1x1") and elements > 2**20


@pytest.mark.parametrize("name", ["cpy_flat", "cpy_transpose"])
def test_ggmls_rungs_convert(name):
    types = [torch.float32, torch.float16, torch.bfloat16, torch.int32]
    for rows, cols in [(5, 7), (130, 258), (1024, 512)]:
        values = torch.randn(rows, cols, device="cuda") * 1000
        for source in types:
            for target in types:
                a = values.to(source)
                b = torch.full((cols, rows), 7, dtype=target, device="cuda")
                getattr(ladder, name)(a, b)
                assert torch.equal(b, a.t().to(target)), f"{source} to {target}"
    with pytest.raises(ValueError, match="does not apply: it converts f32, f16, bf16 and i32"):
        getattr(ladder, name)(a, b.double())


@pytest.mark.parametrize("name", ladder.rungs())
@pytest.mark.parametrize("offset", [1, 3])
def test_from_any_address(name, offset):
    """Refused or right."""
    for rows, cols in [(64, 64), (130, 258)]:
        check(getattr(ladder, name), rows, cols, 4, offset)


@pytest.mark.parametrize("name", ladder.rungs())
def test_on_the_stream_that_is_current(name):
    """What is enqueued before on that stream is seen, without waiting."""
    rung = getattr(ladder, name)
    a = torch.zeros(256, 512, device="cuda")
    b = torch.zeros(512, 256, device="cuda")
    rung(a, b if rung.transposes else b.view(256, 512))  # compiled
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        a.fill_(1)
        rung(a, b if rung.transposes else b.view(256, 512))
    stream.synchronize()
    assert (b == 1).all()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        a.fill_(2)
    for given in (stream, stream.cuda_stream):
        rung(a, b if rung.transposes else b.view(256, 512), stream=given)
    stream.synchronize()
    assert (b == 2).all()


@pytest.mark.parametrize("name", ["smem_chunk_xor", "cute_tma_diagonal", "triton_block_tuned"])
def test_in_a_cuda_graph(name):
    rung = getattr(ladder, name)
    a, b = torch.rand(512, 256, device="cuda"), torch.zeros(256, 512, device="cuda")
    rung(a, b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        rung(a, b)
    a.copy_(torch.rand(512, 256))
    graph.replay()
    assert torch.equal(b, a.t())


@pytest.mark.parametrize("name", [n for n in ladder.rungs() if n not in ("copy",) and "copy" not in n])
def test_more_than_2_to_the_31_elements(name):
    rung = getattr(ladder, name)
    rows, cols = (65536, 32784)
    if rung.why_not(rows, cols, 1) or slow(name, rows * cols):
        pytest.skip(rung.why_not(rows, cols, 1) or "a minute of single elements")
    if torch.cuda.mem_get_info()[0] < 5 * rows * cols:
        pytest.skip("too little GPU memory")
    a = torch.randint(0, 256, (rows, cols), dtype=torch.uint8, device="cuda")
    b = torch.zeros(cols, rows, dtype=torch.uint8, device="cuda")
    rung(a, b)
    assert torch.equal(b, a.t())


@pytest.mark.parametrize("dtype", ["bool", "bfloat16", "float16", "complex64", "float8_e4m3fn"])
def test_any_dtype(dtype):
    dtype = getattr(torch, dtype)
    bits = torch.randint(0, 2, (96, 40 * dtype.itemsize), dtype=torch.uint8, device="cuda")
    a = bits.view(dtype)
    for name in ("smem_chunk_xor", "triton_block"):
        b = torch.zeros(40, 96, dtype=dtype, device="cuda")
        getattr(ladder, name)(a, b)
        expected = bits.view(96, 40, -1).transpose(0, 1).contiguous().view(-1)
        assert torch.equal(b.view(torch.uint8).view(-1), expected)


@pytest.mark.parametrize("name", ["cpy_flat", "cpy_transpose"])
@pytest.mark.parametrize("itemsize", [1, 2, 4])
@pytest.mark.parametrize("batch", [1, 8, 17])
def test_stacks(name, itemsize, batch):
    a = torch.randint(0, 100, (batch, 67, 35), device="cuda").to(INTEGER[itemsize])
    b = torch.full((batch, 35, 67), 101, dtype=a.dtype, device="cuda")
    getattr(ladder, name)(a, b)
    assert torch.equal(b, a.transpose(1, 2))
    with pytest.raises(ValueError, match=f"it takes one matrix, not a stack of {batch}"):
        ladder.smem(a, b)


@pytest.mark.parametrize("name", ["smem_pad", "cute_smem", "triton_block"])
def test_cupy_arrays_on_their_own_stream(name):
    cupy = pytest.importorskip("cupy")
    a = cupy.arange(64 * 96, dtype="f4").reshape(64, 96)
    b = cupy.zeros((96, 64), "f4")
    cupy.cuda.Device().synchronize()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        getattr(ladder, name)(a, b)
    stream.synchronize()
    assert (b == a.T).all()


def test_wrong_operands_are_refused():
    a, b = torch.rand(8, 16, device="cuda"), torch.zeros(16, 8, device="cuda")
    with pytest.raises(ValueError, match="b is in host memory, a in the memory of GPU 0"):
        ladder.smem(a, b.cpu())
    with pytest.raises(ValueError, match="packed row by row"):
        ladder.smem(a, torch.zeros(8, 16, device="cuda").t())
    with pytest.raises(ValueError, match="cute_tma does not apply: TMA"):
        ladder.cute_tma(torch.rand(5, 7, device="cuda"), torch.rand(7, 5, device="cuda"))
    assert not b.any()


def test_solve_as_a_judge_calls_it():
    import importlib

    for name in _rung.TRITON:
        module = importlib.import_module(f"cornerturn.ladder.triton_rungs.{name}")
        a, b = torch.rand(100, 70, device="cuda"), torch.zeros(7000, device="cuda")
        module.solve(a.view(-1), b, 100, 70)
        assert torch.equal(b.view(70, 100), a.t())


def test_the_run(tmp_path, capsys):
    """All rungs on small matrices: measured, verified, written."""
    path = tmp_path / "ladder.json"
    report = ladder.run([256, (300, 500)], json=path, budget=30, progress=True)
    assert report.verified, report.complaints()
    result = json.loads(path.read_text())
    assert result["provenance"]["gpu"] == torch.cuda.get_device_name()
    for run in result["runs"]:
        rows = {entry["name"]: entry for entry in run["rungs"]}
        assert set(rows) == {"memcpy", *ladder.rungs(), "pytorch_eager", "pytorch_compiled"}
        for name, entry in rows.items():
            assert "why_not" in entry or entry["measured"]["cold"]["seconds"] > 0, name
        assert rows["smem_chunk_xor"]["verified"] and "why_not" not in rows["triton_block_tuned"]
    assert "cute_tma on 300 x 500" not in str(report), "300 and 500 are multiples of 4"
    assert "2/2  300 x 500:" in capsys.readouterr().err


def test_a_matrix_that_does_not_fit_is_left_out():
    report = ladder.run([(2**20, 2**20)], ["smem"], budget=5)
    assert "GiB of GPU memory" in report.matrices[0].why_not and not report.verified


def test_the_time_budget_is_kept():
    report = ladder.run([(512, 512), (8192, 8192)], ["triton_2d"], budget=1e-3)
    assert any("time budget" in (m.why_not or "") for m in report.matrices)
