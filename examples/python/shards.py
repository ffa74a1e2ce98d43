"""A matrix whose rows are spread over processes, transposed: `torchrun --nproc-per-node 4 shards.py`.

Started without torchrun it is one process, and prints the same."""

import os

import torch
import torch.distributed as dist

from cornerturn.torch import redistribute

alone = {} if "RANK" in os.environ else {"rank": 0, "world_size": 1, "store": dist.HashStore()}
dist.init_process_group("gloo", **alone)
rank, ranks = dist.get_rank(), dist.get_world_size()

rows, columns = 1000, 600
matrix = torch.arange(rows * columns, dtype=torch.float32).reshape(rows, columns)
mine = matrix.tensor_split([rows * k // ranks for k in range(1, ranks)])[rank]

bounds = [((rows * k // ranks, 0), (rows * (k + 1) // ranks, columns)) for k in range(ranks)]
transposed = redistribute(mine, None, bounds, "S0", perm=(1, 0), shape=(rows, columns))

whole = redistribute(transposed, None, "S0", "R", shape=(columns, rows))
assert torch.equal(whole, matrix.T)
if rank == 0:
    print("transposed", tuple(whole.shape), "checksum", float((whole[:, 0] * whole[0, :columns]).sum()))
dist.destroy_process_group()
