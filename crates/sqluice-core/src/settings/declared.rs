//! The list of all settings, in groups, in the order of help. `Setting = "name": ...` introduces a setting; `Setting: ...` without a name,
//! in another group, declares the same setting for other verbs.

use super::declaration::{Declaration, Taker};
use super::kind::{Choice, Kind};

/// Defines `Setting`, the table `NAMES`, and a constant for each group of settings. A verb takes several groups.
macro_rules! settings {
    ($($group:ident { $($setting:ident $(= $name:literal)?: $declaration:expr;)* })*) => {
        /// A setting of the user: a flag of the command, a parameter in Python. Messages contain the `Setting`, and each front end prints
        /// its own name of it, such as `--temp-dir` or `temp_dir`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Setting {
            $($($(#[doc = concat!("The setting `", $name, "`.")] $setting,)?)*)*
        }

        /// All settings with their names, in the order of the enum's variants.
        const NAMES: &[(Setting, &str)] = &[$($($((Setting::$setting, $name),)?)*)*];

        $(const $group: &[(Setting, Declaration)] = &[$((Setting::$setting, $declaration),)*];)*
    };
}

const fn switch(help: &'static str) -> Declaration {
    Declaration::new(Kind::Switch, "", help)
}

const fn of(kind: Kind, value_name: &'static str, help: &'static str) -> Declaration {
    Declaration::new(kind, value_name, help)
}

const fn choice(value_name: &'static str, words: &'static [Choice], help: &'static str) -> Declaration {
    Declaration::new(Kind::Choice(words), value_name, help)
}

const COMMAND: Taker = Taker::Command;
const FRONT_ENDS: Taker = Taker::FrontEnds;
const LIBRARY: Taker = Taker::Library;

const TYPES: &str = "Columns and types";
const EXPRESSIONS: &str = "SQL on the way in";
const EXISTING: &str = "Existing tables";
const KEYS: &str = "Keys and indexes";
const FULL_TEXT: &str = "Full-text indexes";
const FILE_FORMAT: &str = "File format";
const SERVER: &str = "Servers";
const BAD_ROWS: &str = "Bad rows";
const WRITING: &str = "Writing";
const RESOURCES: &str = "Resources";
const READING: &str = "Reading";

// Declarations that several groups use.
const THREADS: Declaration =
    of(Kind::Integer(1, 1024), "N", "Number of worker threads [default: one per core]").letter('j');
const MEMORY: Declaration =
    of(Kind::Bytes, "SIZE", "Memory for buffers, such as 512MiB").default("256MiB").below(RESOURCES).hidden();
const BUSY_TIMEOUT: Declaration = of(
    Kind::Duration,
    "DURATION",
    "How long to wait for a database that another program has locked: seconds, or such as 500ms or 2min",
)
.default("5")
.hidden();
const ASSUME_UNUSED: Declaration = switch("Replace a database by a rename, even if it can't be seen whether another program has it open [default: in this case, write the new pages into the old file, in one transaction, if possible]")
    .below(WRITING)
    .hidden();
const YES: Declaration =
    switch("Replace an existing database without asking").letter('y').hidden().by(COMMAND);
const DRY_RUN: Declaration = switch("Print the plan, and write nothing").by(COMMAND);
const COMPACT: Declaration = switch("Pack all pages again: the smallest file, without bytes of deleted rows");
const NO_VERIFY: Declaration = switch(
    "Do not compare indexes with their tables, nor values with the types of their columns; pages and records are always verified",
)
.hidden();

const fn temp_dir(help: &'static str) -> Declaration {
    of(Kind::Path, "DIR", help).below(RESOURCES).hidden()
}

const fn busy_limit(help: &'static str) -> Declaration {
    of(Kind::Duration, "DURATION", help).hidden()
}

settings! {
    LOAD {
        Table = "table": of(Kind::Names, "NAME", "Load all files into this table, or only this one of a dump; repeatable")
            .long("Load all files into this table. Of an SQL dump, load this table alone, with its indexes and triggers, and of a database, this table alone; repeat {table} for several [default: one table per file, and all tables of a dump or a database]").letter('t');
        Schema = "schema": of(Kind::Statements, "FILE.sql", "Take the tables and types from this file [default: recognised]")
            .long("Declare the tables by the CREATE TABLE statements in this file, such as {dry_run} prints. An existing table must have the same declaration as in this file [default: the tables follow from the files]");
        NameFrom = "name_from": choice("WHAT", &[
            ("file", "The file: sales for 2024/sales.csv"),
            ("path", "The file and its folders: 2024_sales"),
        ], "Name tables after the file alone, or also after its folders, below the folder that all files share").default("file").hidden();
        Limit = "limit": of(Kind::Count, "N", "Read at most N records of each table, including bad ones [default: all]").hidden();

        Type = "types": of(Kind::Types, "COL=TYPE", "Declare the type of a column, such as zip=TEXT; repeatable")
            .long("Declare the type of a column, such as zip=TEXT; repeatable [default: INTEGER, REAL or TEXT, whichever fits all values]")
            .conflicts(&["schema"]).below(TYPES);
        Columns = "columns": of(Kind::Columns, "A,B,...", "Load only these columns, in this order [default: all]")
            .long("Load only these columns, in this order. With {no_header}, these are the names of the columns [default: all columns]").below(TYPES);
        Where = "where": of(Kind::Texts, "EXPRESSION", "Load only the records for which this SQL expression is true; repeatable [default: all]")
            .long("Load only the records for which this SQL expression is true, such as \"price > 0 AND country = 'NO'\". It sees the values of the file, and its functions are those of SQLite, mathematics, sha256, regexp, regexp_replace and regexp_extract. Repeat it for more conditions. For a database of a server, write table=condition, with a condition in the server's SQL [default: all records]")
            .below(EXPRESSIONS).hidden();
        Set = "set": of(Kind::Expressions, "COL=EXPRESSION", "Add a column, or replace one, such as 'email=lower(email)'; repeatable [default: none]")
            .long("Add a column, or replace one, by an SQL expression over the columns of the same record, such as 'email=lower(trim(email))'; repeatable, and an expression can use the columns of earlier ones [default: none]")
            .below(EXPRESSIONS).hidden();
        ExcludeColumns = "exclude_columns": of(Kind::Columns, "A,B,...", "Leave out these columns, after all expressions [default: none]").below(EXPRESSIONS).hidden();
        Rename = "rename": of(Kind::Renames, "OLD=NEW", "Rename a column, after all expressions; repeatable [default: names of the file]").below(EXPRESSIONS).hidden();
        Select = "select": of(Kind::Text, "LIST", "Load these columns and SQL expressions, such as \"id, lower(email) AS email\", in this order, instead of the columns of the file; * is all of them [default: *]")
            .conflicts(&["set", "exclude_columns", "rename"]).below(EXPRESSIONS).hidden();
        AddColumns = "add_columns": switch("Add columns that the table lacks, or that the first file of a new table lacks [default: such columns are an error]")
            .alias("alter").below(TYPES).hidden();
        Date = "date": of(Kind::Dates, "COL=FORMAT", "Read a column as dates in this format, such as 'placed=%d.%m.%Y'")
            .long("Read a column as dates in this format, such as 'placed=%d.%m.%Y', and store ISO 8601 text, which SQLite's date functions read: 2024-01-31, with a time 2024-01-31 13:45:00, with a time zone 2024-01-31 12:45:00+00:00 in UTC. A value that does not match makes a bad row; repeatable [default: dates are stored as written]\n\nDirectives: {}")
            .below(TYPES).hidden();
        Boolean = "boolean": of(Kind::Booleans, "COL[=TRUE/FALSE]", "Read a column as booleans and store 1 and 0; repeatable")
            .long("Read a column as booleans and store 1 and 0: true/false, t/f, yes/no, y/n, on/off or 1/0 in any case, or the two words that are given, as in 'paid=ja/nein'; repeatable [default: such words are stored as text]")
            .below(TYPES).hidden();
        DecimalComma = "decimal_comma": of(Kind::Names, "COL", "Read a column as numbers with a decimal comma, such as 3,14; repeatable [default: such numbers are stored as text]")
            .below(TYPES).hidden();
        Thousands = "thousands": of(Kind::Separators, "COL=CHAR", "Read a column as numbers with this character between groups of three digits; repeatable")
            .long("Read a column as numbers with this character between groups of three digits: with 'price=,' 1,234,567 is 1234567; repeatable [default: such numbers are stored as text]")
            .below(TYPES).hidden();
        Accounting = "accounting": of(Kind::Names, "COL", "Read a column as amounts such as $5.00, 5.00 USD, (5.00) or 5.00-; repeatable")
            .long("Read a column as amounts of money: a currency before or after a number is dropped, and (5.00) and 5.00- are -5.00; repeatable [default: such numbers are stored as text]")
            .below(TYPES).hidden();
        Percent = "percent": of(Kind::Names, "COL", "Read a column as percentages: 12.5% is 0.125; repeatable")
            .long("Read a column as percentages, and store them divided by 100: 12.5% is 0.125. A number without a percent sign makes a bad row; repeatable [default: percentages are stored as text]")
            .below(TYPES).hidden();
        Strict = "strict": switch("Create STRICT tables [default: ordinary tables]").conflicts(&["schema"]).below(TYPES).hidden();
        Lossy = "lossy": switch("Accept values that SQLite would round or overflow: integers beyond 64 bits and numbers beyond the range of floats [default: such a row is bad]")
            .below(TYPES).hidden();
        Decimal = "decimal": choice("WHAT", &[
            ("auto", "Numbers if these hold all digits; otherwise text"),
            ("text", "Text, with all digits"),
            ("real", "The nearest float"),
        ], "Store decimals of Parquet, Arrow and Avro files as").default("auto").below(TYPES).hidden();
        Timestamp = "timestamp": choice("WHAT", &[
            ("iso", "ISO 8601 text"),
            ("unix", "Integers: the time since 1970, in the unit of the column"),
        ], "Store timestamps of Parquet, Arrow and Avro files as").default("iso").below(TYPES).hidden();
    }

    EXISTING_TABLES {
        Append = "append": switch("Add the rows to an existing table")
            .long("Add the rows to an existing table [default: an existing table is an error]")
            .conflicts(&["overwrite", "replace_table", "upsert"]).below(EXISTING);
        ReplaceTable = "replace_table": switch("Replace all rows of an existing table")
            .long("Replace all rows of an existing table. Its columns, indexes and triggers stay. The old rows are deleted by DELETE, which fires triggers [default: an existing table is an error]")
            .conflicts(&["overwrite", "upsert"]).below(EXISTING);
        Upsert = "upsert": of(Kind::Columns, "A,B,...", "Update rows that have the same values in this key; insert the others")
            .long("Update the existing rows that have the same values in these columns, which must be a key of the table, and insert the other rows. Columns that the file lacks are not changed [default: an existing table is an error]")
            .conflicts(&["overwrite", "on_conflict"]).below(EXISTING);
        Fts: of(Kind::Names, "NAME", "Also index the new rows in this full-text table of an existing table, if no trigger does that; repeatable [default: the full-text table does not find the new rows]")
            .conflicts(&["overwrite"]).below(EXISTING).hidden();
    }

    KEYS_OF_FILES {
        PrimaryKey = "primary_key": of(Kind::Columns, "A,B,...", "Make these columns the PRIMARY KEY")
            .long("Make these columns the PRIMARY KEY. A single INTEGER column becomes the rowid, and SQLite numbers its NULLs; other key columns must not be NULL. With several tables, the key applies to each table that has all those columns [default: none]")
            .alias("pk").conflicts(&["schema"]).below(KEYS);
        Index = "index": of(Kind::Indexes, "COLUMNS", "Create an index, such as 'a, b DESC'; repeatable")
            .long("Create an index, such as 'a, b DESC' or 'name COLLATE NOCASE'; repeatable. Put a column name that contains a comma between \". With several tables, the index applies to each table that has all those columns [default: none]")
            .below(KEYS);
        Unique = "unique": of(Kind::Indexes, "COLUMNS", "Create a unique index; repeatable [default: none]").conflicts(&["schema"]).below(KEYS).hidden();
        WithoutRowid = "without_rowid": switch("Create WITHOUT ROWID tables, whose rows are kept in the order of the PRIMARY KEY [default: tables with rowids]")
            .requires("primary_key").below(KEYS).hidden();
    }

    CONFLICTS {
        OnConflict = "on_conflict": choice("WHAT", &[
            ("abort", "End the load with an error"),
            ("ignore", "Keep the first row"),
            ("replace", "Keep the last row"),
        ], "What to do with a row whose key exists already; ON CONFLICT clauses in the schema are not used [default: abort]")
            .default("abort").below(KEYS).hidden();
    }

    FORMAT {
        Format = "format": of(Kind::InputFormat, "FORMAT", "The format, such as csv or json [default: recognised]")
            .long("The format of the files: {} [default: recognised by name and content]").letter('f').hidden_words().below(FILE_FORMAT);
        Delimiter = "delimiter": of(Kind::Delimiter, "TEXT", "What separates fields: ';', tab, whitespace, none [default: recognised]")
            .long("What separates fields: one or several characters, tab, whitespace (runs of blanks), or none for a single column [default: recognised]")
            .letter('d').below(FILE_FORMAT);
        Quote = "quote": of(Kind::Character, "CHAR", "The character around fields, or none [default: recognised: \" or ']").below(FILE_FORMAT).hidden();
        Escape = "escape": of(Kind::Character, "CHAR", "The character that escapes the next one within quotes, and anywhere in files without quotes, or none [default: recognised: none or \\; a quote is doubled]")
            .below(FILE_FORMAT).hidden();
        LineEnd = "line_end": choice("WHAT", &[
            ("any", "LF, CRLF and CR"),
            ("crlf", "CRLF alone; LF and CR by themselves are text"),
        ], "What ends a record [default: recognised]").below(FILE_FORMAT).hidden();
        Header = "header": of(Kind::YesOrNo, "", "The first record names the columns [default: recognised]").conflicts(&["no_header"]).below(FILE_FORMAT).hidden();
        NoHeader = "no_header": switch("The first record is a row; the columns are named column1, column2, ... [default: recognised]").below(FILE_FORMAT).hidden();
        SkipLines = "skip_lines": of(Kind::Count, "N", "Skip N lines at the start; 0 keeps all [default: recognised: lines before the table]").below(FILE_FORMAT).hidden();
        Comment = "comment": of(Kind::Character, "CHAR", "Skip lines that begin with this character, or none [default: recognised: none or #]").below(FILE_FORMAT).hidden();
        Null = "null": of(Kind::Texts, "TOKEN", "Read this unquoted text, such as NA, as NULL, in addition to the empty field; repeatable [default: none]").below(FILE_FORMAT).hidden();
        Trim = "trim": switch("Remove blanks around values that are not quoted [default: they belong to the value]").below(FILE_FORMAT).hidden();
        KeepEmptyRows = "keep_empty_rows": switch("Load rows of empty fields at the end of a file, as spreadsheets write them, or empty lines at the end of a file with one column [default: they are left out, unless the table exists or is declared with several columns]")
            .below(FILE_FORMAT).hidden();
        EmptyAsText = "empty_as_text": switch("Read an unquoted empty field as empty text, not as NULL").below(FILE_FORMAT).hidden();
        Encoding = "encoding": of(Kind::Text, "NAME", "The encoding of the files, such as windows-1252 or utf-16le [default: UTF-8, or what the byte order mark says]")
            .letter('E').below(FILE_FORMAT).hidden();
        Records = "records": of(Kind::Text, "PATH", "The path to the array of records in a JSON document, such as features or data.items [default: the whole document]")
            .below(FILE_FORMAT).hidden();
        Sheet = "sheet": of(Kind::Names, "NAME", "Load this sheet of a workbook, by its name or its number; repeatable [default: all sheets that are not hidden]")
            .below(FILE_FORMAT).hidden();
        Range = "range": of(Kind::Text, "RANGE", "Load these cells of a sheet, such as A3:F200, A3:F or Orders!A3:F [default: all cells]")
            .below(FILE_FORMAT).hidden();
        Formulas = "formulas": choice("WHAT", &[
            ("value", "The stored value; a formula without one makes a bad row"),
            ("null", "The stored value; a formula without one is NULL"),
        ], "What a formula of a workbook is loaded as").default("value").below(FILE_FORMAT).hidden();

        Reject = "reject": of(Kind::Path, "FILE", "Write bad rows to this new CSV file and continue [default: stop]")
            .long("Write bad rows to this new CSV file, with line and reason, and continue [default: the first bad row ends the load]").below(BAD_ROWS);
        OverwriteReject = "overwrite_reject": switch("Replace the {reject} file if it exists [default: an existing file is an error]")
            .requires("reject").below(BAD_ROWS).hidden();
        MaxRejects = "max_rejects": of(Kind::Count, "N", "Stop if more rows than this are bad [default: more than 100, and more than the good ones]").requires("reject").below(BAD_ROWS).hidden();
        Pad = "pad": switch("Fill fields that are missing at the end of a record with NULL [default: such a row is bad]").below(BAD_ROWS).hidden();
        StrictQuotes = "strict_quotes": switch("Treat a quote inside an unquoted field, and a quoted field whose lines could be rows, as an error [default: the quote is an ordinary character, the field is loaded with a warning]").below(BAD_ROWS).hidden();
        LenientJson = "lenient_json": switch("Read NaN in JSON as NULL, Infinity as a REAL, and half of a surrogate pair as U+FFFD [default: such a record is bad]")
            .below(BAD_ROWS).hidden();
        SkipBadFiles = "skip_bad_files": switch("Leave out files that cannot be loaded, list them at the end, and exit with 1 [default: they end the load]")
            .below(BAD_ROWS).hidden();
        Database = "database": of(Kind::Text, "NAME", "The database to load, if an SQL dump has several [default: the only one with tables]").below(FILE_FORMAT).hidden();
        CommitAnyway = "commit_anyway": switch("Load an SQL dump that ends in ROLLBACK or within a transaction, or lacks its last line, as if it were complete [default: such a dump is refused]")
            .below(BAD_ROWS).hidden();
    }

    SERVERS {
        SchemaName = "schema_name": of(Kind::Text, "NAME", "Load only the tables of this schema of PostgreSQL [default: all schemas]").below(SERVER).hidden();
        Query = "query": of(Kind::Text, "SQL", "Load the rows of this query of the server into the table that {table} names [default: all tables]").below(SERVER).hidden();
        Connections = "connections": of(Kind::Integer(1, 64), "N", "Read rows by at most N connections, all in one snapshot [default: chosen by the cores and the size of the tables; MySQL without {lock}: 1]").below(SERVER).hidden();
        RowSecurity = "row_security": switch("Load the rows that row security of PostgreSQL lets through [default: a table whose rows it filters is an error]").below(SERVER).hidden();
        Lock = "lock": switch("Lock all tables of MySQL while several connections begin, so that they see one snapshot [default: one connection]").below(SERVER).hidden();
    }

    // Settings of load, generate, write and pack.
    WRITE {
        Overwrite = "overwrite": switch("Replace an existing database; on a terminal, you are asked first")
            .long("Replace an existing database as a whole. On a terminal, its tables are listed and you are asked first");
        Yes = "yes": YES;
        DryRun = "dry_run": DRY_RUN;
    }

    // Settings of the verbs that write rows, for what is done after the last row.
    CHECKED {
        ForeignKeys = "foreign_keys": of(Kind::YesOrNo, "", "Refuse rows whose FOREIGN KEY refers to a missing row [default: yes in a new database, no in an existing one]")
            .below(WRITING).hidden();
        Analyze = "analyze": switch("Run ANALYZE at the end, so that SQLite can choose between indexes [default: not run]").below(WRITING).hidden();
    }

    FILE {
        PageSize = "page_size": of(Kind::PageSize, "BYTES", "Page size of a new database in bytes: a power of two from 512 to 65536 [default: 4096]").below(WRITING).hidden();
        BusyTimeout = "busy_timeout": BUSY_TIMEOUT.below(WRITING);
        AssumeUnused = "assume_unused": ASSUME_UNUSED;
        Threads = "threads": THREADS.below(RESOURCES).hidden();
        Memory = "memory": MEMORY;
        TempDir = "temp_dir": temp_dir("Folder for temporary files: data that exceeds {memory}, and piped input that is read twice [default: the folder of the database]");
    }

    REQUESTS {
        Timeout = "timeout": of(Kind::Duration, "DURATION", "Give up when a server has sent nothing for this time, repeated requests included: seconds, or such as 500ms or 5min [default: 2min]")
            .below("URLs").hidden();
        Retries = "retries": of(Kind::Integer(0, 1_000_000), "N", "Repeat a request up to N times if it fails for a temporary reason; a read continues where it broke off [default: 20]")
            .below("URLs").hidden();
    }

    ROWIDS {
        FirstRowid = "first_rowid": of(Kind::Integer(i64::MIN, i64::MAX), "N", "The rowid of the first row of a new table").default("1").by(LIBRARY);
    }

    GENERATE {
        Rows = "rows": of(Kind::RowCounts, "[TABLE=]N", "Number of rows: 1M for each table, orders=1M, or orders=3x per parent row; repeatable")
            .long("Number of rows: for each table (1M), for one table (orders=1M), or for each row of the parent table (orders=3x), which the first FOREIGN KEY names; repeatable. Required for tables without a parent; others get 3x. For a preset, a single number is the row count of its main table, and the other tables follow")
            .letter('n').by(FRONT_ENDS);
        Preset = "preset": of(Kind::Text, "NAME", "Use a built-in schema: user, integers, kv, shop, events, or tpch with {scale}").by(FRONT_ENDS);
        Scale = "scale": of(Kind::Real, "FACTOR", "The size of the preset tpch: 1 is 8.7 million rows and 1.3 GB").requires("preset")
            .conflicts(&["rows", "seed", "append", "preview", "part"]).by(FRONT_ENDS);
        Like = "like": of(Kind::Path, "DB", "Generate a database like this one: describes it first, as `sqluice profile` does").conflicts(&["preset", "append"]).by(FRONT_ENDS);
        RowsScale = "rows_scale": of(Kind::Real, "FACTOR", "Multiply the row counts of the schema's comments, or of {like}").conflicts(&["preset", "append"]);
        Seed = "seed": of(Kind::Unsigned, "N", "The seed: the same seed generates the same file").default("1");
        Preview = "preview": of(Kind::Count, "N", "Print the first N rows of each table, and write nothing").by(COMMAND);
        Append: switch("Add rows to existing tables, whose declarations must be those of the schema [default: an existing table is an error]").conflicts(&["overwrite", "discard"]);
        ReplaceTable: switch("Replace all rows of existing tables, whose declarations must be those of the schema").by(LIBRARY);
        Upsert: of(Kind::Columns, "A,B,...", "Refused: generated rows have no keys by which existing rows could be found").by(LIBRARY);
        Part = "part": of(Kind::Share, "I/N", "Generate only the I-th of N parts; all N parts together have the rows of a run without {part}").conflicts(&["append"]).hidden().by(COMMAND);
        Discard = "discard": switch("Benchmark mode: build all pages, write nothing to disk, and report their checksum").conflicts(&["overwrite"]).hidden().by(COMMAND);
    }

    PROFILE {
        To = "to": of(Kind::Path, "FILE", "The file to write [default: standard output]").letter('o').by(COMMAND);
        Overwrite: switch("Replace an existing file [default: an existing file is an error]").requires("to").by(COMMAND);
        KeepCommon = "keep_common": of(Kind::Count, "N", "In how many rows a value must occur to be shown").default("20").below("Privacy");
        NoValues = "no_values": switch("Show no values of the database").below("Privacy");
        StripLiterals = "strip_literals": switch("Remove literals from the schema: DEFAULTs, views and triggers get empty values; CHECKs, and indexes that are not unique, are left out if they have literals")
            .below("Privacy");
        Table: of(Kind::Names, "TABLE", "Describe only this table or view; repeatable").below("Selection");
        ExcludeTable = "exclude_table": of(Kind::Names, "TABLE", "Leave out this table or view; repeatable").below("Selection");
        Threads: THREADS.below(READING).hidden();
        BusyTimeout: BUSY_TIMEOUT.below(READING);
        BusyLimit = "busy_limit": busy_limit("How long the commits of other programs may wait; after that, the run ends with an error [default: no limit]").below(READING);
    }

    INDEX {
        Fts = "fts": of(Kind::Texts, "TABLE(COL,...)", "Create a full-text index (FTS5) over these columns, such as 'products(name, note)'; repeatable")
            .long("Create a full-text index (FTS5) over columns of a table, such as 'products(name, description)'; repeatable. A column with UNINDEXED behind its name is shown by queries, and not searched")
            .below(FULL_TEXT);
        FtsName = "fts_name": of(Kind::Name, "NAME", "Name of the full-text table [default: the table's with _fts]").requires("fts").below(FULL_TEXT);
        Tokenize = "tokenize": of(Kind::Text, "TOKENIZER", "Tokenizer of FTS5 with its arguments, such as 'porter unicode61' [default: unicode61]").requires("fts").below(FULL_TEXT);
        Prefix = "prefix": of(Kind::Text, "N ...", "Also index the first N characters of words, for faster prefix queries, such as '2 3' [default: none]").requires("fts").below(FULL_TEXT);
        FtsOption = "fts_option": of(Kind::Texts, "OPTION=VALUE", "Another option of FTS5, such as detail=none; repeatable [default: those of FTS5]")
            .long("Another option of FTS5: detail=full, column or none, columnsize=0, tokendata=1, locale=1; repeatable [default: those of FTS5]").requires("fts").below(FULL_TEXT).hidden();
        FtsContent = "fts_content": choice("WHERE", &[
            ("external", "In the indexed table, where queries read it"),
            ("own", "Copied into the full-text table"),
        ], "The place of the text that the full-text table shows").default("external").requires("fts").below(FULL_TEXT).hidden();
        FtsOptimize = "fts_optimize": of(Kind::Names, "NAME", "Merge all segments of this full-text table into one, so that queries read less; repeatable").below(FULL_TEXT);
        FtsRebuild = "fts_rebuild": of(Kind::Names, "NAME", "Make the index of this full-text table again from its texts; repeatable").below(FULL_TEXT);
        Triggers = "triggers": switch("Create triggers that keep the full-text index up to date; each later change of the table takes longer then").requires("fts").below(FULL_TEXT);
        DryRun: DRY_RUN;
        BusyTimeout: BUSY_TIMEOUT.below(WRITING);
        Threads: THREADS.below(RESOURCES).hidden();
        Memory: MEMORY;
        TempDir: temp_dir("Folder for temporary files: data that exceeds {memory} [default: the folder of the database]");
    }

    COPY {
        Purpose = "purpose": choice("PURPOSE", &[
            ("http", "For readers that fetch ranges over HTTP: packed pages of 4096 bytes, interior pages first"),
            ("datasette", "For Datasette: packed pages, and a file for {inspect_file} beside the copy"),
            ("turso", "For an import into Turso: pages of 4096 bytes, journal mode wal, no auto_vacuum"),
            ("d1", "For an import into Cloudflare D1: a folder of SQL files within its limits"),
            ("mobile", "For an app that ships the database: packed pages of 4096 bytes"),
        ], "Choose settings for: http, datasette, turso, d1 or mobile")
            .long("Choose the settings for a purpose, and report each. Settings that you give are kept if the purpose allows them").hidden_words();
        Compact = "compact": COMPACT;
        Table: of(Kind::Names, "TABLE", "Copy only this table or view, with its indexes and triggers; repeatable").below("Selection");
        ExcludeTable: of(Kind::Names, "TABLE", "Leave out this table or view, with its indexes and triggers; repeatable").below("Selection");
        NoIndexes = "no_indexes": switch("Leave out indexes that are not unique").below("Selection");
        Where: of(Kind::TableTexts, "TABLE=SQL", "Copy only the rows for which this SQL expression is true; repeatable")
            .long("Copy only the rows of a table for which this SQL expression is true, such as \"orders=placed >= '2024-01-01'\". It sees the columns and the rowid of the row, and its functions are those of SQLite, mathematics, sha256, regexp, regexp_replace and regexp_extract; repeatable, and all expressions of a table must be true. With {mask}, it sees the old values").below("Selection");
        Sample = "sample": of(Kind::TableTexts, "TABLE=1%", "Copy only a sample of the rows: 1%, or 1000 rows; repeatable")
            .long("Copy only a sample of the rows of a table: TABLE=1% is each row with this probability, TABLE=1000 this number of rows, after {where}. A hash of {seed} and of the primary key chooses the rows, so rows with the same keys give the same sample, in whatever order and by however many threads; in a table without a primary key, the rowid takes its place; repeatable").below("Selection");
        Seed: of(Kind::Unsigned, "N", "The seed of {sample}: the same seed chooses the same rows").default("1").below("Selection").hidden();
        SampleChildren = "sample_children": switch("Leave out rows that refer to left-out rows, and rows that refer to these").below("Selection").hidden();
        Orphans: choice("WHAT", &[
            ("refuse", "End the copy with an error that counts them"),
            ("keep", "Keep them; they refer to nothing"),
        ], "Refuse or keep rows that refer to left-out rows, by REFERENCES or by the name of a column [default: refuse]").default("refuse").below("Selection").hidden();
        Force = "force": switch("Copy even if views, triggers or foreign keys refer to objects that are left out").below("Selection");
        NoVerify = "no_verify": NO_VERIFY.below("Selection");
        Mask = "mask": of(Kind::Statements, "FILE", "Give columns other values: a schema file whose gen: comments say which, and how")
            .long("Give columns other values. FILE is a schema file with the tables and columns to mask, each with a comment such as -- gen: name() or -- gen: shape(): the functions below, or those of generate that name no rows and no other columns. A column that refers to a masked key gets the mask of the key")
            .below("Masks");
        KeyFile = "key_file": of(Kind::Path, "FILE", "File of the secret key, at least 16 bytes: the same key gives the same values [default: a random key, which is forgotten]")
            .requires("mask").below("Masks").hidden();
        StrictMask = "strict_mask": switch("Refuse the copy if a column without a mask looks personal, or holds values of a masked column").requires("mask").below("Masks").hidden();
        Allow = "allow": of(Kind::Names, "TABLE.COLUMN", "With {strict_mask}, accept a column that looks personal or holds values of a masked column; repeatable").requires("strict_mask").below("Masks").hidden();
        Reference: of(Kind::Names, "COLUMN=KEY", "Declare a column that refers to a key without REFERENCES, such as visits.place_id=places.id: it gets the mask of the key, and with {sample_children} its rows are left out with the rows that they refer to; repeatable").below("Masks").hidden();
        NoReference: of(Kind::Names, "COLUMN", "Declare that a column, such as visits.place_id, refers to no key, though its name and values look so; repeatable").below("Masks").hidden();
        StripLiterals: switch("Remove literals from the schema: DEFAULTs, views and triggers get empty values; CHECKs, and indexes that are not unique, are left out if they have literals")
            .requires("mask").below("Masks").hidden();
        Preview: of(Kind::Count, "N", "Print the first N rows of each masked table with their new values, and write nothing").requires("mask").below("Masks").hidden().by(COMMAND);
        PageSize: of(Kind::PageSize, "BYTES", "Page size of the copy in bytes: a power of two from 512 to 65536 [default: as in the source]").below("The new file");
        JournalMode = "journal_mode": choice("MODE", &[
            ("delete", "A rollback journal"),
            ("wal", "A write-ahead log"),
        ], "Journal mode of the copy [default: delete; unchanged if TARGET is SOURCE]").below("The new file").hidden();
        AutoVacuum = "auto_vacuum": choice("MODE", &[
            ("none", "Free pages stay in the file"),
            ("full", "Every commit returns free pages to the file system"),
            ("incremental", "PRAGMA incremental_vacuum returns free pages to the file system"),
        ], "auto_vacuum mode of the copy; full and incremental take longer, and space in {temp_dir}: the copy is made there, and VACUUM INTO writes the file from it [default: as in the source]").below("The new file").hidden();
        UserVersion = "user_version": of(Kind::Integer(i32::MIN as i64, i32::MAX as i64), "N", "PRAGMA user_version of the copy [default: as in the source]").below("The new file").hidden();
        ApplicationId = "application_id": of(Kind::Integer(i32::MIN as i64, i32::MAX as i64), "N", "PRAGMA application_id of the copy [default: as in the source]").below("The new file").hidden();
        InteriorFirst = "interior_first": switch("Place all interior pages after the first page, for readers that fetch ranges; the source is read twice. Not possible with auto_vacuum")
            .below("The new file").hidden();
        Threads: THREADS.below(RESOURCES).hidden();
        Memory: MEMORY;
        TempDir: temp_dir("Folder for temporary files: data that exceeds {memory} [default: the folder of the new file]");
        Overwrite: switch("Replace an existing database; on a terminal, you are asked first");
        Yes: YES.below(WRITING);
        BusyTimeout: BUSY_TIMEOUT.below(WRITING);
        AssumeUnused: ASSUME_UNUSED;
        BusyLimit: busy_limit("How long the commits of other programs may wait; after that, the copy ends with an error [default: no limit]").below(WRITING);
        DryRun: DRY_RUN;
    }

    MERGE {
        Compact: COMPACT;
        OnConflict: choice("WHAT", &[
            ("abort", "End the merge with an error"),
            ("ignore", "Keep the first row"),
            ("replace", "Keep the last row"),
        ], "What to do with a row whose key another database has already [default: abort]").default("abort").below("Keys");
        KeepRowids = "keep_rowids": switch("Keep rowids even if no column holds them; rows with equal rowids then conflict, as rows with equal keys do").below("Keys");
        Renumber = "renumber": of(Kind::Names, "TABLE", "Renumber the INTEGER PRIMARY KEY of this table if databases share values; repeatable").below("Keys");
        RewriteReferences = "rewrite_references": switch("Change foreign keys along with {renumber}").below("Keys");
        Reference = "reference": of(Kind::Names, "COLUMN=KEY", "Declare a column that refers to a key without REFERENCES, such as visits.place_id=places.id; repeatable").below("Keys").hidden();
        NoReference = "no_reference": of(Kind::Names, "COLUMN", "Declare that a column, such as visits.place_id, refers to no key, though its name and values look so; repeatable").below("Keys").hidden();
        Orphans = "orphans": choice("WHAT", &[
            ("refuse", "End the merge with an error that counts them"),
            ("keep", "Keep them; they refer to nothing"),
        ], "Refuse or keep rows that refer to a row that {on_conflict} leaves out [default: refuse]").default("refuse").below("Keys");
        AddColumns: switch("Add columns that a table lacks in some databases; their rows get the default").below("Tables");
        SourceColumn = "source_column": of(Kind::Name, "NAME", "Add a column of this name to every table: the database that a row is from").below("Tables");
        ExcludeTable: of(Kind::Names, "NAME", "Leave out this table, with its indexes and triggers; repeatable").below("Tables");
        NoVerify: NO_VERIFY.below("Tables");
        Threads: THREADS.below(RESOURCES).hidden();
        Memory: MEMORY;
        TempDir: temp_dir("Folder for temporary files: data that exceeds {memory} [default: the folder of the target]");
        Overwrite: switch("Replace an existing target instead of adding to it; on a terminal, you are asked first");
        Yes: YES.below(WRITING);
        BusyTimeout: BUSY_TIMEOUT.below(WRITING);
        AssumeUnused: ASSUME_UNUSED;
        BusyLimit: busy_limit("How long the commits of other programs may wait; after that, the merge ends with an error [default: no limit]").below(WRITING);
        Analyze: switch("Run ANALYZE at the end, so that SQLite can choose between indexes [default: the result has no statistics]").below(WRITING).hidden();
        DryRun: DRY_RUN;
    }

    EXPORT {
        To: of(Kind::Path, "FILE|FOLDER|-", "The file, a folder that gets one file per table, or - for standard output").letter('t').required().by(FRONT_ENDS);
        Format: of(Kind::OutputFormat, "FORMAT", "The format, such as csv, parquet or sql [default: by the file name]")
            .long("The format: {} [default: by the extension of the file name; .gz and .zst after it compress]").letter('f').hidden_words();
        Overwrite: switch("Replace existing files [default: an existing file is an error]");
    }

    ROWS {
        Columns: of(Kind::Columns, "COLUMNS", "Export only these columns, in this order [default: all]").below("Rows");
        Where: of(Kind::Text, "SQL", "Export only rows that match this SQL condition").below("Rows");
        Limit: of(Kind::Count, "N", "Export at most N rows of each table").below("Rows");
    }

    QUERY {
        Query: of(Kind::Text, "SQL", "Export the result of a SELECT").conflicts(&["tables", "columns", "where"]).below("Rows");
    }

    VALUES {
        Mixed = "mixed": choice("HOW", &[
            ("error", "End the export with an error"),
            ("text", "Write the whole column as text"),
            ("null", "Write NULL, and count such values"),
        ], "How to write values that do not fit the type of their column or the format [default: error]").default("error").below("Values");
        Dates = "dates": switch("In Parquet and Arrow files, write ISO text of columns declared DATE, DATETIME or TIMESTAMP as dates and timestamps").below("Values");
        Threads: THREADS.below(READING).hidden();
        BusyTimeout: BUSY_TIMEOUT.below(READING);
        BusyLimit: busy_limit("How long the commits of other programs may wait; after that, the export ends with an error [default: no limit]").below(READING);
    }

    EXPORT_RUN {
        DryRun: DRY_RUN;
    }

    CHECK {
        Full = "full": switch("Also run SQLite's integrity_check");
        Threads: of(Kind::Integer(1, 1024), "N", "Number of threads that read [default: one per core]").letter('j');
    }

    RECOVER {
        Schema: of(Kind::Statements, "FILE.sql", "Take tables from this file whose declarations are lost")
            .long("Take tables from the CREATE TABLE and CREATE INDEX statements in this file, for a database whose schema is lost. A table that the schema of the database still has is declared as that schema says [default: the schema of the database]");
        Strict: switch("Put rows into lost_and_found that match a table only by the number and kinds of their columns, instead of into that table");
        Deleted = "deleted": switch("Save the rows of freed pages, too, in lost_and_found [default: deleted rows stay deleted]").hidden();
        FromIndexes = "from_indexes": switch("Save the columns that indexes still have of lost rows, in lost_and_found [default: the report counts these rows]");
        IgnoreWal = "ignore_wal": switch("Do not use the -wal and the -journal beside the database [default: use them as SQLite would]").hidden();
        Threads: THREADS.below(RESOURCES).hidden();
        Memory: MEMORY;
        TempDir: temp_dir("Folder for temporary files: data that exceeds {memory} [default: the folder of the new file]");
        Overwrite: switch("Replace an existing database; on a terminal, you are asked first");
        Yes: YES.below(WRITING);
        BusyTimeout: BUSY_TIMEOUT.below(WRITING);
        DryRun: switch("Report what could be saved, and write nothing").by(COMMAND);
    }

    PACK {
        Compress = "compress": choice("HOW", &[
            ("none", "As they are"),
            ("deflate", "As zlib streams, if these are smaller, as sqlite3 -A does"),
        ], "Compress files: none or deflate").default("none").below("Files");
        Kv = "kv": switch("Write a plain table kv (k, v), name and bytes, instead of an archive").below("Files");
        Include = "include": of(Kind::Texts, "GLOB", "Pack only names that match; repeatable [default: everything]").below("Files");
        Exclude = "exclude": of(Kind::Texts, "GLOB", "Leave out names that match, also included ones; repeatable [default: nothing]").below("Files");
        Append: switch("Add to an existing table; a row with the same name is replaced").conflicts(&["overwrite", "replace_table"]).below(EXISTING);
        ReplaceTable: switch("Replace all rows of an existing table").conflicts(&["overwrite"]).below(EXISTING);
        Upsert: of(Kind::Columns, "A,B,...", "Refused: files have no keys but their names").by(LIBRARY);
    }

    UNPACK {
        List = "list": switch("List the names, and restore nothing; -v and {json} add modes, sizes and times (UTC)").letter('l').conflicts(&["dir", "stdout"]).by(COMMAND);
        Stdout = "stdout": of(Kind::Path, "NAME", "Write the file of this name to standard output, and restore nothing")
            .conflicts(&["dir", "json", "include", "exclude"]).by(COMMAND);
        Tree = "tree": switch("Put at most 100 entries into a folder: the integer key 1234 becomes 00/12/34, a name without / goes to the folder of its rowid")
            .conflicts(&["list", "stdout"]);
        Kv: switch("Read the table kv even if a table sqlar exists [default: sqlar, if it exists]");
        Include: of(Kind::Texts, "GLOB", "Restore only names that match; repeatable [default: everything]");
        Exclude: of(Kind::Texts, "GLOB", "Leave out names that match, also included ones; repeatable [default: nothing]");
        Overwrite: switch("Replace existing files and links [default: refuse such rows]");
        Threads: of(Kind::Integer(1, 1024), "N", "Number of threads [default: one per core]").letter('j');
    }

    ADVISE {
        Dir = "dir": of(Kind::Path, "DIR", "The folder to measure in, on the disk to be measured").default(".").by(COMMAND);
        Rows: of(Kind::Count, "N", "Rows of each table, which are kept in memory [default: as many as the time allows]").letter('n').by(COMMAND);
    }
}

/// A verb: a command, and the Python function of the same name. `write` and `read` are functions without a command, because a program
/// gives or takes their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is the verb of its name")]
pub enum Verb {
    Load,
    Generate,
    Profile,
    Index,
    Copy,
    Merge,
    Export,
    Check,
    Recover,
    Pack,
    Unpack,
    Advise,
    Write,
    Read,
}

impl Verb {
    /// All verbs.
    pub const ALL: &[Verb] = &[
        Verb::Load,
        Verb::Generate,
        Verb::Profile,
        Verb::Index,
        Verb::Copy,
        Verb::Merge,
        Verb::Export,
        Verb::Check,
        Verb::Recover,
        Verb::Pack,
        Verb::Unpack,
        Verb::Advise,
        Verb::Write,
        Verb::Read,
    ];

    /// Returns the name of the command and of the Python function.
    pub const fn name(self) -> &'static str {
        match self {
            Verb::Load => "load",
            Verb::Generate => "generate",
            Verb::Profile => "profile",
            Verb::Index => "index",
            Verb::Copy => "copy",
            Verb::Merge => "merge",
            Verb::Export => "export",
            Verb::Check => "check",
            Verb::Recover => "recover",
            Verb::Pack => "pack",
            Verb::Unpack => "unpack",
            Verb::Advise => "advise",
            Verb::Write => "write",
            Verb::Read => "read",
        }
    }

    /// Returns the settings that the verb takes, in the order of help.
    pub fn settings(self) -> impl Iterator<Item = &'static (Setting, Declaration)> {
        let groups: &[&[_]] = match self {
            Verb::Load => &[
                LOAD,
                EXISTING_TABLES,
                KEYS_OF_FILES,
                CONFLICTS,
                FORMAT,
                SERVERS,
                WRITE,
                CHECKED,
                FILE,
                REQUESTS,
            ],
            Verb::Generate => &[GENERATE, WRITE, CHECKED, FILE, REQUESTS],
            Verb::Profile => &[PROFILE, REQUESTS],
            Verb::Index => &[INDEX],
            Verb::Copy => &[COPY, REQUESTS],
            Verb::Merge => &[MERGE, REQUESTS],
            Verb::Export => &[EXPORT, ROWS, QUERY, VALUES, EXPORT_RUN, REQUESTS],
            Verb::Check => &[CHECK],
            Verb::Recover => &[RECOVER],
            Verb::Pack => &[PACK, WRITE, CHECKED, FILE, REQUESTS],
            Verb::Unpack => &[UNPACK],
            Verb::Advise => &[ADVISE],
            Verb::Write => &[EXISTING_TABLES, CONFLICTS, ROWIDS, WRITE, CHECKED, FILE, REQUESTS],
            Verb::Read => &[ROWS, VALUES, REQUESTS],
        };
        groups.iter().copied().flatten()
    }

    /// Returns the declaration of a setting for this verb; `None` if the verb does not take the setting.
    pub fn declaration(self, setting: Setting) -> Option<&'static Declaration> {
        self.settings().find(|(found, _)| *found == setting).map(|(_, declaration)| declaration)
    }
}

impl Setting {
    /// Returns all settings.
    pub fn all() -> impl Iterator<Item = Setting> {
        NAMES.iter().map(|(setting, _)| *setting)
    }

    /// Returns the setting's name, such as `temp_dir`.
    pub const fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// Pairs the setting with a value, such as `temp_dir` with `DIR`, for a message.
    pub fn to(self, value: impl Into<String>) -> SettingValue {
        SettingValue { setting: self, value: value.into() }
    }
}

/// A setting with a value, as part of a message: `--memory 1GiB` or `memory="1GiB"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingValue {
    /// The setting.
    pub setting: Setting,
    /// The value, or a word in capitals for a value that the user must choose.
    pub value: String,
}
