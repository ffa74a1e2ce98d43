"""The installed package, as somebody finds it who has nothing else of this project."""

import os
import re
import subprocess

import pytest

from package_build import BUILD, ROOT, need, run

EXAMPLES = ROOT / "examples"


def only(paths):
    found = list(paths)
    assert len(found) == 1, found
    return found[0]


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """Cornerturn, installed to a folder that nothing else knows about."""
    assert (BUILD / "CMakeCache.txt").exists(), f"no build in {BUILD}; run `make build`"
    where = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", where)
    return where


@pytest.fixture(scope="session")
def library(prefix):
    return only(prefix.glob("lib/**/libcornerturn.so"))


@pytest.fixture(scope="session")
def examples(prefix, tmp_path_factory):
    """The examples, built through find_package from a copy outside the tree."""
    build = tmp_path_factory.mktemp("examples")
    run("cmake", "-G", "Ninja", "-S", EXAMPLES, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build, "-j", os.environ.get("JOBS", "2"))
    return build


@pytest.fixture
def pkg_config(library):
    need("pkg-config")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(library.parent / "pkgconfig")}
    return lambda *words: run("pkg-config", *words, "cornerturn", env=environment).split()


@pytest.mark.parametrize(
    "source", sorted(path.name for path in EXAMPLES.iterdir() if path.suffix in (".c", ".cpp"))
)
def test_example_runs_with_find_package(examples, source):
    program = examples / f"example_{source.rpartition('.')[0]}"
    if source == "gpu_permute.cpp":
        pytest.skip("it has a test of its own")
    assert run(program) != ""


def test_gpu_example_runs_or_says_why_not(examples):
    """Built wherever the CUDA toolkit is; without a GPU, or code for it, one line says so."""
    program = examples / "example_gpu_permute"
    if not program.exists():
        pytest.skip("no CUDA toolkit on this machine")
    result = subprocess.run([program], capture_output=True, text=True)
    if result.returncode == 0:
        assert "in its place" in result.stdout
    else:
        assert re.fullmatch(r"gpu_permute: .*\bno (GPU|device code)\b.*\n", result.stderr), result


def test_permute_4d_prints_the_channels(examples):
    lines = run(examples / "example_permute_4d").splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["0", "3", "6", "9", "12"],
        ["1", "4", "7", "10", "13"],
        ["2", "5", "8", "11", "14"],
    ]


def test_c_example_builds_with_pkg_config(pkg_config, library, tmp_path):
    program = tmp_path / "transpose"
    flags = pkg_config("--cflags", "--libs")
    run(need("gcc"), "-std=c11", "-Wall", "-Werror", EXAMPLES / "transpose.c", "-o", program, *flags)
    output = run(program, env={**os.environ, "LD_LIBRARY_PATH": str(library.parent)})
    assert output.splitlines()[0].split() == ["0", "4", "8"]
    assert "rows = -1" in output


def test_cpp_example_builds_with_pkg_config(pkg_config, library, tmp_path):
    program = tmp_path / "permute"
    flags = pkg_config("--cflags", "--libs")
    run(need("g++"), "-std=c++20", EXAMPLES / "permute_4d.cpp", "-o", program, *flags)
    run(program, env={**os.environ, "LD_LIBRARY_PATH": str(library.parent)})


def test_a_kernel_is_checked_from_the_installed_package(prefix, tmp_path):
    """From a copy, as the build's own folder knows where the sources are."""
    kernel = tmp_path / "my_kernel.hpp"
    kernel.write_text((EXAMPLES / "my_kernel.hpp").read_text())
    output = run(prefix / "bin" / "cornerturn", "check", kernel, "--shape", "33,31")
    assert "every element is right" in output and "my_kernel.hpp:21" in output


def test_a_cuda_source_is_checked_from_the_installed_package(prefix, tmp_path):
    source = tmp_path / "a.cu"
    source.write_text((EXAMPLES / "transpose_with_faults.cu").read_text())
    result = subprocess.run([prefix / "bin" / "cornerturn", "check", "a.cu"], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 1 and "a.cu:15: thread" in result.stdout, result


def test_what_checked_programs_are_linked_with_needs_a_compiler_alone(prefix, tmp_path):
    """Neither fmt nor Boost.Context, which are installed where this is built and maybe nowhere else; and nothing
    of systems newer than those that a wheel is for (manylinux_2_34)."""
    (tmp_path / "main.cpp").write_text("int main() {}\n")
    archives = [only(prefix.glob(f"lib/**/libcornerturn_{name}.a")) for name in ("cuda_source", "emulator")]
    words = ["-Wl,--whole-archive", *archives, "-Wl,--no-whole-archive", "-lpthread", "-o", tmp_path / "main"]
    run("c++", tmp_path / "main.cpp", *words)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*?)\]", run(need("readelf"), "-d", tmp_path / "main")))
    assert needed <= {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
    versions = set(re.findall(r"(GLIBC|GLIBCXX)_([0-9.]+)", run("readelf", "-W", "--dyn-syms", tmp_path / "main")))
    newest = {kind: max(tuple(map(int, number.split("."))) for name, number in versions if name == kind) for kind, _ in versions}
    assert newest["GLIBC"] <= (2, 34) and newest["GLIBCXX"] <= (3, 4, 29), newest


def test_the_emulator_is_found_by_cmake(prefix, tmp_path):
    page = (ROOT / "docs" / "your-own-kernel.md").read_text()
    program, = re.findall(r"```cpp\n(#include <cornerturn_emulator.hpp>\n#include <cstdio>.*?)```", page, re.S)
    package, = re.findall(r"```cmake\n(.*?)```", page, re.S)
    (tmp_path / "main.cpp").write_text(program)
    (tmp_path / "my_kernel.hpp").write_text((EXAMPLES / "my_kernel.hpp").read_text())
    head, links = package.split("\n", 1)
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.25)\nproject(mine CXX)\n{head}\n"
        f"add_executable(my_tests main.cpp)\n{links}"
    )
    build = tmp_path / "build"
    run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    assert '"verified": true' in run(build / "my_tests")


