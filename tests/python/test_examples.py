"""The examples run, and the README and the docstrings say what happens."""

import doctest
import importlib.util
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
    done = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout and not done.stderr
    if "swizzle" in example.name:
        assert (tmp_path / "swizzle.svg").read_text().startswith("<svg ")


def test_there_are_five_examples():
    assert len(EXAMPLES) == 5


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


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "docs/lab.md"])
def test_pages_show_what_happens(page):
    names = {}
    found = blocks(page)
    assert found
    for number, text in enumerate(found):
        frameworks = set(re.findall(r"\b(torch|jax)\b", text))
        if all(importlib.util.find_spec(framework) for framework in frameworks):
            check(text, names, f"{page} block {number}")


def test_docstrings_show_what_happens():
    import numpy

    images = numpy.zeros((2, 32, 48, 3), numpy.uint8)
    names = {"cornerturn": cornerturn, "numpy": numpy, "images": images}
    check(cornerturn.__doc__, {}, "cornerturn")
    check(cornerturn.transpose.__doc__, names, "transpose")
    check(cornerturn.rearrange.__doc__, names, "rearrange")


def test_the_reference_is_that_of_the_docstrings():
    script = [sys.executable, ROOT / "scripts" / "python_reference.py", "--check"]
    done = subprocess.run(script, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
