"""The options that functions have in common, as type checkers see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, SupportsIndex, TypedDict, Union


class HasItemsize(Protocol):
    """A dtype of NumPy or of PyTorch."""

    @property
    def itemsize(self) -> int: ...


class HasShape(Protocol):
    """An array of any framework."""

    @property
    def shape(self) -> Any: ...


class IsTensor(Protocol):
    """A tensor of PyTorch."""

    def is_contiguous(self) -> bool: ...

    @property
    def is_cuda(self) -> bool: ...


class IsDevice(Protocol):
    """A device of PyTorch."""

    @property
    def type(self) -> str: ...

    @property
    def index(self) -> Any: ...


Dtype = Union[str, type, HasItemsize]
Numbers = Union[float, Sequence[float], HasShape]


class MemoryOptions(TypedDict, total=False):
    """Where the work is done, and the order of what is new."""

    stream: Any
    order: Literal["C", "F"] | None
    memory_format: Any
    threads: int | None


class ValueOptions(TypedDict, total=False):
    """How values change on their way."""

    alpha: float
    scale: Numbers | None
    bias: Numbers | None
    beta: float
    conjugate: bool
    saturate: bool
    rounding: Literal["nearest", "towards_zero", "stochastic"] | None
    seed: SupportsIndex


class Options(MemoryOptions, ValueOptions, total=False):
    """Those of `transpose`, beside `out` and `dtype`."""

    non_blocking: bool
    blocks: SupportsIndex | None


class AllOptions(Options, total=False):
    """Those of `transpose`."""

    out: Any
    dtype: Dtype | None
