"""plan: what a call would do, and why."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from operator import index
from typing import Any, SupportsIndex

from cornerturn import _core
from cornerturn._arrays import (
    HOST,
    Array,
    check_pair,
    crossing_of,
    dtype_name,
    gpu_side,
    is_across,
    order_of,
    packed_strides,
)
from cornerturn._frameworks import framework_of, stream_for
from cornerturn._frameworks.framework import numpy_if_installed
from cornerturn._options import Dtype
from cornerturn._values import differ_in_order, type_of


class Plan:
    """Says how a permutation is done: by which kernel, how it is set up, and in what time.

    It also knows the other candidates. A plan is a value and never changes. In a notebook it shows itself as a table.
    """

    def __init__(self, plan: _core.Plan, made_of: tuple[Any, ...]) -> None:
        self._plan = plan
        self._made_of = made_of

    def __reduce__(self) -> tuple[Any, ...]:
        # Whoever unpickles it plans the same problem, for the machine that is there.
        return _planned, (*self._made_of[:-1], self.kernel)

    @property
    def kernel(self) -> str:
        """The name of the kernel that runs."""
        return self._plan.kernel

    @property
    def device(self) -> str:
        """`cpu`, or the name of the GPU."""
        return self._plan.device

    @property
    def threads(self) -> int:
        """The number of the CPU's threads that it runs on; 0 for a GPU."""
        return self._plan.threads

    @property
    def bytes(self) -> int:
        """The bytes of all elements that are written. Where the dtype stays, as many are read."""
        return self._plan.bytes

    @property
    def predicted_seconds(self) -> float:
        """The time of one execution, as the model of costs estimates it."""
        return self._plan.predicted_seconds

    @property
    def why(self) -> str:
        """One line that says why this kernel was chosen."""
        return self._plan.why()

    def explain(self) -> str:
        """Several lines: the problem, how it was simplified, the choice, and every candidate."""
        return self._plan.explain()

    def to_dict(self) -> dict[str, Any]:
        """All of it, for programs."""
        return json.loads(self._plan.to_json())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._plan == other._plan

    def __hash__(self) -> int:
        return hash((self.kernel, self.device, self.bytes))

    def __repr__(self) -> str:
        return f"<Plan {self._plan.to_string()}>"

    def _repr_html_(self) -> str:
        facts = self.to_dict()
        slowest = max([candidate["predicted_ns"] for candidate in facts["candidates"]], default=1.0)
        rows = []
        for candidate in facts["candidates"]:
            chosen = (candidate["kernel"], candidate["config"]) == (facts["kernel"], facts["config"])
            time = candidate["predicted_ns"]
            width = max(1.0, 100 * time / max(slowest, 1e-9))
            bar = (
                f'<div style="background:{"#2a78d6" if chosen else "#b9c4cf"};height:0.7em;'
                f'width:{width:.0f}px"></div>'
            )
            cells = [candidate["kernel"], candidate["config"], _time_text(time)]
            rows.append(_row(cells, bar, bold=chosen))
        for refused in facts["refused"]:
            rows.append(_row([refused["kernel"], refused["rule"], "-"], "", faint=True))
        return (
            f"<div><b>{_text(self._plan.to_string())}</b><br>{_text(facts['why'])}"
            f"<pre>{_text(_problem_text(facts))}</pre>"
            "<table><thead><tr><th>kernel</th><th>configuration, or why not</th>"
            "<th>predicted</th><th></th></tr></thead>"
            f"<tbody>{''.join(rows)}</tbody></table></div>"
        )


