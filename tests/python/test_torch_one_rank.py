"""What one process alone gets wrong is refused by all of them: one_rank_worker.py holds the tables."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    pytest.skip("PyTorch without torch.distributed and gloo", allow_module_level=True)

WORKER = Path(__file__).with_name("one_rank_worker.py")


@pytest.fixture(scope="module")
def heard(tmp_path_factory):
    """What each of the two processes got, for every row: one run for all tests of this file."""
    file = tmp_path_factory.mktemp("ranks") / "heard"
    done = subprocess.run([sys.executable, WORKER, file], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [json.loads(Path(f"{file}-{rank}").read_text()) for rank in (0, 1)]


def test_every_process_says_the_same_and_names_the_one_that_is_wrong(heard):
    rows = {name: got for name, got in heard[0].items() if isinstance(got, list)}
    assert len(rows) > 200
    wrong = []
    for name, (kind, line, wanted_kind, text) in rows.items():
        # The rank that is wrong is in the row's name; of two that differ rank 1 is named.
        rank = 1 if "the same on every rank" in line else int(name[-1])
        if (
            heard[1][name][:2] != [kind, line]
            or kind != wanted_kind
            or not line.startswith(f"rank {rank}: ")
            or text not in line
        ):
            wrong.append((name, kind, line, heard[1][name]))
    assert not wrong


@pytest.mark.parametrize("of", ["x", "out"])
def test_a_tensor_may_raise_whenever_it_is_asked(heard, of):
    for wrong in (0, 1):
        asked = heard[0][f"questions to {of}, {wrong}"]
        assert asked == heard[1][f"questions to {of}, {wrong}"] and asked > 10


def test_three_messages_are_on_their_way_at_most(heard):
    assert [each["messages"] for each in heard] == [3, 3]
