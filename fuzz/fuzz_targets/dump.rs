//! Reads any bytes as an SQL dump: the fast and the slow splitter find the same statements, and a load makes a sound database or leaves no
//! file. For the splitters, the first two bytes choose the dialect and the size of the blocks.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use sqluice::check::Check;
use sqluice::load::{FormatOptions, Load, formats};
use sqluice::options::WriteOptions;

fuzz_target!(|bytes: &[u8]| {
    sqluice_sources::dump::twins::fast_equals_slow(bytes);
    let around = tempfile::tempdir().unwrap();
    let (dump, database) = (around.path().join("x.sql"), around.path().join("x.db"));
    fs::write(&dump, bytes.get(2..).unwrap_or_default()).unwrap();
    let format = FormatOptions::default().format(&formats::SQL);
    let loaded = Load::new(&database, [&dump]).format(format).write(WriteOptions::new().threads(2)).run();
    let mut left = fs::read_dir(around.path()).unwrap().count();
    if loaded.is_ok() {
        left -= 1;
        let checked = Check::new(&database).run().unwrap();
        assert!(checked.is_sound(), "{checked:?}");
    }
    assert_eq!(left, 1, "something was left beside the dump");
});
