"""Parts of one table against each other: names, types and decimal marks, and all of them in one."""

from __future__ import annotations

import pyarrow as pa

from .._files import printable
from ._style import TextError
from ._tables import Table, TableError, check_unique, headerless, is_number, is_text, listed, quoted


def check_names(names: list[str], expected: list[str], part: str, first: str) -> None:
    """Raise if a part does not have the columns of the first; their order is free."""
    lacking, other = [name for name in expected if name not in {*names}], [n for n in names if n not in {*expected}]
    if lacking or other:
        told = [f"lacks {listed(lacking)}"] * bool(lacking) + [f"has {listed(other)} besides"] * bool(other)
        raise TableError(
            f"The part {printable(part)} {' and '.join(told)}, unlike {printable(first)}"
            f"{headerless(names) or '; check its names'}."
        )
    check_unique(names, part)


def check_types(piece: Table, first: pa.Schema, name: str, verbatim: set[str]) -> None:
    """Raise if a column holds numbers in one part and something else in another."""
    for field_, before in zip(piece.data.schema, first, strict=True):
        kinds = [_kind(type_) for type_ in (field_.type, before.type)]
        if kinds[0] != kinds[1] and "nothing" not in kinds and field_.name not in verbatim:
            raise TableError(
                f"In the part {printable(piece.name)} the column {quoted(field_.name)} holds {kinds[0]}, in "
                f"{printable(name)} {kinds[1]}; give both the same type."
            )


def _kind(type_: pa.DataType) -> str:
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    if pa.types.is_null(type_):
        return "nothing"
    return "numbers" if is_number(type_) or pa.types.is_decimal(type_) else "text" if is_text(type_) else str(type_)


def check_marks(piece: Table, shown: Table) -> None:
    """Raise if the numbers of two parts show different decimal marks: one of them may be a mark of thousands."""
    if piece.decimal and shown.decimal and piece.decimal != shown.decimal:
        raise TextError(
            f"The part {printable(piece.name)} has numbers with {piece.decimal!r}, {printable(shown.name)} with "
            f"{shown.decimal!r}; say which mark is decimal."
        )


def joined(pieces: list[Table], verbatim: set[str]) -> pa.Table:
    """Return the rows of all pieces in one table."""
    tables = [piece.data for piece in pieces]
    for name in verbatim & {*tables[0].column_names}:
        # Identifiers that are whole numbers in one part and text in another ("007") stay as they are written.
        if any(is_text(table.schema.field(name).type) for table in tables):
            tables = [_cast(table, name, pa.string()) for table in tables]
    for name in tables[0].column_names:
        flags = [pa.types.is_boolean(table.schema.field(name).type) for table in tables]
        if any(flags) and not all(flags):  # numbers in other parts
            tables = [
                _cast(table, name, pa.int8()) if flag else table for table, flag in zip(tables, flags, strict=True)
            ]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise TableError(
            f"The parts cannot be joined ({' '.join(str(error).split())[:160].rstrip('. ')}); check their types."
        ) from error


def _cast(table: pa.Table, name: str, type_: pa.DataType) -> pa.Table:
    """Return a table with one column as another type."""
    return table.set_column(table.column_names.index(name), name, table[name].cast(type_))
