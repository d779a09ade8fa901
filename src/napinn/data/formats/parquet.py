"""Tables from Parquet files."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from napinn.data.formats.sizes import check_columns, check_count, check_file
from napinn.errors import InputError


def read_parquet(path: Path) -> pd.DataFrame:
    check_file(path, "Parquet")
    try:
        with pq.ParquetFile(path) as file:
            check_columns(path, file.metadata.num_columns)
            check_count(path, file.metadata.num_rows * max(file.metadata.num_columns, 1))
            # A saved pandas index is an ordinary column here: it may well be the time.
            # Columns are let go as they are copied, so that a large table is not in memory twice.
            table = file.read().to_pandas(ignore_metadata=True, split_blocks=True, self_destruct=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()
        raise InputError(f"{path} is not a Parquet file that can be read: {reason[0] if reason else error}.") from None
    table.columns = [str(column) for column in table.columns]
    return table
