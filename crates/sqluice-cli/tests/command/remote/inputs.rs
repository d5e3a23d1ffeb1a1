//! Files and databases that are read from a store or a web server.

use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::http::{Answer, serve, serve_file};
use crate::store::{QUICKLY, Store, with_credentials};
use crate::support::{Ran, WAITS, finish, folder, names, peak_bytes, run, sqluice, tell};

#[track_caller]
fn succeeds(command: &mut std::process::Command) -> Ran {
    let ran = finish(command);
    assert!(ran.status.success(), "{command:?}: {ran:?}");
    ran
}

/// Makes a table that is exported in several row groups, with one column that has most of the bytes.
fn table(folder: &Path, rows: u64) {
    let connection = rusqlite::Connection::open(folder.join("t.db")).unwrap();
    connection
        .execute_batch(&format!(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, note TEXT, amount INT, at REAL);
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
             INSERT INTO t SELECT i, hex(randomblob(60)), i * 7919 % 1000003, i / 3.0 FROM n"
        ))
        .unwrap();
    connection.close().unwrap();
}

fn export(folder: &Path, name: &str) -> Vec<u8> {
    let ran = run(folder, ["export", "t.db", "--to", name]);
    assert!(ran.status.success(), "{ran:?}");
    fs::read(folder.join(name)).unwrap()
}

/// Loads a file by its path and by its URL: both databases must have the same bytes.
#[track_caller]
fn assert_loads_the_same(
    folder: &Path,
    file: &str,
    url: &str,
    flags: &[&str],
    command: &dyn Fn() -> std::process::Command,
) {
    for (db, source) in [("local.db", file), ("remote.db", url)] {
        succeeds(command().args(["load", db, source, "--table", "t", "--overwrite", "-y"]).args(flags));
    }
    let [local, remote] = ["local.db", "remote.db"].map(|name| fs::read(folder.join(name)).unwrap());
    assert!(local == remote, "{url}: {} and {} bytes", local.len(), remote.len());
}

#[test]
fn a_load_of_urls_makes_the_same_database_as_a_load_of_files() {
    let Some(store) = Store::start() else { return };
    let home = folder();
    let folder = home.path();
    table(folder, 30_000);
    for name in ["t.csv", "t.ndjson", "t.parquet", "t.arrow"] {
        let bytes = export(folder, name);
        store.put(name, &bytes);
        let [with, without] = [true, false].map(|ranges| serve_file(bytes.clone(), ranges, |_, _| ()));
        for url in [
            format!("s3://bucket/{name}"),
            format!("http://{with}/folder/{name}?signature=x"),
            format!("http://{without}/{name}"),
        ] {
            assert_loads_the_same(folder, name, &url, &[], &|| store.sqluice(folder));
        }
    }
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&fs::read(folder.join("t.csv")).unwrap()).unwrap();
    let packed = packed.finish().unwrap();
    fs::write(folder.join("t.csv.gz"), &packed).unwrap();
    store.put("t.csv.gz", &packed);
    assert_loads_the_same(folder, "t.csv.gz", "s3://bucket/t.csv.gz", &[], &|| store.sqluice(folder));
    store.put("t.db", &fs::read(folder.join("t.db")).unwrap());
    assert_loads_the_same(folder, "t.db", "s3://bucket/t.db", &[], &|| store.sqluice(folder));
    assert!(names(folder).iter().all(|name| !name.contains("sqluice-tmp")), "{:?}", names(folder));
}

#[test]
fn a_load_from_a_url_finds_the_same_column_types_as_a_load_of_the_file() {
    let Some(store) = Store::start() else { return };
    let home = folder();
    let folder = home.path();
    // The last value contradicts the types of the sample, so the file is read again.
    let mut text = "a,b\n".to_owned();
    for row in 0..400_000 {
        text += &format!("{row},{}\n", row * 3);
    }
    text += "x,y\n";
    fs::write(folder.join("t.csv"), &text).unwrap();
    store.put("t.csv", text.as_bytes());
    assert_loads_the_same(folder, "t.csv", "s3://bucket/t.csv", &[], &|| store.sqluice(folder));
    let url = serve_file(text.into_bytes(), false, |_, _| ());
    assert_loads_the_same(folder, "t.csv", &format!("http://{url}/t.csv"), &[], &|| store.sqluice(folder));
}