def test_the_static_library_is_found_by_cmake(prefix, tmp_path):
    if "CORNERTURN_STATIC:BOOL=ON" not in (BUILD / "CMakeCache.txt").read_text():
        pytest.skip("this build has no static library")
    (tmp_path / "main.cpp").write_text((EXAMPLES / "permute_4d.cpp").read_text())
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(mine CXX)\nfind_package(cornerturn REQUIRED COMPONENTS static)\n"
        "add_executable(mine main.cpp)\ntarget_link_libraries(mine PRIVATE cornerturn::static)\n"
    )
    build = tmp_path / "build"
    run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    assert run(build / "mine") != ""
    assert "libcornerturn" not in run("readelf", "-d", build / "mine")


def test_versions_agree(prefix, examples, pkg_config):
    header = (prefix / "include/cornerturn/version.hpp").read_text()
    numbers = [re.search(rf"VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    version = ".".join(numbers)
    assert pkg_config("--modversion") == [version]
    assert f"Cornerturn {version} says" in run(examples / "example_transpose")
    assert f'PACKAGE_VERSION "{version}"' in only(prefix.rglob("*ConfigVersion.cmake")).read_text()


def test_soname_is_versioned(library):
    soname = re.search(r"\(SONAME\).*\[(.*)\]", run(need("readelf"), "-d", library))[1]
    assert re.fullmatch(r"libcornerturn\.so\.\d+", soname)
    assert (library.parent / soname).exists()


def test_only_our_symbols_are_exported(library):
    table = run(need("nm"), "-D", "-C", "--defined-only", library).splitlines()
    names = [line.split(None, 2)[2] for line in table]
    ours = re.compile(
        r"ct_\w+|(typeinfo for |typeinfo name for |vtable for )?cornerturn::.*"
    )
    assert any(name.startswith("ct_") for name in names)
    assert any(name.startswith("cornerturn::") for name in names)
    assert [name for name in names if not ours.fullmatch(name)] == []
    internal = re.compile(r"cornerturn::(plan|cpu|cuda|kernels|io|core|detail)::")
    assert [name for name in names if internal.match(name)] == []


def test_nothing_private_is_installed(prefix):
    public = {path.name for path in (ROOT / "include" / "cornerturn").iterdir()}
    installed = {path.name for path in (prefix / "include" / "cornerturn").iterdir()}
    assert installed == public | {"cuda_source", "emulator"}
    files = [path for path in prefix.rglob("*") if path.suffix in (".cmake", ".pc", ".hpp", ".h")]
    assert len(files) > len(public)
    assert [path for path in files if str(ROOT) in path.read_text()] == []


def test_puzzles_are_found_beside_the_program(prefix, tmp_path):
    """Not those of the tree: an installed one is changed."""
    (puzzle,) = prefix.glob("share/cornerturn/puzzles/pad.cu")
    puzzle.write_text(puzzle.read_text() + "// installed\n")
    run(prefix / "bin" / "cornerturn", "puzzle", "start", "pad", "--folder", tmp_path / "mine")
    assert (tmp_path / "mine" / "pad.cu").read_text().endswith("// installed\n")


def test_make_install_builds_what_is_installed():
    """`make build` names its targets, and an install takes files of others only if these make them."""
    (targets,) = re.findall(r"^build:.*\n\t@scripts/build.sh release (.*)$", (ROOT / "Makefile").read_text(), re.M)
    commands = run("ninja", "-C", BUILD, "-t", "commands", *targets.split()).split()
    scripts = "".join(path.read_text() for path in BUILD.rglob("cmake_install.cmake"))
    installed = set(re.findall(rf'"{re.escape(str(BUILD))}/((?:bin|lib)/\w+(?:\.a|\.so\.\d+\.\d+\.\d+)?)"', scripts))
    assert {"bin/cornerturn", "lib/libcornerturn.a"} <= installed <= set(commands)
