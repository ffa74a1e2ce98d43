"""plan: what it says, and that it shows itself in a notebook."""

import copy
import json
import pickle
from html.parser import HTMLParser

import numpy as np
import pytest

import cornerturn


class Checked(HTMLParser):
    """Every tag that is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.count = [], {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_of_an_array():
    x = np.zeros((64, 96, 3), "u1")
    plan = cornerturn.plan(x, (2, 0, 1))
    assert plan.device == "cpu" and plan.threads >= 1
    assert plan.bytes == x.nbytes and plan.predicted_seconds > 0
    assert plan.kernel in plan.explain() and plan.why in plan.explain()
    assert repr(plan).startswith(f"<Plan {plan.kernel}: ")
    facts = plan.to_dict()
    assert facts["kernel"] == plan.kernel and json.dumps(facts)
    assert {c["kernel"] for c in facts["candidates"]} >= {plan.kernel, "gather"}


def test_html():
    plan = cornerturn.plan((8, 224, 224, 3), (0, 3, 1, 2), dtype="float16", device="h200")
    text = plan._repr_html_()
    facts = plan.to_dict()
    assert Checked(text).count["tr"] == 1 + len(facts["candidates"]) + len(facts["refused"])
    assert plan.kernel in text and "NVIDIA H200" in text


def test_of_a_shape():
    x = np.zeros((30, 40, 50), "f8")
    assert cornerturn.plan(x, (1, 2, 0)) == cornerturn.plan(x.shape, (1, 2, 0), dtype="f64")
    assert hash(cornerturn.plan(x)) == hash(cornerturn.plan(x.shape, dtype=np.float64))
    for dtype in ("float64", np.dtype("f8"), np.float64, "c64", "b8"):
        assert cornerturn.plan((30, 40), dtype=dtype) == cornerturn.plan((30, 40), dtype="float64")
    assert cornerturn.plan((30, 40)).bytes == 4 * 1200
    assert cornerturn.plan((30, 40), dtype="float64") != cornerturn.plan((30, 41), dtype="float64")
    assert cornerturn.plan((0, 3)).bytes == 0


def test_of_described_gpus():
    for device in ("a100", "h100", "h200", "b200", "rtx4090"):
        plan = cornerturn.plan((4096, 4096), device=device)
        assert plan.threads == 0 and plan.device != "cpu"


def test_forced():
    x = np.zeros((64, 64), "f4")
    for kernel in ("tile", "gather", "pack"):
        assert cornerturn.plan(x, kernel=kernel).kernel == kernel
    assert cornerturn.plan((8192, 8192), threads=1).threads == 1


def test_measured():
    x = np.arange(600 * 500, dtype="f4").reshape(600, 500)
    out = np.zeros((500, 600), "f4")
    plan = cornerturn.plan(x, out=out, measure=True)
    assert plan.to_dict()["choice"] in ("measured", "remembered")
    assert (out == x.T).all()


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("device = 'x100' is no described GPU", {"device": "x100"}),
        ("kernel = 'nope' is unknown", {"kernel": "nope"}),
        ("kernel = 'copy' ", {"kernel": "copy"}),
        ("threads = -1 ", {"threads": -1}),
        ("measure = True, but out is None", {"measure": True}),
    ],
)
def test_errors(message, options):
    with pytest.raises(ValueError) as caught:
        cornerturn.plan((64, 96), (1, 0), **options)
    assert message in str(caught.value)


def test_errors_of_shapes():
    with pytest.raises(TypeError, match="dtype = 'f99' is no dtype: name one of NumPy's"):
        cornerturn.plan((64, 96), dtype="f99")
    with pytest.raises(ValueError, match=r"x\[1\] = -3"):
        cornerturn.plan((2, -3))
    with pytest.raises(TypeError, match="x is a "):
        cornerturn.plan("text")
    with pytest.raises(ValueError, match="out.shape"):
        cornerturn.plan(np.zeros((2, 3)), out=np.zeros((2, 3)))


def test_plans_can_be_pickled_and_copied():
    x = np.zeros((64, 96), "f4")
    for plan in (
        cornerturn.plan((8, 224, 224, 3), (0, 3, 1, 2), dtype="uint8", device="h200"),
        cornerturn.plan(x, kernel="gather", threads=1),
        cornerturn.plan(x, out=np.zeros((96, 64), "f4")),
    ):
        assert pickle.loads(pickle.dumps(plan)) == plan == copy.deepcopy(plan)


def test_other_plans_and_layouts_can_be_pickled_and_copied():
    layout = cornerturn.Layout("Swizzle<3,2,6> o (64,64):(64,1)")
    for value in (layout, layout.swizzle):
        assert pickle.loads(pickle.dumps(value)) == value == copy.deepcopy(value)
    plan = cornerturn.shards.plan((4096, 4096), 8, "S0", "S0", (1, 0), to="float16", on="8xh200")
    for again in (pickle.loads(pickle.dumps(plan)), copy.deepcopy(plan)):
        assert again.to_dict() == plan.to_dict() and again.explain() == plan.explain()
