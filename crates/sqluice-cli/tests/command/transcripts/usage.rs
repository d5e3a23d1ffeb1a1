//! Transcripts of wrong command lines, and of files that can't be read.

use crate::transcript::{ONE_ROW, fails};

#[test]
fn wrong_usage_is_reported_with_exit_code_2() {
    fails(
        &[],
        "generate x.db --preset user",
        2,
        "\
error: the row count of user is missing

hint: --rows user=1M, or --rows 1M for every table",
    );
    fails(
        &[],
        "generate x.db --preset users --rows 3",
        2,
        "\
error: no preset is called `users`

hint: choose one of: user, integers, kv, shop, events, or tpch with a --scale",
    );
    fails(
        &[],
        "generate x.db --preset tpch",
        2,
        "\
error: the scale of TPC-H is missing

hint: --scale 1 is 8.7 million rows and 1.3 GB, --scale 0.01 a hundredth of that",
    );
    fails(
        &[],
        "generate x.db --preset tpch --scale 0",
        2,
        "\
error: TPC-H has no scale 0

hint: a scale is above 0 and at most 100000; 1 is a database of about 1.3 GB",
    );
    fails(
        &[],
        "generate x.db --preset tpch --scale 0.005",
        2,
        "\
error: at scale 0.005 TPC-H gives a part the same supplier twice

hint: 0.01, 0.02 and every scale from 0.03 on are sound",
    );
    fails(
        &[],
        "generate x.db --preset user --rows 3 --scale 1",
        2,
        "\
error: the argument '--rows <[TABLE=]N>' cannot be used with '--scale <FACTOR>'

Usage: sqluice generate [OPTIONS] [DB] [SCHEMA.sql]

For more information, try '--help'.",
    );
    fails(
        &[],
        "generate x.db --preset user --scale 1",
        2,
        "\
error: only the preset tpch has a scale

hint: --rows says how many rows",
    );
    fails(
        &[],
        "generate x.db --rows 3",
        2,
        "\
error: no schema is named

hint: name a file with CREATE TABLE statements, or a built-in schema: --preset user",
    );
    fails(
        &[],
        "generate --preset user --rows 3",
        2,
        "\
error: no database is named

hint: name one, or write nothing: --discard",
    );
    fails(
        &[],
        "generate x.db --preset user --rows 3 --discard",
        2,
        "\
error: unexpected argument x.db

hint: --discard makes no database, and --preset takes the place of the schema file: name no file",
    );
    fails(
        &[("s.sql", "")],
        "generate x.db s.sql --rows 3 --discard",
        2,
        "\
error: unexpected argument s.sql

hint: --discard makes no database: name only the schema file",
    );
    fails(
        &[("s.sql", "")],
        "generate x.db s.sql --rows 3 --preset user",
        2,
        "\
error: unexpected argument s.sql

hint: --preset takes the place of the schema file: name only the database",
    );
    fails(
        &[],
        "generate x.db --preset user --rows person=3",
        2,
        "\
error: preset:user:1:14: the schema has no table person, only: user

hint: --rows TABLE=N names a table of the schema; --rows N means every table",
    );
    fails(
        &[("s.sql", "-- two\nCREATE TABLE a (b);\nCREATE TABLE c (d);")],
        "generate x.db s.sql --rows b=1",
        2,
        "\
error: s.sql:2:14: the schema has no table b, only: a, c

hint: --rows TABLE=N names a table of the schema; --rows N means every table",
    );
    fails(
        &[("s.sql", "CREATE TABLE a (b); CREATE TABLE c (d);")],
        "generate x.db s.sql --rows a=1",
        2,
        "\
error: the row count of c is missing

hint: --rows c=1M, or --rows 1M for every table",
    );
    fails(
        &[],
        "generate x.db --preset user --rows 9223372036854775808",
        2,
        "\
error: 9223372036854775808 rows are more than a table can have

hint: SQLite numbers rows up to 9223372036854775807",
    );
    fails(
        &[],
        "generate x.db --preset user --rows many",
        2,
        "\
error: invalid value 'many' for '--rows <[TABLE=]N>': \"many\" is not a count such as 1000, 1_000, 1e6, 10M or 1B

For more information, try '--help'.",
    );
    fails(
        &[],
        "generate x.db --preset user --rows 3 --memory 1MiB",
        2,
        "\
error: 1 MiB of memory is too little: 24 MiB is enough

hint: give at least --memory 24MiB",
    );
    fails(
        &[],
        "generate x.db --preset user --rows 3 --memory lots",
        2,
        "\
error: invalid value 'lots' for '--memory <SIZE>': \"lots\" is not a size such as 65536, 512MiB or 2GB

For more information, try '--help'.",
    );
    fails(
        &[],
        "generate x.db --preset user --rows 3 --threads 0",
        2,
        "\
error: invalid value '0' for '--threads <N>': 0 is not in 1..=1024

For more information, try '--help'.",
    );
    fails(
        &[],
        "generate x.db --preset user --rows 3 --seed x",
        2,
        "\
error: invalid value 'x' for '--seed <N>': invalid digit found in string

For more information, try '--help'.",
    );
    fails(
        &[],
        "generate x.db --preset user --rows 3 --color pink",
        2,
        "\
error: invalid value 'pink' for '--color <WHEN>'
  [possible values: auto, always, never]

For more information, try '--help'.",
    );
    fails(
        &[],
        "check x.db --quiet --verbose",
        2,
        "\
error: the argument '--quiet' cannot be used with '--verbose'

Usage: [..]

For more information, try '--help'.",
    );
    fails(
        &[ONE_ROW, ("s.sql", "CREATE TABLE t (a)")],
        "load x.db one.csv --schema s.sql",
        2,
        "\
error: s.sql declares no table one

hint: --table names one of: t",
    );
    fails(
        &[],
        "frobnicate x.db",
        2,
        "\
error: unrecognized subcommand 'frobnicate'

Usage: sqluice [OPTIONS] <COMMAND>

For more information, try '--help'.",
    );
}

#[test]
fn files_that_cannot_be_read_are_named_by_the_error() {
    let no_such = "  caused by: No such file or directory (os error 2)";
    for (args, file) in [
        ("generate x.db no.sql --rows 3", "no.sql"),
        ("load x.db no.csv", "no.csv"),
        ("check no.db", "no.db"),
        ("info no.db", "no.db"),
    ] {
        fails(&[], args, 1, &format!("error: cannot read {file}\n{no_such}"));
    }
    let folder = &[("d/", "")];
    // Windows denies access to a folder that is opened as a file.
    let cause =
        if cfg!(windows) { "Permission denied (os error 13)" } else { "Is a directory (os error 21)" };
    let is_folder = format!("error: cannot read d\n  caused by: {cause}");
    fails(folder, "generate x.db d --rows 3", 1, &is_folder);
    fails(folder, "check d", 1, "error: d is a folder, not a database file\n\nhint: name a database file");
    fails(folder, "info d", 1, "error: d is a folder, not a database file\n\nhint: name a database file");
    fails(
        &[("e.db", "")],
        "info e.db",
        1,
        "error: e.db is not a SQLite database: it is empty\n\nhint: name a database file",
    );
    fails(
        &[("t.db", "text")],
        "info t.db",
        1,
        "\
error: t.db is not a SQLite database: page 1: the file is shorter than the 100 bytes of a database header

hint: name a database file",
    );
}
