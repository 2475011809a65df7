"""How a text file is written: said, or recognised and told in a note."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from stableselect.io import TableError, TextError, TextStyle, _text, open_table, read_table
from stableselect.io._tables import numeric_matrix

FRAME = pd.DataFrame({"größe": [1.5, 2.25, -3.0], "b": [4, 5, 6], "word": ["x", "ü", "z"]})


def written(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16", "windows-1252"])
@pytest.mark.parametrize(("separator", "decimal"), [(",", "."), (";", "."), (";", ","), ("\t", ","), ("|", ".")])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.txt"])
def test_marks_and_encodings_are_recognised(tmp_path, name, separator, decimal, encoding):
    FRAME.to_csv(tmp_path / name, sep=separator, decimal=decimal, encoding=encoding, index=False)
    table = read_table(tmp_path / name)
    assert table.data.to_pydict() == FRAME.to_dict("list")
    told = "".join(table.notes)
    assert ("decimal comma" in told) == (decimal == ",")
    assert ("encoding" in told) == (not encoding.startswith("utf-8"))
    assert ("separator" in told) == (separator != ("," if name == "t.csv" else "\t"))


def test_what_is_said_is_used_and_not_told(tmp_path):
    path = written(tmp_path, "a/b\n1,5/x\n2,5/fehlt\n")
    table = read_table(path, style=TextStyle("/", ",", na=("fehlt",)))
    assert table.data.to_pydict() == {"a": [1.5, 2.5], "b": ["x", None]}
    assert table.notes == ()
    path = written(tmp_path, "naïve,b\n1,2\n".encode("mac-roman"))
    assert read_table(path, style=TextStyle(encoding="mac-roman")).columns == ["naïve", "b"]


@pytest.mark.parametrize("word", ["NA", "-", "?", "None", "n/a", "#N/A", "missing", "."])
def test_the_usual_words_for_missing_values(tmp_path, word):
    table = read_table(written(tmp_path, f"a,b\n1,x\n{word},{word}\n"))
    assert table.data.to_pydict() == {"a": [1, None], "b": ["x", word]}


def test_own_words_for_missing_values(tmp_path):
    path = written(tmp_path, "a,b\n1,2\n-999,ERR\n3,4\n")
    assert read_table(path).data["a"].to_pylist() == [1, -999, 3]
    assert read_table(path, style=TextStyle(na=("-999", "ERR"))).data.to_pydict() == {
        "a": [1, None, 3],
        "b": [2, None, 4],
    }


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ('"a;1","b;2"\n1,2\n3,4\n', ["a;1", "b;2"]),
        ("a\n1\n2\n", ["a"]),
        ("a;b\n1;2\n", ["a", "b"]),
        ("1,5;2,5\n3,5;4,5\n", ["1,5", "2,5"]),
        ('a;b\n"x\ny";1\n"z, w";2\n', ["a", "b"]),
        ("note, unit\nx y\nz w\n", ["note", " unit"]),
    ],
)
def test_separators_in_cells_do_not_confuse(tmp_path, text, columns):
    path = written(tmp_path, text)
    if columns == ["note", " unit"]:
        with pytest.raises(TextError, match="with separator ',', decimal point"):
            read_table(path)
    else:
        assert read_table(path).columns == columns


def test_a_header_that_lacks_the_row_names_as_r_writes_it(tmp_path):
    path = written(tmp_path, "a\tb\nr1\t1\t2\nr2\t3\t4\n", "t.tsv")
    table = read_table(path)
    assert table.data.to_pydict() == {"row": ["r1", "r2"], "a": [1, 3], "b": [2, 4]}
    assert table.ids == ("row",) and "header lacks one name" in table.notes[0]


def test_rows_that_end_in_a_separator_keep_their_columns(tmp_path):
    table = read_table(written(tmp_path, "a,b,c\n1,2,3,\n4,5,7,\n6,8,9,\n"))
    assert table.data.to_pydict() == {"a": [1, 4, 6], "b": [2, 5, 8], "c": [3, 7, 9]}
    assert table.ids == () and table.notes == ("The rows end in a separator: the empty last column was left out.",)
    with pytest.raises(TextError, match="no name for its last column; give it one"):
        read_table(written(tmp_path, "a,b\n" + "1,2,\n" * 60 + "1,2,3\n"))


@pytest.mark.parametrize("rows", ["1,5\n2,7\n3,9\n4,1\n9,9\n", '"1,5"\n"2,7"\n', "1,5\n12\n-2,7\n"])
def test_one_column_with_decimal_commas(tmp_path, rows):
    path = written(tmp_path, "price\n" + rows)
    expected = [float(cell.strip('"').replace(",", ".")) for cell in rows.split()]
    for style in (TextStyle(), TextStyle(decimal=",")):
        assert read_table(path, style=style).data.to_pydict() == {"price": expected}
    assert "decimal comma" in read_table(path).notes[0]


def test_one_column_with_row_names(tmp_path):
    assert read_table(written(tmp_path, "x\nr1,5\nr2,7\n")).data.to_pydict() == {"row": ["r1", "r2"], "x": [5, 7]}
    with pytest.raises(TextError, match="Expected 1 columns, got 2"):
        read_table(written(tmp_path, "x\n1,234.5\n2,000.5\n"))


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("# made by a machine\n#\n# at noon, or so\na;b\n1;2\n3;4\n", ["a", "b"]),
        ("# one, two\na,b,c\n1,2,3\n3,4,5\n", ["a", "b", "c"]),
        ("#a,b\n1,2\n3,4\n", ["#a", "b"]),
        ("# made by a machine\n#a\tb\n1\t2\n3\t4\n", ["#a", "b"]),
        ("a,b\n#1,2\n3,4\n", ["a", "b"]),
        ("# note\na\tb\nr1\t1\t2\nr2\t3\t4\n", ["row", "a", "b"]),
    ],
)
def test_lines_before_the_table_that_begin_with_a_hash_are_skipped(tmp_path, text, columns):
    table = read_table(written(tmp_path, text))
    assert table.columns == columns and table.data.num_rows == 2
    assert any("skipped as a comment" in note for note in table.notes) == text.startswith("# ")


def test_another_encoding_may_show_late(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "_HEAD_BYTES", 16)
    path = written(tmp_path, b"a,b\n" + b"1,x\n" * 40 + "2,größe\n".encode("latin-1"))
    table = read_table(path)
    assert table.data["b"].to_pylist()[-1] == "größe" and "windows-1252" in table.notes[0]


@pytest.mark.parametrize(
    ("style", "message"),
    [
        ({"separator": ";;"}, "one character"),
        ({"separator": ""}, "one character"),
        ({"separator": "é"}, "one character of ASCII"),
        ({"decimal": "'"}, "must be '.' or ','"),
        ({"encoding": "klingon"}, "no encoding 'klingon'"),
        ({"encoding": "hex"}, "no encoding 'hex'"),
    ],
)
def test_styles_that_cannot_be(style, message):
    with pytest.raises(ValueError, match=message):
        TextStyle(**style)


def test_a_comma_cannot_be_both(tmp_path):
    path = written(tmp_path, "a,b\n1,5\n2,5\n")
    for style in (TextStyle(decimal=","), TextStyle(",", ",")):
        with pytest.raises(TextError, match=r"t\.csv has commas between its columns, so none can be a decimal mark"):
            read_table(path, style=style)


@pytest.mark.parametrize(
    "text",
    [
        "n;b\n999;2\n1,234;3\n987;1\n2,500;8\n",
        "n;b\n999;2\n1.234;3\n987;1\n2.500;8\n",
        "n;b\n1.234;2,500\n2.345;3,500\n",
        "n\tb\n999\t2\n1.234\t3\n2.500\t8\n",
        "a;b\n1,5;1.2\n2,5;1.3\n",
        "price\n1,234\n2,500\n",
    ],
)
def test_marks_that_may_be_of_thousands_are_asked_for(tmp_path, text):
    path = written(tmp_path, text)
    with pytest.raises(TextError, match=r"t\.csv: The mark in numbers such as '.*' may be decimal or not; say which"):
        read_table(path)
    for decimal in ".,":
        if "price" not in text:
            assert read_table(path, style=TextStyle(decimal=decimal)).data.num_rows > 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a;b\n0,125;1\n0,250;2\n", {"a": [0.125, 0.25], "b": [1, 2]}),
        ("a;b\n1,234;1,5\n2,345;2\n", {"a": [1.234, 2.345], "b": [1.5, 2]}),
        ("a;b\n1.234;2,5\n2.345;3,5\n12.345;1,5\n", {"a": ["1.234", "2.345", "12.345"], "b": [2.5, 3.5, 1.5]}),
        ("a\tb\n1.234\t1\n2.345\t2\n", {"a": [1.234, 2.345], "b": [1, 2]}),
        ("a;b\n1234.567;1\n1.234;2\n", {"a": [1234.567, 1.234], "b": [1, 2]}),
        ("a,b\n1.234,999\n999,1.500\n", {"a": [1.234, 999], "b": [999, 1.5]}),
    ],
)
def test_numbers_that_decide_the_mark(tmp_path, text, expected):
    assert read_table(written(tmp_path, text)).data.to_pydict() == expected


def test_the_mark_of_most_numbers_is_taken(tmp_path):
    table = read_table(written(tmp_path, "a;b;version\n1,5;2,5;1.2\n3,5;4,5;1.3\n"))
    assert table.data.to_pydict() == {"a": [1.5, 3.5], "b": [2.5, 4.5], "version": ["1.2", "1.3"]}
    assert table.not_numbers(table.columns) == {"version": "text, such as '1.2' in row 1"}


def test_the_message_names_how_the_file_was_read(tmp_path):
    path = written(tmp_path, "a;b\n1,5;2\n3;4;5\n6,5;7\n8\n")
    with pytest.raises(TextError, match="with separator ';', decimal comma"):
        read_table(path)
    with pytest.raises(TextError, match="is not text in ascii"):
        read_table(written(tmp_path, "ü,b\n1,2\n"), style=TextStyle(encoding="ascii"))


def test_numbers_of_wide_lines_are_read_whatever_is_recognised(tmp_path):
    X = np.random.default_rng(0).normal(size=(3, 90_000))
    path = written(
        tmp_path,
        "\n".join([";".join(f"g{j}" for j in range(90_000)), *(";".join(map(repr, row.tolist())) for row in X)]),
    )
    table = read_table(path)
    np.testing.assert_array_equal(numeric_matrix(table, table.columns), X)


def rows_with(cell, at):
    """Return a table of 1000 rows of numbers and a word, of which one has ``cell`` for its word."""
    rows = [f"{i},{i * 7 % 11}.5,{cell if i == at else 'ok'}" for i in range(1, 1001)]
    return "\n".join(["a,b,comment", *rows, ""])


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (rows_with('"broken 5 inch', 21), 21),
        (rows_with('"broken 5 inch', 21).replace("900,2.5,ok", '900,2.5,"fine"'), 21),
        (rows_with('"broken 5 inch', 21).replace("900,2.5,ok", '900,2.5,5"'), 21),
        ('a,b\n1,"2\n3,4\n', 1),
        ('a,b\n1,x\n2,"2\n3,4', 2),
        ('a,b,c\n7,x,8\n1,"broken,2\n3,"ok",4\n5,6,7\n', 2),
        ('a\nx\n"y\nz\n', 2),
        ('a\n1\n"2\n3\n', 2),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_quote_that_is_not_closed_loses_no_rows_in_silence(tmp_path, text, row, encoding):
    with pytest.raises(TextError, match=rf"t\.csv has a quote that is not closed, about row {row}: .* close the quote"):
        read_table(written(tmp_path, text.encode(encoding)))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    "cell",
    ["two\nlines", "Dear John,\nthanks, and bye", "a list:\n1, 2, 3, 4, 5\n6", "end\n", "1,5,x", "so, 5\n\nmore, 6"],
)
def test_quoted_line_breaks_are_read(tmp_path, cell, encoding):
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [2.5, 3.5, 4.5], "word": ["x", "y", cell], "c": [1, 2, 4]})
    for columns in (["a", "word"], ["a", "b", "word"], ["word", "a", "b"], ["a", "word", "b", "c"]):
        frame[columns].to_csv(tmp_path / "t.csv", index=False, encoding=encoding)
        assert read_table(tmp_path / "t.csv").data.to_pydict() == frame[columns].to_dict("list")


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;\r"])
def test_the_line_with_the_separator_that_excel_writes(tmp_path, first):
    table = read_table(written(tmp_path, f"{first}\na;b,c\n1;2\n3;4\n"))
    assert table.data.to_pydict() == {"a": [1, 3], "b,c": [2, 4]}
    assert table.notes == ("t.csv was read with separator ';'.",)


def test_a_header_that_begins_with_a_hash_is_told(tmp_path):
    table = read_table(written(tmp_path, "#a,b\n1,2\n3,4\n"))
    assert table.columns == ["#a", "b"] and "the # is part of its first name" in table.notes[0]


def test_utf_16_without_a_byte_order_mark(tmp_path):
    path = written(tmp_path, "a,b\n1,2\n".encode("utf-16-le"))
    with pytest.raises(TextError, match=r"t\.csv is not text in utf-16 .*; name its encoding"):
        read_table(path, style=TextStyle(encoding="utf-16"))
    assert read_table(path, style=TextStyle(encoding="utf-16-le")).data.to_pydict() == {"a": [1], "b": [2]}


def test_a_path_that_is_empty():
    with pytest.raises(TableError, match=r"\(TABLE\) is empty"):
        open_table("")
