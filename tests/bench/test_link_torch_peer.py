"""What PyTorch is measured with across the link: the bytes of the cases, and the calls that are counted."""

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "link" / "torch_peer.py"
SPEC = importlib.util.spec_from_file_location("torch_peer", SCRIPT)
peer = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(peer)


class Torch:
    """Where every call takes so many seconds of a clock that nothing else moves."""

    def __init__(self, monkeypatch, seconds):
        self.now, self.seconds, self.slots = 0.0, seconds, []
        self.cuda = self
        monkeypatch.setattr(peer.time, "perf_counter", lambda: self.now)

    def synchronize(self):
        self.now += self.seconds

    def timed(self, slots, budget):
        return peer.timed(self, self.slots.append, slots, budget)


def test_a_side_is_as_long_as_its_strides_reach():
    case = {"shape": [3, 4], "src_strides": [100, 2], "src_offset": 7, "dst_strides": [1, 3], "dst_offset": 0}
    assert peer.span(case, "src") == (7, 207) and peer.span(case, "dst") == (0, 12)


def test_the_first_call_is_not_counted_and_calls_go_through_all_slots(monkeypatch):
    torch = Torch(monkeypatch, 0.03)
    assert len(torch.timed(3, 0.1)) == 4
    assert torch.slots == [0, 1, 2, 0, 1]


def test_of_long_calls_one_is_counted_and_of_short_ones_not_too_many(monkeypatch):
    assert len(Torch(monkeypatch, 5.0).timed(1, 0.1)) == 1
    assert len(Torch(monkeypatch, 1e-6).timed(1, 0.1)) == peer.MOST_CALLS
