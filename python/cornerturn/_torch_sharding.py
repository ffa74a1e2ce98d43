"""PyTorch's DTensor: how the operators that permute are spread over devices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch

from cornerturn._torch_permute import order_of

_Spread = tuple[list[Any], list[Any]]  # placements of the results, and of the arguments


@lru_cache(maxsize=1)
def register() -> None:
    """Tells DTensor, once."""
    from torch.distributed.tensor import Partial, Replicate, Shard
    from torch.distributed.tensor.experimental import register_sharding

    def along_axes(x: Any, dims: Sequence[int], others: int) -> list[_Spread]:
        order = order_of(tuple(dims), len(x.shape))
        return [([Shard(to)], [Shard(order[to]), *[None] * others]) for to in range(len(order))]

    @register_sharding(torch.ops.cornerturn.permute_copy.default)  # type: ignore[misc]
    def permute_copy(x: Any, dims: Sequence[int]) -> list[_Spread]:
        whole = [([Replicate()], [Replicate(), None]), ([Partial()], [Partial(), None])]
        return [*whole, *along_axes(x, dims, 1)]

    @register_sharding(torch.ops.cornerturn.permute_convert.default)  # type: ignore[misc]
    def permute_convert(x: Any, dims: Sequence[int], *values: Any) -> list[_Spread]:
        # dtype, alpha, scale, bias, beta, conjugate, saturate, rounding, seed
        vectors = [Replicate() if hasattr(value, "shape") else None for value in values]
        whole = [([Replicate()], [Replicate(), None, *vectors])]
        if any(vectors) or "stochastic" in values:  # an element's place in the whole array decides
            return whole
        return [*whole, *along_axes(x, dims, 1 + len(values))]
