//! The comparison of loads runs, and refuses to time what is wrong.

use std::fs;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use crate::support::{assert_fails, scratch, script, sqluice, stand_in, the_record};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use tpchgen::csv::LineItemCsv;
use tpchgen::generators::LineItemGenerator;

/// Not one of those whose number of rows is known: it would take too long here.
const SCALE: &str = "0.001";

/// Stands in for the generator, whose library made its file; it may make it once.
const TPCHGEN: &str = r#"case "$*" in
    --version) echo stand-in 1.0 ;;
    "csv --help") ;;
    "csv --tables=lineitem --scale-factor 0.001 --output-dir "*)
        mkdir "$6" && mv "$(dirname "$0")/made.csv" "$6/lineitem.csv" ;;
    *) exit 1 ;;
esac"#;

/// Stands in for pyarrow and ADBC: Python is called as `python -c PROGRAM VERB ...`.
const PYTHON: &str = r#"case "$1 $3" in
    "-c versions") echo frames 1.0 ;;
    "-c parquet") grep -q l_orderkey "$4" && cp "$(dirname "$0")/made.parquet" "$5" ;;
    "-c ingest") "$SQLUICE" load "$5" "$4" --no-progress >&2 && echo '{"read": 0.25, "ingest": 0.5}' ;;
    *) exit 1 ;;
esac"#;

const SQLITE_UTILS: &str = r#"case "$1 $3 $5" in
    "--version  ") echo utils 1.0 ;;
    "insert lineitem --nl") "$SQLUICE" load "$2" "$4" --table "$3" --no-progress ;;
    *) exit 1 ;;
esac"#;

/// The files and the programs that a run finds in a folder.
fn prepare(folder: &Path) {
    let lines = LineItemGenerator::new(SCALE.parse().unwrap(), 1, 1);
    let rows: Vec<String> = lines.iter().map(|line| LineItemCsv::new(line).to_string()).collect();
    fs::write(folder.join("made.csv"), format!("{}\n{}\n", LineItemCsv::header(), rows.join("\n"))).unwrap();
    write_parquet(&rows, &folder.join("made.parquet"));
    stand_in(folder, "tpchgen", TPCHGEN);
    stand_in(folder, "python", PYTHON);
    stand_in(folder, "sqlite-utils", SQLITE_UTILS);
}

