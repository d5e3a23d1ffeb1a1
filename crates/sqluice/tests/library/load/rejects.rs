//! Bad rows: each goes to the reject file or ends the load, and the good rows are stored as SQLite stores them.

#![cfg(feature = "load")]

use std::io::Cursor;
use std::path::Path;

use crate::support::cases;
use crate::support::files::{Home, integrity, open};
use crate::support::load::{plain, run, schema, shown};
use crate::support::twin::CsvCore;
use proptest::prelude::*;
use proptest::sample::select;
use rusqlite::{Connection, ToSql, params_from_iter};
use sqluice::batch::{Batch, Value};
use sqluice::error::{Error, ErrorKind, Result, Setting};
use sqluice::load::Load;
use sqluice::options::WriteOptions;
use sqluice::source::csv::{ColumnFrom, CsvOptions, CsvReader};
use sqluice::source::{BadRow, Refused, RefusedRow, Sink, Source};

/// Generates a CSV file of three columns with good and bad lines.
fn csv() -> impl Strategy<Value = Vec<u8>> {
    let good = select(vec![
        &b"1,2,3\n"[..],
        b"12,x,1.5\n",
        b",,\n",
        b"7,,\"\"\n",
        b"\"a\n,b\",0.1,9\r\n",
        b"-5,1e3,zz\n",
        b"12345678901234567890,0x1f,9007199254740993\n",
        b" 8 ,+1,.5\r",
        b"3,\"x\"\"y\",0\n",
    ]);
    let piece = select(vec![
        &b","[..],
        b",",
        b"\"",
        b"\n",
        b"\r\n",
        b"1",
        b"ab",
        b"\0",
        b"\xff",
        b"\xc3\xa9",
        b"\"\"",
    ]);
    let rubble = prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat());
    let line = prop_oneof![4 => good.prop_map(<[u8]>::to_vec), 1 => rubble];
    prop::collection::vec(line, 0..60).prop_map(|lines| [&b"a,b,c\n"[..], &lines.concat()].concat())
}

/// Generates a table for these columns, with or without a column that is the rowid.
fn ddl() -> impl Strategy<Value = String> {
    let declared = |strict: bool| {
        let types = if strict {
            vec!["INTEGER", "REAL", "TEXT", "ANY"]
        } else {
            vec!["INTEGER", "REAL", "TEXT", "NUMERIC", ""]
        };
        let column = (select(types), any::<bool>())
            .prop_map(|(name, null)| format!("{name}{}", if null { "" } else { " NOT NULL" }));
        (prop::collection::vec(column, 3), select(vec!["", "id INTEGER PRIMARY KEY, "]), Just(strict))
    };
    any::<bool>().prop_flat_map(declared).prop_map(|(types, id, strict)| {
        let strict = if strict { " STRICT" } else { "" };
        format!("CREATE TABLE t ({id}a {}, b {}, c {}){strict}", types[0], types[1], types[2])
    })
}

/// The twin: SQLite inserts the fields of each record as text, with the number of the record as rowid, or refuses it as a bad row.
struct Twin {
    database: Connection,
    records: i64,
    bad: Vec<BadRow>,
}

impl Sink for Twin {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let transaction = self.database.transaction().unwrap();
        let mut insert = transaction.prepare("INSERT INTO t (rowid, a, b, c) VALUES (?, ?, ?, ?)").unwrap();
        let mut refused = Vec::new();
        for row in 0..batch.rows {
            let text = |column: usize| match batch.columns[column].get(row) {
                Value::Text(text) => Some(str::from_utf8(text).unwrap().to_owned()),
                _ => None,
            };
            let fields = [text(0), text(1), text(2)];
            let rowid = self.records + row as i64 + 1;
            let values =
                [&rowid as &dyn ToSql].into_iter().chain(fields.iter().map(|field| field as &dyn ToSql));
            if let Err(error) = insert.execute(params_from_iter(values)) {
                let message = error.to_string();
                assert!(
                    message.contains("constraint failed") || message.contains("cannot store"),
                    "{message}"
                );
                refused.push(RefusedRow { row, column: 0, error: Error::input("refused") });
            }
        }
        drop(insert);
        if !refused.is_empty() {
            return Err(Refused::Rows(refused));
        }
        transaction.commit().unwrap();
        self.records += batch.rows as i64;
        Ok(())
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.records += 1;
        self.bad.push(bad);
        Ok(())
    }
}

