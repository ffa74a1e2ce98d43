"""Between host memory and a GPU: pinned, pageable and mapped memory, every view, both ways."""

import gc
import signal
import threading
import time
import weakref

import numpy as np
import pytest

import cornerturn
from cornerturn import _core

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.version.cuda is None, reason="no GPU"
)
DTYPES = [torch.uint8, torch.float8_e4m3fn, torch.bfloat16, torch.float32, torch.float64, torch.complex128]


def refused(error, message, call):
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


class Host:
    """Tensors in one kind of host memory."""

    def __init__(self, kind, folder):
        self.kind, self.folder, self.count = kind, folder, 0

    def zeros(self, shape, dtype):
        size = max(int(np.prod(shape)) * dtype.itemsize, 1)
        if self.kind == "pinned":
            memory = torch.zeros(size, dtype=torch.uint8, pin_memory=True)
        elif self.kind == "pageable":
            memory = torch.zeros(size, dtype=torch.uint8)
        else:
            self.count += 1
            memory = torch.from_numpy(np.memmap(self.folder / str(self.count), "u1", "w+", shape=(size,)))
        return memory[: int(np.prod(shape)) * dtype.itemsize].view(dtype).reshape(shape)


@pytest.fixture(params=["pinned", "pageable", "mapped"])
def host(request, tmp_path):
    return Host(request.param, tmp_path)


def bytes_of(x):
    return x.contiguous().cpu().reshape(-1).view(torch.uint8)


def same(a, b):
    return a.shape == b.shape and torch.equal(bytes_of(a), bytes_of(b))


def fill(x, random):
    """Random bytes in all of x, which is packed."""
    values = torch.from_numpy(random.integers(0, 256, x.numel() * x.element_size(), np.uint8))
    x.reshape(-1).view(torch.uint8).copy_(values)
    return x


