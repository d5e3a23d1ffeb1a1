//! Tests of patterns and of table names.

use std::fs;
use std::path::{Path, PathBuf};

use sqluice_core::error::ErrorKind;
use sqluice_platform::paths::{bytes, from_bytes};
use tempfile::TempDir;

use super::super::{MemberPattern, Named, expand, is_named_as_archive, named, stem};

#[test]
fn a_table_is_named_after_its_file() {
    let named = [
        ("dir/x.csv.gz", "x"),
        ("x.tsv", "x"),
        ("x.tar.csv", "x.tar"),
        ("x.zst", "x"),
        ("x.csv.ZST", "x"),
        ("x.csv.bz2", "x"),
        ("x.tsv.xz", "x"),
        ("data/air ports.csv", "air ports"),
        ("x", "x"),
        ("é.csv", "é"),
        (".csv", "csv"),
        (".users.csv.gz", "users"),
        (".gz", "gz"),
        ("x.", "x"),
        ("./-", "-"),
    ];
    for (path, name) in named {
        assert_eq!(stem(Path::new(path)).as_deref(), Some(name), "{path}");
    }
}

#[test]
fn file_names_of_dots_and_invalid_utf_8_give_no_table_name() {
    for path in ["-", "..", "/", "", "..."] {
        assert_eq!(stem(Path::new(path)), None, "{path}");
    }
    // On Windows, names are UTF-16, so a name with this byte does not exist.
    if cfg!(unix) {
        assert_eq!(stem(&from_bytes(b"\xff.csv")), None);
    }
}