/// Rows of CSV as a Parquet file: five whole numbers, three decimals, texts of which the last is quoted.
fn write_parquet(rows: &[String], file: &Path) {
    let values = |column| rows.iter().map(move |row| row.splitn(16, ',').nth(column).unwrap());
    let columns = LineItemCsv::header().split(',').enumerate().map(|(column, name)| {
        let array: ArrayRef = match column {
            0..5 => Arc::new(Int64Array::from_iter_values(values(column).map(|v| v.parse::<i64>().unwrap()))),
            5..8 => {
                Arc::new(Float64Array::from_iter_values(values(column).map(|v| v.parse::<f64>().unwrap())))
            }
            _ => Arc::new(StringArray::from_iter_values(values(column).map(|v| v.trim_matches('"')))),
        };
        (name, array)
    });
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(file).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// The comparison of a few rows, in a folder: of one part.
fn load(folder: &Path, sqluice: &Path, part: &str, rounds: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_load"));
    command.args(["--scale", SCALE, "--rounds", rounds, "--only", part]);
    command.arg("--dir").arg(folder.join("files")).arg("--results").arg(folder.join("results"));
    command.arg("--sqluice").arg(sqluice).arg("--tpchgen").arg(folder.join("tpchgen"));
    command.arg("--python").arg(folder.join("python"));
    command.arg("--sqlite-utils").arg(folder.join("sqlite-utils"));
    command.output().unwrap()
}

/// The comparison with a script in the place of sqluice, which must fail for a reason.
fn assert_refused(part: &str, body: &str, reason: &str) {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let output = load(folder.path(), &script(folder.path(), body), part, "1");
    assert_fails(&output, reason, folder.path());
}

/// A run of two rounds that says all this; its record.
fn assert_says(part: &str, said: &[&str]) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let output = load(folder.path(), sqluice(), part, "2");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    for part in said {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(scratch(folder.path()), [""; 0]);
    the_record(folder.path())
}

/// A load that the command does, and then damages.
fn damaged(sql: &str) -> String {
    format!("\"$SQLUICE\" \"$@\" || exit\ncase \"$1\" in load) sqlite3 \"$2\" \"{sql}\" ;; esac")
}

const WRONG_VALUE: &str = "UPDATE lineitem SET l_tax = l_tax + 0.01 WHERE rowid = 7";
const NO_ROW: &str = "DELETE FROM lineitem WHERE rowid = 7";

#[test]
fn a_run_prints_tables_keeps_a_record_and_the_input_alone() {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let output = load(folder.path(), sqluice(), "csv", "2");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    for part in [
        "| `lineitem` at scale 0.001: 6,005 rows, 1 MB of CSV |",
        "| `sqluice load --schema`, durable |",
        "| time of `.import` to `load --schema` |",
        "| 10 within 15% |",
        "input by stand-in 1.0",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(scratch(folder.path()), [""; 0]);
    let record = the_record(folder.path());
    let rounds = record["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2);
    for round in rounds {
        assert_eq!(round.as_object().unwrap().len(), 5);
        assert_eq!(round["ten"]["rows"], 60_050);
        assert!(round["import"]["memory_bytes"].as_u64().unwrap() > 1 << 20, "{round}");
    }
    assert_eq!(record["ratios"].as_array().unwrap().len(), 5);

    // The stand-in can't make the file again: the next run finds it.
    fs::remove_dir_all(folder.path().join("results")).unwrap();
    assert!(load(folder.path(), sqluice(), "csv", "1").status.success());

    // Nor is a file taken that somebody shortened.
    let kept = folder.path().join("files/lineitem-sf0.001/lineitem.csv");
    let text = fs::read_to_string(&kept).unwrap();
    fs::write(&kept, &text[..text.len() / 2]).unwrap();
    assert!(!load(folder.path(), sqluice(), "csv", "1").status.success());
}

#[test]
fn a_run_of_parquet_counts_what_python_says() {
    let record = assert_says(
        "parquet",
        &[
            "| `lineitem` at scale 0.001: 6,005 rows, 0 MB of Parquet |",
            "| `pyarrow.parquet.read_table`, `adbc_ingest`, without Python's start | 0.75 (0.75..0.75) |",
            "| time of pyarrow and ADBC to `load`, Parquet |",
            "| at least 4 |",
            "beside: frames 1.0",
        ],
    );
    for round in record["rounds"].as_array().unwrap() {
        assert_eq!(round.as_object().unwrap().len(), 2);
        assert_eq!((&round["parquet"]["rows"], &round["adbc"]["seconds"]), (&6005.into(), &0.75.into()));
        assert_eq!(round["adbc"]["output"], "reading 0.25 s");
    }
    assert_eq!(record["ratios"].as_array().unwrap().len(), 1);
}

#[test]
fn a_run_of_json_loads_a_tenth_of_the_rows() {
    let record = assert_says(
        "json",
        &[
            "| `lineitem` at scale 0.001: 600 rows, 0 MB of NDJSON |",
            "| `sqlite-utils insert --nl` |",
            "| `serde_json`, 50 rows a prepared INSERT, unsafe PRAGMAs, fsync |",
            "| at least 5 |",
            "| at least 3 |",
            "beside: utils 1.0",
        ],
    );
    for round in record["rounds"].as_array().unwrap() {
        let laps = round.as_object().unwrap();
        assert_eq!(laps.len(), 3);
        assert!(laps.values().all(|lap| lap["rows"] == 600), "{round}");
    }
    assert_eq!(record["ratios"].as_array().unwrap().len(), 2);
}

#[test]
fn a_value_that_differs_fails_the_run() {
    for (part, first) in [("csv", "import"), ("parquet", "adbc"), ("json", "utils")] {
        let reason = format!("other values than \"{first}\" stored, in l_tax");
        assert_refused(part, &damaged(WRONG_VALUE), &reason);
    }
}

#[test]
fn a_row_too_few_fails_the_run() {
    for (part, reason) in [
        ("csv", "6004 rows instead of 6005"),
        ("parquet", "6004 rows instead of 6005"),
        ("json", "599 rows instead of 600"),
    ] {
        assert_refused(part, &damaged(NO_ROW), reason);
    }
}

#[test]
fn a_wrong_value_of_a_rival_fails_the_run() {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    // The other loaders run first, so the next one with the same rows shows the difference.
    let body =
        SQLITE_UTILS.replace(" ;;\n    *)", &format!(" && sqlite3 \"$2\" \"{WRONG_VALUE}\" ;;\n    *)"));
    stand_in(folder.path(), "sqlite-utils", &body);
    let output = load(folder.path(), sqluice(), "json", "1");
    assert_fails(&output, "the database of \"serde\": other values than \"utils\" stored", folder.path());
}

#[test]
fn a_program_that_lacks_is_named_before_anything_is_made() {
    for (part, program) in [("parquet", "python"), ("json", "sqlite-utils")] {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        stand_in(folder.path(), program, "exit 1");
        let output = load(folder.path(), sqluice(), part, "1");
        assert_fails(&output, "tools/setup bench installs", folder.path());
        assert!(folder.path().join("made.csv").exists());
    }
}

#[test]
fn a_report_of_too_few_rows_fails_the_run() {
    assert_refused("csv", r#""$SQLUICE" "$@" | sed 's/"rows": 6005/"rows": 6004/'"#, "reports 6004 rows");
}

#[test]
fn a_file_that_sqlite_finds_unsound_fails_the_run() {
    // The number of free pages, which no query looks at.
    let unsound = r#""$SQLUICE" "$@" || exit
case "$1" in load) printf '\005' | dd of="$2" bs=1 seek=39 conv=notrunc status=none ;; esac"#;
    assert_refused("csv", unsound, "quick_check says");
}
