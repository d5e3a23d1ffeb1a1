//! Loads three records with any text as filter, set and select expressions: the load fails and leaves no file, or each record is stored as
//! one row or filtered out, in a sound database.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use rusqlite::Connection;
use sqluice::load::Load;
use sqluice::options::WriteOptions;

const RECORDS: &str = "id,name,price,at\n1,Ann,1.5,2024-02-29\n2,,2,\n3,\"{\"\"a\"\":[1]}\",,now\n";

fuzz_target!(|text: &str| {
    let home = tempfile::tempdir().unwrap();
    let (file, database) = (home.path().join("t.csv"), home.path().join("x.db"));
    fs::write(&file, RECORDS).unwrap();
    let mut lines = text.splitn(3, '\n');
    let mut load = Load::new(&database, [&file]).write(WriteOptions::new().threads(1).memory_bytes(32 << 20));
    load = match lines.next().unwrap_or_default() {
        "" => load,
        filter => load.filter(filter),
    };
    load = match (lines.next(), lines.next()) {
        (None | Some(""), None) => load,
        (Some(set), None) => load.set("new", set),
        (_, Some(list)) => load.select(list),
    };
    match load.run() {
        Ok(report) => {
            assert_eq!(report.rows + report.tables[0].filtered, 3);
            let connection = Connection::open(&database).unwrap();
            let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
            assert_eq!(sound, "ok");
        }
        Err(_) => assert!(!database.exists(), "an error leaves nothing behind"),
    }
});
