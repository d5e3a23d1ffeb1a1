//! Full disks and damaged files while a dump is loaded: the old database stays, and nothing else is left.

use std::fmt::Write as _;
use std::fs;
use std::io::Write;

use sqluice_testkit::disk::Disk;

use crate::support::{finish, folder, integrity, names, run, sqluice_with_file_limit};

const START: &str = "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);\n";

/// Returns a dump with `rows` rows of a kilobyte, which are written as pages, and with statements by which SQLite adds these rows `copies`
/// times.
fn dump(rows: usize, copies: usize) -> String {
    let mut text = START.to_owned();
    for row in 0..rows {
        writeln!(text, "INSERT INTO t VALUES({row},'{}');", "x".repeat(1000)).unwrap();
    }
    text.push_str("CREATE TABLE copied (b);\n");
    for _ in 0..copies {
        text.push_str("INSERT INTO copied SELECT b FROM t;\n");
    }
    text
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn a_load_of_a_dump_that_fills_the_disk_keeps_the_old_database() {
    let Some(image) = Disk::ext4(folder(), 16) else { return };
    let (root, inputs) = (image.root(), folder());
    run(&root, ["generate", "x.db", "--preset", "user", "--rows", "1k"]).ok();
    let (before, free) = (names(&root), image.free_bytes());
    let old = fs::read(root.join("x.db")).unwrap();
    // The pages of the first dump fit, but not the rows of its statements. Not even the pages of the second dump fit.
    for text in [dump(5000, 3), dump(20_000, 1)] {
        let path = inputs.path().join("dump.sql");
        fs::write(&path, text).unwrap();
        for flags in [&["--overwrite"][..], &["--overwrite", "-j1", "--page-size", "1024"]] {
            let args = [&["load", "x.db", path.to_str().unwrap()], flags].concat();
            let ran = run(&root, args).failed(1, "");
            let words = ["No space left on device", "database or disk is full", "MB is free in"];
            let is_full = words.iter().any(|words| ran.stderr.contains(words));
            assert!(is_full && ran.stderr.contains("hint: free some space"), "{ran:?}");
            assert_eq!(names(&root), before);
            assert!(fs::read(root.join("x.db")).unwrap() == old);
            assert_eq!(image.free_bytes(), free, "all space is free again");
        }
    }
    assert_eq!(integrity(&root.join("x.db")), "ok");
}

#[test]
fn a_compressed_dump_that_outgrows_the_disk_is_an_error_that_leaves_nothing() {
    let Some(image) = Disk::ext4(folder(), 16) else { return };
    let root = image.root();
    // The dump has a few kilobytes, which decompress to 64 MB.
    let bomb = gzip(format!("{START}INSERT INTO t VALUES(1,'{}');\n", "x".repeat(64 << 20)).as_bytes());
    fs::write(root.join("dump.sql.gz"), bomb).unwrap();
    let (before, free) = (names(&root), image.free_bytes());
    for more in [&["--temp-dir", "."][..], &[]] {
        let ran = run(&root, [&["load", "x.db", "dump.sql.gz"][..], more].concat());
        let ran = ran.failed(1, "");
        assert!(ran.stderr.contains("No space left on device") && ran.stderr.contains("hint: "), "{ran:?}");
        assert_eq!(names(&root), before);
        assert_eq!(image.free_bytes(), free, "all space is free again");
    }
}

#[test]
fn a_dump_whose_database_exceeds_the_limit_on_file_sizes_keeps_the_old_database() {
    let folder = folder();
    run(folder.path(), ["generate", "x.db", "--preset", "user", "--rows", "1k"]).ok();
    fs::write(folder.path().join("dump.sql"), dump(5000, 2)).unwrap();
    let old = fs::read(folder.path().join("x.db")).unwrap();
    // The limits are in units of 512 bytes: the first is too small for the pages, the others are too small for the rows of the statements.
    for limit in [2000, 12_000, 20_000] {
        let mut command = sqluice_with_file_limit(folder.path(), limit);
        let ran = finish(command.args(["load", "x.db", "dump.sql", "--overwrite"])).failed(1, "");
        let words = ["File too large", "disk I/O error", "disk is full"];
        assert!(words.iter().any(|words| ran.stderr.contains(words)), "{limit}: {ran:?}");
        assert_eq!(names(folder.path()), ["dump.sql", "x.db"]);
        assert!(fs::read(folder.path().join("x.db")).unwrap() == old, "{limit}");
    }
}

#[test]
fn a_compressed_dump_that_is_damaged_anywhere_keeps_the_old_database() {
    let folder = folder();
    run(folder.path(), ["generate", "x.db", "--preset", "user", "--rows", "1k"]).ok();
    let old = fs::read(folder.path().join("x.db")).unwrap();
    let whole = gzip(dump(5000, 1).as_bytes());
    for part in 1..8 {
        for cut in [true, false] {
            let mut packed = whole.clone();
            let at = packed.len() * part / 8;
            match cut {
                true => packed.truncate(at),
                false => packed[at] ^= 0x55,
            }
            fs::write(folder.path().join("dump.sql.gz"), packed).unwrap();
            run(folder.path(), ["load", "x.db", "dump.sql.gz", "--overwrite"]).failed(1, "dump.sql.gz");
            assert_eq!(names(folder.path()), ["dump.sql.gz", "x.db"]);
            assert!(fs::read(folder.path().join("x.db")).unwrap() == old);
        }
    }
}
