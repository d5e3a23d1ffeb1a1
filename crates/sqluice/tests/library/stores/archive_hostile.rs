//! Malicious archives: nothing is written outside the folder, and refused rows are reported with their reason.

#![cfg(feature = "archive")]

use std::fs;
use std::path::Path;

use crate::support::cases;
use crate::support::trees::{Node, read};
use proptest::prelude::*;
use rusqlite::types::Value;
use rusqlite::{Connection, params};
use sqluice::archive::{Unpack, UnpackReport};
use sqluice_testkit::system::symlink;

const FILE: i64 = 0o100_644;
const FOLDER: i64 = 0o040_755;
const LINK: i64 = 0o120_777;

/// A folder with an archive, a folder to unpack to, and things that must stay as they are.
struct Place(tempfile::TempDir);

/// A row: name, mode, sz, data.
type Row = (Value, Value, Value, Value);

fn row(name: &str, mode: i64, sz: i64, data: impl Into<Value>) -> Row {
    (name.to_owned().into(), mode.into(), sz.into(), data.into())
}

fn file(name: &str) -> Row {
    row(name, FILE, 4, b"evil".to_vec())
}

fn link(name: &str, target: &str) -> Row {
    row(name, LINK, -1, target.to_owned())
}

impl Place {
    fn new(rows: &[Row]) -> Place {
        let place = Place(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
        for folder in ["around", "around/outside", "around/to"] {
            fs::create_dir(place.path().join(folder)).unwrap();
        }
        fs::write(place.path().join("around/outside/kept"), "kept").unwrap();
        let db = Connection::open(place.path().join("x.db")).unwrap();
        // Without a PRIMARY KEY a name may come twice, too.
        db.execute_batch("CREATE TABLE sqlar(name TEXT, mode INT, mtime INT, sz INT, data BLOB)").unwrap();
        for (name, mode, sz, data) in rows {
            db.execute("INSERT INTO sqlar VALUES (?, ?, 1700000000, ?, ?)", params![name, mode, sz, data])
                .unwrap();
        }
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Unpacks the archive, and asserts that nothing outside of the folder has changed.
    fn unpack(&self, overwrite: bool) -> UnpackReport {
        let outside = || {
            let mut all = read(&self.path().join("around"));
            all.retain(|name, _| !name.starts_with(b"to"));
            let about = fs::metadata(self.path().join("around/outside")).unwrap();
            (all, about.modified().unwrap())
        };
        let before = outside();
        let to = self.path().join("around/to");
        let unpack = Unpack::new(self.path().join("x.db"), to).overwrite(overwrite);
        let report = unpack.run().unwrap();
        assert!(outside() == before, "something was changed outside");
        report
    }

    /// Returns the names of the restored files.
    fn restored(&self) -> Vec<String> {
        let names = read(&self.path().join("around/to")).into_keys();
        names.map(|name| String::from_utf8_lossy(&name).into_owned()).collect()
    }
}

/// Asserts that the first row is refused with the reason `why`, and that another row is restored.
#[track_caller]
fn refused(bad: Row, why: &str) {
    let place = Place::new(&[bad, file("good")]);
    let report = place.unpack(false);
    assert_eq!((report.refused, report.refusals.len()), (1, 1), "{:?}", report.refusals);
    assert!(report.refusals[0].why.contains(why), "{:?}", report.refusals);
    assert_eq!(place.restored(), ["good"]);
}

#[test]
fn unpack_refuses_names_that_lead_out_of_the_folder() {
    for name in ["../x", "..", "a/../../x", "../outside/kept", "a/.."] {
        refused(file(name), "leaves the folder");
    }
    for name in ["/etc/x", "/", "//x"] {
        refused(file(name), "begins at the root");
    }
    for (name, why) in [
        ("", "is empty"),
        ("a//b", "component of its name is empty"),
        ("a/", "component of its name is empty"),
    ] {
        refused(file(name), why);
        refused(row(name, FOLDER, 0, Value::Null), why);
        refused(link(name, "x"), why);
    }
    refused(file("a\0b"), "a NUL");
    refused(file("."), "the folder itself");
}

#[test]
fn unpack_refuses_names_that_are_too_long_for_a_file() {
    refused(file(&"x".repeat(10_000)), "longer than 4095 bytes");
    refused(file(&"x/".repeat(5_000)), "longer than 4095 bytes");
    refused(file(&"x".repeat(300)), "longer than the file system takes");
    // A deep path is allowed.
    let deep = format!("{}x", "d/".repeat(400));
    let place = Place::new(&[file(&deep)]);
    assert_eq!(place.unpack(false).refused, 0);
}

#[test]
fn unpack_refuses_a_link_if_another_row_is_a_file_below_the_name_of_the_link() {
    let outside = |place: &Place| place.path().join("around/outside").display().to_string();
    for overwrite in [false, true] {
        let absolute = outside(&Place::new(&[]));
        for target in ["../outside", absolute.as_str(), "."] {
            let place = Place::new(&[link("l", target), file("l/evil"), file("l/kept")]);
            let report = place.unpack(overwrite);
            assert_eq!((report.files, report.links, report.refused), (2, 0, 1));
            assert_eq!(report.refusals[0].name, "l");
            let why = match cfg!(windows) {
                true => "symbolic links can't be created on this system",
                false => {
                    "the archive contradicts itself: this row is a link, and row l/evil is in a folder of its name"
                }
            };
            assert_eq!(report.refusals[0].why, why);
            assert_eq!(place.restored(), ["l", "l/evil", "l/kept"]);
        }
    }
    // One link leads through another link.
    let place =
        Place::new(&[link("a", ".."), link("b", "a/outside"), file("b/evil"), file("a/outside/evil")]);
    place.unpack(true);
}

#[test]
fn unpack_refuses_a_row_whose_file_would_be_the_folder_of_another_row_and_names_both() {
    for overwrite in [false, true] {
        let place = Place::new(&[file("l/x"), file("l"), file("./k"), file("k/m/x"), file("good")]);
        let report = place.unpack(overwrite);
        let refusals: Vec<_> =
            report.refusals.iter().map(|refusal| (&*refusal.name, &*refusal.why)).collect();
        let expected = [
            (
                "l",
                "the archive contradicts itself: this row is a file, and row l/x is in a folder of its name",
            ),
            (
                "k/m/x",
                "the archive contradicts itself: row k is a file, and this row is in a folder of its name",
            ),
        ];
        assert_eq!(refusals, expected);
        assert_eq!(place.restored(), ["good", "k", "l", "l/x"]);
    }
}

#[test]
#[cfg_attr(windows, ignore = "symbolic links take a right of their own on Windows, and wine makes none")]
fn unpack_follows_no_links_that_exist_in_the_folder() {
    for overwrite in [false, true] {
        let place = Place::new(&[file("l/evil"), file("k"), row("l", FOLDER, 0, Value::Null), file("good")]);
        let to = place.path().join("around/to");
        symlink("../outside", to.join("l"));
        symlink("../outside/kept", to.join("k"));
        let report = place.unpack(overwrite);
        assert_eq!(report.refused, if overwrite { 2 } else { 3 }, "{:?}", report.refusals);
        assert!(report.refusals[0].why.contains("l in its path is a symbolic link"), "{:?}", report.refusals);
        // The link itself gives way to the file.
        assert_eq!(fs::symlink_metadata(to.join("k")).unwrap().is_file(), overwrite);
    }
}

#[test]
fn mode_and_time_of_a_folder_are_not_set_through_a_link() {
    // The mode and time of a folder are set at the end, when a link might be in the place of the folder.
    let place = Place::new(&[
        row("l", 0o040_500, 0, Value::Null),
        link("l", "../outside"),
        link("./l", "../outside/kept"),
    ]);
    let report = place.unpack(true);
    assert_eq!((report.folders, report.links, report.refused), (1, 0, 2), "{:?}", report.refusals);
}

#[test]
fn unpack_refuses_sizes_that_contradict_the_data() {
    refused(row("x", FILE, i64::MAX, b"1".to_vec()), "at most 1,000,000,000 bytes");
    refused(row("x", FILE, 1_000_000_000, b"12".to_vec()), "can't inflate");
    refused(row("x", FILE, -5, b"1".to_vec()), "its sz is -5");
    refused(row("x", FILE, 3, b"12".to_vec()), "not a zlib stream");
    refused(row("x", FILE, 0, b"12".to_vec()), "not a zlib stream");
    refused(row("x", FILE, 5, Value::Null), "its data is NULL");
}

#[test]
fn data_that_inflate_beyond_their_declared_size_are_refused_and_leave_no_file() {
    use std::io::Write;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![0; 1 << 20];
    (0..100).for_each(|_| encoder.write_all(&zeros).unwrap());
    let bomb = encoder.finish().unwrap();
    assert!(bomb.len() < 200_000);
    refused(row("x", FILE, 1000, bomb.clone()), "more than the 1000 bytes");
    refused(row("x", FILE, 50 << 20, bomb.clone()), "more than the 52428800 bytes");
    refused(row("x", FILE, (100 << 20) + 1, bomb.clone()), "inflates to 104857600 bytes");
    refused(row("x", FILE, 100 << 20, bomb[..bomb.len() - 1].to_vec()), "cut off");
    let place = Place::new(&[row("x", FILE, 100 << 20, bomb)]);
    assert_eq!((place.unpack(false).refused, place.restored().len()), (0, 1));
}

#[test]
fn unpack_refuses_names_modes_sizes_and_data_of_wrong_types() {
    let value = |value: &str| Value::Text(value.to_owned());
    refused((Value::Null, FILE.into(), 4.into(), b"evil".to_vec().into()), "its name is NULL");
    refused((b"x".to_vec().into(), FILE.into(), 4.into(), b"evil".to_vec().into()), "its name is a blob");
    refused(("x".to_owned().into(), value("rwx"), 4.into(), b"evil".to_vec().into()), "its mode is text");
    refused(("x".to_owned().into(), FILE.into(), value("many"), b"evil".to_vec().into()), "its sz is text");
    refused(row("x", FILE, 4, 4), "its data is an integer");
    refused(row("x", FOLDER, 0, b"evil".to_vec()), "it is a folder, but has data");
    refused(row("x", LINK, -1, Value::Null), "its data is NULL");
    refused(link("x", "a\0b"), "a NUL");
    refused(row("x", 0o010_644, 0, Value::Null), "is not of a file");
    refused(row("x", 0o020_644, 0, Value::Null), "is not of a file");
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no setuid bits")]
fn setuid_setgid_and_sticky_bits_are_not_restored() {
    let place = Place::new(&[row("x", 0o106_755, 4, b"evil".to_vec()), row("d", 0o043_755, 0, Value::Null)]);
    assert_eq!(place.unpack(false).refused, 0);
    for node in read(&place.path().join("around/to")).into_values() {
        let (Node::File { mode, .. } | Node::Folder { mode, .. }) = node else { panic!("{node:?}") };
        assert_eq!(mode & 0o7777, 0o755);
    }
}

#[test]
fn unpack_refuses_a_view_a_table_without_the_columns_and_a_file_that_is_no_database() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let unpack =
        |name: &str| Unpack::new(folder.path().join(name), folder.path().join("to")).run().unwrap_err();
    let view =
        "CREATE VIEW sqlar AS SELECT '../x' AS name, 33188 AS mode, 0 AS mtime, 1 AS sz, x'00' AS data";
    Connection::open(folder.path().join("view.db")).unwrap().execute_batch(view).unwrap();
    assert!(unpack("view.db").message().contains("is not an archive"));
    fs::write(folder.path().join("text.db"), "no database at all, but long enough").unwrap();
    assert!(unpack("text.db").message().contains("is not a SQLite database"));
    assert!(unpack("none.db").message().contains("cannot read"));
    Connection::open(folder.path().join("less.db"))
        .unwrap()
        .execute_batch("CREATE TABLE sqlar(name, data)")
        .unwrap();
    assert!(unpack("less.db").message().contains("has no column mode"));
    assert!(!folder.path().join("to").exists());
}

/// Generates names of up to four components, some of them dangerous, such as `..`.
fn name() -> impl Strategy<Value = String> {
    let component = prop_oneof![
        Just(".."),
        Just("."),
        Just(""),
        Just("a"),
        Just("b"),
        Just("l"),
        Just("to"),
        Just("outside"),
        Just("kept")
    ];
    proptest::collection::vec(component, 1..5).prop_map(|components| components.join("/"))
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn no_archive_makes_unpack_write_outside_the_folder(
        rows in proptest::collection::vec((name(), 0..4, name()), 0..20),
        overwrite in any::<bool>(),
    ) {
        let rows: Vec<Row> = rows
            .into_iter()
            .map(|(name, kind, target)| match kind {
                0 => link(&name, &target),
                1 => row(&name, FOLDER, 0, Value::Null),
                _ => file(&name),
            })
            .collect();
        let place = Place::new(&rows);
        let report = place.unpack(overwrite);
        prop_assert_eq!(report.files + report.folders + report.links + report.refused, rows.len() as u64);
        // A second unpack over the first writes nothing outside either.
        place.unpack(true);
    }
}
