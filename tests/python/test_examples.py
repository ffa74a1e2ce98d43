"""The examples run, and the README and the docstrings say what happens."""

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cornerturn

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "python").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example(example, tmp_path):
    if example.name == "rechunk_cluster.py" and os.environ.get("FULL") != "1":
        pytest.skip("starts four processes: FULL=1 runs it")
    if example.name in ("shards.py", "fp8_training.py"):
        pytest.importorskip("torch")
    # A scheduler whose workers stop while they greet it says so; only what is graver counts.
    quiet = {**os.environ, "DASK_LOGGING__DISTRIBUTED": "critical"}
    done = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True, env=quiet)
    assert done.returncode == 0, done.stderr
    assert done.stdout and not done.stderr, done.stderr
    if "swizzle" in example.name:
        assert (tmp_path / "swizzle.svg").read_text().startswith("<svg ")


def test_there_are_ten_examples():
    assert len(EXAMPLES) == 10


def blocks(page):
    """The examples of a page: Python with its answers."""
    return re.findall(r"^```pycon\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M)


def check(text, names, name):
    parser = doctest.DocTestParser()
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    test = parser.get_doctest(text, names, name, name, 0)
    result = runner.run(test, clear_globs=False)
    names.update(test.globs)  # the next block goes on from here
    assert result.attempted and not result.failed


PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "python").glob("*.md")]
)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page) and "reference" not in page])
def test_pages_show_what_happens(page):
    names = {}
    found = blocks(page)
    assert found
    for number, text in enumerate(found):
        frameworks = set(re.findall(r"\b(torch|jax|xarray|zarr|dask|polars)\b", text))
        if all(importlib.util.find_spec(framework) for framework in frameworks):
            check(text, names, f"{page} block {number}")


def test_pages_with_other_python_are_run_too():
    """By the tests below, test_casts.py, test_check.py, test_framework_docs.py, test_real_programs.py, test_torch_shards.py and test_to.py. Those
    of the reference are signatures."""
    found = {page for page in PAGES if re.search(r"^```python\n", (ROOT / page).read_text(), re.M)}
    assert found == {
        *("docs/conversions.md", "docs/python-frameworks.md", "docs/python-reference.md", "python/README.md"),
        *("README.md", "docs/check-cuda.md", "docs/shards.md", "docs/python.md", "docs/python-cookbook.md", "docs/link.md"),
        *("docs/real-programs.md", "docs/casts.md"),
        "docs/guide/10-triton-ggml.md",
    }


def test_the_reference_shows_what_happens(tmp_path, monkeypatch):
    import numpy

    monkeypatch.chdir(tmp_path)
    numpy.save("images.npy", numpy.zeros((2, 4, 5, 3)))
    names = {"cornerturn": cornerturn, "numpy": numpy, "x": numpy.zeros((3, 4))}
    found = blocks("docs/python-reference.md")
    assert len(found) > 10
    for number, text in enumerate(found):
        if "cornerturn.check(" in text:  # it compiles: test_check.py has its like
            continue
        needs = {"cornerturn.ladder": "cornerturn._ladder", "dask": "dask", "zarr": "zarr", "polars": "polars"}
        if all(importlib.util.find_spec(module) for word, module in needs.items() if word in text):
            check(text, names, f"docs/python-reference.md block {number}")


def test_the_package_index_shows_what_happens(tmp_path, monkeypatch):
    import numpy

    monkeypatch.chdir(tmp_path)
    numpy.save("in.npy", numpy.arange(12.0).reshape(3, 4))
    (code,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "python/README.md").read_text(), re.S | re.M)
    names = {}
    exec(code, names)
    assert numpy.array_equal(names["before"], names["after"])
    assert numpy.load("out.npy").shape == (4, 3)


def test_docstrings_show_what_happens():
    import numpy

    images = numpy.zeros((8, 224, 224, 3), numpy.uint8)  # of the package's docstring
    names = {"cornerturn": cornerturn, "numpy": numpy, "images": images}
    check(cornerturn.__doc__, {}, "cornerturn")
    check(cornerturn.transpose.__doc__, names, "transpose")
    for function in ("rearrange", "repeat", "moveaxis"):
        check(getattr(cornerturn, function).__doc__, names, function)


def test_blocks_of_conversions_run_one_after_the_other():
    """They need ml_dtypes, for its small floats."""
    pytest.importorskip("ml_dtypes")
    text = (ROOT / "docs/conversions.md").read_text()
    found = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    assert len(found) == 4
    names = {}
    for block in found:
        exec(block, names)
    assert names["x"].shape == (64, 96) and names["x"].dtype == "float32"


def test_the_reference_is_that_of_the_docstrings():
    script = [sys.executable, ROOT / "scripts" / "python_reference.py", "--check"]
    done = subprocess.run(script, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
