"""Do all processes of a group ask for the same?"""

from __future__ import annotations

import contextlib
import hashlib
import weakref
from typing import Any

import torch
import torch.distributed as dist

from cornerturn._arrays import shown

# What the processes of a group have agreed on before.
_agreed: weakref.WeakKeyDictionary[dist.ProcessGroup, set[bytes]] = weakref.WeakKeyDictionary()


def device_types(group: dist.ProcessGroup) -> set[str]:
    return {device.type for device in group._device_types}


def agree(
    group: dist.ProcessGroup, said: dict[str, Any], wrong: Exception | None, where: torch.device
) -> None:
    """Raises on every process, with the same line, where one of them is wrong or differs. `where`
    the call's tensor is, need not be the current GPU. `said` holds strings, numbers, None and tuples
    of them."""
    agreed = _agreed.setdefault(group, set())
    digest = hashlib.sha256(repr(sorted(said.items())).encode()).digest()
    if where.type == "cuda" and wrong is None and digest in agreed:
        return
    with contextlib.ExitStack() as stack:
        if where.type == "cuda":
            stack.enter_context(torch.cuda.device(where))
        _compare(group, said, wrong, digest, agreed)


def _compare(
    group: dist.ProcessGroup,
    said: dict[str, Any],
    wrong: Exception | None,
    digest: bytes,
    agreed: set[bytes],
) -> None:
    host = "cpu" in device_types(group)
    device = torch.device("cpu") if host else torch.device("cuda", torch.cuda.current_device())
    mine = torch.tensor([wrong is not None, *digest], dtype=torch.uint8, device=device)
    all_of_them = [torch.empty_like(mine) for _ in range(group.size())]
    dist.all_gather(all_of_them, mine, group=group)
    records = torch.stack(all_of_them).cpu()
    if not records[:, 0].any() and bool((records == records[0]).all()):
        agreed.add(digest)
        return
    details: list[Any] = [None] * group.size()
    dist.all_gather_object(details, (said, None if wrong is None else _as_text(wrong)), group=group)
    raise _first_wrong(details) from wrong


def _as_text(wrong: Exception) -> tuple[str, str]:
    """The name of the kind that every process raises, and what it says: exceptions of any class can be
    sent like this, and also those that cannot be printed."""
    for kind in (TypeError, ValueError):
        if isinstance(wrong, kind):
            return kind.__name__, _text(wrong)
    return "RuntimeError", f"{type(wrong).__qualname__}: {_text(wrong)}"


def _text(wrong: Exception) -> str:
    try:
        return str(wrong)
    except Exception:
        return "its text cannot be shown"


def _first_wrong(details: list[tuple[dict[str, Any], tuple[str, str] | None]]) -> Exception:
    kinds = {kind.__name__: kind for kind in (TypeError, ValueError, RuntimeError)}
    for rank, (_, wrong) in enumerate(details):
        if wrong is not None:
            return kinds[wrong[0]](f"rank {rank}: {wrong[1]}")
    first = details[0][0]
    for rank, (said, _) in enumerate(details):
        for name, value in said.items():
            if value != first.get(name):
                hint = "; shape= says it where parts differ" if name == "shape" else ""
                return ValueError(
                    f"rank {rank}: {name} = {shown(value)}, but rank 0 has {shown(first.get(name))}: "
                    f"it has to be the same on every rank{hint}"
                )
    raise AssertionError("no process is wrong, and none differs")
