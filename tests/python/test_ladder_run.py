"""cornerturn.ladder.run(): without a GPU, and what becomes of figures that a GPU gave."""

import importlib.util
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

pytest.importorskip("numpy")
ladder = pytest.importorskip("cornerturn.ladder")
from cornerturn.ladder import _report, _run, _rung, _verify  # noqa: E402
from cornerturn.ladder._report import Matrix, Report, Row  # noqa: E402

pytestmark = pytest.mark.skipif(_rung._ladder is None, reason=_rung.NO_LADDER)


@pytest.fixture(autouse=True)
def without_a_gpu(monkeypatch):
    monkeypatch.setattr(_run, "no_gpu", lambda: "left out by this test")
    monkeypatch.setenv("TRITON_INTERPRET", "0")  # as it is for other tests


def measured(name, family, seconds, **more):
    return Row(name, family, verified=True, seconds=seconds, launches=10, **more)


@pytest.fixture
def report():
    """Two matrices, with figures that are easy to check by hand."""
    small = Matrix(1000, 500, 4)  # 4 MB read and written
    small.results = [
        measured("memcpy", "pytorch", 2e-6), measured("copy", "cuda", 1e-6),
        measured("naive_read", "cuda", 8e-6), Row("cute_tma", "cute", why_not="rows"),
        measured("pytorch_eager", "pytorch", 4e-6),
    ]  # fmt: skip
    large = Matrix(2000, 2000, 4)
    large.results = [
        measured("memcpy", "pytorch", 10e-6), measured("copy", "cuda", 16e-6),
        measured("naive_read", "cuda", 40e-6), measured("cute_tma", "cute", 12.5e-6, spread=0.02),
        measured("pytorch_eager", "pytorch", 2e-3),
    ]  # fmt: skip
    left_out = Matrix(9000, 9000, 4, why_not="the time budget of 5 s is spent")
    return Report("float32", {"made_by": _report.MADE_BY, "gpu": "Some GPU"}, [small, large, left_out])


def test_figures_are_those_of_the_definitions(report):
    small, large, _ = report.matrices
    naive, tma = large.results[2], large.results[3]
    assert small.moved == 4_000_000 and large.copy_seconds == 10e-6 and small.copy_seconds == 1e-6
    assert large.share(tma) == pytest.approx(0.8) and large.share(naive) == pytest.approx(0.25)
    assert large.times(tma, "naive_read") == pytest.approx(3.2)
    assert large.times(tma, "pytorch_eager") == pytest.approx(160)
    assert small.share(small.results[3]) is None and report.largest() is large
    entry = report.as_dict()["runs"][1]["rungs"][3]
    assert entry == {
        "name": "cute_tma", "family": "cute", "verified": True,
        "measured": {
            "cold": {"seconds": 12.5e-6, "spread": 0.02, "launches": 10,
                     "bytes_per_second": pytest.approx(32e6 / 12.5e-6)},
            "share_of_copy": pytest.approx(0.8),
            "speed_up_over_naive_read": pytest.approx(3.2),
            "speed_up_over_pytorch": pytest.approx(160),
        },
    }  # fmt: skip


def test_the_table_is_aligned_and_says_what_is_missing(report):
    text = str(report)
    line = next(line for line in text.splitlines() if line.startswith("cute_tma "))
    assert line.split() == ["cute_tma", "cute", "yes", "12.5", "us", "2560", "80.0", "3.20", "160.00"]
    assert next(line for line in text.splitlines() if "2.000 ms" in line).startswith("pytorch_eager")
    table = text.split("\n\n")[1].splitlines()
    assert table[0].startswith("rung ") and len({len(line) for line in table}) == 1
    assert "  cute_tma on 1000 x 500: rows" in text
    assert "  all on 9000 x 9000: the time budget of 5 s is spent" in text


def test_json_and_back(report, tmp_path):
    report.save_json(tmp_path / "ladder.json")
    assert str(Report.load(tmp_path / "ladder.json")) == str(report)
    assert Report.load(tmp_path / "ladder.json").to_json() == report.to_json()
    (tmp_path / "other.json").write_text('{"provenance": {}, "runs": []}')
    with pytest.raises(ValueError, match="other.json' is not from cornerturn.ladder.run"):
        Report.load(tmp_path / "other.json")


def test_a_wrong_result_is_complained_about(report):
    assert report.verified and report.complaints() == []
    report.matrices[1].results[2] = Row("naive_read", "cuda", wrong="element (1, 2) of b")
    assert not report.verified
    assert "naive_read, 2000 x 2000: element (1, 2) of b" in str(report)
    assert not Report("float32", {}, [Matrix(3, 3, 4)]).verified, "nothing was verified"


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_the_plot(report, tmp_path, ending):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"ladder.{ending}"
    report.matrices.append(Matrix(512, 512, 4, results=report.matrices[0].results))
    report.save_plot(path)
    assert path.stat().st_size > 4000
    if ending == "svg":
        assert xml.parse(path).getroot().tag.endswith("svg")
    assert os.listdir(tmp_path) == [path.name]


