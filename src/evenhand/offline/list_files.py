"""Lists as Parquet files, whose numbers stay numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.beside import beside
from evenhand.core.errors import InvalidInput, MissingExtra
from evenhand.core.types import Floats
from evenhand.core.validate import on_disk

SUFFIX = ".parquet"
WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".ods")


def check(path: Path) -> None:
    """Refuse a file that could not be written, before the work: of a spreadsheet, or of Parquet without pyarrow.

    Raises:
        InvalidInput: the name is that of a workbook, which spreadsheets would refuse to open as CSV.
        MissingExtra: pyarrow is not installed.
    """
    if path.suffix.lower() in WORKBOOKS:
        raise InvalidInput("out", "a name that ends in .csv, which spreadsheets open, or in .parquet", path.name)
    if path.suffix == SUFFIX:
        _pyarrow()


def write_parquet(path: Path, columns: Mapping[str, list[object]], numbers: Mapping[str, Floats]) -> Path:
    """Write columns to a Parquet file, which is replaced once it is complete.

    Args:
        path: the file.
        columns: by name.
        numbers: those of them that are numbers and come as texts; NaN is written as no value.

    Raises:
        InvalidInput: the file cannot be written.
        MissingExtra: pyarrow is not installed.
    """
    pa = _pyarrow()
    arrays = {name: pa.array(each) for name, each in columns.items()}
    arrays |= {name: pa.array(z, mask=np.isnan(z)) for name, z in numbers.items()}
    with on_disk("path", "a file that can be written"), beside(path) as part:
        pa.parquet.write_table(pa.table(arrays), part)
    return path


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise MissingExtra("Parquet files", "parquet") from error
    return pyarrow
