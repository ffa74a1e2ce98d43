"""What a rung is for its caller: a function of two matrices that knows its name and its limits."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any

from cornerturn._arrays import HOST, Array

from ._operands import Pair, pair

try:
    from cornerturn import _ladder
except ImportError:
    _ladder = None

NO_LADDER = (
    "this build has no CUDA and CuTe rungs: it was made without Boost.Context "
    "(libboost-context-dev), which the emulator needs"
)
TRITON = {
    "triton_1d": "one program an element, in a grid of one axis",
    "triton_2d": "one program an element, in a grid of two axes",
    "triton_trans_1x1": "a block of one element, transposed by tl.trans",
    "triton_block": "blocks of 32 x 32: coalesced on both sides, masks at the edges",
    "triton_block_tuned": "block sizes and warps by autotuning, offsets of 64 bits",
}


class Rung:
    """`rung(a, b, *, stream=None)` puts the transpose of `a` into `b`.

    Args:
        a: a matrix of shape (rows, cols), packed row by row, on a GPU or in host memory. `cpy_flat` and
            `cpy_transpose` also take a stack of shape (batch, rows, cols), packed, or with row 0 of each
            matrix before row 1 of each: `x.swapaxes(0, 1)` of a packed x of shape (rows, batch, cols).
        b: its transpose, of shape (cols, rows), packed, of a's dtype, on a's device, apart from `a`. A
            rung that copies (`rung.transposes` is False) takes one of the shape of `a`; one that converts
            (`rung.converts`: `cpy_flat`, `cpy_transpose`) also one of another dtype, both of float32,
            float16, bfloat16 and int32.
        stream: for a GPU, the stream to work on: a cudaStream_t as an integer, or a stream of PyTorch,
            CuPy or Numba. None: the current stream of b's framework.

    Raises:
        TypeError: `a` or `b` is no array, holds references, or their dtypes differ.
        ValueError: the two do not fit each other, or the rung does not apply to them: says why.
        RuntimeError: there is no GPU for them, Triton is missing, or CUDA reports an error.
    """

    def __init__(self, name: str, shows: str, family: str, transposes: bool, converts: bool = False):
        self.name = self.__name__ = name
        self.shows = shows
        self.family = family
        self.transposes = transposes
        self.converts = converts
        self.__doc__ = f"{name}: {shows}.\n\n{inspect.cleandoc(Rung.__doc__ or '')}"

    def __repr__(self) -> str:
        return f"<rung {self.name}: {self.shows}>"

    def why_not(self, rows: int, cols: int, itemsize: int = 4) -> str | None:
        """Why it does not apply to a matrix of such elements, in one line; None if it does."""
        raise NotImplementedError

    def __call__(self, a: Any, b: Any, *, stream: Any = None) -> None:
        operands = pair(a, b, transposes=self.transposes, converts=self.converts, stream=stream)
        reason = self.why_not_pair(operands)
        if reason is not None:
            raise ValueError(f"{self.name} does not apply: {reason}")
        if operands.size > 0:
            self.launch(operands)

    def why_not_pair(self, operands: Pair) -> str | None:
        if operands.a.rank == 3:
            return f"it takes one matrix, not a stack of {operands.batch}"
        return self.why_not(operands.rows, operands.cols, operands.a.itemsize)

    def launch(self, operands: Pair) -> None:
        raise NotImplementedError


class CompiledRung(Rung):
    """A rung of the kernel form, which the emulator runs as well, or in CuTe's words."""

    def why_not(self, rows: int, cols: int, itemsize: int = 4) -> str | None:
        return self.why_not_built() or _ladder.why_not(self.name, rows, cols, itemsize)

    def why_not_built(self) -> str | None:
        """A build with device code may be without that of the CuTe rungs."""
        why = _ladder.why_no_cute() if self.family == "cute" and _ladder.why_no_gpu() is None else ""
        return f"it is not built: {why}" if why else None

    def why_not_pair(self, operands: Pair) -> str | None:
        if why := self.why_not_built():
            return why
        if operands.types is None and operands.a.rank == 3:
            about = operands.rows, operands.cols, operands.a.itemsize, operands.batch, operands.fused
            return _ladder.why_not(self.name, *about)
        if operands.types is None or operands.a.rank == 3:
            return super().why_not_pair(operands)
        return _ladder.why_not_convert(self.name, *operands.types)

    def launch(self, operands: Pair) -> None:
        a, b = operands.a, operands.b
        numbers = self.name, a.address, b.address, operands.rows, operands.cols
        if operands.a.device == HOST and self.family == "cute":
            raise ValueError(f"{self.name} does not apply: it runs on a GPU only, a and b are in host memory")
        if operands.types is not None:
            if operands.a.device != HOST:
                _ladder.launch_converting(*numbers, *operands.types, a.device, operands.stream)
            else:
                _ladder.emulate_converting(*numbers, *operands.types)
        elif operands.a.device != HOST:
            _ladder.launch(*numbers, a.itemsize, a.device, operands.stream, operands.batch, operands.fused)
        else:
            _ladder.emulate(*numbers, a.itemsize, operands.batch, operands.fused)