def plan(
    x: Any,
    axes: Sequence[int] | None = None,
    *,
    out: Any = None,
    dtype: Dtype | None = None,
    device: str | None = None,
    kernel: str | None = None,
    threads: int = 0,
    blocks: SupportsIndex | None = None,
    measure: bool = False,
) -> Plan:
    """Returns the plan by which `transpose(x, axes, out=out, dtype=dtype)` works.

    Args:
        x: an array, or a shape. A shape stands for a packed array of `dtype` that need not exist.
        axes: as in `transpose`.
        out: as in `transpose`. None stands for a packed result.
        dtype: as in `transpose`. With a shape it is the dtype of the elements, a name or a framework's
            dtype, or `"b12"` for elements of 12 bytes; None is float32.
        device: "cpu", or a GPU that need not be here, which is "h200", "b200", ..., or the path of a
            JSON file that describes one. None is where `x` lies, and the CPU for a shape.
        kernel: forces the kernel of this name ("copy", "rows", "tile", ...).
        threads: the CPU uses at most so many; 0 means all that the process may use.
        blocks: as in `transpose`.
        measure: runs the best candidates on `x` and `out`, which is written to, and remembers the
            winner for later calls with such arrays.

    Raises:
        ValueError, TypeError: as in `transpose`; or the device or the kernel is unknown, the kernel
            does not take this problem, or `measure` is given without `out`.

    Example:
        >>> cornerturn.plan((8, 224, 224, 3), (0, 3, 1, 2), dtype="uint8", device="h200")
        <Plan structures: structures of 3 to planes, aligned vectors; 1204.2 kB on NVIDIA H200, about 5.7 us>
    """
    if _is_shape(x):
        source = _described(tuple(index(extent) for extent in x), "float32" if dtype is None else dtype)
        stream, dtype = 0, None
    else:
        framework = framework_of(x)
        source = framework.read(x, "x")
        stream = stream_for(framework, source.device, None, "x")
        dtype = None if dtype is None else framework.dtype(dtype)
    source = source.permuted(order_of(axes, source.rank))
    gpu, here = source.device, "cpu" if source.device == HOST else "gpu"
    if out is None:
        if measure:
            raise ValueError("measure = True, but out is None: candidates need memory to write to")
        # What stands for memory that is not there is aligned to 16 bytes.
        source = source._replace(address=0, readonly=False)
        target = source if dtype is None else source._replace(dtype=dtype, itemsize=itemsize_of(dtype))
        target = target._replace(strides=packed_strides(source.shape, target.itemsize))
    else:
        writer = framework_of(out)
        writer.will_write(out, "out")
        target = writer.read(out, "out")
        if dtype is None and differ_in_order(target.dtype, source.dtype):
            dtype = target.dtype
        check_pair(target, source, "out", "x", "the shape of the result", dtype, may_cross=True)
        if is_across(target, source):
            gpu, here = gpu_side(target, source).device, ""
            stream = (writer if source.device == HOST else framework).current_stream(gpu)
    try:
        made_of = (
            target.address,
            source.address,
            source.itemsize,
            source.shape,
            target.strides,
            source.strides,
            gpu,
            here if device is None else device,
            threads,
            crossing_of(False, blocks).blocks,
            None if dtype is None else (type_of(target.dtype, "dtype"), type_of(source.dtype, "x.dtype")),
            kernel or "",
        )
        made = _planned(*made_of, measure=measure, stream=stream)
    except ValueError as error:
        raise ValueError(str(error).removeprefix("options.")) from None
    except RuntimeError as error:
        if str(error).startswith("dst.type"):
            raise TypeError(str(error)) from None
        raise
    if measure:
        writer.was_written(out)
    return made


def _planned(
    dst: int,
    src: int,
    itemsize: int,
    shape: tuple[int, ...],
    dst_strides: tuple[int, ...],
    src_strides: tuple[int, ...],
    gpu: int,
    device: str,
    threads: int,
    blocks: int,
    types: tuple[str, str] | None,
    kernel: str,
    **options: Any,
) -> Plan:
    made = _core.make_plan(
        dst,
        src,
        itemsize,
        shape,
        dst_strides,
        src_strides,
        gpu=gpu,
        device=device,
        threads=threads,
        blocks=blocks,
        kernel=kernel,
        dst_type=types[0] if types else "",
        src_type=types[1] if types else "",
        **options,
    )
    made_of = dst, src, itemsize, shape, dst_strides, src_strides, gpu, device, threads, blocks, types, kernel
    return Plan(made, made_of)


def _is_shape(x: Any) -> bool:
    return isinstance(x, (list, tuple)) and all(hasattr(extent, "__index__") for extent in x)


def _described(shape: tuple[int, ...], dtype: Any) -> Array:
    for i, extent in enumerate(shape):
        if extent < 0:
            raise ValueError(f"x[{i}] = {extent}: an extent of a shape is not negative")
    itemsize = itemsize_of(dtype)
    return Array(0, itemsize, shape, packed_strides(shape, itemsize), HOST, dtype, False, None)


def itemsize_of(dtype: Any) -> int:
    """Bytes of an element of a dtype, or of a type of the library's by name."""
    itemsize = getattr(dtype, "itemsize", None)
    if isinstance(itemsize, int):
        return itemsize
    # A name is NumPy's where NumPy has it: "i8" has 8 bytes in all functions.
    numpy = numpy_if_installed()
    try:
        return numpy.dtype(dtype).itemsize
    except (AttributeError, TypeError):
        pass
    try:
        return _core.itemsize(name_of_dtype(dtype))
    except ValueError:
        raise TypeError(
            f"dtype = {dtype!r} is no dtype: name one of NumPy's or ml_dtypes', or b1 to b256 for elements "
            "of so many bytes"
        ) from None


def name_of_dtype(dtype: Any) -> str:
    return dtype if isinstance(dtype, str) else getattr(dtype, "__name__", dtype_name(dtype))


def _text(value: str) -> str:
    return html.escape(value)


def _row(cells: list[str], last: str, *, bold: bool = False, faint: bool = False) -> str:
    style = ' style="font-weight:bold"' if bold else ' style="opacity:0.6"' if faint else ""
    return f"<tr{style}>{''.join(f'<td>{_text(cell)}</td>' for cell in cells)}<td>{last}</td></tr>"


def _time_text(nanoseconds: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.1f} {unit}"
    return f"{nanoseconds:.0f} ns"


def _problem_text(facts: dict[str, Any]) -> str:
    lines = []
    for name in ("problem", "normalised"):
        modes = facts[name]["modes"]
        lines.append(
            f"{name:11} {facts[name]['element']}  "
            + "  ".join(f"{m['extent']}:{m['src_stride']}->{m['dst_stride']}" for m in modes)
        )
    return "\n".join(lines + [f"            - {step}" for step in facts["steps"]])
