"""What programs are linked with stays: packaging/symbols.txt lists what the shared library exports.

A line that goes is a program that no longer starts, and takes a deprecation first (CONTRIBUTING.md). After a
new one: CORNERTURN_UPDATE_SYMBOLS=1 pytest tests/install/test_symbols.py.
"""

import os
import re

import pytest

from package_build import BUILD, ROOT, need, run

LIST = ROOT / "packaging" / "symbols.txt"


def exported(library):
    """The names of the C interface as they are, those of C++ with their arguments.

    Compilers may add the types of functions that the library passes on, which nobody is linked with.
    """
    lines = run(need("nm"), "-D", "-C", "--defined-only", library).splitlines()
    names = {line.split(None, 2)[2] for line in lines}
    return sorted(name for name in names if not re.match(r"typeinfo (name )?for .*\(", name))


def listed():
    return [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]


@pytest.fixture(scope="module")
def library():
    found = sorted(BUILD.glob("**/libcornerturn.so"))
    assert found, f"no build in {BUILD}; run `make build`"
    return found[0]


def test_the_library_exports_what_is_listed(library):
    found = exported(library)
    if os.environ.get("CORNERTURN_UPDATE_SYMBOLS") == "1":
        head = [line for line in LIST.read_text().splitlines() if line.startswith("#")]
        LIST.write_text("\n".join([*head, *found, ""]))
    assert sorted(set(listed()) - set(found)) == [], "these are no longer exported"
    assert sorted(set(found) - set(listed())) == [], f"these are new, and not in {LIST.name}"


def test_the_list_is_that_of_the_c_header():
    header = (ROOT / "include/cornerturn/cornerturn.h").read_text()
    declared = re.findall(r"CT_C_API [\w *]+?\b(ct_\w+)\(", header)
    assert len(declared) > 20
    assert sorted(declared) == [name for name in listed() if re.fullmatch(r"ct_\w+", name)]


def test_the_list_is_sorted_and_has_no_name_twice():
    assert listed() == sorted(set(listed()))


@pytest.mark.parametrize("name", ["_core", "_lab", "_ladder"])
def test_extensions_export_their_beginning_alone(name):
    """So two of them, and the library, get along in one process."""
    cornerturn = pytest.importorskip("cornerturn")
    found = [file for folder in cornerturn.__path__ for file in os.listdir(folder) if re.match(rf"{name}\..*so$", file)]
    if not found:
        pytest.skip(f"this package was built without {name}")
    assert exported(os.path.join(cornerturn.__path__[0], found[0])) == [f"PyInit_{name}"]
