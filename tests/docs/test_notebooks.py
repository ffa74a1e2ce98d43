"""The notebooks of examples/notebooks say what happens."""

import importlib.util
import json
from pathlib import Path

import pytest

pytest.importorskip("cornerturn")

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
found = importlib.util.spec_from_file_location("notebooks", ROOT / "scripts" / "notebooks.py")
notebooks = importlib.util.module_from_spec(found)
found.loader.exec_module(notebooks)


def test_there_is_one_for_each_of_the_commonest_jobs():
    assert [path.name[0] for path in NOTEBOOKS] == ["1", "2", "3", "4", "5"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_recorded_is_what_its_cells_say(path):
    if "zarr" in path.read_text():
        pytest.importorskip("zarr", minversion="3")
        pytest.importorskip("xarray")
    if notebooks.needs_command(path) and not notebooks.has_command():
        pytest.skip("neither the package nor the build has the command")
    for recorded, now in zip(json.loads(path.read_text())["cells"], notebooks.run(path)["cells"], strict=True):
        assert now == recorded


def test_a_stale_cell_is_found_and_written_anew(tmp_path, capsys):
    path = tmp_path / "a.ipynb"
    cell = dict(cell_type="code", source=["print(1)\n", "x = 2\n", "x + 1"], outputs=[])
    path.write_text(json.dumps(dict(cells=[cell])))
    assert notebooks.main([str(path)]) == 1 and "something else" in capsys.readouterr().out
    assert notebooks.main(["--write", str(path)]) == 0
    outputs = json.loads(path.read_text())["cells"][0]["outputs"]
    assert outputs[0]["text"] == ["1\n"] and outputs[1]["data"] == {"text/plain": ["3"]}
    assert notebooks.main([str(path)]) == 0
