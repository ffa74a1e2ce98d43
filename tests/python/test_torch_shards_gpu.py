"""Redistribution between two GPUs: shards_gpu_worker.py, in two processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available() or torch.version.cuda is None or torch.cuda.device_count() < 2:
    pytest.skip("no two GPUs", allow_module_level=True)
if not torch.distributed.is_available() or not torch.distributed.is_nccl_available():
    pytest.skip("PyTorch without torch.distributed and NCCL", allow_module_level=True)

WORKER = Path(__file__).with_name("shards_gpu_worker.py")


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpus")
    environment = {**os.environ, "NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1"}
    workers = []
    for rank in range(2):
        words = [sys.executable, WORKER, str(rank), "2", folder]
        workers.append(subprocess.Popen(words, env=environment))
    codes = [worker.wait(timeout=120) for worker in workers]
    (folder / "codes").write_text(" ".join(map(str, codes)))
    return folder


@pytest.mark.parametrize("rank", [0, 1])
def test_results_by_every_route_on_gpus(reports, rank):
    assert (reports / str(rank)).read_text() == ""


def test_gpus_do_not_wait_for_ever(reports):
    """PyTorch may end the process that waits before Python sees the error."""
    said = reports / "late-0"
    if said.exists():
        assert said.read_text() == ""
    else:
        assert (reports / "codes").read_text().split()[0] != "0"
