//! The estimated file size in plans of loads.

#![cfg(feature = "load")]

use std::path::{Path, PathBuf};

use crate::support::files::Home;
use crate::support::load::Way;
use crate::support::tpch;
use sqluice::load::Load;
use sqluice::progress::Context;

/// Checks that the estimate is within a tenth of the result.
#[track_caller]
fn assert_estimated(load: Load) {
    let prepared = load.prepare(&Context::default()).unwrap();
    let estimated = prepared.plan().estimated_bytes.expect("the size of the input is known") as f64;
    let bytes = prepared.run(&Context::default()).unwrap().bytes as f64;
    assert!((estimated / bytes - 1.0).abs() < 0.1, "{estimated} instead of {bytes}");
}

#[test]
fn the_estimate_for_real_files_is_within_a_tenth_of_the_size() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/ourairports");
    for name in ["airport-frequencies", "navaids", "runways", "regions", "countries"] {
        let home = Home::new();
        let excerpt = std::fs::read(folder.join(format!("{name}.csv"))).unwrap();
        let header_bytes = excerpt.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let (header, records) = excerpt.split_at(header_bytes);
        let file = home.path(&format!("{name}.csv"));
        std::fs::write(&file, [header, &records.repeat(16)].concat()).unwrap();
        let load = Load::new(home.path("x.db"), [file]);
        // Here the sample is smaller than each of the files.
        assert_estimated(load.tune(|tuning| tuning.sample_bytes = 200_000));
    }
}

#[test]
fn the_estimate_for_tpch_files_is_within_a_tenth_of_the_size() {
    let writers =
        [("lineitem", tpch::write_line_items as fn(&Path) -> usize), ("orders", tpch::write_orders)];
    for sample_bytes in [200_000, 1 << 20] {
        let home = Home::new();
        let files = writers.map(|(name, write)| {
            let file = home.path(&format!("{name}.csv"));
            write(&file);
            file
        });
        for limit in [None, Some(10_000), Some(100)] {
            let home = Home::new();
            assert_estimated(
                Load::new(home.path("x.db"), &files)
                    .limit(limit)
                    .tune(|tuning| tuning.sample_bytes = sample_bytes),
            );
        }
    }
}

#[test]
fn the_estimate_for_many_small_tables_is_within_a_tenth_of_the_size() {
    let home = Home::new();
    let files = (0..50).map(|number| Way::Path.put(&home, &format!("{number}.csv"), b"a,b\n1,2\n"));
    let files: Vec<PathBuf> = files.collect();
    assert_estimated(Load::new(home.path("x.db"), files));
}

#[test]
fn the_size_of_a_pipe_or_a_compressed_file_is_not_known() {
    // On Windows a file stands for the pipe.
    let ways = if cfg!(windows) { &[Way::Gzip][..] } else { &[Way::Pipe, Way::Gzip] };
    for way in ways {
        let home = Home::new();
        let file = way.put(&home, "t.csv", "a,b\n1,2\n".repeat(1000).as_bytes());
        let load = Load::new(home.path("x.db"), [file]).tune(|tuning| tuning.sample_bytes = 100);
        assert_eq!(load.prepare(&Context::default()).unwrap().plan().estimated_bytes, None);
    }
}