impl Twin {
    fn of(ddl: &str, csv: &[u8]) -> Twin {
        let database = Connection::open_in_memory().unwrap();
        database.execute_batch(ddl).unwrap();
        let mut twin = Twin { database, records: 0, bad: Vec::new() };
        let input = Box::new(Cursor::new(csv.to_vec()));
        let reader = CsvReader::new(input, Path::new("t.csv"), CsvOptions::default()).unwrap();
        let mut source = reader.into_source((0..3).map(ColumnFrom::Field).collect(), 0..u64::MAX);
        while let Some(mut part) = source.next_part().unwrap() {
            part.decode(&mut twin).unwrap();
        }
        twin
    }
}

/// Returns rowid and values of all rows.
fn values(database: &Connection) -> Vec<String> {
    let sql = "SELECT concat_ws(' ', rowid, typeof(a), quote(a), typeof(b), quote(b), typeof(c), quote(c))
               FROM t ORDER BY rowid";
    let mut rows = database.prepare(sql).unwrap();
    rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Returns the records of a reject file, without its header.
fn rejected(file: &Path) -> Vec<Vec<Vec<u8>>> {
    let Ok(text) = std::fs::read(file) else { return Vec::new() };
    // A record may be any bytes, and CsvCore reads text. So each byte becomes the character with its number.
    let text: String = text.into_iter().map(char::from).collect();
    let mut records = CsvCore::new(text.as_bytes());
    assert_eq!(records.next().unwrap(), ["file", "line", "column", "reason", "record"]);
    let bytes = |field: &String| field.chars().map(|c| c as u8).collect();
    std::iter::from_fn(|| Some(records.next()?.iter().map(bytes).collect())).collect()
}

fn write(threads: usize) -> WriteOptions {
    WriteOptions::new().threads(threads).tune(|tuning| tuning.chunk_bytes = 8192)
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn good_rows_are_loaded_and_bad_rows_written_to_the_reject_file_in_their_order(
        csv in csv(), ddl in ddl(), part_bytes in 1..400usize, lossy: bool, max in 0..5u64,
    ) {
        let home = Home::new();
        let file = home.path("t.csv");
        std::fs::write(&file, &csv).unwrap();
        let load = |name: &str, threads| {
            Load::new(home.path(&format!("{name}.db")), [&file])
                .schema(schema(&ddl))
                .format(plain())
                .lossy(lossy)
                .write(write(threads))
                .tune(|tuning| tuning.part_bytes = part_bytes)
        };
        let keep = |name: &str, threads| {
            // No limit of bad rows: some files have no good row.
            let load = load(name, threads)
                .reject(home.path(&format!("{name}.rejected")))
                .rejects_max(u64::MAX - 1);
            run(load).map(|report| (report.rows, report.rejected))
        };
        let counts = keep("1", 1).unwrap();
        let (database, bad) = (open(&home.path("1.db")), rejected(&home.path("1.rejected")));
        prop_assert_eq!(integrity(&database), "ok");
        prop_assert_eq!(counts.1, bad.len() as u64);

        let twin = Twin::of(&ddl, &csv);
        prop_assert_eq!(counts.0 + counts.1, twin.records as u64);
        let (ours, twins) = (values(&database), values(&twin.database));
        if lossy {
            prop_assert_eq!(ours, twins);
            let raw: Vec<&[u8]> = bad.iter().map(|fields| &fields[4][..]).collect();
            prop_assert_eq!(raw, twin.bad.iter().map(|bad| &bad.raw[..]).collect::<Vec<_>>());
        } else {
            // Without the setting lossy, rows with a value that would lose digits are in the reject file. The other rows are stored as by
            // SQLite.
            prop_assert!(ours.iter().all(|row| twins.contains(row)), "{:?} {:?}", ours, twins);
        }

        for threads in [2, 4] {
            let name = threads.to_string();
            prop_assert_eq!(keep(&name, threads).unwrap(), counts);
            for end in ["db", "rejected"] {
                let read = |name: &str| std::fs::read(home.path(&format!("{name}.{end}"))).ok();
                prop_assert!(read("1") == read(&name), "{}", end);
            }
        }

        // Without a reject file, the first bad row ends the load.
        let before = home.names().len();
        for threads in [1, 3] {
            let ended = run(load("strict", threads));
            let Some(first) = bad.first() else {
                prop_assert!(ended.is_ok());
                std::fs::remove_file(home.path("strict.db")).unwrap();
                continue;
            };
            let error = ended.unwrap_err();
            let place = error.place().unwrap();
            let message = error.message();
            prop_assert_eq!(home.names().len(), before);
            // If all rows have the same number of fields, and the header another one, the header is reported.
            if counts.0 == 0 && message.starts_with("the header has 3 fields, and the rows have ") {
                let odd = |fields: &Vec<Vec<u8>>| String::from_utf8_lossy(&fields[3]).contains("the header has ");
                prop_assert!(bad.len() > 1 && bad.iter().any(odd), "{}", message);
                continue;
            }
            prop_assert_eq!(message.as_bytes(), &first[3][..]);
            let told = [place.line.unwrap(), place.column.unwrap()].map(|number| number.to_string().into_bytes());
            prop_assert_eq!(&told[..], &first[1..3]);
        }

        // With a limit of bad rows: the reject file has the row that exceeds it, too.
        let limited = load("few", 2).reject(home.path("few.rejected")).rejects_max(max);
        let ended = run(limited);
        prop_assert_eq!(ended.is_err(), counts.1 > max);
        prop_assert_eq!(home.path("few.db").exists(), counts.1 <= max);
        prop_assert_eq!(rejected(&home.path("few.rejected")), bad[..bad.len().min(max as usize + 1)].to_vec());
        prop_assert!(!home.names().iter().any(|name| name.contains("tmp")));
    }
}

/// Loads CSV text into a table `t`, bad rows to `bad.csv`.
fn load(home: &Home, csv: &str, with: impl FnOnce(Load) -> Load) -> Result<(u64, u64)> {
    let file = home.path("t.csv");
    std::fs::write(&file, csv).unwrap();
    let load = Load::new(home.path("x.db"), [file]).reject(home.path("bad.csv"));
    run(with(load)).map(|report| (report.rows, report.rejected))
}

#[test]
fn a_load_without_bad_rows_leaves_a_reject_file_with_a_header_alone() {
    let home = Home::new();
    assert_eq!(load(&home, "a,b\n1,2\n", |load| load).unwrap(), (1, 0));
    assert_eq!(std::fs::read_to_string(home.path("bad.csv")).unwrap(), "file,line,column,reason,record\n");
}

#[test]
fn a_load_that_fails_leaves_a_reject_file_only_if_it_has_rows() {
    let twice = |load: Load| load.schema(schema("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)"));
    let home = Home::new();
    let error = load(&home, "id,a\n5,x\n5,y\n", twice).unwrap_err();
    assert_eq!(error.message(), "UNIQUE constraint failed: t.id = 5 (rows 1 and 2: lines 2 and 3)");
    assert_eq!(home.names(), ["t.csv"]);
    let error = load(&home, "id,a\nx,x\n5,x\n5,y\n", twice).unwrap_err();
    assert_eq!(error.message(), "UNIQUE constraint failed: t.id = 5 (rows 2 and 3: lines 3 and 4)");
    assert_eq!(rejected(&home.path("bad.csv")).len(), 1);
    assert!(!home.path("x.db").exists());
}

#[test]
fn rowids_missing_in_the_file_are_the_numbers_of_the_records() {
    // With 4 bytes a record and 20 bytes a part, each part has 5 records. The first and the last of each are bad, and all of the third
    // part.
    let records: Vec<&str> = (0..35)
        .map(|row| if row % 5 == 0 || row % 5 == 4 || (10..15).contains(&row) { "x,y" } else { "a,1" })
        .collect();
    let csv = format!("t,n\n{}\n", records.join("\n"));
    for threads in 1..5 {
        let home = Home::new();
        let sql = "CREATE TABLE t (t TEXT, n INTEGER NOT NULL, id INTEGER PRIMARY KEY) STRICT";
        let with = |load: Load| {
            load.schema(schema(sql))
                .write(write(threads))
                .format(plain())
                .tune(|tuning| tuning.part_bytes = 20)
        };
        assert_eq!(load(&home, &csv, with).unwrap(), (18, 17));
        let database = open(&home.path("x.db"));
        let mut ids = database.prepare("SELECT id FROM t").unwrap();
        let ids: Vec<i64> = ids.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let expected: Vec<i64> =
            (1..).zip(&records).filter(|(_, record)| **record == "a,1").map(|(id, _)| id).collect();
        assert_eq!(ids, expected);
    }
}

#[test]
fn the_error_about_too_many_bad_rows_names_the_reject_file() {
    let home = Home::new();
    let error = load(&home, "a,b\n1\n2\n3,4\n", |load| load.rejects_max(1).format(plain())).unwrap_err();
    assert_eq!(
        shown(&error, &home),
        "t.csv:3:2: the record ends after field 1: the header has 2 (bad row 2; the limit is 1) \
         [all of them are in bad.csv; `max_rejects` lets more pass]"
    );
}

#[test]
fn a_reject_file_replaces_no_file_without_permission_and_never_the_input_or_the_database() {
    let home = Home::new();
    std::fs::write(home.path("bad.csv"), "precious").unwrap();
    for overwrite in [false, true] {
        let write = || WriteOptions::new().overwrite(overwrite);
        let error = load(&home, "a\n1\n", |load| load.write(write())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Target);
        let settings: Vec<Setting> = error.remedy().unwrap().settings().collect();
        assert_eq!(settings, [Setting::OverwriteReject]);
        assert_eq!(std::fs::read_to_string(home.path("bad.csv")).unwrap(), "precious");
    }
    for other in ["t.csv", "x.db", "./t.csv"] {
        let reject = home.path(other);
        let write = WriteOptions::new().overwrite(true);
        let with = |load: Load| load.reject(reject).overwrite_reject(true).write(write);
        let error = load(&home, "a\n1\n", with).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert_eq!(std::fs::read_to_string(home.path("t.csv")).unwrap(), "a\n1\n");
    }
}

#[test]
fn the_first_error_of_the_input_is_reported_with_any_sample_and_threads() {
    // Line 4 is refused, line 7 contradicts the guessed type, line 9 is malformed, and the last line is longer than allowed.
    let csv = "k,a\nx,1\nx,2\n,3\nx,4\nx,5\nx,word\nx,7\nx\nx,8\n";
    for tail in ["", &format!("x,\"{}", "long ".repeat(100))] {
        for (threads, sample_bytes) in [(1, 12), (2, 12), (4, 12), (2, 30), (2, 1000)] {
            let home = Home::new();
            let with = |mut load: Load| {
                load.reject = None;
                load.schema(schema("CREATE TABLE t (k TEXT NOT NULL)"))
                    .add_columns(true)
                    .format(plain())
                    .write(write(threads).memory_bytes(3200 * threads as u64))
                    .tune(|tuning| {
                        (tuning.sample_bytes, tuning.part_bytes, tuning.chunk_bytes) = (sample_bytes, 4, 512);
                    })
            };
            let error = load(&home, &format!("{csv}{tail}"), with).unwrap_err();
            assert_eq!(shown(&error, &home), "t.csv:4:1: NULL in column k, which is NOT NULL");
        }
    }
}
