"""The recipe for Conan and the source package for Debian, beside what is installed and built here.

`make packages` makes both packages and uses them, which takes a build each.
"""

import ast
import fnmatch
import re
import subprocess

import pytest

from package_build import BUILD, ROOT, run

CONAN = ROOT / "packaging" / "conan"
DEBIAN = ROOT / "packaging" / "debian"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """What `cmake --install` puts below a prefix, with the folders of Debian."""
    assert (BUILD / "CMakeCache.txt").exists(), f"no build in {BUILD}; run `make build`"
    where = tmp_path_factory.mktemp("packages")
    run("cmake", "--install", BUILD, "--prefix", where / "usr")
    files = [path.relative_to(where).as_posix() for path in where.rglob("*") if not path.is_dir()]
    assert len(files) > 50
    # Libraries lie in a folder of their processor there.
    return sorted(re.sub(r"^usr/lib/(?!\w+-linux-gnu/)", "usr/lib/some-linux-gnu/", file) for file in files)


def patterns(name):
    return [line.split()[0] for line in (DEBIAN / name).read_text().splitlines()]


def takes(pattern, file):
    return fnmatch.fnmatch(file, pattern) or fnmatch.fnmatch(file, f"{pattern}/*")


PACKAGES = ["libcornerturn.install", "libcornerturn-dev.install", "cornerturn.install", "not-installed"]


def test_every_installed_file_is_in_one_package_of_debian(installed):
    homes = {file: [name for name in PACKAGES if any(takes(pattern, file) for pattern in patterns(name))] for file in installed}
    # The name without a version is for those who build programs.
    library = re.compile(r".*/libcornerturn\.so")
    assert [(file, found) for file, found in homes.items() if len(found) != 1 and not library.fullmatch(file)] == []
    assert [found for file, found in homes.items() if library.fullmatch(file)] == [["libcornerturn-dev.install"]]


@pytest.mark.parametrize("name", PACKAGES)
def test_every_line_of_a_package_of_debian_names_something(installed, name):
    static = "CORNERTURN_STATIC:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text()
    empty = [pattern for pattern in patterns(name) if not any(takes(pattern, file) for file in installed)]
    assert empty == ([] if static else [pattern for pattern in empty if pattern.endswith("libcornerturn.a")])


def test_the_version_of_both_packages_is_that_of_the_header():
    """Nothing else in them says one."""
    header = (ROOT / "include/cornerturn/version.hpp").read_text()
    version = ".".join(re.search(rf"VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH"))
    recipe = ast.parse((CONAN / "conanfile.py").read_text())
    cls, = (node for node in recipe.body if isinstance(node, ast.ClassDef))
    method, = (node for node in cls.body if isinstance(node, ast.FunctionDef) and node.name == "set_version")
    made = {"re": re, "TREE": ROOT}
    exec(compile(ast.Module([method], []), "conanfile.py", "exec"), made)
    conan = type("Recipe", (), {})()
    made["set_version"](conan)
    assert conan.version == version
    files = [path for folder in (CONAN, DEBIAN) for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 10 and [path for path in files if version in path.read_text()] == []


def test_the_folder_of_debian_is_filled_in(tmp_path):
    """Its names follow the version, and every word of the template has a value."""
    (tmp_path / "debian").mkdir()
    script = (ROOT / "packaging/debian.sh").read_text()
    start, end = script.index("  mv libcornerturn.install"), script.index("> changelog")
    for path in DEBIAN.iterdir():
        if path.is_file():
            (tmp_path / "debian" / path.name).write_bytes(path.read_bytes())
    values = "set -euo pipefail; major=7 version=7.8.9 seconds=0 maintainer='A Name <a@name.org>'\n"
    subprocess.run(["bash", "-c", values + script[start:end] + "> changelog"], cwd=tmp_path / "debian", check=True)
    texts = {path.name: path.read_text() for path in (tmp_path / "debian").iterdir()}
    assert [name for name, text in texts.items() if re.search(r"@[A-Z]+@", text)] == []
    assert "libcornerturn7.install" in texts and "Package: libcornerturn7\n" in texts["control"]
    assert "Depends: libcornerturn7 (= ${binary:Version})" in texts["control"]
    assert texts["changelog"].startswith("cornerturn (7.8.9-1) ")
    assert texts["changelog"].endswith("\n -- A Name <a@name.org>  Thu, 01 Jan 1970 00:00:00 +0000\n")


def needed_packages(text):
    return set(re.findall(r"lib[a-z-]+-dev|nlohmann-json3-dev", text))


def test_packages_need_what_the_build_says_that_it_needs():
    """cmake/CornerturnDependencies.cmake names Debian's packages for the library, scripts/setup.sh those for the rest."""
    library = needed_packages((ROOT / "cmake/CornerturnDependencies.cmake").read_text())
    whole = needed_packages((ROOT / "scripts/setup.sh").read_text().partition('library="')[2].partition('"')[0]) - {"libgtest-dev"}
    control = (DEBIAN / "control").read_text()
    assert len(library) == 4 and library < whole
    assert needed_packages((CONAN / "conanfile.py").read_text()) == library
    assert needed_packages(control.partition("Build-Depends:")[2].partition("Standards-Version")[0]) == whole


def test_the_recipe_names_what_the_package_of_cmake_does():
    """Targets, and what the static library is linked with."""
    config = (ROOT / "cmake/cornerturnConfig.cmake.in").read_text()
    recipe = (CONAN / "conanfile.py").read_text()
    needs = re.search(r"set\(cornerturn_static_needs (.*?)\)", config)[1].split()
    names = {"TBB::tbb": "tbb", "fmt::fmt": "fmt", "hwy": "hwy", "Threads::Threads": "pthread", "${CMAKE_DL_LIBS}": "dl"}
    linked, = re.findall(r"system_libs = (\[.*?\])", recipe)
    assert ast.literal_eval(linked) == [names[need] for need in needs]
    for target in ("cornerturn::cornerturn", "cornerturn::static"):
        assert target in recipe and (target in config or "NAMESPACE cornerturn::" in (ROOT / "cmake/CornerturnInstall.cmake").read_text())
    options = re.findall(r'"([A-Z_]+)":', recipe)
    main = (ROOT / "CMakeLists.txt").read_text()
    assert len(options) == 6 and [name for name in options if f"option(CORNERTURN_{name} " not in main] == []
