"""Fill SQLite files at the speed of the disk.

    >>> import sqluice
    >>> sqluice.write("towns.db", [("Oslo", 59.9), ("Rome", 41.9)], "town", columns=["name", "latitude"])  # doctest: +ELLIPSIS
    <Report: 2 rows to towns.db, ...>

The result is a database as SQLite itself would have made it. A new database gets its name when it is complete and on the disk; an existing
one changes in one transaction. After a failure, Ctrl-C included, everything is as it was.

Functions take the database first, as the command does. `if_exists` says what to do with an existing table: `fail`, `append`, `replace` or
`upsert`. `overwrite=True` replaces an existing database or file as a whole. Every failure is an `Error`.
"""

import sys

from ._commands import check, copy, generate, index, load, merge, pack, profile, recover, unpack
from ._errors import Error, InputError, Interrupted, TargetError, UsageError
from ._pandas import pandas_method
from ._progress import Progress
from ._read import Rows, export, read
from ._report import (
    BrokenReference,
    ChangedText,
    CheckReport,
    ChosenSetting,
    ColumnReport,
    CopiedIndex,
    CopiedLiteral,
    CopiedTable,
    CopyReport,
    DumpedTable,
    Existing,
    ExportedFile,
    ExportReport,
    FoundRows,
    FullTextReport,
    IndexReport,
    KeptValues,
    LeftOut,
    LeftOutRows,
    LostPage,
    MadeIndexes,
    MaskedColumn,
    MaskRemark,
    MaskReport,
    MaskWarning,
    MergedIndex,
    MergedSource,
    MergedTable,
    MergeReport,
    MissedType,
    NullMarkers,
    OrphanedRows,
    PackReport,
    PersonalColumn,
    Phase,
    ProfiledTable,
    ProfileReport,
    RecoverReport,
    Renumbered,
    Replaced,
    ReplacedTable,
    Replacement,
    Report,
    RowidRange,
    SavedTable,
    SecondPlace,
    SelectedRows,
    Skipped,
    StrippedText,
    TableReport,
    UnpackReport,
    Unverified,
    Witness,
)
from ._sqluice import __version__, sqlite_version
from ._stores import BlobStore, EntityStore, EntityType, Filter, Written, field
from ._write import write
from ._writer import Writer

__all__ = [
    "BlobStore",
    "BrokenReference",
    "ChangedText",
    "CheckReport",
    "ChosenSetting",
    "ColumnReport",
    "CopiedIndex",
    "CopiedLiteral",
    "CopiedTable",
    "CopyReport",
    "DumpedTable",
    "EntityStore",
    "EntityType",
    "Error",
    "Existing",
    "ExportReport",
    "ExportedFile",
    "Filter",
    "FoundRows",
    "FullTextReport",
    "IndexReport",
    "InputError",
    "Interrupted",
    "KeptValues",
    "LeftOut",
    "LeftOutRows",
    "LostPage",
    "MadeIndexes",
    "MaskRemark",
    "MaskReport",
    "MaskWarning",
    "MaskedColumn",
    "MergeReport",
    "MergedIndex",
    "MergedSource",
    "MergedTable",
    "MissedType",
    "NullMarkers",
    "OrphanedRows",
    "PackReport",
    "PersonalColumn",
    "Phase",
    "ProfileReport",
    "ProfiledTable",
    "Progress",
    "RecoverReport",
    "Renumbered",
    "Replaced",
    "ReplacedTable",
    "Replacement",
    "Report",
    "RowidRange",
    "Rows",
    "SavedTable",
    "SecondPlace",
    "SelectedRows",
    "Skipped",
    "StrippedText",
    "TableReport",
    "TargetError",
    "UnpackReport",
    "Unverified",
    "UsageError",
    "Witness",
    "Writer",
    "Written",
    "__version__",
    "check",
    "copy",
    "export",
    "field",
    "generate",
    "index",
    "load",
    "merge",
    "pack",
    "pandas_method",
    "profile",
    "read",
    "recover",
    "sqlite_version",
    "unpack",
    "write",
]

# Frames of polars get their namespace if polars is there already; `import sqluice.polars` gives it at any time.
if "polars" in sys.modules:
    from . import polars as polars
