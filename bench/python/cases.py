"""The cases of the public suites as NumPy arrays."""

from __future__ import annotations

import fnmatch
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SUITES = Path(__file__).resolve().parents[1] / "suites"
# Integers where there are some: every framework has them.
DTYPES = {1: "u1", 2: "i2", 4: "i4", 8: "i8", 16: "c16"}


@dataclass(frozen=True)
class Case:
    """dst[dst_offset + sum(i_k dst_strides_k)] = src[src_offset + sum(i_k src_strides_k)], in
    elements."""

    suite: str
    name: str
    group: str
    element_bytes: int
    shape: tuple[int, ...]
    src_strides: tuple[int, ...]
    dst_strides: tuple[int, ...]
    src_offset: int
    dst_offset: int

    @property
    def title(self) -> str:
        return f"{self.suite}/{self.name} {self.element_bytes} B"

    @property
    def payload_bytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.element_bytes

    def arrays(self) -> tuple[np.ndarray, tuple[int, ...], np.ndarray]:
        """`x`, `axes` and `out` such that the case is out[...] = x.transpose(axes)."""
        src = self._view(self.src_strides, self.src_offset, np.random.default_rng(1))
        out = self._view(self.dst_strides, self.dst_offset, None)
        order = sorted(range(src.ndim), key=lambda i: -abs(src.strides[i]))
        axes = tuple(int(i) for i in np.argsort(order))
        return src.transpose(order), axes, out

    def _view(
        self, strides: tuple[int, ...], offset: int, rng: np.random.Generator | None
    ) -> np.ndarray:
        last = offset + sum((n - 1) * s for n, s in zip(self.shape, strides, strict=True) if s > 0)
        size = (last + 1) * self.element_bytes
        some = 1_000_003  # a prime: what repeats falls to the same place of no other row
        data = (
            np.full(size, 7, np.uint8)
            if rng is None
            else np.resize(rng.integers(0, 256, min(size, some), np.uint8), size)
        )
        dtype = np.dtype(DTYPES.get(self.element_bytes, f"V{self.element_bytes}"))
        byte_strides = tuple(s * self.element_bytes for s in strides)
        return np.ndarray(self.shape, dtype, data, offset * self.element_bytes, byte_strides)


def load(suites: list[str], max_bytes: int, pattern: str) -> list[Case]:
    """The cases of these suites that move no more than `max_bytes` and whose title matches."""
    cases = []
    for suite in suites:
        for entry in json.loads((SUITES / f"{suite}.json").read_text())["cases"]:
            for size, group in zip(entry["element_bytes"], entry["class"], strict=True):
                case = Case(
                    suite,
                    entry["name"],
                    group,
                    size,
                    tuple(entry["shape"]),
                    tuple(entry["src_strides"]),
                    tuple(entry["dst_strides"]),
                    entry["src_offset"],
                    entry["dst_offset"],
                )
                if case.payload_bytes <= max_bytes and fnmatch.fnmatch(case.title, pattern):
                    cases.append(case)
    return cases