def window(random, x):
    """A part of x, with gaps: slices with steps."""
    cuts = []
    for extent in x.shape:
        first = int(random.integers(0, extent // 3 + 1))
        cuts.append(slice(first, extent - int(random.integers(0, extent // 3 + 1)), int(random.choice([1, 1, 1, 2]))))
    return x[tuple(cuts)]


def shape_of(random, limit):
    """Random extents of at most `limit` elements."""
    rank = int(random.integers(1, 5))
    extents = []
    left = limit
    for _ in range(rank):
        extents.append(int(random.integers(1, max(2, min(left, int(3 * left ** (1 / rank)))))))
        left = max(1, left // extents[-1])
    return tuple(extents)


@pytest.mark.parametrize("into_gpu", [True, False])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_any_view_to_any_view(host, dtype, into_gpu):
    random = np.random.default_rng(7)
    for n in range(24):
        limit = 300 if n < 12 else 400_000
        shape = shape_of(random, limit)
        on_gpu = torch.zeros(shape, dtype=dtype, device="cuda")
        x = fill(host.zeros(shape, dtype) if into_gpu else on_gpu, random)
        if n % 3:
            x = window(random, x)
        axes = tuple(int(axis) for axis in random.permutation(x.dim()))
        expected = x.permute(axes)
        double = tuple(2 * extent if n % 2 else extent for extent in expected.shape)
        around = torch.zeros(double, dtype=dtype, device="cuda") if into_gpu else host.zeros(double, dtype)
        out = around[tuple(slice(0, extent) for extent in expected.shape)]
        assert cornerturn.transpose(x, axes, out=out) is out
        assert same(out, expected), (shape, axes)
        written = (around.contiguous().view(torch.uint8) != 0).sum()  # nothing beside it is
        assert written == (out.contiguous().view(torch.uint8) != 0).sum(), (shape, axes)
        out.zero_()
        cornerturn.copy(out, expected)
        assert same(out, expected), (shape, axes)


LARGE = [((3, 2048, 1536), (0, 2, 1)), ((4096, 3000), (1, 0)), ((8, 700, 300, 3), (0, 3, 1, 2)), ((13_000_001,), (0,))]


@pytest.mark.parametrize(("shape", "axes"), LARGE, ids=str)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16, torch.float32], ids=str)
def test_large_arrays(host, dtype, shape, axes):
    random = np.random.default_rng(8)
    x = fill(host.zeros(shape, dtype), random)
    there = cornerturn.to(x, "cuda", axes)
    assert there.is_cuda and there.is_contiguous() and same(there, x.permute(axes))
    back = cornerturn.transpose(there, tuple(np.argsort(axes)), out=host.zeros(shape, dtype))
    assert same(back, x)


@pytest.mark.parametrize(
    ("source", "result"),
    [("float32", "bfloat16"), ("float16", "float32"), ("int8", "float16"), ("float32", "float8_e4m3fn"), ("float64", "int32")],
)
def test_conversions_are_those_of_the_cpu(host, source, result):
    random = np.random.default_rng(9)
    source, result = getattr(torch, source), getattr(torch, result)
    for shape in ((5, 33, 70), (300, 200, 40)):
        values = torch.from_numpy(random.normal(0, 30, shape)).to(source)
        x = host.zeros(shape, source).copy_(values)
        scale = torch.rand(shape[0])
        for options in ({}, {"scale": scale}, {"scale": scale, "bias": 0.5, "alpha": 2.0}, {"saturate": True}):
            expected = cornerturn.transpose(values, dtype=result, **options)
            if "bias" not in options and "scale" in options:
                options = {"scale": scale.cuda()}
            assert same(cornerturn.to(x, "cuda", (2, 1, 0), dtype=result, **options), expected)
            out = host.zeros(expected.shape, result)
            cornerturn.transpose(values.cuda(), out=out, dtype=result, **options)
            assert same(out, expected)
    filled = torch.ones(4, 3, device="cuda")
    cornerturn.copy(filled, host.zeros((4, 3), torch.float32).fill_(2), beta=0.5, alpha=3)
    assert (filled == 6.5).all()


def test_results_are_complete_when_the_call_returns(host):
    x = torch.zeros(1500, 1000, device="cuda")
    out = host.zeros((1000, 1500), torch.float32)
    for value in range(1, 4):
        torch.cuda._sleep(20_000_000)
        x += 1
        cornerturn.transpose(x, out=out)
        assert (out == value).all()
    if host.kind != "pinned":  # this memory is written by the CPU: the call has to stay until then
        torch.cuda._sleep(20_000_000)
        x += 1
        cornerturn.transpose(x, out=out, non_blocking=True)
        assert (out == 4).all()
    stream = torch.cuda.Stream()
    source = host.zeros((1000, 1500), torch.float32).fill_(7)
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        there = cornerturn.to(source, "cuda")
    source.zero_()
    assert (there == 7).all()  # on another stream


def test_the_order_of_a_stream(host):
    """Without waiting: work before the copy is seen by it, and work behind it sees the result."""
    stream = torch.cuda.Stream()
    x, source = torch.zeros(900, 700, device="cuda"), host.zeros((700, 900), torch.float32)
    out = host.zeros((700, 900), torch.float32)
    torch.cuda.synchronize()
    for value in range(1, 5):
        source.fill_(value)
        with torch.cuda.stream(stream):
            torch.cuda._sleep(5_000_000)
            cornerturn.transpose(source, out=x, non_blocking=True)
            x *= 10
            cornerturn.copy(out, x.t(), non_blocking=True)
        stream.synchronize()
        assert (out == 10 * value).all()
    torch.cuda._sleep(5_000_000)  # on the current stream, which is not the one that is given
    source.fill_(9)
    there = cornerturn.to(source, "cuda", stream=stream, non_blocking=True)
    stream.synchronize()
    assert (there == 9).all()
    out = cornerturn.to(there, "cpu", (1, 0), non_blocking=True)
    assert out.is_pinned()
    torch.cuda.current_stream().synchronize()
    assert (out == 9).all()


def test_both_ways_at_once(host):
    """Two threads, each with a stream of its own, in opposite directions."""
    random = np.random.default_rng(10)
    shape = (600, 1000)
    up = [fill(host.zeros(shape, torch.float32), random) for _ in range(3)]
    down = [fill(torch.zeros(shape, device="cuda"), random) for _ in range(3)]
    outs = [host.zeros(shape[::-1], torch.float32) for _ in range(3)]
    found, failed = [], []
    torch.cuda.synchronize()

    def work(n):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(20):
                    if n % 2:
                        found.append((n // 2, cornerturn.to(up[n // 2], "cuda", (1, 0))))
                    else:
                        cornerturn.transpose(down[n // 2], out=outs[n // 2])
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and len(found) == 60
    assert all(same(there, up[i].t()) for i, there in found)
    assert all(same(outs[i], down[i].t()) for i in range(3))


def test_in_a_graph():
    x = torch.zeros(300, 200).pin_memory()
    there, back = torch.zeros(200, 300, device="cuda"), torch.zeros(300, 200).pin_memory()
    cornerturn.transpose(x, out=there)
    cornerturn.transpose(there, out=back)
    pageable = torch.zeros(300, 200)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        refused(ValueError, "graph takes pinned memory alone", lambda: cornerturn.transpose(pageable, out=there, non_blocking=True))
        refused(ValueError, "graph takes pinned memory alone", lambda: cornerturn.copy(pageable, there.t(), non_blocking=True))
        refused(RuntimeError, "non_blocking = False waits", lambda: cornerturn.transpose(x, out=there))
        cornerturn.transpose(x, out=there, non_blocking=True)
        there += 1
        cornerturn.transpose(there, out=back, non_blocking=True)
    for value in (3, 4):
        x.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        assert (there == value + 1).all() and (back == value + 1).all()
    cornerturn.transpose(pageable, out=there)  # what was refused leaves nothing behind
    assert not there.any()


def test_what_comes_back(tmp_path):
    x = np.arange(24, dtype="f4").reshape(2, 3, 4)
    expected = torch.from_numpy(x).permute(2, 1, 0)
    for device in ("cuda", "cuda:0", 0, torch.device("cuda"), torch.device("cuda", 0)):
        there = cornerturn.to(x, device, (2, 1, 0))
        assert isinstance(there, torch.Tensor) and there.device == torch.device("cuda:0")
        assert torch.equal(there.cpu(), expected)
        assert cornerturn.to(there, device) is there
    assert torch.equal(cornerturn.to(x.astype(">f4"), "cuda", (2, 1, 0)).cpu(), expected)
    home = cornerturn.to(there, "cpu")
    assert home.device.type == "cpu" and torch.equal(home, expected) and not home.is_pinned()
    assert (cornerturn.to(there, "cpu", out=np.zeros((4, 3, 2), "f4")) == x.T).all()
    refused(TypeError, "x.dtype = <U3 is none that PyTorch has", lambda: cornerturn.to(np.array(["abc"]), "cuda"))
    y = torch.ones(3, requires_grad=True)
    refused(ValueError, "x requires grad", lambda: cornerturn.to(y, "cuda"))
    count = torch.cuda.device_count()
    refused(ValueError, f"device = 'cuda:{count}': the GPUs here", lambda: cornerturn.to(x, f"cuda:{count}"))
    assert cornerturn.to(y.detach()[:0], "cuda").shape == (0,)


def test_mapped_weights(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    random = np.random.default_rng(11)
    random.integers(0, 256, 3 * 500 * 700, np.uint8).tofile(tmp_path / "w")
    w = np.memmap(tmp_path / "w", ml_dtypes.float8_e4m3fn, "r", shape=(3, 500, 700))
    there = cornerturn.to(w, "cuda", (0, 2, 1))
    assert there.dtype == torch.float8_e4m3fn and there.shape == (3, 700, 500)
    assert torch.equal(bytes_of(there), torch.from_numpy(np.ascontiguousarray(w.view("u1").transpose(0, 2, 1))).reshape(-1))


def test_cupy():
    cupy = pytest.importorskip("cupy")
    x = np.arange(6000.0).reshape(20, 30, 10)
    there = cornerturn.to(x, cupy.cuda.Device(0), (2, 0, 1))
    assert type(there) is cupy.ndarray and (cupy.asnumpy(there) == x.transpose(2, 0, 1)).all()
    home = cornerturn.to(there[::-1], "cpu", (1, 0, 2))
    assert type(home) is np.ndarray and (home == x.transpose(2, 0, 1)[::-1].transpose(1, 0, 2)).all()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        there *= 2
        cornerturn.copy(home, there.transpose(1, 0, 2))
    assert (home == 2 * x.transpose(0, 2, 1)).all()


def test_jax(monkeypatch):
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU here")
    x = np.arange(24, dtype="f4").reshape(2, 3, 4)
    there = cornerturn.to(x, jax.devices()[0], (2, 1, 0))
    assert isinstance(there, jax.Array) and there.devices() == {jax.devices()[0]}
    assert (np.asarray(there) == x.T).all()
    home = cornerturn.to(there, "cpu", (1, 0, 2))
    assert isinstance(home, jax.Array) and next(iter(home.devices())).platform == "cpu"
    assert (np.asarray(home) == x.T.transpose(1, 0, 2)).all()
    again = cornerturn.to(home, "cuda:0")
    assert isinstance(again, jax.Array) and (np.asarray(again) == np.asarray(home)).all()
    out = torch.zeros(4, 3, 2)
    cornerturn.to(there, "cpu", out=out)
    assert (out.numpy() == x.T).all()


def test_the_second_gpu():
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    x = torch.arange(120_000.0).reshape(300, 400)
    there = cornerturn.to(x, "cuda:1", (1, 0))
    assert there.device == torch.device("cuda:1") and torch.equal(there.cpu(), x.t())
    assert torch.cuda.current_device() == 0
    out = torch.zeros(300, 400).pin_memory()
    cornerturn.copy(out, there.t())
    assert torch.equal(out, x) and torch.cuda.current_device() == 0
    refused(ValueError, "device = 'cuda:0', but x is in the memory of GPU 1", lambda: cornerturn.to(there, "cuda:0"))
    with torch.cuda.device(1):
        assert cornerturn.to(x, "cuda").device == torch.device("cuda:1")


def test_pinned_memory_lives_until_it_was_read():
    x = torch.ones(400, 300).pin_memory()
    memory = x.numpy()  # which nobody else knows to be in use
    alive = weakref.ref(memory)
    torch.cuda._sleep(200_000_000)
    there = cornerturn.to(memory, "cuda", (1, 0), non_blocking=True)
    del memory
    gc.collect()
    assert alive() is not None
    torch.cuda.synchronize()
    assert (there == 1).all()
    cornerturn.to(x, "cuda", non_blocking=True)  # a later call gives it back
    gc.collect()
    assert alive() is None


def test_a_signal_is_heard_between_two_pieces():
    class Stop(Exception):
        pass

    def stop(*_):
        raise Stop

    def send():
        time.sleep(0.002)
        signal.raise_signal(signal.SIGALRM)

    before = signal.signal(signal.SIGALRM, stop)
    pieces = _core.check_signals_every(1 << 14)
    try:
        for into_gpu in (True, False):
            x = torch.ones(3000, 2000, device="cpu" if into_gpu else "cuda")
            out = torch.zeros(2000, 3000, device="cuda" if into_gpu else "cpu")
            for _ in range(100):  # until the signal comes while the call works
                out.zero_()
                sender = threading.Thread(target=send)
                try:
                    sender.start()
                    cornerturn.transpose(x, out=out)
                    sender.join()
                    for _ in range(3):  # where Python looks for signals
                        pass
                except Stop:
                    pass
                sender.join()
                if 0 < out.count_nonzero() < out.numel():
                    break
            assert 0 < out.count_nonzero() < out.numel()
            cornerturn.transpose(x, out=out)
            assert (out == 1).all()
    finally:
        _core.check_signals_every(pieces)
        signal.signal(signal.SIGALRM, before)


def test_whoever_looks_at_tensors_sees_the_call(host):
    """torch.compile and profilers see one operator, whose two tensors lie in different memories."""
    x, out = host.zeros((300, 200), torch.float32).fill_(3), torch.zeros(200, 300, device="cuda")
    with torch.profiler.profile() as profile:
        cornerturn.transpose(x, out=out)
        cornerturn.copy(x, out.t() * 2)
    assert "cornerturn::permute_into" in {event.name for event in profile.events()}
    assert (out == 3).all() and (x == 6).all()
    version = out._version
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(5_000_000)
        torch.compile(lambda a, b: cornerturn.copy(a, b.t()), backend="eager", fullgraph=True)(out, x)
        out += 1
    stream.synchronize()
    assert (out == 7).all() and out._version > version


def test_plan():
    x, out = torch.zeros(1024, 2048), torch.zeros(2048, 1024, device="cuda")
    for host in (x, x.pin_memory()):
        plan = cornerturn.plan(host, out=out)
        assert plan.kernel in str(plan) and plan.kernel in plan.explain()
        assert cornerturn.plan(out, out=host).to_dict()["kernel"]
        assert cornerturn.plan(host, out=out, kernel=plan.kernel).kernel == plan.kernel


def test_few_blocks():
    x = fill(torch.zeros(700, 1100, dtype=torch.float32, pin_memory=True), np.random.default_rng(4))
    for blocks in (1, 16, 1000):
        there = cornerturn.to(x, "cuda", (1, 0), blocks=blocks)
        assert same(there, x.T)
        assert same(cornerturn.to(there, "cpu", (1, 0), blocks=blocks, non_blocking=False), x)
        halves = cornerturn.to(x, "cuda", (1, 0), dtype=torch.bfloat16, blocks=blocks)
        assert same(halves.nan_to_num(), x.T.bfloat16().nan_to_num())  # NaN have many codes
    refused(ValueError, "blocks = 4, but the result and x are in one memory", lambda: cornerturn.to(there, "cuda", blocks=4))