def test_files_are_written_whole_or_not_at_all(report, tmp_path, monkeypatch):
    path = tmp_path / "ladder.json"
    path.write_text("old")

    def fails(file):
        file.write(b"half of it")
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        _report.write_whole(path, fails)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["ladder.json"]
    _report.write_whole(path, lambda file: file.write(b"new"))
    mask = _report.current_umask()
    assert path.read_text() == "new" and path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_verified_without_a_gpu(tmp_path, capsys):
    path = tmp_path / "ladder.json"
    report = ladder.run([40, (33, 70)], ["smem", "cute_smem"], json=path, progress=True, commit="abc")
    assert "no GPU: left out by this test; verifying in the emulator" in capsys.readouterr().err
    assert report.verified and [str(m) for m in report.matrices] == ["40 x 40", "33 x 70"]
    verdicts = {row.name: row.verdict for row in report.matrices[1].results}
    assert verdicts == {"copy": "yes", "naive_read": "yes", "smem": "yes", "cute_smem": "-"}
    result = json.loads(path.read_text())
    assert result["verified"] and result["provenance"]["commit"] == "abc"
    assert result["runs"][0]["why_no_gpu"] == "left out by this test"
    assert "verified, every element, in the emulator\n" in str(report)
    assert "cute_smem: it runs on a GPU only" in str(report)


def test_a_rung_that_is_wrong_is_found(monkeypatch):
    monkeypatch.setattr(_rung.CompiledRung, "launch", lambda self, operands: None)
    report = ladder.run([5], ["smem"])
    assert not report.verified and "smem, 5 x 5: element (0, 0) of b" in str(report)


def test_an_interrupted_run_writes_nothing(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_verify, "verified", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ladder.run([5], ["smem"], json=tmp_path / "ladder.json")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "options, words",
    [
        ({"sizes": []}, "sizes is empty"),
        ({"sizes": [(3, 0)]}, r"sizes: cols = 0 of \(3, 0\): it must be a whole number from 1 on"),
        ({"sizes": [2.5]}, "sizes: 2.5 is neither a number nor"),
        ({"rungs": ["smem_"]}, "rungs: 'smem_' is none of memcpy, copy, naive_read"),
        ({"budget": 0}, "budget = 0: it must be more than 0 seconds"),
        ({"budget": float("nan")}, "budget = nan"),
        ({"json": "/nowhere/ladder.json"}, "json = '/nowhere/ladder.json': there is no folder /nowhere"),
        ({"json": "/"}, "json = '/' is a folder"),
        ({"dtype": "complex128"}, "dtype = 'complex128': without a GPU it is one of"),
        ({"plot": "ladder.doc"}, "plot = 'ladder.doc': it must end in .svg, .png or .pdf"),
    ],
)
def test_wrong_arguments_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        ladder.run(**options)


def test_all_sizes_of_the_benchmark():
    sizes = _run.default_sizes()
    assert len(sizes) == len(set(sizes)) == 37 and sizes[6] == (32768, 32768)
    assert {m for m, _ in sizes} == {256, 512, 1024, 2048, 4096, 8192, 32768}


def command(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "cornerturn.ladder", *words], capture_output=True, text=True, **options
    )


def test_the_command(tmp_path, report):
    assert command("--list").stdout.split() == ladder.rungs()
    wrong = command("--sizes", "0x3")
    assert wrong.returncode == 2 and wrong.stderr.startswith("cornerturn.ladder: sizes: rows = 0")
    odd = command("--sizes", "3y4")
    assert odd.returncode == 2 and "--sizes: '3y4' is no M or MxN" in odd.stderr
    report.save_json(tmp_path / "ladder.json")
    shown = command("--from", str(tmp_path / "ladder.json"))
    assert shown.returncode == 0 and shown.stdout == str(report)
    missing = command("--from", str(tmp_path / "none.json"))
    assert missing.returncode == 2 and "No such file" in missing.stderr


@pytest.mark.skipif(_rung._ladder is not None and _rung._ladder.why_no_gpu() is None, reason="a GPU is here")
@pytest.mark.skipif(not importlib.util.find_spec("triton"), reason="needs Triton")
def test_the_command_verifies_triton_in_the_interpreter(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = command("--sizes", "33x40", "--rungs", "triton_block", env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("no GPU: ")
    assert [line.split()[-1] for line in done.stdout.splitlines() if line.startswith("triton_")] == ["yes"]
    assert "in the emulator and in Triton's interpreter\n" in done.stdout
