"""What a call asks of a framework, and what holds where a framework says nothing else."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Any

from cornerturn._arrays import Array, dtype_name, shown


class Framework:
    """A framework with a module of its own: `owns` asks whether an object is an array of it."""

    module = ""
    array_type = ""
    # `cornerturn.torch` and `cornerturn.jax` have an operator, which keeps what these frameworks know
    # of an array beyond its memory: its gradient, and who is tracing it.
    has_operator = False

    def owns(self, x: Any) -> bool:
        module = sys.modules.get(self.module)
        return module is not None and isinstance(x, getattr(module, self.array_type, ()))

    def read(self, x: Any, name: str) -> Array:
        raise NotImplementedError

    def empty(self, x: Any, like: Array, shape: tuple[int, ...], stream: int | None) -> Any:
        """A new packed array of x's framework and device, of the dtype of `like`."""
        raise NotImplementedError

    def empty_at(
        self, device: int, dtype: Any, shape: tuple[int, ...], stream: int | None, pinned: bool
    ) -> Any:
        """A new packed array on `device`, of one of the framework's own dtypes.

        `pinned` asks for memory that a GPU reaches, where the framework has such memory.
        """
        raise NotImplementedError

    def rank(self, x: Any, name: str) -> int:
        return self.read(x, name).rank

    def dtype(self, dtype: Any) -> Any:
        """The framework's own dtype for what the caller calls by any name."""
        import numpy

        for named in (lambda: dtype, lambda: dtype_name(dtype)):  # a dtype of PyTorch has NumPy's name
            try:
                return numpy.dtype(named())
            except TypeError:
                pass
        try:
            import ml_dtypes

            return numpy.dtype(getattr(ml_dtypes, dtype_name(dtype)))
        except (ImportError, AttributeError):
            raise TypeError(
                f"dtype = {shown(dtype)} is no dtype of NumPy, and the package ml_dtypes, which "
                "has bfloat16 and 8-bit floats, has none of this name or is not installed"
            ) from None

    def current_stream(self, device: int) -> int:
        return 0

    def splits_to_views(self, x: Any) -> bool:
        """Does `x.reshape(...)` copy nothing when it splits axes of `x`, or merges axes of a packed
        array?"""
        return self.has_operator

    def is_packed(self, x: Any, name: str) -> bool:
        source = self.read(x, name)
        return source.is_packed() and source.owner is x

    def will_write(self, x: Any, name: str) -> None:
        """Raises where `x` must not be written to, other than by its memory being read-only."""

    def will_lose_gradient(self, x: Any, name: str) -> None:
        """Raises where a gradient is wanted of `x`, which no copy into an array can carry."""

    def will_be_constant(self, x: Any, name: str) -> None:
        """Raises where a gradient is wanted of `x`, a scale or a bias."""

    def will_change_values(self, name: str) -> None:
        """Raises where values cannot change on their way."""

    def was_written(self, x: Any) -> None:
        """Tells the framework that the memory of `x` has other values now."""

    def is_plain(self, x: Any) -> bool:
        """Is `x` nothing but memory, so that nobody but the engine has to see what happens to it?"""
        return True

    def is_memory(self, x: Any) -> bool:
        """Has `x` memory of its own, and is it not traced?"""
        return True

    def recorded(self, name: str) -> Any:
        """A context whose time the framework's profiler, where one runs, gives to `name`."""
        return contextlib.nullcontext()

    def as_float32(self, x: Any, name: str) -> Any:
        """The numbers in `x` as packed float32."""
        numpy = numpy_if_installed()
        if numpy is None:
            raise TypeError(f"{name} has to be contiguous and of dtype float32: NumPy is not here")
        try:
            return numpy.ascontiguousarray(x, dtype=numpy.float32)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} = {shown(x)} are no real numbers: {error}") from None

    def stacks(self, arrays: Sequence[Any]) -> bool:
        """Must the framework itself stack a list of such arrays, for gradients and tracing?"""
        return False

    def may_stack(self, arrays: Sequence[Any]) -> bool:
        """Does the framework stack such a list at the speed of memory?"""
        return False

    def stack(self, arrays: Sequence[Any]) -> Any:
        raise NotImplementedError

    def taken(self, x: Any, indices: Any, axis: int, missing: bool) -> Any:
        """The entries of `x` along an axis, by the framework itself, for gradients and tracing.

        Negative indices count from the end, unless -1 stands for zeros that are `missing`.
        """
        raise NotImplementedError

    def puts(self, out: Any, x: Any) -> bool:
        """Has the framework to see what is written into `out`?"""
        return False

    def put(self, out: Any, indices: Any, x: Any, axis: int, missing: bool, convert: bool) -> None:
        """Writes `x` to the entries of `out` along an axis, by the framework itself, for gradients and
        tracing.

        Negative indices count from the end, unless -1 stands for what is `missing` and left out.
        """
        raise NotImplementedError

    def repeated(self, x: Any, extents: Sequence[int]) -> Any:
        """`x` with new last axes, along which it is the same everywhere: a view where there are views."""
        raise NotImplementedError

    def used_on(self, x: Any, device: int, stream: int) -> None:
        """Tells the framework that work on another stream than the current one uses `x`."""


def numpy_if_installed() -> Any:
    try:
        import numpy
    except ImportError:
        return None
    return numpy
