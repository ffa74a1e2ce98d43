"""`cornerturn puzzle`: every puzzle fails for its own reason, its solution passes, and what comes near fails too."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from command_line import PROGRAM, ROOT, command, done, refused

runs_programs = pytest.mark.skipif(
    not (PROGRAM.parent.parent / "lib" / "libcornerturn_cuda_source.a").exists(),
    reason="a build with sanitizers has no library for CUDA sources",
)
FOLDER = ROOT / "examples" / "puzzles"
PUZZLES = {one["name"]: one for one in json.loads((FOLDER / "puzzles.json").read_text())}
GIVEN = {name: (FOLDER / f"{name}.cu").read_text() for name in PUZZLES}
SOLVED = {name: (FOLDER / "solutions" / f"{name}.cu").read_text() for name in PUZZLES}
REST = "// ---- The rest of the puzzle"

# What a learner may well try: the puzzle or its solution with one text in another's place, and what is then wrong.
NEAR = {
    "coalesce, of the loads alone": (GIVEN, "= in[row * cols + col]", "= in[col * cols + row]", "wrong_result"),
    "edges, by the index alone": (SOLVED, "row < rows && col < cols", "row * cols + col < rows * cols", "race"),
    "edges, of the columns alone": (SOLVED, "row < rows && col < cols", "col < cols", "out_of_bounds"),
    "barrier, of a warp": (SOLVED, "__syncthreads()", "__syncwarp()", "race"),
    "pad, by two": (SOLVED, "side + 1", "side + 2", "too_many_wavefronts"),
    "pad, of the columns": (SOLVED, "tile[side][side + 1]", "tile[side + 1][side]", "too_many_wavefronts"),
    "xor, by padding": (GIVEN, "tile[side][side]", "tile[side][side + 1]", "too_much_shared_memory"),
    "xor, of the stores alone": (SOLVED, "tile[x][y ^ x]", "tile[x][y]", "wrong_result"),
    "vectorise, without an end": (SOLVED, "if (i + 3 < n)", "if (i < n)", "out_of_bounds"),
    "vectorise, without the last ones": (SOLVED, "for (int j = i; j < n; ++j) y[j] += x[j];", "", "wrong_result"),
    "halo, of the left end alone": (SOLVED, "part[t + 1] = i < n ? in[i] : 0;", "if (i < n) part[t + 1] = in[i];", "unwritten_read"),
    "divergent, with a barrier for some": (SOLVED, "    }\n    __syncthreads();", "      __syncthreads();\n    }", "divergent_barrier"),
    "shuffle, with barriers": (GIVEN, "lane + step];\n", "lane + step];\n    __syncwarp();\n", "too_much_shared_memory"),
    "shuffle, of half a warp": (SOLVED, "step = 16", "step = 8", "wrong_result"),
    "blocks, with a fence": (GIVEN, "*total += part[0];", "{ *total += part[0]; __threadfence(); }", "race"),
    "histogram, without zeros": (SOLVED, "own[threadIdx.x] = 0", "", "unwritten_read"),
    "histogram, without a barrier": (SOLVED, "  }\n  __syncthreads();\n  if", "  }\n  if", "race"),
    "histogram, without atomics": (SOLVED, "atomicAdd(&own[in[i]], 1)", "own[in[i]] += 1", "race"),
    "async, without a wait": (SOLVED, "__pipeline_wait_prior(1);", "", "race"),
    "async, without the second barrier": (SOLVED, "    __syncthreads();  // nobody", "    // nobody", "race"),
    "halves, by the whole row": (SOLVED, {"x ^ y / 2": "x ^ y % 32", "2 * x][y ^ x": "2 * x][y ^ 2 * x % 32", "2 * x + 1][y ^ x": "2 * x + 1][y ^ (2 * x + 1) % 32"}, None, "too_many_wavefronts"),
    "halves, by padding": (GIVEN, "tile[side][words]", "tile[side][words + 1]", "too_many_wavefronts"),
}  # fmt: skip


def near(name):
    base, old, new, _ = NEAR[name]
    text = base[name.partition(",")[0]]
    for before, after in (old if isinstance(old, dict) else {old: new}).items():
        assert text.count(before) == 1, (name, before)
        text = text.replace(before, after)
    return text


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """(exit code, report) of every source here, by its kind and name."""
    folder = tmp_path_factory.mktemp("puzzles")
    sources = {("given", name): text for name, text in GIVEN.items()}
    sources |= {("solved", name): text for name, text in SOLVED.items()}
    sources |= {("near", name): near(name) for name in NEAR}

    def judged(item):
        (kind, name), text = item
        path = folder / f"{kind} {name}.cu"
        path.write_text(text)
        result = command("puzzle", "check", path, "--json")
        assert result.returncode in (0, 1), result.stderr
        return (kind, name), (result.returncode, json.loads(result.stdout))

    with ThreadPoolExecutor(2) as pool:
        return dict(pool.map(judged, sources.items()))


def kinds(report):
    return {one["kind"] for one in report["wrong"]}


@runs_programs
@pytest.mark.parametrize("name", PUZZLES)
def test_a_puzzle_fails_for_its_own_reason(name, verdicts):
    code, report = verdicts["given", name]
    assert code == 1 and not report["solved"] and report["puzzle"] == name
    assert PUZZLES[name]["fault"] in kinds(report)


@runs_programs
@pytest.mark.parametrize("name", PUZZLES)
def test_a_solution_passes(name, verdicts):
    code, report = verdicts["solved", name]
    assert code == 0 and report["solved"] and report["wrong"] == [], report["wrong"]
    assert report["report"]["findings"] == report["report"]["host"] == []


@runs_programs
@pytest.mark.parametrize("name", NEAR)
def test_what_comes_near_fails(name, verdicts):
    code, report = verdicts["near", name]
    assert code == 1 and NEAR[name][3] in kinds(report), report["wrong"]
    assert "changed" not in kinds(report)


@pytest.mark.parametrize("name", PUZZLES)
def test_a_puzzle_says_what_it_asks_for(name):
    """The source names its limits and itself, and a solution changes nothing but the gap."""
    head = GIVEN[name].partition("#include")[0]
    words = " ".join(head.replace("//", " ").split())
    assert head.startswith(f"// Puzzle {name}: ") and "Solved when " in words
    limits = PUZZLES[name]["limits"]
    assert set(limits) <= {"sectors", "wavefronts", "shared", "requests"}
    for what, phrase in [("shared", "{} bytes of shared memory"), ("requests", "at most {} requests")]:
        if limits.get(what):
            assert phrase.format(limits[what]) in words
    given, solved = (text[name].partition(REST) for text in (GIVEN, SOLVED))
    assert given[1:] == solved[1:] and given[0] != solved[0] and solved[0].startswith(head)
    assert len(PUZZLES[name]["hints"]) == 3
    assert all(len(line) <= 100 for line in (GIVEN[name] + SOLVED[name]).splitlines())


@runs_programs
def test_the_list_is_judged_from_the_files(folder):
    for name, text in {"coalesce": SOLVED["coalesce"], "edges": GIVEN["edges"], "barrier": SOLVED["barrier"].replace("__syncthreads", "__nothing"),
                       "pad": SOLVED["xor"].replace("Puzzle xor", "Puzzle pad").replace("tile[x][y ^ x]", "tile[x][y]")}.items():  # fmt: skip
        (folder / f"{name}.cu").write_text(text)
    report = json.loads(done("puzzle", "--json"))
    states = {one["name"]: one["state"] for one in report["puzzles"]}
    expected = {"coalesce": "solved", "edges": "open", "barrier": "open", "pad": "open"}
    assert states == {name: expected.get(name, "not_begun") for name in PUZZLES} and report["solved"] == 1
    text = done("puzzle")
    assert f"\n1 of {len(PUZZLES)} are solved. `cornerturn puzzle check edges` judges the next one.\n" in text
    assert [re.split(r"  +", line.strip())[0].split()[1] for line in text.splitlines()[1 : len(PUZZLES) + 1]] == list(PUZZLES)
    (folder / "edges.cu").write_text(SOLVED["edges"])
    assert "\n2 of " in done("puzzle")


def test_nothing_is_solved_in_an_empty_folder(folder):
    assert done("puzzle").endswith(f"\n0 of {len(PUZZLES)} are solved. `cornerturn puzzle start coalesce` writes the next one.\n")
    assert list(folder.iterdir()) == []


def test_start_writes_what_is_not_there_and_replaces_nothing(folder):
    for name in list(PUZZLES)[:2]:  # one after the other
        said = done("puzzle", "start", "--folder", "mine")
        path = folder / "mine" / f"{name}.cu"
        assert path.read_text() == GIVEN[name] and said.endswith(f"`cornerturn puzzle check mine/{name}.cu`\n")
    path.write_text("mine\n")
    assert "--again" in refused("puzzle", "start", path.stem, "--folder", "mine", part="is there and holds other text")
    assert path.read_text() == "mine\n"
    report = json.loads(done("puzzle", "start", "coalesce", "--folder", "mine", "--json"))
    assert report == {"puzzle": "coalesce", "file": "mine/coalesce.cu", "written": False}
    done("puzzle", "start", path.stem, "--folder", "mine", "--again")
    assert path.read_text() == GIVEN[path.stem]
    (folder / "pad.cu").symlink_to("nowhere")
    refused("puzzle", "start", "pad")
    assert not (folder / "nowhere").exists()
    (folder / "xor.cu").mkdir()
    refused("puzzle", "start", "xor", "--again")
    refused("puzzle", "start", "coalesce", "--folder", "no/such")
    assert sorted(one.name for one in folder.rglob("*")) == ["coalesce.cu", "edges.cu", "mine", "pad.cu", "xor.cu"]


@runs_programs
def test_the_verdict_fits_a_screen(folder):
    for name in PUZZLES:
        (folder / f"{name}.cu").write_text(GIVEN[name])
    for name in ["divergent", "async"]:  # those with the most findings
        result = command("puzzle", "check", name)
        assert result.returncode == 1 and len(result.stdout.splitlines()) <= 24
        assert f"{name}.cu: not solved yet.\n--hint shows a hint.\n" in result.stdout
        assert f"`cornerturn check {name}.cu` shows all" in result.stdout
    (folder / "coalesce.cu").write_text(SOLVED["coalesce"])
    assert done("puzzle", "check", "coalesce.cu") == "coalesce.cu: solved. The next one: `cornerturn puzzle start edges`\n"
    (folder / "halves.cu").write_text(SOLVED["halves"])
    assert done("puzzle", "check", "halves") == "halves.cu: solved. It was the last one.\n"
    noisy = GIVEN["coalesce"].replace("  out[row", '  printf("here\\n");\n  out[row')
    (folder / "coalesce.cu").write_text(noisy)
    result = command("puzzle", "check", "coalesce")
    assert result.stdout.startswith("here\n" * 12 + "...\nerror: too many sectors: ") and len(result.stdout.splitlines()) <= 24


@runs_programs
def test_hints_come_one_after_another(folder):
    (folder / "pad.cu").write_text(GIVEN["pad"])
    hints = PUZZLES["pad"]["hints"]
    for words, shown in [([], 0), (["--hint"], 1), (["--hint=2"], 2), (["--hint", "--hint"], 2), (["--hint=3"], 3), (["--hint=9"], 3)]:
        text = command("puzzle", "check", "pad.cu", *words).stdout
        assert [hint in text for hint in hints] == [i < shown for i in range(3)]
        assert ("--solution shows a solution" in text) == (shown == 3)
    result = command("puzzle", "check", "pad.cu", "--hint", "--json")
    assert json.loads(result.stdout)["hints"] == hints[:1]


@pytest.mark.parametrize("name", PUZZLES)
def test_a_solution_is_shown_to_who_asks(name, folder):
    assert done("puzzle", "check", name, "--solution") == SOLVED[name]
    (folder / "a.cu").write_text(GIVEN[name])
    assert json.loads(done("puzzle", "check", "a.cu", "--solution", "--json")) == {"puzzle": name, "solution": SOLVED[name]}


CHANGES = {  # of the part that stays as it is: what becomes of it, and the line that is named
    "a number": (lambda text: text.replace("rows = 64", "rows = 32"), "const int rows = 32"),
    "no comparison": (lambda text: text.replace("return wrong != 0", "return 0"), "return 0;"),
    "something more": (lambda text: text + "int more;\n", "int more;"),
    "a mark that is gone": (lambda text: text.replace(REST, "// the rest"), None),
    "the end": (lambda text: text[: text.rindex("  cudaFree(to)")] + "}\n", "}"),
}


@runs_programs
@pytest.mark.parametrize("name", CHANGES)
def test_the_rest_stays_as_it_is(name, folder):
    change, named = CHANGES[name]
    text = change(SOLVED["coalesce"])
    (folder / "coalesce.cu").write_text(text)
    result = command("puzzle", "check", "coalesce.cu", "--json")
    assert result.returncode == 1
    found = next(one for one in json.loads(result.stdout)["wrong"] if one["kind"] == "changed")
    lines = [*text.splitlines(), ""]
    line = lines[found["places"][0]["line"] - 1]
    assert named in line if named else line == ""


@runs_programs
def test_a_new_layout_changes_nothing(folder):
    front, mark, rest = SOLVED["coalesce"].partition(REST)
    rest = rest.replace(") {\n", ")\n{\n\n").replace("  ", "\t").replace("float *from, *to", "float* from, * to")
    (folder / "coalesce.cu").write_text("\ufeff" + (front + mark + rest).replace("\n", "\r\n"), newline="")
    assert "solved" in done("puzzle", "check", "coalesce.cu")


def test_bad_words(folder):
    (folder / "a.cu").write_text("__global__ void k() {}\n")
    names = ", ".join(PUZZLES)
    for words, part in [
        (["chekc"], "ACTION = 'chekc' is neither start nor check"),
        (["start", "cap"], f"PUZZLE = 'cap' is none of {names}"),
        (["check", "cap"], f"PUZZLE = 'cap' is none of {names}"),
        (["check"], "check needs PUZZLE"),
        (["check", "cap.cu"], "PUZZLE = 'cap.cu' cannot be opened"),
        (["check", "a.cu"], "PUZZLE = 'a.cu' does not begin with '// Puzzle NAME: ...'"),
        (["check", "pad"], "there is no 'pad.cu' yet: `cornerturn puzzle start pad` writes it"),
        (["check", "pad", "--folder", "b"], "there is no 'b/pad.cu' yet: `cornerturn puzzle start pad --folder b` writes it"),
        (["start", "pad", "--hint"], "--hint and --solution are for check"),
        (["check", "pad", "--again"], "--again is for start"),
        (["check", "pad", "--hint=-1"], "--hint"),
        (["check", "--solution"], "check needs PUZZLE"),
    ]:
        refused("puzzle", *words, part=part)


@runs_programs
def test_a_puzzle_that_does_not_compile_is_refused_at_its_line(folder):
    text = GIVEN["pad"].replace("tile[y][x] =", "tile[y][z] =")
    (folder / "pad.cu").write_text(text)
    line = next(i + 1 for i, line in enumerate(text.splitlines()) if "tile[y][z]" in line)
    refused("puzzle", "check", "pad.cu", part=f"pad.cu:{line}: ")


def shown_blocks():
    return dict(re.findall(r"^```\n\$ cornerturn ([^\n]*)\n(.*?)^```", (ROOT / "docs" / "puzzles.md").read_text(), re.S | re.M))


def test_the_page_lists_all_puzzles(folder):
    assert shown_blocks()["puzzle"] == done("puzzle").partition("\n\n")[0] + "\n"
    assert f"has [{ {14: 'fourteen'}[len(PUZZLES)]} short CUDA sources" in (ROOT / "README.md").read_text()


@runs_programs
def test_the_page_shows_a_verdict(folder):
    words = "puzzle check puzzles/pad.cu --hint"
    done("puzzle", "start", "pad", "--folder", "puzzles")
    assert command(*words.split()).stdout == shown_blocks()[words]


def test_every_chapter_has_a_puzzle():
    chapters = {int(page.name.partition("-")[0]) for page in (ROOT / "docs" / "guide").glob("[0-9]*.md")}
    assert {chapter for one in PUZZLES.values() for chapter in one["chapters"]} == chapters
