//! Tests of `bench/load`: it runs with few rows, and fails if a loader stores wrong values.

use std::fs;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::comparison::Comparison;
use crate::support::{sqluice, stand_in};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use sqluice_testkit::archives;
use sqluice_testkit::skip::skipped;
use tpchgen::csv::LineItemCsv;
use tpchgen::generators::LineItemGenerator;

/// The scale of TPC-H. It is smaller than the scales whose row counts `bench/load` knows and checks, which would take too long here.
const SCALE: &str = "0.001";

/// A script that replaces `tpchgen-cli`: it moves a CSV file that the test has written with the generator's library, so it works only once.
const TPCHGEN: &str = r#"case "$*" in
    --version) echo stand-in 1.0 ;;
    "csv --help") ;;
    "csv --tables=lineitem --scale-factor 0.001 --output-dir "*)
        mkdir "$6" && mv "$(dirname "$0")/made.csv" "$6/lineitem.csv" ;;
    *) exit 1 ;;
esac"#;

/// A script that replaces Python with pyarrow, ADBC, openpyxl, pandas and DuckDB. Python is called as `python -c PROGRAM VERB ...`.
const PYTHON: &str = r#"case "$1 $3" in
    "-c versions") echo frames 1.0 ;;
    "-c book") grep -q l_orderkey "$4" && [ "$5" = 6005 ] && cp "$(dirname "$0")/made.xlsx" "$6" ;;
    "-c load") "$SQLUICE" load "$5" "$4" --no-progress >&2 && echo '{"read": 0.5, "ingest": 0.25}' ;;
    "-c parquet") grep -q l_orderkey "$4" && cp "$(dirname "$0")/made.parquet" "$5" ;;
    "-c select") "$SQLUICE" load "$5" "$4" --select "$6" --where "$7" --no-progress >&2 && echo '{"read": 0, "ingest": 0.5}' ;;
    "-c ingest") "$SQLUICE" load "$5" "$4" --no-progress >&2 && echo '{"read": 0.25, "ingest": 0.5}' ;;
    *) exit 1 ;;
esac"#;

const WORKBOOK: &str = r#"<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="lineitem" sheetId="1" r:id="r1"/></sheets></workbook>"#;

const RELATIONSHIPS: &str = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#;

const SQLITE_UTILS: &str = r#"case "$1 $3 $5" in
    "--version  ") echo utils 1.0 ;;
    "insert lineitem --nl") "$SQLUICE" load "$2" "$4" --table "$3" --no-progress ;;
    *) exit 1 ;;
esac"#;

/// Writes the files that the scripts copy to a folder.
fn prepare(folder: &Path) {
    let lines = LineItemGenerator::new(SCALE.parse().unwrap(), 1, 1);
    let rows: Vec<String> = lines.iter().map(|line| LineItemCsv::new(line).to_string()).collect();
    fs::write(folder.join("made.csv"), format!("{}\n{}\n", LineItemCsv::header(), rows.join("\n"))).unwrap();
    write_parquet(&rows, &folder.join("made.parquet"));
    fs::write(folder.join("made.xlsx"), workbook(&rows)).unwrap();
}

/// Converts CSV rows to an XLSX file of one sheet: eight columns of numbers, and columns of text.
fn workbook(rows: &[String]) -> Vec<u8> {
    let text = |value: &str| {
        format!("<c t=\"inlineStr\"><is><t>{}</t></is></c>", value.replace('&', "&amp;").replace('<', "&lt;"))
    };
    let cell = |(column, value): (usize, &str)| match column {
        0..8 => format!("<c><v>{value}</v></c>"),
        _ => text(value.trim_matches('"')),
    };
    let header = LineItemCsv::header().split(',').map(text).collect::<String>();
    let rows = rows.iter().map(|row| row.splitn(16, ',').enumerate().map(cell).collect());
    let rows: String = std::iter::once(header).chain(rows).map(|row| format!("<row>{row}</row>")).collect();
    let sheet = format!(
        "<worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><sheetData>{rows}</sheetData></worksheet>"
    );
    archives::zip(&[
        ("xl/workbook.xml", WORKBOOK),
        ("xl/_rels/workbook.xml.rels", RELATIONSHIPS),
        ("xl/worksheets/sheet1.xml", &sheet),
    ])
}

/// Writes CSV rows as a Parquet file: five columns of whole numbers, three of decimals, and texts, of which the last is quoted.
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

/// Returns the comparison with flags for few rows, with all scripts in place of other programs.
fn load() -> Comparison {
    let comparison = Comparison::new("load", &["--scale", SCALE]);
    prepare(comparison.folder());
    let comparison = comparison.with_stand_in("tpchgen", TPCHGEN).with_stand_in("python", PYTHON);
    comparison.with_stand_in("sqlite-utils", SQLITE_UTILS)
}

