"""Cornerturn as a part of somebody else's build: by add_subdirectory, and by FetchContent from the sources that are here."""

import json

import pytest

from package_build import ROOT, need, run

WAYS = {
    "add_subdirectory": f'add_subdirectory("{ROOT}" cornerturn EXCLUDE_FROM_ALL)',
    "FetchContent": f'include(FetchContent)\nFetchContent_Declare(cornerturn SOURCE_DIR "{ROOT}")\n'
    "FetchContent_MakeAvailable(cornerturn)",
}


@pytest.fixture(scope="module", params=WAYS)
def build(request, tmp_path_factory):
    """Configured, and not compiled: the library itself is what the other tests build."""
    folder = tmp_path_factory.mktemp("consumer")
    (folder / "main.cpp").write_text("#include <cornerturn/cornerturn.hpp>\nint main() { return cornerturn::version().empty(); }\n")
    (folder / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.25)\nproject(mine LANGUAGES C CXX)\n{WAYS[request.param]}\n"
        "add_executable(mine main.cpp)\ntarget_link_libraries(mine PRIVATE cornerturn::cornerturn)\n"
    )
    where = folder / "build"
    (where / ".cmake/api/v1/query/codemodel-v2").mkdir(parents=True)
    run(need("cmake"), "-G", "Ninja", "-S", folder, "-B", where, "-DCMAKE_BUILD_TYPE=Release")
    return where


def targets(build):
    answers = (build / ".cmake/api/v1/reply").glob("target-*.json")
    return {target["name"]: target for target in map(json.loads, (file.read_text() for file in answers))}


def test_the_program_is_linked_with_the_library(build):
    mine = targets(build)["mine"]
    libraries = [part["fragment"] for part in mine["link"]["commandFragments"] if part["role"] == "libraries"]
    assert any("libcornerturn.so" in library for library in libraries)
    flags = mine["compileGroups"][0]
    assert str(ROOT / "include") in [folder["path"] for folder in flags["includes"]]
    assert "-Werror" not in json.dumps(flags)  # how others compile is theirs to say
    run("ninja", "-C", build, "-n", "mine")


def test_nothing_else_of_ours_is_built(build):
    """Neither tests nor the command line, nor anything that needs their packages."""
    programs = {name for name, target in targets(build).items() if target["type"] == "EXECUTABLE"}
    assert programs == {"mine"}
