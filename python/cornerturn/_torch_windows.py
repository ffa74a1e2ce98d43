"""PyTorch: memory of a process into which the GPUs of the other processes can store.

PyTorch's symmetric memory allocates and maps it. A process that does not come to a point where all
wait for each other makes the others' GPUs stop with an error when the group's time limit ends.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

# The storages that new_window has made, by their address, and the groups whose memory they are.
_made: dict[int, tuple[StorageWeakRef, str]] = {}


class Window(NamedTuple):
    handle: Any
    addresses: list[int]  # of every rank's part, in this process
    limit_ms: int

    def wait_for_all(self) -> None:
        """The current stream of every process goes on when all of them have come so far."""
        self.handle.barrier(0, self.limit_ms)


def _memory() -> Any:
    """None: this PyTorch has no such memory."""
    try:
        from torch._C._distributed_c10d import _SymmetricMemory
    except ImportError:
        return None
    return _SymmetricMemory


def new_window(elements: int, dtype: torch.dtype, device: torch.device, group: dist.ProcessGroup) -> Tensor:
    """One tensor in every process of the group; an ordinary one where GPUs cannot be reached."""
    memory = _memory()
    with torch.cuda.device(device):  # objects travel by way of the current GPU
        reached = memory is not None and _reach_each_other(device, group)
    if not reached:
        return torch.empty(elements, dtype=dtype, device=device)
    made = memory.empty_strided_p2p((elements,), (1,), dtype, device)
    memory.rendezvous(made, group.group_name)
    for address in [address for address, (storage, _) in _made.items() if storage.expired()]:
        del _made[address]
    storage = made.untyped_storage()
    _made[storage.data_ptr()] = (StorageWeakRef(storage), group.group_name)
    return made


def window_of(tensor: Tensor, group: dist.ProcessGroup) -> Window | None:
    """None: the others cannot store into the tensor."""
    begin = tensor.untyped_storage().data_ptr()
    storage, name = _made.get(begin, (None, ""))
    if storage is None or storage.expired() or name != group.group_name:
        return None
    if tensor.storage_offset() != 0 or not tensor.is_contiguous():
        return None
    handle = _memory().rendezvous(tensor, name)  # which PyTorch keeps with the memory
    return Window(handle, list(handle.buffer_ptrs), _limit_ms(tensor.device, group))


def _limit_ms(device: torch.device, group: dist.ProcessGroup) -> int:
    limit: timedelta = group._get_backend(device).options._timeout
    return max(1, int(limit.total_seconds() * 1000))


def _reach_each_other(device: torch.device, group: dist.ProcessGroup) -> bool:
    """Are the GPUs those of one host, with a way from each to each?"""
    import socket

    mine = (socket.gethostname(), str(torch.cuda.get_device_properties(device).uuid))
    everyone: list[Any] = [None] * group.size()
    dist.all_gather_object(everyone, mine, group=group)
    if len({host for host, _ in everyone}) > 1 or len({gpu for _, gpu in everyone}) < group.size():
        return False
    here = {str(torch.cuda.get_device_properties(k).uuid): k for k in range(torch.cuda.device_count())}
    others = [here.get(gpu) for _, gpu in everyone if gpu != mine[1]]
    me = here[mine[1]]
    can = all(k is None or torch.cuda.can_device_access_peer(me, k) for k in others)
    answers: list[Any] = [None] * group.size()
    dist.all_gather_object(answers, can, group=group)
    return all(answers)
