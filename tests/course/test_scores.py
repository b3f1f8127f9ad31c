from __future__ import annotations

from pathlib import Path

import pytest

from gradviz import cli
from gradviz.course.scores import Row, ScoreError, read, score, summary

HEAD = '"test","question","digest","result","answer","about","see"'


def line(question: str, result: str, answer: str = "", digest: str = "sha256-0") -> str:
    quoted = answer.replace('"', '""')
    return f'"quiz","quiz/{question}","{digest}","{result}","{quoted}","About it.","01-lesson"'


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    # As the browser writes it.
    path.write_bytes(("\ufeff" + "".join(f"{one}\r\n" for one in (HEAD, *lines))).encode())
    return path


def test_folders_are_counted_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one, two = line("one", "wrong", '"12"'), line("two", "open")
    write(Path("before/ada.csv"), one, two)
    write(Path("before/bo.csv"), one, line("two", "wrong", '["a","b"]'))
    write(Path("after/ada.csv"), line("one", "right", '"4"'), line("two", "wrong", '["a","b"]'))
    assert score([Path("before"), Path("after")]).splitlines() == [
        "quiz  before: 2 files, after: 1 file",
        "question    before  after   most frequent wrong answer  lesson",
        "one         0 of 2  1 of 1                              01-lesson",
        "two         0 of 2  0 of 1  a, b (1)                    01-lesson",
        "right of 2    0.0     1.0",
    ]
    assert "12 (2)" in score([Path("before")])


def test_answers_to_another_edition_of_a_question_are_named_and_not_counted(tmp_path: Path) -> None:
    old = line("one", "right", '"4"', "sha256-9")
    files = [write(tmp_path / f"{i}.csv", line("one", "wrong", '"5"')) for i in range(2)]
    said = score([*files, write(tmp_path / "old.csv", old)])
    assert "1 answer is to another edition of its question, and not counted." in said
    assert "0 of 0" in said


def test_what_is_no_file_of_a_test_is_named(tmp_path: Path) -> None:
    for text in ("", "a,b\n1,2\n", f"{HEAD}\n", f"{HEAD}\n{line('one', 'maybe')}\n"):
        (tmp_path / "x.csv").write_text(text, encoding="utf-8")
        with pytest.raises(ScoreError, match=r"x\.csv is no file that the score of a test"):
            read(tmp_path / "x.csv")
    write(tmp_path / "x.csv", line("one", "wrong", "{not json"))
    with pytest.raises(ScoreError, match="is no file that the score"):
        score([tmp_path])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ScoreError, match=r"empty has no \.csv file in it"):
        score([tmp_path / "empty"])
    with pytest.raises(ScoreError, match="nothing does not exist"):
        score([tmp_path / "nothing"])
    with pytest.raises(ScoreError, match=r"several tests \(a, b\)"):
        summary({"x": [[Row(test, "q", "d", "right", "", "")] for test in "ab"]})


def test_the_command_prints_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a.csv", line("one", "right", '{"a": {"x": "1"}}'))
    assert cli.main(["score", str(tmp_path)]) == 0
    assert "1 of 1" in capsys.readouterr().out
    assert cli.main(["score", str(tmp_path / "none")]) == cli.USAGE_ERROR
    assert "gradviz score: " in capsys.readouterr().err
