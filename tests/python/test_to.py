"""Between host memory and a GPU, on machines without one: host memory stands in for the GPU's."""

import contextlib
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import cornerturn
from cornerturn import _core

X = np.arange(24, dtype="f4").reshape(2, 3, 4)


def refused(error, message, call, *args, **kwargs):
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    assert type(caught.value) is error
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


class Number:
    def __init__(self, value):
        self.id = self.ptr = value


class Gpus:
    """Two GPUs: what lies on them, and what was asked of the engine."""

    def __init__(self):
        self.on = {}  # the number of a GPU, by address
        self.calls = []  # (gpu, stream, waits)
        self.blocks = []  # of each call
        self.kept = []
        self.memory = []
        self.pinned = False  # is all host memory?

    def gpu_of(self, address):
        return next((n for (low, high), n in self.on.items() if low <= address < high), -1)

    def holds(self, memory, number):
        self.memory.append(memory)  # nobody else is to get these addresses
        self.on[memory.ctypes.data, memory.ctypes.data + max(memory.nbytes, 1)] = number

    def done(self, dst, src, gpu, stream, waits):
        assert {self.gpu_of(dst), self.gpu_of(src)} == {-1, gpu}
        self.calls.append((gpu, stream, waits))
        return self.pinned and not waits


class Shown:
    """An array on a GPU that is known by a protocol alone."""

    def __init__(self, gpus, memory, number=0):
        gpus.holds(memory if memory.base is None else memory.base, number)
        self.memory = memory
        self.__cuda_array_interface__ = dict(memory.__array_interface__, stream=None, version=3)


@pytest.fixture
def gpus(monkeypatch):
    """The engine's work across the link is done by the CPU."""
    gpus = Gpus()
    execute, convert = _core.execute, _core.convert
    operands = {}

    def operand(address, *rest):
        made = Operand(address, *rest)
        operands[id(made)] = made, address
        return made

    Operand = _core.Operand

    def execute_across(dst, src, *rest):
        *sides, gpu, stream, waits, blocks = rest
        execute(dst, src, *sides)
        gpus.blocks.append(blocks)
        return gpus.done(dst, src, gpu, stream, waits)

    def convert_across(dst, src, epilogue, gpu, stream, waits, blocks):
        convert(dst, src, epilogue, -1, 0)
        gpus.blocks.append(blocks)
        return gpus.done(operands[id(dst)][1], operands[id(src)][1], gpu, stream, waits)

    monkeypatch.setattr(_core, "Operand", operand)
    monkeypatch.setattr(_core, "gpu_of", gpus.gpu_of)
    monkeypatch.setattr(_core, "gpu_count", lambda: 2)
    monkeypatch.setattr(_core, "current_gpu", lambda: 1)
    monkeypatch.setattr(_core, "execute_across", execute_across)
    monkeypatch.setattr(_core, "convert_across", convert_across)
    monkeypatch.setattr(_core, "keep", lambda *what: gpus.kept.append(what))
    return gpus


