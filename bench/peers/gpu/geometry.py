"""The geometry of a benchmark case, as the peers need it. Strides and offsets are in elements."""

from typing import NamedTuple


class Mode(NamedTuple):
    extent: int
    src: int
    dst: int


def fused(case):
    """The modes of `case` without extents of 1, largest destination stride first, neighbours fused."""
    modes = [Mode(*m) for m in zip(case["shape"], case["src_strides"], case["dst_strides"]) if m[0] > 1]
    modes.sort(key=lambda m: -abs(m.dst))
    out = []
    for mode in modes:
        outer = out[-1] if out else None
        if outer and outer.src == mode.src * mode.extent and outer.dst == mode.dst * mode.extent:
            out[-1] = Mode(outer.extent * mode.extent, mode.src, mode.dst)
        else:
            out.append(mode)
    return out


class Matrices(NamedTuple):
    """dst[b][n * dst_pitch + m] = src[b][m * src_pitch + n] for m < rows, n < cols, b in the batch."""

    rows: int
    cols: int
    src_pitch: int
    dst_pitch: int
    batch: Mode


def matrices(case, longest_batch=1):
    """`case` as a batch of matrix transpositions, or None if it is none."""
    modes = fused(case)
    rows = [m for m in modes if m.dst == 1]
    cols = [m for m in modes if m.src == 1]
    if len(rows) != 1 or len(cols) != 1 or rows[0] is cols[0]:
        return None
    batch = [m for m in modes if m is not rows[0] and m is not cols[0]]
    if len(batch) > 1 or (batch and batch[0].extent > longest_batch):
        return None
    if rows[0].src < cols[0].extent or cols[0].dst < rows[0].extent:
        return None
    return Matrices(rows[0].extent, cols[0].extent, rows[0].src, cols[0].dst, batch[0] if batch else Mode(1, 0, 0))


def packed_permutation(case):
    """(shape, axes) so that dst = src.reshape(shape).transpose(axes), both packed; None if not so."""
    if case["src_offset"] or case["dst_offset"]:
        return None
    shape, src = case["shape"], case["src_strides"]
    step = 1
    for extent, stride in zip(reversed(shape), reversed(case["dst_strides"])):
        if extent > 1 and stride != step:
            return None
        step *= extent
    # Axes of extent 1 may have any stride: they come first.
    order = sorted(range(len(shape)), key=lambda k: (shape[k] > 1, -src[k]))
    step = 1
    for k in reversed(order):
        if shape[k] > 1 and src[k] != step:
            return None
        step *= shape[k]
    axes = [order.index(k) for k in range(len(shape))]
    return [shape[k] for k in order], axes
