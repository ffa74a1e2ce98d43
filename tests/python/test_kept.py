"""Nothing is kept after a call: neither after a result nor after an error, nor until a cycle is collected."""

import gc
import random
import signal
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import cornerturn
from cornerturn import _core

FORMATS = ["mxfp8_e4m3", "mxfp8_e5m2", "q8_0", "tensor_e4m3", "tensor_e5m2", "tensor_i8"]
ERRORS = (ValueError, TypeError, RuntimeError, BufferError, MemoryError, IndexError, ZeroDivisionError)


@pytest.fixture
def alive(monkeypatch):
    """The operands that are alive, while nobody collects cycles."""
    found = weakref.WeakSet()

    class Counted(_core.Operand):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            found.add(self)

    monkeypatch.setattr(_core, "Operand", Counted)
    gc.collect()
    gc.disable()
    yield found
    gc.enable()


def random_call(choose, make):
    """A call with arguments that are right in some ways and wrong in others."""
    shape = tuple(choose.choice((0, 1, 2, 32, 64, 33)) for _ in range(choose.randrange(4)))
    x = make(shape, choose.choice(["float32", "float64", "int32", "uint8", "complex64", "bool"]))
    axes = choose.sample(range(len(shape)), len(shape)) if choose.randrange(4) else (0, 0)
    dtype = choose.choice(["float32", "float16", "int8", "complex128", "no type", None])
    out = make(shape, choose.choice(["float32", "int8"])) if choose.randrange(2) else None
    values = dict(
        scale=choose.choice([None, 2.0, [1.0, 2.0], make((3,), "float32")]),
        bias=choose.choice([None, 1.0, make((2, 2), "float64")]),
        beta=choose.choice([0.0, 1.0]), conjugate=choose.random() < 0.3, saturate=choose.random() < 0.3,
        rounding=choose.choice([None, "nearest", "stochastic", "up"]), threads=choose.choice([None, 1]),
    )  # fmt: skip
    pattern = choose.choice(["a b c -> c (a b)", "a b -> b a", "a -> a 1", "... a -> a ...", "a (b"])
    format = choose.choice([*FORMATS, "none"])
    scale = choose.choice([1.0, make((2, 1), "uint8"), None])
    return choose.choice(
        [
            lambda: cornerturn.transpose(x, axes, out=out, dtype=dtype, **values),
            lambda: cornerturn.copy(out, x, convert=True, **values),
            lambda: cornerturn.copy(out, x),
            lambda: cornerturn.contiguous(x[::2] if len(shape) else x, dtype=dtype),
            lambda: cornerturn.rearrange(x, pattern),
            lambda: cornerturn.rearrange([x, x], pattern),
            lambda: cornerturn.amax(x),
            lambda: cornerturn.quantise(x, format, pad=choose.random() < 0.5),
            lambda: cornerturn.dequantise(cornerturn.quantise(x, format)[0], scale, format=format),
            lambda: cornerturn.dequantise(x, scale, dtype=dtype),
            lambda: cornerturn.quantise_both(x, format),
            lambda: cornerturn.transpose_in_place(x, axes),
            lambda: cornerturn.plan(shape, axes, dtype=dtype),
        ]
    )


def outcome(call):
    try:
        call()
    except ERRORS as error:
        return type(error)
    return None


def test_nothing_is_kept_after_a_call(alive):
    choose = random.Random(1)
    seen = set()
    for _ in range(3000):
        call = random_call(choose, np.zeros)
        seen.add(outcome(call))
        assert len(alive) == 0
    assert {None, ValueError, TypeError} <= seen


def test_nothing_is_kept_of_tensors(alive):
    torch = pytest.importorskip("torch")
    choose = random.Random(2)

    def make(shape, dtype):
        made = torch.zeros(shape, dtype=getattr(torch, dtype))
        return made.requires_grad_() if made.is_floating_point() and choose.random() < 0.3 else made

    for _ in range(700):
        outcome(random_call(choose, make))
        assert len(alive) == 0
    # Gradients go back through the operators.
    for _ in range(20):
        x = torch.ones(4, 6, requires_grad=True)
        cornerturn.transpose(x, dtype=torch.float64, scale=2.0).sum().backward()
        with pytest.raises(ERRORS):
            cornerturn.transpose(x, dtype=torch.float64, scale=[1.0, 2.0])
    del x
    assert len(alive) == 0


def test_an_error_that_is_kept_keeps_no_operands(alive):
    choose = random.Random(4)
    errors = []
    for _ in range(1000):
        try:
            random_call(choose, np.zeros)()
        except ERRORS as error:
            errors.append(error)
    assert len(errors) > 100 and len(alive) == 0


def test_nothing_is_kept_after_an_interrupt(alive):
    class Stop(Exception):
        pass

    def stop(*_):
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    pieces = _core.check_signals_every(64)
    x = np.zeros((64, 64), "float32")
    held = sys.getrefcount(x)
    # Another thread sends the signal as soon as the call, in pieces of 64 bytes, has let go of the GIL.
    try:
        for call in (lambda: cornerturn.transpose(x), lambda: cornerturn.rearrange(x, "a b -> b a")):
            stopped = False
            while not stopped:
                sender = threading.Thread(target=signal.raise_signal, args=(signal.SIGALRM,))
                try:
                    sender.start()
                    for _ in range(100):
                        call()
                    sender.join()
                    for _ in range(3):  # where Python looks for signals
                        pass
                except Stop:
                    stopped = True
                sender.join()
            assert sys.getrefcount(x) == held and len(alive) == 0
    finally:
        _core.check_signals_every(pieces)
        signal.signal(signal.SIGALRM, before)


def test_a_process_ends_without_leaks():
    """nanobind counts its objects when Python ends, and says on standard error which are left."""
    code = (
        "import random, sys\nsys.path.insert(0, sys.argv[1])\nimport numpy\nfrom test_kept import outcome, random_call\n"
        "choose = random.Random(3)\nfor _ in range(500): outcome(random_call(choose, numpy.zeros))\n"
    )
    folder = __file__.rpartition("/")[0]
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert "nanobind" not in done.stderr, done.stderr
