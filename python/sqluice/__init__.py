"""Fill SQLite files at the speed of the disk.

    >>> import sqluice
    >>> sqluice.write("towns.db", [("Oslo", 59.9), ("Rome", 41.9)], "town", columns=["name", "latitude"])  # doctest: +ELLIPSIS
    <Report: 2 rows to towns.db, ...>

What is written is a database as SQLite itself would have made it. A new one appears under its name when it is whole and on the disk; one
that exists changes by one transaction. Whatever goes wrong, Ctrl-C included, leaves what was there before.
"""

from ._commands import check, copy, generate, index, load, merge, pack, unpack
from ._errors import Error, InputError, Interrupted, TargetError, UsageError
from ._progress import Progress
from ._read import Rows, export, read
from ._report import (
    ChangedText,
    CheckReport,
    ChosenSetting,
    ColumnReport,
    CopiedIndex,
    CopiedLiteral,
    CopiedTable,
    CopyReport,
    Existing,
    ExportedFile,
    ExportReport,
    IndexReport,
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
    PackReport,
    Phase,
    Renumbered,
    Replaced,
    ReplacedTable,
    Report,
    Skipped,
    TableReport,
    UnpackReport,
    Unverified,
)
from ._sqluice import __version__, sqlite_version
from ._stores import BlobStore, EntityStore, EntityType, Filter, Written, field
from ._write import write
from ._writer import Writer

__all__ = [
    "BlobStore",
    "ChangedText",
    "CheckReport",
    "ChosenSetting",
    "ColumnReport",
    "CopiedIndex",
    "CopiedLiteral",
    "CopiedTable",
    "CopyReport",
    "EntityStore",
    "EntityType",
    "Error",
    "Existing",
    "ExportReport",
    "ExportedFile",
    "Filter",
    "IndexReport",
    "InputError",
    "Interrupted",
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
    "PackReport",
    "Phase",
    "Progress",
    "Renumbered",
    "Replaced",
    "ReplacedTable",
    "Report",
    "Rows",
    "Skipped",
    "TableReport",
    "TargetError",
    "UnpackReport",
    "Unverified",
    "UsageError",
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
    "read",
    "sqlite_version",
    "unpack",
    "write",
]