/// Creates a folder with the given files.
fn folder(names: &[&[u8]]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for name in names {
        let path = folder.path().join(from_bytes(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    folder
}

/// Returns the files that match each pattern in `folder`, without the folder.
fn meant(folder: &TempDir, patterns: &[&str]) -> Vec<Vec<u8>> {
    let patterns: Vec<PathBuf> = patterns.iter().map(|pattern| folder.path().join(pattern)).collect();
    let strip = |path: PathBuf| bytes(path.strip_prefix(folder.path()).unwrap().as_os_str()).into_owned();
    expand(&patterns).unwrap().into_iter().map(strip).collect()
}

#[test]
fn a_pattern_matches_files_sorted_by_name() {
    let folder = folder(&[
        b"b.csv",
        b"a.csv",
        b"a b.csv",
        b"c.tsv",
        b".hidden.csv",
        b"sub.csv/d.csv",
        b"sub.csv/e.tsv",
    ]);
    assert_eq!(meant(&folder, &["*.csv"]), [&b"a b.csv"[..], b"a.csv", b"b.csv"]);
    assert_eq!(meant(&folder, &["?.[ct]sv"]), [b"a.csv", b"b.csv", b"c.tsv"]);
    assert_eq!(meant(&folder, &["*/*.csv"]), [b"sub.csv/d.csv"]);
    assert_eq!(meant(&folder, &["*/e.tsv", "b.csv"]), [&b"sub.csv/e.tsv"[..], b"b.csv"]);
    assert_eq!(meant(&folder, &[".*.csv"]), [b".hidden.csv"]);
}

#[test]
fn braces_and_backslashes_in_a_pattern_have_no_special_meaning() {
    let folder = folder(&[b"{a,b}.csv", b"a.csv", b"c\\d.csv", b"cd.csv"]);
    assert_eq!(meant(&folder, &["{a,b}.c?v"]), [b"{a,b}.csv"]);
    // On Windows, this is the file `d.csv` in a folder `c`.
    let backslash = if cfg!(windows) { b"c/d.csv" } else { b"c\\d.csv" };
    assert_eq!(meant(&folder, &["c\\d.c?v"]), [backslash]);
}

#[test]
#[cfg_attr(windows, ignore = "names on Windows are UTF-16, and have no asterisk")]
fn names_that_are_not_utf_8_are_found_and_returned_unchanged() {
    let folder = folder(&[b"\xff.csv", b"a.csv", b"\xfe*.csv"]);
    assert_eq!(meant(&folder, &["*.csv"]), [&b"a.csv"[..], b"\xfe*.csv", b"\xff.csv"]);
    let path = folder.path().join(from_bytes(b"\xfe*.csv"));
    assert_eq!(expand(std::slice::from_ref(&path)).unwrap(), [path]);
    let missing = folder.path().join(from_bytes(b"\xfd*.csv"));
    assert_eq!(expand(std::slice::from_ref(&missing)).unwrap(), [missing]);
}

#[test]
fn the_name_of_an_existing_file_is_not_a_pattern() {
    let folder = folder(&[b"a[1].csv", b"a1.csv", b"[.csv"]);
    assert_eq!(meant(&folder, &["a[1].csv", "[.csv"]), [&b"a[1].csv"[..], b"[.csv"]);
    // On Windows, a name can't contain an asterisk.
    if cfg!(unix) {
        fs::write(folder.path().join("a*.csv"), "").unwrap();
        assert_eq!(meant(&folder, &["a*.csv"]), [b"a*.csv"]);
    }
    assert_eq!(meant(&folder, &["missing.csv"]), [b"missing.csv"]);
}

#[test]
fn a_pattern_that_matches_nothing_is_an_error() {
    let folder = folder(&[b"a.csv"]);
    for pattern in ["*.tsv", "no/*.csv", "a.csv/*", "*/a.csv"] {
        let error = expand(&[folder.path().join(pattern)]).unwrap_err();
        let named = folder.path().join(pattern);
        assert_eq!(error.without_hint(), format!("no file matches {}", named.display()));
        assert_eq!(error.kind(), ErrorKind::Input);
    }
    let error = expand(&[folder.path().join("a[.csv")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.without_hint().ends_with("a[.csv is neither a file nor a pattern"));
}

#[test]
fn standard_input_is_not_a_pattern_and_may_be_named_once() {
    assert_eq!(expand(&["-", "x.csv"]).unwrap(), [PathBuf::from("-"), PathBuf::from("x.csv")]);
    let error = expand(&["-", "x.csv", "-"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert_eq!(error.without_hint(), "standard input (-) is named twice");
}

#[test]
fn a_path_may_continue_within_an_archive() {
    let folder = folder(&[b"data.zip", b"d/more.tar.gz", b"d/x.csv", b"sub.zip/a.csv", b"plain/b.csv"]);
    let at = |name: &str| folder.path().join(name);
    let named = |pattern: &str| named(&[at(pattern)]).unwrap();
    assert_eq!(named("data.zip"), [Named::whole(at("data.zip"))]);
    assert_eq!(named("d"), [Named::whole(at("d"))]);
    assert_eq!(named("missing.csv"), [Named::whole(at("missing.csv"))]);
    assert_eq!(named("data.zip/a.csv"), [Named::within(at("data.zip"), "a.csv")]);
    assert_eq!(named("data.zip/d/*.csv"), [Named::within(at("data.zip"), "d/*.csv")]);
    assert_eq!(named("d/x.csv/a.csv"), [Named::within(at("d/x.csv"), "a.csv")]);
    assert_eq!(named("d/*.tar.gz/a.csv"), [Named::within(at("d/more.tar.gz"), "a.csv")]);
    // A folder with the extension of an archive is a folder.
    let is_one_of_many = true;
    let both = [
        Named { is_one_of_many, ..Named::within(at("data.zip"), "a.csv") },
        Named { is_one_of_many, ..Named::whole(at("sub.zip/a.csv")) },
    ];
    assert_eq!(named("*.zip/a.csv"), both);
    assert_eq!(named("*/b.csv"), [Named::whole(at("plain/b.csv"))]);
    let error = super::super::named(&[at("*/no.csv")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
}

#[test]
fn a_pattern_matches_members_by_the_rules_for_files() {
    let matches =
        |pattern: &str, member: &str| MemberPattern::new(Path::new(pattern)).unwrap().matches(member);
    for (pattern, member) in [
        ("*.csv", "a.csv"),
        ("./a.csv", "a.csv"),
        ("d/?.csv", "d/a.csv"),
        ("*/[ab].csv", "d/a.csv"),
        (".*.csv", ".a.csv"),
        ("d/a.csv", "d/a.csv"),
    ] {
        assert!(matches(pattern, member), "{pattern} {member}");
    }
    for (pattern, member) in [
        ("*.csv", "d/a.csv"),
        ("*.csv", ".a.csv"),
        ("*/a.csv", ".d/a.csv"),
        ("a.csv", "A.csv"),
        ("d", "d/a.csv"),
        ("d/*", "d"),
    ] {
        assert!(!matches(pattern, member), "{pattern} {member}");
    }
    assert!(MemberPattern::new(Path::new("d/[a")).is_err());
    assert!(MemberPattern::new(Path::new("d/*")).unwrap().is_wild());
    assert!(!MemberPattern::new(Path::new("d/a")).unwrap().is_wild());
}

#[test]
fn archives_are_recognised_by_their_extensions() {
    for name in
        ["x.zip", "d/x.ZIP", "x.tar", "x.tgz", "x.tar.gz", "x.tar.zst", "x.tar.bz2", "x.tar.XZ", "x.txz"]
    {
        assert!(is_named_as_archive(Path::new(name)), "{name}");
    }
    for name in ["x", "zip", "x.gz", "x.csv.gz", "x.zip.csv", "tar.gz", "x.xlsx"] {
        assert!(!is_named_as_archive(Path::new(name)), "{name}");
    }
}
