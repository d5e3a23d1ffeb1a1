//! Files and databases that are cut short or have wrong bytes. A command on them succeeds or ends with an error, and never panics. It
//! changes a database only if it is a load or an index that succeeds.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::{Ran, Random, folder, output, sqluice};
use rusqlite::Connection;
use sqluice_testkit::effort::tries;

/// Returns the number of damaged copies to try of each file.
fn copies() -> usize {
    tries(4, 24, 240)
}

/// Cuts the bytes short (kind 0), sets some in a row to the same value (kind 1), or flips bits (kinds 2 and 3).
fn damage(random: &mut Random, kind: usize, bytes: &mut Vec<u8>) {
    let mut below = |end: usize| (random.fraction() * end as f64) as usize;
    match kind % 4 {
        0 => bytes.truncate(below(bytes.len())),
        1 => {
            let start = below(bytes.len());
            let end = bytes.len().min(start + 1 + below(64));
            bytes[start..end].fill([0, 255][below(2)]);
        }
        // Kind 3 flips bits near the end, where Parquet and Arrow keep their metadata.
        kind => {
            for _ in 0..=below(8) {
                let from = if kind == 2 { 0 } else { bytes.len().saturating_sub(600) };
                let at = from + below(bytes.len() - from);
                bytes[at] ^= 1 << below(8);
            }
        }
    }
}

/// Runs the command without the check that its messages name settings as flags, because an error may quote any bytes of the file.
fn run(folder: &Path, args: &[&str]) -> Ran {
    let mut command = sqluice(folder);
    command.args(args);
    let Output { status, stdout, stderr } = output(&mut command);
    let [stdout, stderr] = [stdout, stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    Ran { status, stdout, stderr }
}

fn assert_no_panic(ran: &Ran, what: &str) {
    assert!(matches!(ran.code(), Some(0 | 1)), "{what}: {ran:?}");
    for words in ["panicked at", "RUST_BACKTRACE", "thread '", "internal error"] {
        assert!(!ran.stderr.contains(words) && !ran.stdout.contains(words), "{what}: {ran:?}");
    }
}

/// Returns a database with the counters of its header set to 0, because they change with each write.
fn but_for_counters(mut bytes: Vec<u8>) -> Vec<u8> {
    for counter in [24..28, 92..100] {
        bytes.get_mut(counter).unwrap_or_default().fill(0);
    }
    bytes
}

/// Loads damaged copies of a file. Each load must succeed or end with an error.
fn load_damaged(name: &str, bytes: &[u8]) {
    let (home, mut random) = (folder(), Random::new());
    let mut refused = 0;
    for copy in 0..copies() {
        let mut damaged = bytes.to_vec();
        damage(&mut random, copy, &mut damaged);
        fs::write(home.path().join(name), &damaged).unwrap();
        let ran = run(home.path(), &["load", "x.db", name, "--overwrite"]);
        let what = format!("copy {copy} of {name}");
        assert_no_panic(&ran, &what);
        assert!(ran.code() == Some(0) || ran.stderr.contains("error: "), "{what}: {ran:?}");
        refused += u64::from(ran.code() == Some(1));
    }
    assert!(refused > 0, "no damage of {name} was noticed");
}

#[test]
fn damaged_parquet_and_arrow_files_are_loaded_or_refused_without_a_panic() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sqluice/tests/data/parquet");
    let mut files: Vec<PathBuf> = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|it| it == "parquet" || it == "arrow"));
    files.sort();
    assert!(files.len() > 10);
    for file in files {
        load_damaged(file.file_name().unwrap().to_str().unwrap(), &fs::read(&file).unwrap());
    }
}

#[test]
fn damaged_compressed_csv_and_json_are_loaded_or_refused_without_a_panic() {
    let csv: String = (0..2000).map(|n| format!("{n},\"word {}\",{}.5\n", n * 7919 % 1009, n % 13)).collect();
    let json: String =
        (0..2000).map(|n| format!("{{\"n\": {n}, \"w\": [\"word\", {}]}}\n", n % 13)).collect();
    let packed = |text: String| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(text.as_bytes()).unwrap();
        gzip.finish().unwrap()
    };
    load_damaged("x.csv.gz", &packed(format!("n,w,x\n{csv}")));
    load_damaged("x.ndjson.gz", &packed(json.clone()));
    load_damaged("x.csv.zst", &zstd::encode_all(format!("n,w,x\n{csv}").as_bytes(), 1).unwrap());
    load_damaged("x.ndjson", json.as_bytes());
}

#[test]
fn commands_on_damaged_databases_succeed_or_fail_without_a_panic() {
    let home = folder();
    let path = home.path().join("x.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "PRAGMA page_size = 1024;
             CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); CREATE INDEX i ON t (b);
             CREATE TABLE w (a TEXT PRIMARY KEY, b) WITHOUT ROWID;
             WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 400)
             INSERT INTO t SELECT i, iif(i % 50 = 7, printf('%0*d', 3000, i), 'text ' || i * 7919 % 1009) FROM n;
             INSERT INTO w SELECT 'k' || a, b FROM t",
        )
        .unwrap();
    connection.close().unwrap();
    fs::write(home.path().join("t.csv"), "a,b\n1000,x\n1001,y\n").unwrap();
    let (sound, mut random) = (fs::read(&path).unwrap(), Random::new());
    for copy in 0..2 * copies() {
        let mut damaged = sound.clone();
        damage(&mut random, copy, &mut damaged);
        for args in [
            &["check", "x.db"][..],
            &["check", "x.db", "--full"],
            &["info", "x.db"],
            &["index", "x.db", "CREATE INDEX j ON t (b DESC)"],
            &["load", "x.db", "t.csv", "--append"],
        ] {
            fs::write(&path, &damaged).unwrap();
            let ran = run(home.path(), args);
            let what = format!("copy {copy}, {args:?}");
            assert_no_panic(&ran, &what);
            let changes = ["index", "load"].contains(&args[0]) && ran.code() == Some(0);
            assert!(
                changes || but_for_counters(fs::read(&path).unwrap()) == but_for_counters(damaged.clone()),
                "{what}: {ran:?}"
            );
        }
    }
}
