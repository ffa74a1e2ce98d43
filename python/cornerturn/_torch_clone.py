"""PyTorch's `.clone()` done by Cornerturn from Python, for a PyTorch that `_core.TorchCopies` does not know."""

from __future__ import annotations

import torch
from torch import Tensor

from cornerturn import _core
from cornerturn._torch_permute import stream_of_device

_HOST = -1
_execute = _core.execute


class Clones:
    """It does the clones of permuted tensors on one type of device, until end() is called."""

    def __init__(self, device_type: str) -> None:
        self._library = torch.library.Library("aten", "IMPL")
        self._library.impl("clone", clone, device_type.upper())

    def end(self) -> None:
        self._library._destroy()


def clone(x: Tensor, *, memory_format: torch.memory_format | None = None) -> Tensor:
    # The result's strides are PyTorch's business; what differs is who fills it.
    out = torch.empty_like(x, memory_format=memory_format or torch.preserve_format)
    strides = x.stride()
    out_strides = out.stride()
    ordinary = (
        strides != out_strides
        and x.numel() > 1
        and x.layout is torch.strided
        and not (x.is_conj() or x.is_neg() or x._is_zerotensor())
    )
    if not ordinary:
        return out.copy_(x)
    size = x.itemsize
    device, stream = _HOST, 0
    if x.is_cuda:
        device = x.get_device()
        stream = stream_of_device(device)
    _execute(
        out.data_ptr(),
        x.data_ptr(),
        size,
        tuple(x.shape),
        tuple(s * size for s in out_strides),
        tuple(s * size for s in strides),
        device,
        stream,
    )
    return out
