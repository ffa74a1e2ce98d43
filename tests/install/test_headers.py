"""Each public header compiles alone, with every warning, in every language it is meant for."""

import pytest

from package_build import ROOT, need, run

INCLUDE = ROOT / "include"
HEADERS = sorted(path.relative_to(INCLUDE) for path in (INCLUDE / "cornerturn").glob("*.h*"))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def compile_alone(compiler, language, standard, header, folder):
    suffix = {"c++": "cpp", "c": "c"}[language]
    source = folder / f"alone.{suffix}"
    source.write_text(f'#include "{header}"\n#include "{header}"\n')
    run(need(compiler), f"-std={standard}", *WARNINGS, "-fsyntax-only", f"-I{INCLUDE}", source)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("header", HEADERS, ids=str)
def test_header_compiles_alone(compiler, header, tmp_path):
    compile_alone(compiler, "c++", "c++20", header, tmp_path)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("standard", ["c11", "c17"])
def test_c_header_compiles_as_c(compiler, standard, tmp_path):
    compile_alone(compiler, "c", standard, "cornerturn/cornerturn.h", tmp_path)


@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_c_header_compiles_as_old_and_new_cpp(standard, tmp_path):
    compile_alone("g++", "c++", standard, "cornerturn/cornerturn.h", tmp_path)
