"""How the parts of an array reach the other processes: in messages, or by stores into their memory."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from cornerturn._arrays import HOST
from cornerturn._torch_permute import stream_of_device
from cornerturn._torch_shard_task import Task
from cornerturn._torch_windows import Window


def exchange(x: Tensor, task: Task, out: Tensor) -> None:
    x = x.resolve_conj().resolve_neg()
    gpu, stream = (HOST, 0) if x.device.type == "cpu" else _gpu_of(x)
    part, members = task.part, task.members
    x_at = (x.data_ptr(), [stride * x.itemsize for stride in x.stride()])
    out_at = (out.data_ptr(), [stride * out.itemsize for stride in out.stride()])
    if not task.moves:
        part.keep(*out_at, *x_at, gpu, stream)
        return
    waiting: list[Any] = []

    def receive() -> None:
        chunk, incoming, work = waiting.pop(0)
        work.wait()
        part.unpack(chunk, *out_at, incoming.data_ptr(), members.devices, gpu, stream)

    # While a chunk travels, the one before it is unpacked. The next one is packed by then: it sets out
    # before the kernel that unpacks takes all multiprocessors.
    for chunk, (sends, receives) in enumerate(zip(part.sent, part.received, strict=True)):
        sent = [sends[device] for device in members.devices]
        received = [receives[device] for device in members.devices]
        outgoing = torch.empty(sum(sent), dtype=torch.uint8, device=x.device)
        incoming = torch.empty(sum(received), dtype=torch.uint8, device=x.device)
        part.pack(chunk, outgoing.data_ptr(), members.devices, *x_at, gpu, stream)
        work = dist.all_to_all_single(
            incoming, outgoing, received, sent, group=members.group, async_op=True
        )
        waiting.append((chunk, incoming, work))
        if len(waiting) > 2:
            receive()
    part.keep(*out_at, *x_at, gpu, stream)  # while the last chunk travels
    while waiting:
        receive()


def store(x: Tensor, task: Task, window: Window, route: str | None) -> None:
    """Into the memory of the others, between two points at which all streams wait for each other."""
    x = x.resolve_conj().resolve_neg()
    part, members, size = task.part, task.members, x.itemsize
    addresses = [0] * len(members.devices)
    for rank, device in enumerate(members.devices):
        addresses[device] = window.addresses[rank]
    strides = [stride * size for stride in x.stride()]
    with torch.cuda.device(x.device):
        window.wait_for_all()
        part.send(addresses, part.dst_strides, x.data_ptr(), strides, *_gpu_of(x), route or "")
        window.wait_for_all()


def _gpu_of(x: Tensor) -> tuple[int, int]:
    device = x.get_device()
    return device, stream_of_device(device)
