//! Unpacks any bytes as an SQLite archive (`sqluice unpack`). Unpacking ends without a panic, and writes no file beside its folder.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use sqluice::archive::Unpack;

fuzz_target!(|bytes: &[u8]| {
    let around = tempfile::tempdir().unwrap();
    let (archive, folder) = (around.path().join("x.db"), around.path().join("to"));
    fs::write(&archive, bytes).unwrap();
    let _ = Unpack::new(&archive, &folder).run();
    let mut names: Vec<_> = fs::read_dir(around.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.retain(|name| !name.to_string_lossy().starts_with("x.db") && name != "to");
    assert!(names.is_empty(), "beside the folder: {names:?}");
});
