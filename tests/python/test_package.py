"""The package as such: what importing it brings with it, its types, its symbols, its version."""

import ast
import importlib.metadata
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cornerturn
from cornerturn import _core, _lab

ROOT = Path(__file__).parents[2]
PUBLIC = [getattr(cornerturn, name) for name in cornerturn.__all__ if name != "__version__"]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_importing_it_imports_no_framework():
    code = "import cornerturn, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    modules = run(sys.executable, "-c", code).split()
    assert "cornerturn" in modules
    heavy = {"numpy", "torch", "jax", "jaxlib", "cupy", "triton", "ml_dtypes", "matplotlib", "einops"}
    assert not heavy & set(modules)


def test_working_on_numpy_imports_no_other_framework():
    code = (
        "import cornerturn, numpy, sys; x = numpy.zeros((3, 4)); cornerturn.transpose(x);"
        "cornerturn.rearrange(x, 'a b -> b a'); cornerturn.copy(x, x.copy());"
        "cornerturn.transpose(memoryview(b'abc')); cornerturn.plan(x);"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    assert not {"torch", "jax", "cupy", "triton"} & set(run(sys.executable, "-c", code).split())


def imports_of(path):
    """The modules of the package that a file imports, at its beginning or later."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("cornerturn."))
        elif isinstance(node, ast.ImportFrom) and node.module == "cornerturn":
            yield from (f"cornerturn.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module.startswith("cornerturn."):
            yield node.module


def test_no_module_imports_itself_by_way_of_others():
    package = Path(cornerturn.__file__).parent
    files = {p for folder in (package, package / "_frameworks") for p in folder.glob("*.py")} - {package / "__init__.py"}
    wanted = {
        ".".join(("cornerturn", *p.relative_to(package).with_suffix("").parts)).removesuffix(".__init__"): set(imports_of(p))
        for p in files
    }
    assert len(wanted) > 10 and "cornerturn._arrays" in wanted["cornerturn._frameworks.protocols"]
    done = set()
    while ready := {name for name in wanted.keys() - done if not (wanted[name] & wanted.keys()) - done}:
        done |= ready
    assert not wanted.keys() - done


def test_version():
    header = (ROOT / "include/cornerturn/version.hpp").read_text()
    numbers = re.findall(r"VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header)
    assert cornerturn.__version__ == ".".join(numbers) == _core.version()
    assert importlib.metadata.version("cornerturn") == cornerturn.__version__


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda thing: thing.__name__)
def test_public_functions_are_documented_and_typed(thing):
    assert thing.__module__.startswith("cornerturn") and thing.__doc__
    if inspect.isfunction(thing):
        signature = inspect.signature(thing)
        assert signature.return_annotation is not inspect.Signature.empty
        for name, parameter in signature.parameters.items():
            assert parameter.annotation is not inspect.Parameter.empty
            assert re.search(rf"\b{name}\b", thing.__doc__)
        assert "Raises:" in thing.__doc__ or "errors as in" in thing.__doc__


def test_licences_are_shipped():
    """Those of all that the binaries hold."""
    metadata = importlib.metadata.distribution("cornerturn")
    shipped = {Path(str(file)).name: file.read_text() for file in metadata.files if "licenses" in Path(str(file)).parts}
    assert {"LICENSE", "NOTICES.txt"} <= set(shipped)
    for name in ("oneTBB", "Highway", "fmt", "CLI11", "JSON for Modern C++", "toml++", "Boost.Context", "nanobind", "robin-map", "XLA"):
        assert name in shipped["NOTICES.txt"], name


def test_types_are_shipped():
    package = Path(cornerturn.__file__).parent
    assert (package / "py.typed").exists()
    for name in ("_core.pyi", "_lab.pyi"):
        assert (package / name).read_text() == (ROOT / "python/cornerturn" / name).read_text()


@pytest.mark.parametrize("name", ["_core", "_lab"])
def test_stubs_are_those_of_the_extension(tmp_path, name):
    pytest.importorskip("nanobind")
    run(sys.executable, "-m", "nanobind.stubgen", "-q", "-m", f"cornerturn.{name}", "-o", tmp_path / "stub")
    assert (tmp_path / "stub").read_text() == (ROOT / f"python/cornerturn/{name}.pyi").read_text()


@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm here")
@pytest.mark.parametrize("extension", [_core, _lab], ids=["_core", "_lab"])
def test_the_extension_shows_nothing_but_its_entry(extension):
    symbols = run("nm", "-D", "--defined-only", extension.__file__).split()[2::3]
    assert symbols == [f"PyInit_{extension.__name__.rpartition('.')[2]}"]


@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm here")
def test_the_extension_waits_without_a_symbol_of_new_systems():
    """std::condition_variable::wait is GLIBCXX_3.4.30, which alone would keep a wheel from manylinux_2_34."""
    wanted = run("nm", "-D", "-C", "--undefined-only", _core.__file__)
    assert "std::condition_variable::notify_all()" in wanted and "std::condition_variable::wait(" not in wanted


@pytest.mark.parametrize("extension", [_core, _lab], ids=["_core", "_lab"])
def test_stable_abi(extension):
    assert (".abi3." in Path(extension.__file__).name) == (sys.version_info >= (3, 12))


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake here")
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("0", "Device code: none is built, because CORNERTURN_CUDA=0"),
        ("no", 'CORNERTURN_CUDA = "no" in the environment has to be 0 or 1'),
        ("1", "Device code: it is built for all supported GPUs, because CORNERTURN_CUDA=1"),
        ("", "Device code: none is built, because no GPU is here (CORNERTURN_CUDA=1 in the environment"),
    ],
)
def test_device_code_is_built_where_it_is_of_use_or_asked_for(tmp_path, asked, said):
    """The configuration stops where a package is missing, after this is decided."""
    nvcc = shutil.which("nvcc") or os.path.exists("/usr/local/cuda/bin/nvcc")
    gpu = os.path.exists("/dev/nvidia0") or shutil.which("nvidia-smi")
    if asked == "1" and not nvcc:
        said = "CORNERTURN_CUDA=1 asks for device code, but nvcc is neither on the PATH nor"
    elif asked == "" and gpu:
        said = "Device code: it is built for the GPU that is here" if nvcc else "a GPU is here, but nvcc is"
    command = ["cmake", "-S", ROOT, "-B", tmp_path, "-DSKBUILD=2", "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON"]
    environment = {**os.environ, "CORNERTURN_CUDA": asked}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode != 0
    assert said in " ".join((done.stdout + done.stderr).split())


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake here")
def test_missing_packages_are_named_at_once(tmp_path):
    absent = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("fmt", "TBB")]
    command = ["cmake", "-S", ROOT, "-B", tmp_path, "-DSKBUILD=2", "-DCORNERTURN_CUDA=OFF", *absent]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert re.search(r"apt-get install libfmt-dev libtbb-dev$", done.stderr, re.M)
