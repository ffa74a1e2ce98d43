"""Includes point one way: docs/architecture.md says which layer may include which."""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = Path("docs/architecture.md")
SOURCES = {".h", ".hpp", ".cuh", ".cpp", ".cu"}
SEARCHED = ["include", "src", "bench", "third_party/xla_ffi"]  # after the file's own folder
GENERATED = {"bench_build.hpp"}


def rows(page):
    """The cells of the table of layers, row by row, by the names of its columns."""
    section = re.search(r"^## Layers\n(.*?)(?=^## )", page, re.S | re.M)[1]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return [dict(zip(lines[0], cells, strict=True)) for cells in lines[2:]]


def rules(page):
    """(folder of each layer: the folders that it may include, what is wrong with the table itself)"""
    allowed, faults = {}, []
    for row in rows(page):
        named = row["may include"]
        names = {path.removeprefix("src/"): path for path in allowed}
        own = re.findall(r"`([\w/]+)`", row["layer"])
        may = {"nothing": [], "every layer above": list(names)}.get(named, named.split(", "))
        faults += [f'{PAGE}: {own[0]} may include "{name}", but no row above is that layer' for name in may if name not in names]
        for path in own:
            allowed[path] = {*own, *(names[name] for name in may if name in names)}
    return allowed, faults


def layer_of(path, layers):
    return max((layer for layer in layers if path.startswith(layer + "/")), key=len, default=None)


def sources(root, layers):
    tops = {layer.partition("/")[0] for layer in layers}
    return sorted(file for top in tops for file in (root / top).rglob("*") if file.suffix in SOURCES)


def faults_of(root):
    layers, faults = rules((root / PAGE).read_text())
    faults += [f"{PAGE}: {layer} is no folder" for layer in layers if not (root / layer).is_dir()]
    for file in sources(root, layers):
        path = file.relative_to(root).as_posix()
        layer = layer_of(path, layers)
        if layer is None:
            faults.append(f"{path}: {file.parent.relative_to(root)} is in no row of {PAGE}")
            continue
        folders = [file.parent, *(root / folder for folder in SEARCHED)]
        for number, line in enumerate(file.read_text().splitlines(), 1):
            include = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if not include:
                continue
            quoted, name = include[1] == '"', include[2]
            where = f'{path}:{number}: #include "{name}": '
            found = next((folder / name for folder in folders if (folder / name).is_file()), None)
            if found is None:
                if quoted and name not in GENERATED:
                    faults.append(where + "there is no such file")
                continue
            target = layer_of(found.resolve().relative_to(root.resolve()).as_posix(), layers)
            if target and target not in layers[layer]:
                may = ", ".join(sorted(layers[layer] - {layer})) or "nothing"
                faults.append(where + f"{layer} may not include {target}; it may include: {may}")
    return faults


def test_every_include_follows_the_table():
    assert faults_of(ROOT) == []


def test_families_of_one_machine_know_none_of_the_other():
    """What both need stands beside the two folders."""
    for machine, other in [("cpu", "gpu"), ("gpu", "cpu")]:
        files = [file for file in (ROOT / "src/plan" / machine).rglob("*") if file.suffix in SOURCES]
        assert len(files) > 30
        assert [file.name for file in files if f'#include "plan/{other}/' in file.read_text()] == []


def test_an_include_against_the_table_is_found(tmp_path):
    """The tree as it is, with headers of `core` and `cpu` that include what stands below them."""
    layers = rules((ROOT / PAGE).read_text())[0]
    for layer in layers:
        (tmp_path / layer).mkdir(parents=True)
    for file in [ROOT / PAGE, *sources(ROOT, [*layers, "third_party"])]:
        copy = tmp_path / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    assert faults_of(tmp_path) == []
    (tmp_path / "src/core/planted.hpp").write_text('#pragma once\n\n#  include "values/blocks.hpp"\n')
    (tmp_path / "src/cpu/planted.cpp").write_text(
        '// #include "api/target.hpp"\n#include <cornerturn/view.hpp>\n#include "../workshop/simt/fiber.hpp"\n#include "cpu/gone.hpp"\n'
    )
    assert faults_of(tmp_path) == [
        'src/core/planted.hpp:3: #include "values/blocks.hpp": src/core may not include src/values; it may include: include, src/maps',
        'src/cpu/planted.cpp:3: #include "../workshop/simt/fiber.hpp": src/cpu may not include src/workshop/simt; '
        "it may include: include, src/core, src/plan, src/values",
        'src/cpu/planted.cpp:4: #include "cpu/gone.hpp": there is no such file',
    ]


def table(*lines):
    head = ["## Layers", "| layer | may include |", "| --- | --- |"]
    return "\n".join([*head, *(f"| {line} |" for line in lines), "", "## More", ""])


def test_a_layer_without_a_row_is_found(tmp_path):
    for file in [PAGE, "src/core/a.hpp", "src/plan/a.hpp", "src/plan/gpu/a.cpp", "src/shop/lab/a.cpp", "src/a.cpp"]:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text('#include "core/a.hpp"\n' if "plan" in str(file) else "")
    (tmp_path / PAGE).write_text(table("`src/core` | nothing", "`src/plan` | core", "`src/shop/lab` | every layer above"))
    assert faults_of(tmp_path) == ["src/a.cpp: src is in no row of docs/architecture.md"]
    (tmp_path / PAGE).write_text(table("`src/core` | nothing", "`src/shop/simt` | core"))
    assert faults_of(tmp_path) == [
        "docs/architecture.md: src/shop/simt is no folder",
        "src/a.cpp: src is in no row of docs/architecture.md",
        "src/plan/a.hpp: src/plan is in no row of docs/architecture.md",
        "src/plan/gpu/a.cpp: src/plan/gpu is in no row of docs/architecture.md",
        "src/shop/lab/a.cpp: src/shop/lab is in no row of docs/architecture.md",
    ]


def test_a_rule_that_points_down_is_found():
    rows_of_a_circle = table("`src/core` | plan", "`src/plan` | core, cpu")
    assert rules(rows_of_a_circle)[1] == [
        'docs/architecture.md: src/core may include "plan", but no row above is that layer',
        'docs/architecture.md: src/plan may include "cpu", but no row above is that layer',
    ]
