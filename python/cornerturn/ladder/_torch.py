"""What PyTorch does with the same matrices, callable as a rung is."""

from __future__ import annotations

from typing import Any

from ._rung import Rung


class TorchSubject(Rung):
    def __init__(self, name: str, shows: str, transposes: bool = True):
        super().__init__(name, shows, "pytorch", transposes)

    def why_not(self, rows: int, cols: int, itemsize: int = 4) -> str | None:
        return None

    def __call__(self, a: Any, b: Any, *, stream: Any = None) -> None:
        b.copy_(a.t() if self.transposes else a)


class Compiled(TorchSubject):
    """torch.compile, anew for each shape: that is when it is fastest."""

    shape: tuple[int, ...] | None = None
    compiled: Any = None

    def __call__(self, a: Any, b: Any, *, stream: Any = None) -> None:
        import torch

        if self.shape != (a.shape, a.dtype):
            torch.compiler.reset()
            self.compiled = torch.compile(copy_transposed, dynamic=False, fullgraph=True)
            self.shape = a.shape, a.dtype
        self.compiled(b, a)


def copy_transposed(b: Any, a: Any) -> None:
    b.copy_(a.t())


TORCH_SUBJECTS: dict[str, Rung] = {
    subject.name: subject
    for subject in (
        TorchSubject("memcpy", "PyTorch's plain copy, cudaMemcpyAsync: the same bytes, no transposition", False),
        TorchSubject("pytorch_eager", "b.copy_(a.t())"),
        Compiled("pytorch_compiled", "the same under torch.compile"),
    )
}
