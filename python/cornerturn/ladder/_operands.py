"""The two matrices of a call, checked, as numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

from cornerturn._arrays import HOST, Array, check_pair, dtype_name
from cornerturn._frameworks import framework_of, stream_number


class Pair(NamedTuple):
    """Operands that fit together."""

    a: Array
    b: Array
    stream: int  # a cudaStream_t

    @property
    def batch(self) -> int:
        """Matrices of the stack."""
        return self.a.shape[0] if self.a.rank == 3 else 1

    @property
    def fused(self) -> bool:
        """Does `a` have row 0 of each matrix in memory, then row 1 of each?"""
        return not self.a.is_packed()

    @property
    def rows(self) -> int:
        return self.a.shape[-2]

    @property
    def cols(self) -> int:
        return self.a.shape[-1]

    @property
    def size(self) -> int:
        return self.batch * self.rows * self.cols * self.a.itemsize

    @property
    def types(self) -> tuple[str, str] | None:
        """Those of a and b, where they differ."""
        names = dtype_name(self.a.dtype), dtype_name(self.b.dtype)
        return None if names[0] == names[1] else names


def pair(a: Any, b: Any, *, transposes: bool, converts: bool, stream: Any) -> Pair:
    """Checks all that does not depend on the rung."""
    framework_of(a).will_lose_gradient(a, "a")
    framework = framework_of(b)
    framework.will_write(b, "b")
    source, target = framework_of(a).read(a, "a"), framework.read(b, "b")
    for name, array in (("a", source), ("b", target)):
        if array.rank not in (2, 3):
            raise ValueError(f"{name}.shape = {array.shape}: a matrix has 2 dimensions, a stack of them 3")
        if not array.is_packed() and not (name == "a" and array.rank == 3 and has_rows_together(array)):
            raise ValueError(f"{name}.strides = {array.strides} bytes: a rung takes matrices that are "
                             "packed row by row")  # fmt: skip
    like = source._replace(dtype=target.dtype) if converts else source
    if transposes:
        last = (1, 0) if source.rank == 2 else (0, 2, 1)
        check_pair(target, like.permuted(last), "b", "a", "a's transposed")
    else:
        check_pair(target, like, "b", "a", "that of a: this rung copies")
    if source.device == HOST:
        if stream is not None:
            raise ValueError("stream: a and b are in host memory, where there are no streams")
        return Pair(source, target, 0)
    number = framework.current_stream(source.device) if stream is None else stream_number(stream)
    return Pair(source, target, number)


def has_rows_together(stack: Array) -> bool:
    """Is row 0 of each matrix in memory before row 1 of each? ggml's copy takes such a stack for one matrix."""
    return stack.permuted((1, 0, 2)).is_packed()
