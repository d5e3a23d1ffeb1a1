//! An exported table is loaded back with the same rows, or an error names the value that the format can't store.

use std::path::Path;

use fastrand::Rng;
use proptest::prelude::*;
use sqluice::error::Error;
use sqluice::export::{Export, formats};
use sqluice::load::{FormatOptions, Load};
use sqluice::schema::{Schema, quoted};
use sqluice::source::csv::Delimiter;
use sqluice_testkit::tables::{Exact, by_sqlite, make_table};

/// A random table, and its columns that SQLite does not compute.
struct Made {
    name: String,
    sql: String,
    /// Names and declared types.
    columns: Vec<(String, String)>,
    rows: Vec<Vec<Exact>>,
}

fn make(rng: &mut Rng, db: &Path) -> Made {
    let name = make_table(rng, db);
    let text = |value: &Exact| match value {
        Exact::Text(text) => String::from_utf8(text.clone()).unwrap(),
        other => panic!("{other:?} is no text"),
    };
    let literal = name.replace('\'', "''");
    let columns =
        by_sqlite(db, &format!("SELECT name, type FROM pragma_table_xinfo('{literal}') WHERE hidden = 0"));
    let columns: Vec<(String, String)> = columns.iter().map(|row| (text(&row[0]), text(&row[1]))).collect();
    let list: Vec<String> = columns.iter().map(|(name, _)| quoted(name)).collect();
    let sql = text(&by_sqlite(db, "SELECT sql FROM sqlite_schema WHERE type = 'table'")[0][0]);
    let rows = select(db, &name, &list.join(", "));
    Made { name, sql, columns, rows }
}

/// Returns the given columns of all rows, in the order of the table.
fn select(db: &Path, table: &str, columns: &str) -> Vec<Vec<Exact>> {
    by_sqlite(db, &format!("SELECT {columns} FROM (SELECT * FROM {} NOT INDEXED)", quoted(table)))
}

/// Returns true if a text format can't store the value.
fn is_unfit(value: &Exact) -> bool {
    matches!(value, Exact::Blob(_))
        || matches!(value, Exact::Real(bits) if !f64::from_bits(*bits).is_finite())
}

fn error(result: Result<impl Sized, Error>) -> Option<String> {
    result.err().map(|error| error.to_string())
}

fn same(read: &[Vec<Exact>], expected: &[Vec<Exact>]) -> Result<(), TestCaseError> {
    for (row, (read, expected)) in read.iter().zip(expected).enumerate() {
        prop_assert!(read == expected, "row {}: {:.300?} and not {:.300?}", row, read, expected);
    }
    prop_assert_eq!(read.len(), expected.len());
    Ok(())
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(200))]

    #[test]
    fn an_exported_table_is_loaded_back_as_the_same_rows(seed in any::<u64>()) {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old.db"), folder.path().join("new.db"));
        let made = make(&mut rng, &old);
        let tabular: Vec<_> = formats::ALL.iter().filter(|format| !format.is_dump()).collect();
        let format = **rng.choice(&tabular).unwrap();
        let packed = match format.is_columnar() {
            true => "",
            false => *rng.choice(&["", ".gz", ".zst"]).unwrap(),
        };
        let file = folder.path().join(format!("rows.{}{packed}", format.extensions[0]));
        let names: Vec<String> = made.columns.iter().map(|(name, _)| name.clone()).collect();
        let export = Export::new(&old, &file).tables([&made.name]).columns(names.clone()).threads(rng.usize(1..4));
        let exported = error(export.run());
        let is_csv = matches!(format.name, "csv" | "tsv");
        let lone_null = is_csv && names.len() == 1 && made.rows.iter().any(|row| row[0] == Exact::Null);
        let unfit = made.rows.iter().flatten().any(is_unfit);
        if let Some(message) = exported {
            prop_assert!(!file.exists());
            let is_place = message.contains(&format!("(table {}, ", made.name)) && message.contains(", column ");
            prop_assert!(is_place, "{}", message);
            prop_assert!(unfit || lone_null || format.is_columnar(), "{}", message);
            return Ok(());
        }
        prop_assert!(format.is_columnar() || !(unfit || lone_null));
        // CSV does not tell numbers from text in columns without a type.
        let untyped = |declared: &str| declared.is_empty() || declared == "BLOB" || declared == "ANY";
        if is_csv && made.columns.iter().any(|(_, declared)| untyped(declared)) {
            return Ok(());
        }
        // An NDJSON file without rows has no columns.
        if made.rows.is_empty() && matches!(format.name, "ndjson" | "json") {
            return Ok(());
        }
        let schema = Schema::parse(made.sql.as_str(), "schema.sql".as_ref()).unwrap();
        let mut described = FormatOptions::new().format(Some(format.name.parse().unwrap()));
        if is_csv {
            described = described.header(true);
        }
        if format.name == "csv" {
            described.delimiter = Some(Delimiter::COMMA);
        }
        let load = Load::new(&new, [&file]).table(&made.name).schema(Some(schema)).format(described);
        load.run().unwrap();
        let list: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        same(&select(&new, &made.name, &list.join(", ")), &made.rows)?;
    }

    #[test]
    fn a_table_loaded_from_a_database_has_the_same_rows(seed in any::<u64>()) {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old.db"), folder.path().join("new.db"));
        let made = make(&mut rng, &old);
        let schema = Schema::parse(made.sql.as_str(), "schema.sql".as_ref()).unwrap();
        let names: Vec<String> = made.columns.iter().map(|(name, _)| name.clone()).collect();
        let mut load = Load::new(&new, [&old]).schema(Some(schema));
        load.columns = Some(names.clone());
        let report = load.run().unwrap();
        prop_assert_eq!(report.rows, made.rows.len() as u64);
        let list: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        same(&select(&new, &made.name, &list.join(", ")), &made.rows)?;
    }
}