class TritonRung(Rung):
    """Compiled by Triton when it is first called."""

    @functools.cached_property
    def module(self) -> Any:
        try:
            return importlib.import_module(f"cornerturn.ladder.triton_rungs.{self.name}")
        except ModuleNotFoundError as error:
            raise RuntimeError(f"{self.name} needs Triton and PyTorch: {error}") from error

    def why_not(self, rows: int, cols: int, itemsize: int = 4) -> str | None:
        if itemsize not in (1, 2, 4, 8):
            return f"it takes elements of 1, 2, 4, 8 B, not of {itemsize} B"
        return self.module.why_not(rows, cols)

    def launch(self, operands: Pair) -> None:
        import torch

        from .triton_rungs.interpreter import INTERPRETED

        source, target = (as_tensor(matrix) for matrix in (operands.a, operands.b))
        if operands.a.device != HOST:
            device = operands.a.device
            stream = torch.cuda.ExternalStream(operands.stream, device=device)
            with torch.cuda.device(device), torch.cuda.stream(stream):
                self.module.solve(source, target, operands.rows, operands.cols)
        elif INTERPRETED:
            self.module.solve(source, target, operands.rows, operands.cols)
        else:
            raise ValueError(
                f"{self.name} does not apply: a and b are in host memory, and TRITON_INTERPRET=1 was "
                "not set before Triton was imported"
            )


def as_tensor(matrix: Array) -> Any:
    """The matrix as a tensor of whole numbers, in place: a rung moves bits."""
    import torch

    integer = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[matrix.itemsize]
    if isinstance(matrix.owner, torch.Tensor):
        return matrix.owner.detach().view(integer)
    if matrix.device != HOST:
        memory = Bytes("__cuda_array_interface__", matrix)
        return torch.as_tensor(memory, device=f"cuda:{matrix.device}").view(integer)
    import numpy

    return torch.from_numpy(numpy.asarray(Bytes("__array_interface__", matrix))).view(integer)


class Bytes:
    """A matrix's memory, whatever its elements are called and whether it is read-only."""

    def __init__(self, interface: str, matrix: Array):
        size = matrix.shape[0] * matrix.shape[1] * matrix.itemsize
        about = {"shape": (size,), "typestr": "|u1", "data": (matrix.address, False)}
        setattr(self, interface, {**about, "version": 2 if "cuda" in interface else 3})


@functools.cache
def all_rungs() -> dict[str, Rung]:
    """By name, in the order of the climb."""
    compiled = [] if _ladder is None else [CompiledRung(*row) for row in _ladder.rungs()]
    triton = [TritonRung(name, shows, "triton", True) for name, shows in TRITON.items()]
    return {rung.name: rung for rung in compiled + triton}


def missing(name: str) -> str:
    text = f"cornerturn.ladder has no rung '{name}'; cornerturn.ladder.rungs() lists them"
    return text if _ladder is not None or name.startswith("_") else f"{text} ({NO_LADDER})"
