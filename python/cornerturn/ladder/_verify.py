"""The ladder without a GPU: CUDA's rungs in the emulator, Triton's in Triton's interpreter."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from ._report import Matrix, Row
from ._rung import Rung

WIDTHS = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8, "uint8": 1, "int8": 1,
          "bool": 1, "int16": 2, "int32": 4, "int64": 8}  # fmt: skip


def verify(
    subjects: list[Rung], dtype: str, sizes: list[tuple[int, int]], tell: Callable[..., None]
) -> list[Matrix]:
    itemsize = WIDTHS.get(dtype)
    if itemsize is None:
        raise ValueError(f"dtype = '{dtype}': without a GPU it is one of {', '.join(WIDTHS)}")
    if "triton" not in sys.modules:
        os.environ.setdefault("TRITON_INTERPRET", "1")
    subjects = [subject for subject in subjects if subject.family != "pytorch"]
    matrices = []
    for rows, cols in sizes:
        matrix = Matrix(rows, cols, itemsize)
        for subject in subjects:
            tell(f"{rows} x {cols}  {subject.name}", passing=True)
            matrix.results.append(verified(subject, rows, cols, itemsize))
        matrices.append(matrix)
    return matrices


def verified(subject: Rung, rows: int, cols: int, itemsize: int) -> Row:
    row = Row(subject.name, subject.family)
    if subject.family == "cute":
        row.why_not = "it runs on a GPU only"
        return row
    import numpy

    bits = numpy.random.default_rng(1).integers(0, 256, (rows, cols * itemsize), numpy.uint8)
    a = bits.view(f"u{itemsize}")
    expected = a.T if subject.transposes else a
    b = ~expected.copy(order="C")
    try:
        row.why_not = subject.why_not(rows, cols, itemsize)
        if not row.why_not:
            subject(a, b)
            row.verified = bool((b == expected).all())
            row.wrong = None if row.verified else first_difference(b, expected)
    except (RuntimeError, ValueError) as error:
        missing = isinstance(error.__cause__, ModuleNotFoundError) or isinstance(error, ValueError)
        text = str(error).removeprefix(f"{subject.name} does not apply: ")
        row.why_not, row.wrong = (text, None) if missing else (None, text)
    return row


def first_difference(b: Any, expected: Any) -> str:
    row, col = (int(axis[0]) for axis in (b != expected).nonzero())
    return f"element ({row}, {col}) of b is not what it should be"