/// Returns a script in place of sqluice that runs the command and then changes its database with `sql`.
fn damaged(sql: &str) -> String {
    format!("\"$SQLUICE\" \"$@\" || exit\ncase \"$1\" in load) sqlite3 \"$2\" \"{sql}\" ;; esac")
}

const WRONG_VALUE: &str = "UPDATE lineitem SET l_tax = l_tax + 0.01 WHERE rowid = 7";
const NO_ROW: &str = "DELETE FROM lineitem WHERE rowid = 7";

#[test]
fn the_benchmark_prints_tables_and_keeps_only_the_record_and_the_input() {
    let comparison = load();
    let parts = &[
        "| `lineitem` at scale 0.001: 6,005 rows, 1 MB of CSV |",
        "| `sqluice load --schema`, durable |",
        "| time of `.import` to `load --schema` |",
        "| 10 within 15% |",
        "input by stand-in 1.0",
    ];
    let record = comparison.assert_says(sqluice(), &["--rounds", "2", "--only", "csv"], parts);
    let rounds = record["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2);
    for round in rounds {
        assert_eq!(round.as_object().unwrap().len(), 5);
        assert_eq!(round["ten"]["rows"], 60_050);
        assert!(round["import"]["memory_bytes"].as_u64().unwrap() > 1 << 20, "{round}");
    }
    assert_eq!(record["ratios"].as_array().unwrap().len(), 5);

    // The script can't provide the CSV file a second time, so the next run must use the kept file.
    fs::remove_dir_all(comparison.results()).unwrap();
    let again = ["--rounds", "1", "--only", "csv"];
    assert!(comparison.run(sqluice(), &again).status.success());

    // A kept file that was shortened is not used. The run then fails, because the script can't provide the file again.
    let kept = comparison.files().join("lineitem-sf0.001/lineitem.csv");
    let text = fs::read_to_string(&kept).unwrap();
    fs::write(&kept, &text[..text.len() / 2]).unwrap();
    assert!(!comparison.run(sqluice(), &again).status.success());
}

#[test]
fn the_benchmark_of_parquet_uses_the_seconds_that_python_prints() {
    let parts = &[
        "| `lineitem` at scale 0.001: 6,005 rows, 0 MB of Parquet |",
        "| `pyarrow.parquet.read_table`, `adbc_ingest`, without Python's start | 0.75 (0.75..0.75) |",
        "| time of pyarrow and ADBC to `load`, Parquet |",
        "| at least 4 |",
        "beside: frames 1.0",
    ];
    let record = load().assert_says(sqluice(), &["--rounds", "2", "--only", "parquet"], parts);
    for round in record["rounds"].as_array().unwrap() {
        assert_eq!(round.as_object().unwrap().len(), 2);
        assert_eq!((&round["parquet"]["rows"], &round["adbc"]["seconds"]), (&6005.into(), &0.75.into()));
        assert_eq!(round["adbc"]["output"], "reading 0.25 s");
    }
    assert_eq!(record["ratios"].as_array().unwrap().len(), 1);
}

#[test]
fn the_benchmark_of_dumps_loads_dumps_of_three_programs() {
    let parts = &[
        "| `lineitem` at scale 0.001: 6,005 rows, 1 MB of SQL |",
        "| `sqlite3`, `.read` of its `.dump` |",
        "| `sqluice load` of a dump as of mysqldump, durable |",
        "| time of `sqlite3` to `load` of its dump |",
        "| at most 1.5 |",
    ];
    let record = load().assert_says(sqluice(), &["--rounds", "2", "--only", "dump"], parts);
    for round in record["rounds"].as_array().unwrap() {
        assert_eq!(round.as_object().unwrap().len(), 4);
        assert_eq!(round["postgres_dump"]["rows"], 6005);
    }
}

#[test]
fn the_benchmark_of_archives_loads_a_zip_archive_and_a_folder() {
    let has = |program: &str| std::process::Command::new(program).arg("-v").output().is_ok();
    if !(has("zip") && has("unzip")) {
        return skipped("zip and unzip are not installed: run tools/setup test");
    }
    let parts = &[
        "| `lineitem` at scale 0.001: 6,005 rows, 0 MB of ZIP |",
        "| `unzip`, and `sqluice load` of the 20 files, durable |",
        "| `sqluice load` of the folder of 1,000 files, durable |",
        "| processor time of `unzip` and `load` to `load` of the archive |",
    ];
    let record = load().assert_says(sqluice(), &["--rounds", "2", "--only", "archives"], parts);
    for round in record["rounds"].as_array().unwrap() {
        assert_eq!(round.as_object().unwrap().len(), 4);
        assert_eq!((&round["archive"]["rows"], &round["folder"]["rows"]), (&6005.into(), &857.into()));
    }
}

#[test]
fn the_benchmark_of_spreadsheets_uses_the_seconds_that_python_prints() {
    let parts = &[
        "| `lineitem` at scale 0.001: 6,005 rows, 0 MB of XLSX |",
        "| `pandas.read_excel`, `to_sql`, without Python's start | 0.75 (0.75..0.75) |",
        "| time of `pandas.read_excel` and `to_sql` to `load`, XLSX |",
        "| at least 15 |",
        "beside: frames 1.0",
    ];
    let record = load().assert_says(sqluice(), &["--rounds", "2", "--only", "spreadsheets"], parts);
    for round in record["rounds"].as_array().unwrap() {
        assert_eq!(round.as_object().unwrap().len(), 2);
        assert_eq!(
            (&round["spreadsheet"]["rows"], &round["pandas"]["seconds"]),
            (&6005.into(), &0.75.into())
        );
        assert_eq!(round["pandas"]["output"], "reading 0.50 s");
    }
    assert_eq!(record["ratios"].as_array().unwrap().len(), 1);
}

#[test]
fn the_benchmark_of_expressions_filters_rows_and_adds_columns() {
    let parts = &[
        "with `--where` on a number, which keeps all rows |",
        "| processor time of `load` with a filter to without |",
        "| time of DuckDB to `load`, half of the rows and computed columns |",
        "| at most 1.3 |",
    ];
    let record = load().assert_says(sqluice(), &["--rounds", "2", "--only", "expressions"], parts);
    for round in record["rounds"].as_array().unwrap() {
        assert_eq!(round.as_object().unwrap().len(), 5);
        assert_eq!((&round["half"]["rows"], &round["duckdb"]["seconds"]), (&6005.into(), &0.5.into()));
    }
}

#[test]
fn the_benchmark_of_json_loads_a_tenth_of_the_rows() {
    let parts = &[
        "| `lineitem` at scale 0.001: 600 rows, 0 MB of NDJSON |",
        "| `sqlite-utils insert --nl` |",
        "| `serde_json`, 50 rows a prepared INSERT, unsafe PRAGMAs, fsync |",
        "| at least 5 |",
        "| at least 3 |",
        "beside: utils 1.0",
    ];
    let record = load().assert_says(sqluice(), &["--rounds", "2", "--only", "json"], parts);
    for round in record["rounds"].as_array().unwrap() {
        let laps = round.as_object().unwrap();
        assert_eq!(laps.len(), 3);
        assert!(laps.values().all(|lap| lap["rows"] == 600), "{round}");
    }
    assert_eq!(record["ratios"].as_array().unwrap().len(), 2);
}

#[test]
fn a_value_that_differs_fails_the_benchmark() {
    for (part, first) in
        [("csv", "import"), ("parquet", "adbc"), ("spreadsheets", "pandas"), ("json", "sqlite_utils")]
    {
        let reason = format!("other values than \"{first}\" stored, in l_tax");
        load().assert_part_fails(part, &damaged(WRONG_VALUE), &reason);
    }
}

#[test]
fn a_missing_row_fails_the_benchmark() {
    for (part, reason) in [
        ("csv", "6004 rows instead of 6005"),
        ("parquet", "6004 rows instead of 6005"),
        ("spreadsheets", "6004 rows instead of 6005"),
        ("json", "599 rows instead of 600"),
    ] {
        load().assert_part_fails(part, &damaged(NO_ROW), reason);
    }
}

#[test]
fn a_wrong_value_of_another_loader_fails_the_benchmark() {
    let comparison = load();
    // The other loaders run before sqluice. The values of the first one are the reference, so the check of the second one fails.
    let body =
        SQLITE_UTILS.replace(" ;;\n    *)", &format!(" && sqlite3 \"$2\" \"{WRONG_VALUE}\" ;;\n    *)"));
    stand_in(comparison.folder(), "sqlite-utils", &body);
    let reason = "the database of \"serde_json\": other values than \"sqlite_utils\" stored";
    comparison.assert_fails(sqluice(), &["--rounds", "1", "--only", "json"], reason);
}

#[test]
fn a_missing_program_is_named_before_any_input_is_written() {
    for (part, program) in [("parquet", "python"), ("spreadsheets", "python"), ("json", "sqlite-utils")] {
        let comparison = load();
        stand_in(comparison.folder(), program, "exit 1");
        comparison.assert_fails(sqluice(), &["--only", part], "tools/setup bench installs");
        assert!(comparison.folder().join("made.csv").exists());
    }
}

#[test]
fn a_report_of_too_few_rows_fails_the_benchmark() {
    load().assert_part_fails(
        "csv",
        r#""$SQLUICE" "$@" | sed 's/"rows": 6005/"rows": 6004/'"#,
        "reports 6004 rows",
    );
}

#[test]
fn a_database_that_fails_sqlites_check_fails_the_benchmark() {
    // Changes the number of free pages in the header, which queries don't read, but quick_check does.
    let unsound = r#""$SQLUICE" "$@" || exit
case "$1" in load) printf '\005' | dd of="$2" bs=1 seek=39 conv=notrunc status=none ;; esac"#;
    load().assert_part_fails("csv", unsound, "quick_check says");
}
