//! Real files, those of ourairports.com: every value is what SQLite stores when each field is bound as text.
#![cfg(feature = "csv")]

mod support;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params_from_iter};
use sqluice::load::Load;
use sqluice::plan::WriteOptions;
use sqluice::progress::{Cancel, Silent};
use sqluice::schema::Schema;
use sqluice_format::page::PENDING_BYTE;
use support::files::{Home, assert_sound, integrity, open, records};

const DECLARED: &str = "
    CREATE TABLE \"airport-frequencies\" (
        id INTEGER, airport_ref INTEGER, airport_ident TEXT, type VARCHAR(20), description TEXT,
        frequency_mhz REAL);
    CREATE TABLE countries (id INTEGER, code CHAR(2), name TEXT, continent TEXT, wikipedia_link TEXT, keywords BLOB);
    CREATE TABLE navaids (
        id INTEGER, filename TEXT, ident NUMERIC, name TEXT, type TEXT, frequency_khz NUMERIC, latitude_deg REAL,
        longitude_deg DOUBLE, elevation_ft INTEGER, iso_country TEXT, dme_frequency_khz INTEGER, dme_channel NUMERIC,
        dme_latitude_deg NUMERIC, dme_longitude_deg REAL, dme_elevation_ft INT, slaved_variation_deg REAL,
        magnetic_variation_deg NUMERIC, usageType TEXT, power TEXT, associated_airport NUMERIC);
    CREATE TABLE regions (
        id BIGINT, code TEXT, local_code NUMERIC, name TEXT, continent TEXT, iso_country TEXT, wikipedia_link,
        keywords INTEGER);
    CREATE TABLE runways (
        id INT, airport_ref INTEGER, airport_ident NUMERIC, length_ft INTEGER, width_ft REAL, surface TEXT,
        lighted BOOLEAN, closed INTEGER, le_ident NUMERIC, le_latitude_deg REAL, le_longitude_deg REAL,
        le_elevation_ft INTEGER, le_heading_degT REAL, le_displaced_threshold_ft NUMERIC, he_ident INTEGER,
        he_latitude_deg NUMERIC, he_longitude_deg NUMERIC, he_elevation_ft REAL, he_heading_degT DECIMAL(5,2),
        he_displaced_threshold_ft INTEGER);";

/// All records of a file, the header among them, as csv-core reads them.
fn csv_core(input: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut reader = csv_core::Reader::new();
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), Vec::new());
    let (mut rest, mut buffer) = (input, vec![0; 1 << 16]);
    loop {
        let (result, read, written) = reader.read_field(rest, &mut buffer);
        rest = &rest[read..];
        field.extend_from_slice(&buffer[..written]);
        match result {
            csv_core::ReadFieldResult::Field { record_end } => {
                record.push(std::mem::take(&mut field));
                if record_end {
                    records.push(std::mem::take(&mut record));
                }
            }
            csv_core::ReadFieldResult::End => return records,
            csv_core::ReadFieldResult::InputEmpty | csv_core::ReadFieldResult::OutputFull => {}
        }
    }
}

/// Every value's type and literal.
fn values(database: &Connection, table: &str, columns: usize) -> Vec<(String, String)> {
    let names: Vec<String> = database
        .prepare("SELECT name FROM pragma_table_info(?1)")
        .unwrap()
        .query_map([table], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(names.len(), columns);
    let selected: Vec<String> =
        names.iter().map(|name| format!("typeof(\"{name}\"), quote(\"{name}\")")).collect();
    let sql = format!("SELECT {} FROM \"{table}\" ORDER BY rowid", selected.join(", "));
    let mut statement = database.prepare(&sql).unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut values = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        for column in 0..columns {
            values.push((row.get(column * 2).unwrap(), row.get(column * 2 + 1).unwrap()));
        }
    }
    values
}

fn compare(name: &str, rows: usize) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/ourairports")
        .join(format!("{name}.csv"));
    let input = std::fs::read(&file).unwrap_or_else(|e| {
        panic!("this test needs {}, from the shared/data folder beside the repository: {e}", file.display())
    });
    let read = csv_core(&input);
    assert_eq!(read.len(), rows + 1, "the file is the known one");
    let (header, read) = read.split_first().unwrap();
    let declared = Schema::parse(DECLARED.to_owned(), Path::new("declared.sql")).unwrap();
    let all_text: Vec<String> =
        header.iter().map(|name| format!("\"{}\" TEXT", std::str::from_utf8(name).unwrap())).collect();
    let all_text = format!("CREATE TABLE \"{name}\" ({})", all_text.join(", "));
    for schema in [None, Some(declared)] {
        let home = Home::new();
        let (path, twin_path) = (home.path("ours.db"), home.path("twin.db"));
        let twin_sql = schema.as_ref().map_or(all_text.as_str(), |schema| &schema.table(name).unwrap().sql);
        let mut twin = open(&twin_path);
        let transaction = twin.transaction().unwrap();
        transaction.execute_batch(twin_sql).unwrap();
        {
            let places = vec!["?"; header.len()].join(", ");
            let mut insert =
                transaction.prepare(&format!("INSERT INTO \"{name}\" VALUES ({places})")).unwrap();
            for record in read {
                let fields = record.iter().map(|field| std::str::from_utf8(field).unwrap());
                insert.execute(params_from_iter(fields)).unwrap();
            }
        }
        transaction.commit().unwrap();

        let load = Load {
            target: path.clone(),
            file: file.clone(),
            table: None,
            schema,
            empty_as_text: true,
            write: WriteOptions::default(),
        };
        let report = load.prepare().unwrap().run(&Silent, &Cancel::new()).unwrap();
        assert_eq!(report.rows, rows as u64);
        let (bytes, twin_bytes) = (std::fs::read(&path).unwrap(), std::fs::read(&twin_path).unwrap());
        assert_sound(&bytes, PENDING_BYTE);
        let ours = open(&path);
        assert_eq!(integrity(&ours), "ok");
        let (mine, theirs) = (values(&ours, name, header.len()), values(&twin, name, header.len()));
        assert_eq!(mine.len(), rows * header.len());
        assert_eq!(mine.len(), theirs.len());
        for (mine, theirs) in mine.iter().zip(&theirs) {
            assert_eq!(mine, theirs);
        }
        assert!(records(&ours, &bytes, name) == records(&twin, &twin_bytes, name), "the same record bytes");
    }
}

#[test]
fn airport_frequencies_become_what_sqlite_makes_of_them() {
    compare("airport-frequencies", 30340);
}

#[test]
fn countries_become_what_sqlite_makes_of_them() {
    compare("countries", 249);
}

#[test]
fn navaids_become_what_sqlite_makes_of_them() {
    compare("navaids", 11008);
}

#[test]
fn regions_become_what_sqlite_makes_of_them() {
    compare("regions", 3987);
}

#[test]
fn runways_become_what_sqlite_makes_of_them() {
    compare("runways", 48184);
}
