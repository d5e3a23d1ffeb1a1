//! Recovers any bytes as a damaged database: the recovery ends without a panic, does not change its source, and makes a sound database or
//! none.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use sqluice::recover::Recover;

fuzz_target!(|bytes: &[u8]| {
    let around = tempfile::tempdir().unwrap();
    let (source, target) = (around.path().join("x.db"), around.path().join("new.db"));
    fs::write(&source, bytes).unwrap();
    let recovered = Recover::new(&source, &target).run();
    assert_eq!(fs::read(&source).unwrap(), bytes);
    assert_eq!(recovered.is_ok(), target.exists());
    if recovered.is_ok() {
        let database = rusqlite::Connection::open(&target).unwrap();
        let said: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(said, "ok");
    }
});