#[test]
fn only_the_loaded_members_of_an_archive_on_a_web_server_are_fetched() {
    let folder = folder();
    let folder = folder.path();
    let rows = |rows: u64| {
        let lines: String =
            (0..rows).map(|row| format!("{row},{}\n", row.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        format!("a,b\n{lines}")
    };
    let members =
        [("small.csv", rows(10)), ("d/large.csv", rows(300_000)), ("README.txt", "A text.\n".to_owned())];
    let bytes = sqluice_testkit::archives::zip(&members);
    fs::write(folder.join("t.zip"), &bytes).unwrap();
    let all = bytes.len();
    let seen: Arc<Mutex<Vec<Range<usize>>>> = Arc::default();
    let ranges = Arc::clone(&seen);
    let with = serve_file(bytes.clone(), true, move |_, range| ranges.lock().unwrap().push(range.clone()));
    let without = serve_file(bytes, false, |_, _| ());
    for url in [format!("http://{with}/t.zip"), format!("http://{without}/t.zip"), format!("http://{with}/t")]
    {
        assert_loads_the_same(folder, "t.zip", &url, &[], &|| sqluice(folder));
    }
    seen.lock().unwrap().clear();
    let url = format!("http://{with}/t.zip/small.csv");
    assert_loads_the_same(folder, "t.zip/small.csv", &url, &[], &|| sqluice(folder));
    let fetched: usize = seen.lock().unwrap().iter().map(Range::len).sum();
    assert!(fetched < all / 2, "{fetched} of {all} bytes");
    let url = format!("http://{without}/t.zip/*/*.csv");
    assert_loads_the_same(folder, "t.zip/*/*.csv", &url, &[], &|| sqluice(folder));
}

#[test]
fn a_pattern_in_a_url_loads_the_objects_that_match() {
    let Some(store) = Store::start() else { return };
    let home = folder();
    let folder = home.path();
    for (key, rows) in [
        ("in/a-1.csv", "a\n1\n"),
        ("in/a-2.csv", "a\n2\n"),
        ("in/b.csv", "a\n3\n"),
        ("in/deep/a-3.csv", "a\n4\n"),
    ] {
        store.put(key, rows.as_bytes());
    }
    let rows = |pattern: &str| {
        let args = ["load", "x.db", pattern, "--table", "t", "--overwrite", "-y", "--json"];
        finish(store.sqluice(folder).args(args))
    };
    for (pattern, expected) in [
        ("s3://bucket/in/a-*.csv", 2),
        ("s3://bucket/in/*.csv", 3),
        ("s3://bucket/*/*.csv", 3),
        ("s3://bucket/in/*/a-?.csv", 1),
    ] {
        let ran = rows(pattern);
        assert_eq!(ran.json()["rows"], expected, "{pattern}: {ran:?}");
    }
    let ran = rows("s3://bucket/in/c*.csv");
    assert!(
        ran.code() == Some(1) && ran.stdout.contains("no object matches s3://bucket/in/c*.csv"),
        "{ran:?}"
    );
}

#[test]
fn only_the_bytes_of_the_loaded_columns_of_a_remote_parquet_file_are_fetched() {
    let home = folder();
    let folder = home.path();
    table(folder, 150_000);
    let bytes = export(folder, "t.parquet");
    let all = bytes.len();
    let seen: Arc<Mutex<Vec<Range<usize>>>> = Arc::default();
    let ranges = Arc::clone(&seen);
    let url = serve_file(bytes, true, move |_, range| ranges.lock().unwrap().push(range.clone()));
    let url = format!("http://{url}/t.parquet");
    let fetched = |columns: &str| {
        seen.lock().unwrap().clear();
        assert_loads_the_same(folder, "t.parquet", &url, &["--columns", columns], &|| sqluice(folder));
        let mut ranges = std::mem::take(&mut *seen.lock().unwrap());
        ranges.sort_by_key(|range| (range.start, range.end));
        let sum: usize = ranges.iter().map(Range::len).sum();
        let mut end = 0;
        let once: usize = ranges
            .iter()
            .map(|range| {
                let new = range.end.saturating_sub(range.start.max(end));
                end = end.max(range.end);
                new
            })
            .sum();
        tell(&format!("{columns}: {sum} of {all} bytes in {} requests, {once} different ones", ranges.len()));
        assert!(sum - once < 200 << 10, "bytes are fetched twice: {sum}, {once}");
        sum
    };
    let (note, amount, at) = (fetched("note"), fetched("amount"), fetched("at"));
    let every = fetched("id,note,amount,at");
    let footer = 64 << 10;
    assert!(every <= all + 4 * footer, "{every} of {all}");
    assert!(note > all / 2 && amount + at < all / 2, "{note}, {amount}, {at} of {all}");
    // Each load also fetches the footer, and some bytes between a column and its neighbours.
    assert!(note + amount + at < all + 4 * footer, "{note}, {amount}, {at} of {all}");
}

#[test]
fn remote_databases_are_copied_merged_and_exported_like_local_ones() {
    let Some(store) = Store::start() else { return };
    let home = folder();
    let folder = home.path();
    table(folder, 5000);
    store.put("in/t.db", &fs::read(folder.join("t.db")).unwrap());
    let remote = "s3://bucket/in/t.db";
    for source in ["t.db", remote] {
        let target = if source == remote { "r" } else { "l" };
        succeeds(store.sqluice(folder).args(["copy", source, &format!("{target}-copy.db")]));
        succeeds(store.sqluice(folder).args(["export", source, "--to", &format!("{target}.csv")]));
    }
    succeeds(store.sqluice(folder).args([
        "merge",
        "merged.db",
        "s3://bucket/in/*.db",
        "l-copy.db",
        "--on-conflict",
        "ignore",
    ]));
    for (one, other) in [("l-copy.db", "r-copy.db"), ("l.csv", "r.csv")] {
        assert!(fs::read(folder.join(one)).unwrap() == fs::read(folder.join(other)).unwrap(), "{one}");
    }
    let planned = succeeds(store.sqluice(folder).args(["copy", remote, "s3://bucket/y.db", "--dry-run"]));
    assert!(planned.stdout.contains("fetched to a temporary file first"), "{planned:?}");
    let report = succeeds(store.sqluice(folder).args(["copy", remote, "s3://bucket/y.db", "--json"])).json();
    assert_eq!((&report["source"], &report["fetched"]), (&remote.into(), &true.into()));
    assert!(store.get("y.db").unwrap() == fs::read(folder.join("l-copy.db")).unwrap());
    // The source was copied to a temporary file, so the object itself may be replaced.
    succeeds(store.sqluice(folder).args(["copy", remote, remote, "--overwrite", "-y", "--compact"]));
    assert!(names(folder).iter().all(|name| !name.contains("sqluice-tmp")), "{:?}", names(folder));
}

#[test]
fn a_remote_file_that_is_missing_or_changes_during_the_load_is_an_error() {
    let Some(store) = Store::start() else { return };
    let home = folder();
    let folder = home.path();
    let fails = |source: &str, message: &str| {
        let ran = finish(store.sqluice(folder).args(["load", "x.db", source]));
        assert_eq!(ran.code(), Some(1), "{ran:?}");
        assert!(ran.stderr.contains(message), "{message}: {ran:?}");
        assert!(!folder.join("x.db").exists());
    };
    fails("s3://bucket/none.csv", "cannot read s3://bucket/none.csv");
    fails("s3://elsewhere/none.csv", "check the name of the bucket and of the object");
    let missing = serve(|_| Some(Answer::new(404, "")));
    fails(&format!("http://{missing}/x.csv"), "404");
    let denied = serve(|_| Some(Answer::new(401, "")));
    fails(&format!("http://{denied}/x.csv"), "the server asks for a user and a password");
    // The server has another version of the file when the second request arrives.
    let text = "a\n".to_owned() + &"1\n".repeat(1 << 20);
    let count = Arc::new(Mutex::new(0));
    let changing = serve(move |request| {
        let range = request.header("range").unwrap().strip_prefix("bytes=").unwrap();
        let (first, last) = range.split_once('-').unwrap();
        let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
        let end = (last + 1).min(text.len());
        *count.lock().unwrap() += 1;
        let version = if *count.lock().unwrap() > 3 { "\"two\"" } else { "\"one\"" };
        if request.header("if-match").is_some_and(|wanted| wanted != version) {
            return Some(Answer::new(412, ""));
        }
        let answer = Answer::new(206, &text.as_bytes()[first..end]);
        Some(
            answer
                .with("content-range", format!("bytes {first}-{}/{}", end - 1, text.len()))
                .with("etag", version),
        )
    });
    fails(&format!("http://{changing}/x.csv"), "has changed since it was opened");
    let mut command = sqluice(folder);
    with_credentials(&mut command);
    command.env("AWS_ENDPOINT_URL", "http://127.0.0.1:1").env(WAITS, QUICKLY);
    let ran = finish(command.args(["load", "x.db", "s3://bucket/x.csv"]));
    assert!(ran.code() == Some(1) && ran.stderr.contains("AWS_ENDPOINT_URL"), "{ran:?}");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "it reads the peak of memory in /proc")]
fn the_memory_of_a_load_from_a_web_server_is_bounded_by_the_setting() {
    let home = folder();
    let folder = home.path();
    // One stream has 128 MB of equal lines, the other a few.
    let line = b"1234567890123456789012345678901\n";
    let lines = 4 << 20;
    let address = serve(move |request| {
        let lines = if request.path == "/short.csv" { 100 } else { lines };
        let bytes = line.len() * lines;
        let range = request.header("range").unwrap().strip_prefix("bytes=").unwrap();
        let (first, last) = range.split_once('-').unwrap();
        let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
        let body: Vec<u8> = (first..=last.min(bytes - 1)).map(|at| line[at % line.len()]).collect();
        let end = first + body.len() - 1;
        Some(
            Answer::new(206, body)
                .with("content-range", format!("bytes {first}-{end}/{bytes}"))
                .with("etag", "\"e\""),
        )
    });
    let peak_of = |name: &str, database: &str| {
        let url = format!("http://{address}/{name}");
        let mut command = sqluice(folder);
        command.args(["load", database, &url, "--no-header", "--memory", "24MiB", "--threads", "1", "-q"]);
        peak_bytes(&mut command)
    };
    // The resident memory includes the program, which is larger in builds without optimization.
    let (short, peak) = (peak_of("short.csv", "short.db"), peak_of("x.csv", "x.db"));
    tell(&format!("streams with 24 MiB: {short} bytes resident for 3 kB, {peak} for 128 MB"));
    assert!(peak < short + (24 << 20) + (8 << 20), "{short} {peak}");
    let rows = run(folder, ["info", "x.db", "--json"]);
    assert!(rows.status.success());
}
