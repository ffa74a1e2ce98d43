"""The examples of docs/python-frameworks.md run as printed."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python-frameworks.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not here")


def example(heading):
    section = PAGE.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    return code


def test_pytorch():
    torch = pytest.importorskip("torch")
    code = example("PyTorch")
    assert code.count("y = ") == 3
    names = {}
    for line in re.split(r"\n(?=\S)", code):
        exec(line, names)
        if "y" in names:
            assert torch.equal(names["y"], names["x"].permute(0, 3, 1, 2))
            assert names["y"].is_contiguous() and names["y"].requires_grad


def test_jax():
    pytest.importorskip("jax")
    names = {}
    exec(example("JAX"), names)
    x = names["x"]
    assert (names["y"] == x.transpose(2, 0, 1)).all()
    assert (names["z"] == x.T * 2).all() and (names["g"] == 2 * x).all()
