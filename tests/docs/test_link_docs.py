"""The page about the link says what the library says, and its code compiles."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from test_docs import PROGRAM, ROOT, families, section

PAGE = (ROOT / "docs" / "link.md").read_text()


def words(text):
    return " ".join(text.split())


def test_plans_are_explained_as_shown():
    """Lines of dots stand for what is left out."""
    shown = re.findall(r"^```\n\$ (CORNERTURN_\w+=\S+) cornerturn (plan [^\n]*)\n(.*?)^```", PAGE, re.S | re.M)
    assert len(shown) == 2
    for setting, command, excerpt in shown:
        name, _, value = setting.partition("=")
        env = {**os.environ, name: value}
        said = words(subprocess.run([PROGRAM, *command.split()], check=True, capture_output=True, text=True, env=env).stdout)
        for part in filter(None, map(words, re.split(r"^\.\.\.\n", excerpt, flags=re.M))):
            assert part in said
            said = said.partition(part)[2]


def test_every_route_is_in_the_table():
    named = re.findall(r"^\| `(\w+)` \|", section(PAGE, "Routes"), re.M)
    listed, _ = families("src/plan/link/families.hpp")
    assert named == list(listed)


@pytest.mark.parametrize("language, compiler, options", [("cpp", "c++", ["-std=c++20"]), ("c", "cc", ["-std=c11"])])
def test_the_code_compiles(language, compiler, options):
    (code,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.S | re.M)
    compiler = os.environ.get({"cpp": "CXX", "c": "CC"}[language]) or shutil.which(compiler)
    kind = {"cpp": "c++", "c": "c"}[language]
    flags = [*options, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT / 'include'}"]
    done = subprocess.run([*compiler.split(), *flags, "-x", kind, "-"], input=code, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
