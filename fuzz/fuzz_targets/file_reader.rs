//! Checks and scans any bytes as a database: both end without a panic. If the checker finds the database sound, the schema table is scanned
//! to its end without an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sqluice_format::check::{self, Options};
use sqluice_format::database::Header;
use sqluice_format::scan::{Kind, Reader, Scan, Tree};

fuzz_target!(|bytes: &[u8]| {
    let Ok(report) = check::check(&mut &*bytes, bytes.len() as u64, &Options::default());
    let Ok(header) = Header::from_bytes(bytes) else { return };
    let page_count = (bytes.len() / header.geometry.page_bytes()) as u32;
    for root_page in 1..page_count.min(8) {
        for kind in [Kind::Table, Kind::Index] {
            let tree = Tree { root_page, kind, geometry: header.geometry, page_count };
            let Ok(scan) = Scan::new(&mut &*bytes, tree) else { continue };
            let read = |part| scan.read(part, &mut &*bytes, &mut Reader::default(), |_, _| Ok(()));
            let whole = (0..scan.parts()).all(|part| read(part).is_ok());
            assert!(whole || !report.is_sound() || root_page != 1, "the schema table is sound");
        }
    }
});
