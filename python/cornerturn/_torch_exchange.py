"""How the parts of an array reach the other processes: in messages, or by stores into their memory."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from cornerturn._arrays import HOST, Array
from cornerturn._torch_permute import stream_of_device
from cornerturn._torch_shard_task import Task
from cornerturn._torch_windows import Window


def exchange(x: Array, task: Task, out: Array) -> None:
    gpu, stream = (HOST, 0) if x.device == HOST else (x.device, stream_of_device(x.device))
    on = torch.device("cpu" if gpu == HOST else f"cuda:{gpu}")
    part, members = task.part, task.members
    x_at, out_at = (x.address, x.strides), (out.address, out.strides)
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
        outgoing = torch.empty(sum(sent), dtype=torch.uint8, device=on)
        incoming = torch.empty(sum(received), dtype=torch.uint8, device=on)
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


def store(x: Array, task: Task, window: Window, route: str | None) -> None:
    """Into the memory of the others, between two points at which all streams wait for each other."""
    part, members = task.part, task.members
    addresses = [0] * len(members.devices)
    for rank, device in enumerate(members.devices):
        addresses[device] = window.addresses[rank]
    stream = stream_of_device(x.device)
    with torch.cuda.device(x.device):
        window.wait_for_all()
        part.send(addresses, part.dst_strides, x.address, x.strides, x.device, stream, route or "")
        window.wait_for_all()