@pytest.fixture
def cupy(gpus, monkeypatch):
    """A CuPy whose arrays lie in host memory, and no PyTorch."""
    cupy = types.ModuleType("cupy")

    class ndarray:
        def __init__(self, memory, number):
            gpus.holds(memory, number)
            self.memory, self.device = memory, Number(number)
            self.data = Number(memory.ctypes.data)
            self.shape, self.strides, self.dtype = memory.shape, memory.strides, memory.dtype
            self.itemsize = memory.itemsize

        def __getitem__(self, cut):
            return ndarray(self.memory[cut], self.device.id)

    class Device(Number):
        current = [0]

        def __enter__(self):
            self.current.append(self.id)

        def __exit__(self, *_):
            self.current.pop()

    def empty(shape, dtype):
        if np.dtype(dtype).kind not in "biufcV":
            raise ValueError("Unsupported dtype")
        return ndarray(np.empty(shape, dtype), Device.current[-1])

    ndarray.__module__ = Device.__module__ = "cupy"
    cupy.ndarray, cupy.empty = ndarray, empty
    cupy.cuda = types.SimpleNamespace(
        Device=Device,
        get_current_stream=lambda: Number(1000 + Device.current[-1]),
        ExternalStream=lambda *_: contextlib.nullcontext(),
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    return cupy


def view_of(random, memory):
    """A part of `memory`, with steps and mirrored axes."""
    cuts = []
    for extent in memory.shape:
        first = int(random.integers(0, extent // 2 + 1))
        step = int(random.choice([1, 1, 2, -1]))
        part = slice(first, None) if step > 0 else slice(None, first - 1 if first else None)
        cuts.append(slice(part.start, part.stop, step))
    return memory[tuple(cuts)]


@pytest.mark.parametrize("dtype", ["u1", "f4", "f8", "c16", ">i4", "S3", "M8[s]"])
@pytest.mark.parametrize("into_gpu", [True, False])
def test_any_view_to_any_view(gpus, dtype, into_gpu):
    random = np.random.default_rng(5)
    for _ in range(20):
        shape = tuple(random.integers(1, 9, random.integers(1, 5)))
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        values = random.integers(65, 90, size, np.uint8).view(dtype).reshape(shape)
        x = view_of(random, values)
        axes = tuple(int(axis) for axis in random.permutation(x.ndim))
        around = np.zeros(tuple(2 * n for n in x.transpose(axes).shape), dtype)
        out = around[tuple(slice(0, 2 * n, 2) for n in x.transpose(axes).shape)]
        if into_gpu:
            source, target = x, Shown(gpus, out)
        else:
            source, target = Shown(gpus, x), out
        assert cornerturn.transpose(source, axes, out=target) is target
        assert (out == x.transpose(axes)).all()
        assert np.count_nonzero(around) == np.count_nonzero(out)  # nothing beside it is written
        around[...] = np.zeros((), dtype)
        cornerturn.copy(target, Shown(gpus, x.transpose(axes)) if not into_gpu else x.transpose(axes))
        assert (out == x.transpose(axes)).all()
    assert gpus.calls == [(0, 0, True)] * 40 and not gpus.kept


def test_values_change_on_their_way(gpus):
    for out in (Shown(gpus, np.zeros((4, 3, 2), "f2"), 1), np.zeros((4, 3, 2), "f2")):
        x = X if isinstance(out, Shown) else Shown(gpus, X, 1)
        result = out.memory if isinstance(out, Shown) else out
        cornerturn.transpose(x, out=out, dtype="float16", scale=[1, 2], bias=0.5, alpha=3)
        assert (result == X.T * 3 * np.array([1, 2]) + 0.5).all()
        on_gpu = Shown(gpus, np.array([5, 7], "f4"), 1)
        cornerturn.transpose(x, out=out, dtype="float16", scale=on_gpu)
        assert (result == X.T * np.array([5, 7])).all()
        cornerturn.copy(out, X.T if isinstance(out, Shown) else Shown(gpus, X.T, 1), convert=True, beta=1)
        assert (result == X.T * np.array([6, 8])).all()
        elsewhere = Shown(gpus, np.array([5, 7], "f4"), 0)
        refused(ValueError, "scale and x have to be on one device, or it in host memory",
                cornerturn.transpose, x, out=out, dtype="float16", scale=elsewhere)  # fmt: skip
    assert gpus.calls == [(1, 0, True)] * 6


def test_other_order_of_bytes(gpus):
    out = Shown(gpus, np.zeros((4, 3, 2), "f4"))
    cornerturn.transpose(X.astype(">f4"), out=out)
    assert (out.memory == X.T).all()


def test_what_is_refused(gpus):
    full = np.full((4, 3, 2), 7, "f4")
    out, host = Shown(gpus, full), np.full((4, 3, 2), 7, "f4")
    refused(ValueError, "out.shape = (4, 3, 2) differs from (2, 3, 4)", cornerturn.transpose, X, (0, 1, 2), out=out)
    refused(TypeError, "out.dtype = float32 differs from x.dtype = int32", cornerturn.transpose, X.astype("i4"), out=out)
    other = Shown(gpus, X.copy(), 1)
    refused(
        ValueError, "out is in the memory of GPU 0, x in the memory of GPU 1: both have to be in one, or one of them",
        cornerturn.transpose, other, out=out,
    )  # fmt: skip
    refused(ValueError, "dst is in the memory of GPU 0, src in the memory of GPU 1", cornerturn.copy, out, Shown(gpus, X.T, 1))
    host.flags.writeable = False
    refused(ValueError, "out is read-only", cornerturn.transpose, other, out=host)
    refused(ValueError, "dst is read-only", cornerturn.copy, host, Shown(gpus, X.T, 1))
    out.__cuda_array_interface__["data"] = (full.ctypes.data, True)
    refused(ValueError, "out is read-only", cornerturn.transpose, X, out=out)
    # Memory that both reach, and two arrays show: one says that it is the host's, one that it is a GPU's.
    both = np.arange(16, dtype="f4").reshape(4, 4)
    refused(ValueError, "out overlaps x in memory", cornerturn.transpose, both, out=Shown(gpus, both))
    refused(ValueError, "dst overlaps src in memory", cornerturn.copy, both, Shown(gpus, both[::-1]))
    refused(ValueError, "stream = -1 is negative", cornerturn.copy, Shown(gpus, np.zeros((4, 3, 2), "f4")), X.T, stream=-1)
    assert (full == 7).all() and (host == 7).all() and (both == np.arange(16).reshape(4, 4)).all()
    assert not gpus.calls


def test_the_engines_errors_name_the_argument(gpus, monkeypatch):
    def fails(*_):
        raise ValueError("src = 0x1000 is host memory and pageable, but the stream is being captured")

    monkeypatch.setattr(_core, "execute_across", fails)
    monkeypatch.setattr(_core, "convert_across", fails)
    out = Shown(gpus, np.zeros((4, 3, 2), "f4"))
    refused(ValueError, "x = 0x1000 is host memory and pageable", cornerturn.transpose, X, out=out)
    refused(ValueError, "src = 0x1000 is host memory", cornerturn.copy, out, X.T)
    refused(ValueError, "x = 0x1000 is host memory", cornerturn.transpose, X, out=out, scale=2)


def test_whose_stream(gpus, cupy):
    on_gpu = cupy.ndarray(np.zeros((4, 3, 2), "f4"), 1)
    cornerturn.transpose(X, out=on_gpu)
    cornerturn.copy(on_gpu, X.T)
    cornerturn.copy(X.copy().T, on_gpu)
    cornerturn.transpose(on_gpu, out=X.copy(), stream=0)
    cornerturn.copy(on_gpu, X.T, stream=Number(77), non_blocking=True)
    assert gpus.calls == [(1, 1001, True)] * 3 + [(1, 0, True), (1, 77, False)]


def test_pinned_memory_is_kept_while_it_is_used(gpus):
    out = Shown(gpus, np.zeros((4, 3, 2), "f4"))
    cornerturn.copy(out, X.T, non_blocking=True)
    assert not gpus.kept
    gpus.pinned = True
    cornerturn.copy(out, X.T)
    assert not gpus.kept
    cornerturn.copy(out, X.T, non_blocking=True, stream=5)
    cornerturn.transpose(X, out=out, scale=[1, 2], non_blocking=True, stream=6)
    (first, *on), (second, *on_6) = gpus.kept
    assert on == [0, 5] and on_6 == [0, 6]
    assert any(np.shares_memory(one, X) for one in first if isinstance(one, np.ndarray))
    assert any(np.shares_memory(one, X) for one in second if isinstance(one, np.ndarray))


def test_blocks(gpus, cupy):
    on_gpu = cupy.ndarray(np.zeros((4, 3, 2), "f4"), 0)
    cornerturn.to(X, "cuda:0", (2, 1, 0), out=on_gpu, blocks=16)
    cornerturn.to(X, "cuda:0", blocks=np.int64(3))
    cornerturn.to(X, "cuda:0", dtype="float16", blocks=4, threads=2)
    cornerturn.transpose(X, out=on_gpu, blocks=5)
    cornerturn.swapaxes(X, 0, 2, out=on_gpu, blocks=6)
    cornerturn.copy(on_gpu, X.T, blocks=7, threads=1)
    cornerturn.copy(X.copy().T, on_gpu, blocks=8, non_blocking=True)
    cornerturn.copy(on_gpu, X.T, scale=2, blocks=0)
    cornerturn.copy(on_gpu, X.T, blocks=None)
    assert gpus.blocks == [16, 3, 4, 5, 6, 7, 8, 0, 0]


def test_blocks_that_are_refused(gpus, cupy):
    out, there = np.full((4, 3, 2), 7, "f4"), cupy.ndarray(np.zeros((4, 3, 2), "f4"), 0)
    within = "blocks = 16, but {} are in one memory: it limits kernels that reach from a GPU into host memory"
    refused(ValueError, within.format("out and x"), cornerturn.transpose, X, out=out, blocks=16)
    refused(ValueError, within.format("the result and x"), cornerturn.transpose, X, blocks=16)
    refused(ValueError, within.format("the result and x"), cornerturn.to, X, "cpu", blocks=16)
    refused(ValueError, within.format("the result and x"), cornerturn.to, there, "cuda:0", blocks=16)
    refused(ValueError, within.format("dst and src"), cornerturn.copy, out, X.T, blocks=16)
    refused(ValueError, within.format("dst and src"), cornerturn.copy, out, X.T, blocks=16, scale=2)
    refused(ValueError, "blocks = 4, but no side lies across the link", cornerturn.plan, X, out=out, blocks=4)
    for call in (cornerturn.transpose, cornerturn.plan):
        refused(ValueError, "blocks = -1 is out of range", call, X, out=there, blocks=-1)
        refused(ValueError, "is out of range: 0 to 2147483647", call, X, out=there, blocks=1 << 31)
        refused(TypeError, "blocks = 1.5 is no integer", call, X, out=there, blocks=1.5)
        refused(TypeError, "blocks = True is no integer", call, X, out=there, blocks=True)
    assert (out == 7).all() and not there.memory.any() and not gpus.calls


def test_to_a_gpu(gpus, cupy):
    for x in (X, X[::-1, :, ::2], np.asfortranarray(X), X[:, :0], X.astype("c8"), np.float32(3)):
        for axes in (None, tuple(range(x.ndim))[::-1]):
            result = cornerturn.to(x, "cuda:0", axes)
            assert type(result) is cupy.ndarray and result.device.id == 0 and result.dtype == x.dtype
            assert result.memory.flags.c_contiguous
            assert np.array_equal(result.memory, x if axes is None else x.transpose(axes))
    for device, number in (("cuda", 1), ("gpu", 1), ("cuda:1", 1), (0, 0), (np.int64(1), 1), (cupy.cuda.Device(0), 0)):
        assert cornerturn.to(X, device).device.id == number
    assert (cornerturn.to([[1, 2], [3, 4]], "cuda", (1, 0)).memory == [[1, 3], [2, 4]]).all()
    assert (cornerturn.to(memoryview(b"abc"), "cuda").memory == [97, 98, 99]).all()
    result = cornerturn.to(X.astype(">f4"), 0, (2, 1, 0))
    assert result.dtype == np.dtype("f4") and (result.memory == X.T).all()
    result = cornerturn.to(X, 0, (2, 1, 0), dtype=np.float16, scale=0.5)
    assert result.dtype == "f2" and (result.memory == X.T / 2).all()
    out = cupy.empty((4, 3, 2), "f4")
    assert cornerturn.to(X, "cuda:0", (2, 1, 0), out=out, threads=1) is out and (out.memory == X.T).all()


def test_a_mapped_file_to_a_gpu(gpus, cupy, tmp_path):
    X.tofile(tmp_path / "x")
    mapped = np.memmap(tmp_path / "x", "f4", "r", shape=(2, 3, 4))
    assert (cornerturn.to(mapped, "cuda", (2, 0, 1)).memory == X.transpose(2, 0, 1)).all()
    into = np.memmap(tmp_path / "y", "f4", "w+", shape=(4, 3, 2))
    assert cornerturn.to(cupy.ndarray(X.copy(), 1), "cpu", (2, 1, 0), out=into) is into
    assert (into == X.T).all()


def test_to_the_host(gpus, cupy):
    x = cupy.ndarray(X.copy(), 0)
    result = cornerturn.to(x, "cpu", (2, 1, 0))
    assert type(result) is np.ndarray and (result == X.T).all()
    assert (cornerturn.to(Shown(gpus, X.T), "cpu:0") == X.T).all()
    assert gpus.calls == [(0, 1000, True), (0, 0, True)]


def test_what_is_there_already(gpus, cupy):
    x = cupy.ndarray(X.copy(), 0)
    assert cornerturn.to(x, "cuda") is x and cornerturn.to(x, 0, dtype="float32") is x
    assert cornerturn.to(X, "cpu") is X and cornerturn.to(X, "cpu", (0, 1, 2), dtype="f4") is X
    moved = cornerturn.to(X, "cpu", (2, 1, 0))
    assert moved.flags.c_contiguous and (moved == X.T).all()
    assert (cornerturn.to(X, "cpu", dtype="i8", scale=2) == 2 * X).all()
    assert (cornerturn.to(X[::2], "cpu") == X[::2]).all()
    assert not gpus.calls


DEVICES = [
    ("gpu1", ValueError), ("cuda:", ValueError), ("cuda:-1", ValueError), ("cpu:1", ValueError), ("", ValueError),
    ("cuda:99999", ValueError), (-1, ValueError), (True, ValueError), (None, TypeError), (1.5, TypeError),
    (np.float32, TypeError), ([0], TypeError),
]  # fmt: skip


@pytest.mark.parametrize(("device", "error"), DEVICES, ids=str)
def test_what_is_no_device(gpus, device, error):
    refused(error, f"device = {device!r} is no device: it has to be 'cpu', 'cuda'", cornerturn.to, X, device)


def test_what_to_refuses(gpus, cupy):
    there = cupy.ndarray(X.copy(), 0)
    refused(ValueError, "device = 'cuda:2': the GPUs here have the numbers 0 to 1", cornerturn.to, X, "cuda:2")
    refused(ValueError, "device = 'cuda:1', but x is in the memory of GPU 0", cornerturn.to, there, "cuda:1")
    refused(ValueError, "out is in host memory, but device = 'cuda:0'", cornerturn.to, X, "cuda:0", out=X.copy())
    refused(ValueError, "out is in the memory of GPU 0, but device = 'cpu'", cornerturn.to, there, "cpu", out=there)
    refused(ValueError, "axes = (0, 1) has 2 entries, x has rank 3", cornerturn.to, X, "cuda", (0, 1))
    refused(ValueError, "there is no out to be multiplied", cornerturn.to, X, "cpu", beta=1)
    refused(ValueError, "there is no out to be multiplied", cornerturn.to, X, "cuda", beta=1)
    refused(TypeError, "x.dtype = <U3 is none that CuPy has: pass out=", cornerturn.to, np.array(["abc"]), "cuda")
    refused(TypeError, "dtype = 'float33'", cornerturn.to, X, "cuda", dtype="float33")
    refused(TypeError, "none of __dlpack__", cornerturn.to, object(), "cuda")
    assert not gpus.calls


def test_nobody_has_arrays_on_gpus(gpus, monkeypatch):
    for name in ("torch", "cupy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    refused(TypeError, "neither PyTorch nor CuPy is imported to hold the result", cornerturn.to, X, "cuda:0")
    out = Shown(gpus, np.zeros((4, 3, 2), "f4"))
    assert cornerturn.to(X, "cuda:0", (2, 1, 0), out=out) is out and (out.memory == X.T).all()


def test_tensors(gpus, monkeypatch):
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(X.copy())
    assert cornerturn.to(x, torch.device("cpu")) is x and cornerturn.to(x, "cpu", dtype=torch.float32) is x
    assert torch.equal(cornerturn.to(x, "cpu", (2, 1, 0)), x.permute(2, 1, 0))
    result = cornerturn.to(X, torch.device("cpu"), (2, 1, 0), dtype=torch.float64)
    assert isinstance(result, torch.Tensor) and torch.equal(result, x.permute(2, 1, 0).double())
    there = Shown(gpus, X.T.copy())
    out = torch.zeros(4, 3, 2)
    version = out._version
    assert cornerturn.to(there, "cpu", out=out) is out and torch.equal(out, x.permute(2, 1, 0))
    assert out._version > version
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)  # NumPy needs no such dtype here
    for name in ("bfloat16", "float8_e4m3fn"):
        of_name = torch.zeros(4, 3, 2, dtype=getattr(torch, name))
        cornerturn.to(there, "cpu", out=of_name, dtype=name)
        assert torch.equal(of_name, x.permute(2, 1, 0).to(of_name.dtype))
    y = x.clone().requires_grad_()
    refused(ValueError, "src requires grad", cornerturn.copy, there, y.permute(2, 1, 0))
    if not torch.cuda.is_available():
        refused(ValueError, "detach it, or work under torch.no_grad()", cornerturn.to, y, "cuda:0")
    with torch.no_grad():
        cornerturn.copy(there, 2 * y.permute(2, 1, 0))
    assert (there.memory == 2 * X.T).all()


def test_jax(gpus, cupy, monkeypatch):
    jax = pytest.importorskip("jax")
    x = jax.numpy.asarray(X)
    assert cornerturn.to(x, "cpu") is x
    result = cornerturn.to(Shown(gpus, X.copy()), jax.devices("cpu")[0], (2, 1, 0))
    assert isinstance(result, jax.Array) and (np.asarray(result) == X.T).all()
    out = cupy.empty((4, 3, 2), "f4")
    cornerturn.to(x, "cuda:0", (2, 1, 0), out=out)
    assert (out.memory == X.T).all()
    made = []
    monkeypatch.setattr(jax.dlpack, "from_dlpack", lambda array: made.append(array) or "a JAX array")
    assert cornerturn.to(x, "cuda:0", (2, 1, 0)) == "a JAX array"
    assert type(made[0]) is cupy.ndarray and (made[0].memory == X.T).all()
    refused(TypeError, "out is a JAX array, which cannot be written to", cornerturn.to, X, "cpu", out=x)


def example(page):
    (code,) = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M)
    return code


DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not here")
def test_the_pages_say_what_happens(gpus, cupy, monkeypatch, tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(12, dtype="f4").reshape(3, 4)
    names = {"cornerturn": cornerturn, "x": x}
    exec(example(DOCS / "python.md"), names)
    assert (names["there"].memory == x.T).all() and (names["home"] == x).all()
    assert names["half"].dtype == ml_dtypes.bfloat16 and (names["half"].memory == x / 2).all()

    code = example(DOCS / "python-cookbook.md")
    monkeypatch.chdir(tmp_path)
    values = np.arange(120, dtype="u1").reshape(2, 6, 10)
    values.tofile("experts.bin")
    torch = types.ModuleType("torch")  # one that has no GPU
    torch.Tensor, torch.version = type("Tensor", (), {}), types.SimpleNamespace(cuda=None)
    monkeypatch.setitem(sys.modules, "torch", torch)
    names = {}
    exec(code.replace("(8, 5120, 16384)", "(2, 6, 10)"), names)
    assert (names["there"].memory.view("u1") == values.transpose(0, 2, 1)).all()
    assert len(code.splitlines()) == 3

    names = {}
    exec(example(DOCS / "link.md").replace("(8, 5120, 16384)", "(2, 6, 10)"), names)
    assert (names["there"].memory.view("u1") == values.transpose(0, 2, 1)).all()
    assert (names["home"].view("u1") == values).all()


def test_labelled_and_lazy_arrays_stay():
    xarray = pytest.importorskip("xarray")
    refused(TypeError, "x is a DataArray, which stays in host memory", cornerturn.to, xarray.DataArray(X), "cpu")


def test_without_a_gpu():
    """The engine itself refuses, and touches nothing."""
    with contextlib.suppress(ImportError):
        import torch

        if torch.cuda.is_available():
            pytest.skip("a GPU is here")
    refused(RuntimeError, "device = 'cuda:0': no GPU: ", cornerturn.to, X, "cuda:0")
    refused(RuntimeError, "device = 'cuda': no GPU: ", cornerturn.to, X, "cuda")
    for call in (_core.gpu_count, _core.current_gpu, lambda: _core.keep(X, 0, 0)):
        with pytest.raises(RuntimeError, match="no GPU"):
            call()
    for dst, src in ((4096, X.ctypes.data), (X.ctypes.data, 4096)):
        with pytest.raises(RuntimeError, match="no GPU"):
            _core.execute_across(dst, src, 4, (2, 3), (12, 4), (4, 8), 0, 0, True)
        sides = (_core.Operand(dst, "f32", (2, 3), (12, 4)), _core.Operand(src, "f32", (2, 3), (4, 8)))
        with pytest.raises(RuntimeError, match="no GPU"):
            _core.convert_across(*sides, _core.Epilogue(), 0, 0, True)
    assert (X == np.arange(24).reshape(2, 3, 4)).all()
