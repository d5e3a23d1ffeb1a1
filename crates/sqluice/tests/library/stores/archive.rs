//! `pack` and `unpack`: a folder is restored as it was, and archives are exchanged with `sqlite3 -A` in both directions.

#![cfg(feature = "archive")]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::cases;
use crate::support::trees::{Node, Tree, content, kept, make, read, tree};
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::archive::{
    Compression, Layout, Pack, PackReport, Selection, Unpack, UnpackReport, list, write_file,
};
use sqluice::error::Result;
use sqluice::options::{IfExists, WriteOptions};
use sqluice::progress::{Cancel, Context};
use sqluice_testkit::sqlite::integrity_of;
use sqluice_testkit::system::{fifo, symlink};

/// Creates a folder on the disk that the build is on.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn run(pack: &Pack) -> Result<PackReport> {
    pack.run()
}

fn unpack(database: &Path, folder: &Path) -> UnpackReport {
    Unpack::new(database, folder).run().unwrap()
}

/// Makes chunks small, so that small trees have several parts and pages.
fn with_threads(pack: Pack, threads: usize) -> Pack {
    let write = pack.write.clone().threads(threads).tune(|tuning| tuning.chunk_bytes = 64 << 10);
    pack.write(write)
}

fn sqlite3(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("sqlite3").current_dir(folder).args(args).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns a tree with odd names, files of several sizes, modes, links and empty folders.
fn sample() -> Tree {
    let file = |mode: u32, bytes, seed| Node::File {
        mode: 0o100_000 | mode,
        mtime: 1_700_000_000 + seed as i64,
        content: content(bytes, seed),
    };
    let folder = |mode: u32| Node::Folder { mode: 0o040_000 | mode, mtime: 1_600_000_000 };
    let link = |target: &str| Node::Link { mtime: 1_500_000_000, target: target.as_bytes().to_vec() };
    let mut tree = Tree::from([
        (b"a".to_vec(), folder(0o755)),
        (b"a/empty".to_vec(), folder(0o700)),
        (b"a/x".to_vec(), file(0o644, 0, 1)),
        (b"a.txt".to_vec(), file(0o600, 1, 2)),
        (b"a!".to_vec(), file(0o755, 5000, 3)),
        (b"big".to_vec(), file(0o444, 3_000_000, 4)),
        (b"flat".to_vec(), file(0o444, 3_000_000, 6)),
        (b"link".to_vec(), link("a/x")),
        (b"nowhere".to_vec(), link("../../nothing at all")),
        (if cfg!(windows) { "größe '" } else { "größe '\" \\ \n*" }.into(), file(0o640, 100, 7)),
    ]);
    for number in 0..200 {
        tree.insert(format!("a/{number}.bin").into_bytes(), file(0o644, 61 * number as usize, number));
    }
    tree
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn unpack_restores_random_folder_trees_and_the_threads_of_pack_do_not_affect_the_file(
        tree in tree(),
        deflate in any::<bool>(),
    ) {
        let folder = folder();
        let [from, to, one, two] = ["from", "to", "one.db", "two.db"].map(|name| folder.path().join(name));
        make(&from, &tree);
        let tree = kept(&tree);
        let compression = if deflate { Compression::Deflate } else { Compression::None };
        let pack = |target| Pack::new(target, &from).compression(compression);
        let report = run(&with_threads(pack(&one), 1)).unwrap();
        run(&with_threads(pack(&two), 2)).unwrap();
        prop_assert_eq!(report.report.rows, tree.len() as u64);
        prop_assert!(fs::read(&one).unwrap() == fs::read(&two).unwrap(), "the files differ");
        prop_assert_eq!(integrity_of(&one), "ok");
        let unpacked = unpack(&one, &to);
        prop_assert_eq!(unpacked.refusals, vec![]);
        prop_assert!(read(&to) == tree, "{:?}\n{:?}", read(&to), tree);
    }
}

#[test]
#[cfg_attr(windows, ignore = "wine has no sqlite3 to compare with")]
fn sqlite3_lists_and_extracts_packed_archives() {
    let folder = folder();
    let folder = folder.path();
    // `sqlite3` 3.40 fails to extract symbolic links, even from an archive that it wrote: "error in uncompress()".
    let tree: Tree = sample().into_iter().filter(|(_, node)| !matches!(node, Node::Link { .. })).collect();
    make(&folder.join("from"), &tree);
    for compression in [Compression::None, Compression::Deflate] {
        let pack = Pack::new(folder.join("x.db"), folder.join("from")).compression(compression);
        let report = run(&pack).unwrap();
        assert_eq!((report.files, report.folders, report.links), (206, 2, 0));
        let names: Vec<String> = tree.keys().map(|name| String::from_utf8(name.clone()).unwrap()).collect();
        assert_eq!(sqlite3(folder, &["x.db", "-At"]).trim_end(), names.join("\n"));
        fs::create_dir(folder.join("to")).unwrap();
        sqlite3(&folder.join("to"), &["../x.db", "-Ax"]);
        assert!(read(&folder.join("to")) == tree);
        let raw = "SELECT count(*) FROM sqlar WHERE sz > 0 AND length(data) = sz";
        let db = Connection::open(folder.join("x.db")).unwrap();
        let raw: i64 = db.query_row(raw, [], |row| row.get(0)).unwrap();
        // Random bytes do not deflate, so some files are stored as they are with compression, too.
        let expected = if compression == Compression::None { 204..=204 } else { 100..=150 };
        assert!(expected.contains(&raw), "{raw}");
        fs::remove_dir_all(folder.join("to")).unwrap();
        fs::remove_file(folder.join("x.db")).unwrap();
    }
}

#[test]
#[cfg_attr(windows, ignore = "wine has no sqlite3 to compare with")]
fn the_rows_of_a_packed_archive_equal_those_of_sqlite3() {
    let folder = folder();
    let folder = folder.path();
    let tree = sample();
    make(&folder.join("from"), &tree);
    let names: Vec<String> = tree.keys().map(|name| String::from_utf8(name.clone()).unwrap()).collect();
    // A named folder is packed with all of its content.
    let top = names.iter().map(String::as_str).filter(|name| !name.contains('/'));
    sqlite3(&folder.join("from"), &[&["../theirs.db", "-Ac"][..], &top.collect::<Vec<_>>()].concat());
    let rows = |database: &str| {
        let sql = "SELECT hex(name), mode, mtime, sz, typeof(data),
            hex(iif(sz < 0 OR data IS NULL, data, sqlar_uncompress(data, sz))) FROM sqlar ORDER BY name";
        sqlite3(folder, &[database, sql])
    };
    for compression in [Compression::None, Compression::Deflate] {
        run(&Pack::new(folder.join("ours.db"), folder.join("from")).compression(compression)).unwrap();
        assert!(rows("ours.db") == rows("theirs.db"), "{compression:?}");
        fs::remove_file(folder.join("ours.db")).unwrap();
    }
}

#[test]
#[cfg_attr(windows, ignore = "wine has no sqlite3 to compare with")]
fn unpack_restores_archives_of_sqlite3() {
    let folder = folder();
    let folder = folder.path();
    let tree = sample();
    make(&folder.join("from"), &tree);
    sqlite3(folder, &["whole.db", "-Ac", "from"]);
    sqlite3(&folder.join("from"), &["../dot.db", "-Ac", "."]);
    for (database, below) in [("whole.db", "to/from"), ("dot.db", "to")] {
        let report = unpack(&folder.join(database), &folder.join("to"));
        assert_eq!((report.refused, report.files, report.links), (0, 206, 2), "{:?}", report.refusals);
        assert!(read(&folder.join(below)) == tree, "{database}");
        fs::remove_dir_all(folder.join("to")).unwrap();
    }
}

#[test]
#[cfg_attr(windows, ignore = "wine has no sqlite3 to compare with")]
fn a_packed_archive_has_the_table_declaration_of_sqlite3() {
    let folder = folder();
    fs::write(folder.path().join("x"), "x").unwrap();
    run(&Pack::new(folder.path().join("ours.db"), folder.path())).unwrap();
    sqlite3(folder.path(), &["theirs.db", "-Ac", "x"]);
    assert_eq!(
        sqlite3(folder.path(), &["ours.db", ".schema"]),
        sqlite3(folder.path(), &["theirs.db", ".schema"])
    );
}

#[test]
fn an_archive_with_the_layout_kv_stores_only_files() {
    let folder = folder();
    let folder = folder.path();
    let tree = sample();
    make(&folder.join("from"), &tree);
    let report = run(&Pack::new(folder.join("x.db"), folder.join("from")).layout(Layout::Kv)).unwrap();
    assert_eq!((report.files, report.folders, report.links), (206, 0, 0));
    assert_eq!(report.skipped.len(), if cfg!(windows) { 0 } else { 2 });
    unpack(&folder.join("x.db"), &folder.join("to"));
    let contents = |tree: &Tree| {
        let files = tree.iter().filter_map(|(name, node)| match node {
            Node::File { content, .. } => Some((name.clone(), content.clone())),
            _ => None,
        });
        files.collect::<Vec<_>>()
    };
    assert!(contents(&read(&folder.join("to"))) == contents(&tree));
}

#[test]
fn pack_adds_a_table_to_an_existing_database_and_replaces_rows_of_the_same_name() {
    let folder = folder();
    let folder = folder.path();
    let target = folder.join("x.db");
    Connection::open(&target)
        .unwrap()
        .execute_batch("CREATE TABLE other(a); INSERT INTO other VALUES (1)")
        .unwrap();
    let file = |text: &str| Node::File { mode: 0o100_644, mtime: 7, content: text.as_bytes().to_vec() };
    make(&folder.join("one"), &Tree::from([(b"a".to_vec(), file("1")), (b"b".to_vec(), file("1"))]));
    make(&folder.join("two"), &Tree::from([(b"b".to_vec(), file("two")), (b"c".to_vec(), file("2"))]));
    let pack = |from: &str, if_exists| {
        let write = WriteOptions::new().if_exists(if_exists);
        run(&Pack::new(&target, folder.join(from)).write(write))
    };
    let all = || {
        let sql = "SELECT group_concat(name || '=' || CAST(data AS TEXT), ' ') FROM (SELECT * FROM sqlar ORDER BY name)";
        let db = Connection::open(&target).unwrap();
        db.query_row::<String, _, _>(sql, [], |row| row.get(0)).unwrap()
    };
    pack("one", IfExists::Fail).unwrap();
    assert_eq!(all(), "a=1 b=1");
    let refused = pack("two", IfExists::Fail).unwrap_err();
    assert!(refused.message().contains("already has a table sqlar"));
    assert!(refused.hint_text().unwrap().contains("`append`"));
    assert_eq!(all(), "a=1 b=1");
    pack("two", IfExists::Append).unwrap();
    assert_eq!(all(), "a=1 b=two c=2");
    pack("two", IfExists::Replace).unwrap();
    assert_eq!(all(), "b=two c=2");
    assert_eq!(integrity_of(&target), "ok");
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no pipes in folders")]
fn pack_leaves_out_the_database_and_special_files_and_reports_them() {
    let folder = folder();
    let folder = folder.path();
    fs::write(folder.join("x"), "x").unwrap();
    fs::write(folder.join("old.db"), "").unwrap();
    fs::hard_link(folder.join("old.db"), folder.join("other name")).unwrap();
    fs::write(folder.join("old.db-journal"), "").unwrap();
    fs::write(folder.join(".old.db.sqluice-tmp-1-0"), "").unwrap();
    fs::write(folder.join("old.db.txt"), "").unwrap();
    fifo(&folder.join("fifo"));
    #[cfg(unix)]
    let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
    let report = run(&Pack::new(folder.join("old.db"), folder)).unwrap();
    let skipped: Vec<&str> = report.skipped.iter().map(|skipped| skipped.name.as_str()).collect();
    assert_eq!(skipped.len(), 6, "{skipped:?}");
    for name in ["old.db", "other name", "old.db-journal", ".old.db.sqluice-tmp-1-0", "fifo", "socket"] {
        assert!(skipped.contains(&name), "{name}");
    }
    assert_eq!(sqlite3(folder, &["old.db", "-At"]), "old.db.txt\nx\n");
}

#[test]
#[cfg_attr(windows, ignore = "names on Windows are UTF-16, and lack some characters")]
fn unpack_restores_file_names_of_any_bytes() {
    let folder = folder();
    let folder = folder.path();
    let names: Vec<Vec<u8>> = (1..=255).filter(|byte| *byte != b'/').map(|byte| vec![b'a', byte]).collect();
    let file = |name: &Vec<u8>| Node::File { mode: 0o100_644, mtime: 1, content: name.clone() };
    let tree: Tree = names.iter().map(|name| (name.clone(), file(name))).collect();
    make(&folder.join("from"), &tree);
    run(&Pack::new(folder.join("x.db"), folder.join("from"))).unwrap();
    assert_eq!(unpack(&folder.join("x.db"), &folder.join("to")).refused, 0);
    assert!(read(&folder.join("to")) == tree);
    // A database whose text is UTF-16 would change names that are not UTF-8.
    Connection::open(folder.join("y.db"))
        .unwrap()
        .execute_batch("PRAGMA encoding = 'UTF-16'; CREATE TABLE t(a)")
        .unwrap();
    let refused = run(&Pack::new(folder.join("y.db"), folder.join("from"))).unwrap_err();
    assert!(refused.message().contains("a\\x80 is not UTF-8"), "{refused}");
}

#[test]
fn patterns_select_the_files_that_are_packed_and_unpacked() {
    let folder = folder();
    let folder = folder.path();
    let file = Node::File { mode: 0o100_644, mtime: 1, content: Vec::new() };
    let dir = Node::Folder { mode: 0o040_755, mtime: 1 };
    let node =
        |name: &str| (name.as_bytes().to_vec(), if name.contains('.') { file.clone() } else { dir.clone() });
    make(&folder.join("from"), &["a", "a/b", "a/b/x.rs", "a/b/y.c", "c", "c/z.c", "top.rs"].map(node).into());
    let names =
        |tree: Tree| tree.into_keys().map(|name| String::from_utf8(name).unwrap()).collect::<Vec<_>>();
    let select = |include: &[&str], exclude: &[&str]| {
        let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        Selection::new(&owned(include), &owned(exclude)).unwrap()
    };
    for (include, exclude, expected) in [
        (&["*.rs"][..], &[][..], &["a", "a/b", "a/b/x.rs", "top.rs"][..]),
        (&["a"], &["*.c"], &["a", "a/b", "a/b/x.rs"]),
        (&[], &["a/b", "top.rs"], &["a", "c", "c/z.c"]),
    ] {
        let selection = select(include, exclude);
        run(&Pack::new(folder.join("x.db"), folder.join("from")).selection(selection.clone())).unwrap();
        unpack(&folder.join("x.db"), &folder.join("packed"));
        assert_eq!(names(read(&folder.join("packed"))), expected);
        run(&Pack::new(folder.join("y.db"), folder.join("from"))).unwrap();
        let all = Unpack::new(folder.join("y.db"), folder.join("unpacked")).selection(selection);
        all.run().unwrap();
        assert_eq!(names(read(&folder.join("unpacked"))), expected);
        for name in ["packed", "unpacked"] {
            fs::remove_dir_all(folder.join(name)).unwrap();
        }
        fs::remove_file(folder.join("x.db")).unwrap();
        fs::remove_file(folder.join("y.db")).unwrap();
    }
}

#[test]
#[cfg_attr(windows, ignore = "symbolic links take a right of their own on Windows, and wine makes none")]
fn unpack_keeps_existing_files_and_links_unless_overwriting_is_allowed() {
    let folder = folder();
    let folder = folder.path();
    let file = |text: &str| Node::File { mode: 0o100_644, mtime: 5, content: text.as_bytes().to_vec() };
    let link = Node::Link { mtime: 5, target: b"new".to_vec() };
    make(
        &folder.join("from"),
        &Tree::from([(b"a".to_vec(), file("new")), (b"b".to_vec(), file("new")), (b"l".to_vec(), link)]),
    );
    run(&Pack::new(folder.join("x.db"), folder.join("from"))).unwrap();
    let to = folder.join("to");
    fs::create_dir(&to).unwrap();
    fs::write(to.join("a"), "old").unwrap();
    fs::write(folder.join("elsewhere"), "old").unwrap();
    symlink("../elsewhere", to.join("l"));
    let report = unpack(&folder.join("x.db"), &to);
    assert_eq!((report.files, report.links, report.refused), (1, 0, 2));
    assert!(report.refusals.iter().all(|refusal| refusal.why.contains("exists")));
    assert_eq!(fs::read(to.join("a")).unwrap(), b"old");
    assert_eq!(fs::read_link(to.join("l")).unwrap(), Path::new("../elsewhere"));
    let report = Unpack::new(folder.join("x.db"), &to).overwrite(true).run().unwrap();
    assert_eq!(report.refused, 0, "{:?}", report.refusals);
    assert!(read(&to) == read(&folder.join("from")));
    assert_eq!(fs::read(folder.join("elsewhere")).unwrap(), b"old");
}

#[test]
fn unpacked_files_with_numbered_names_are_in_folders_of_at_most_100_entries() {
    let folder = folder();
    let folder = folder.path();
    let sql = "CREATE TABLE kv(k INTEGER PRIMARY KEY, v BLOB);
        WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c WHERE x < 1234)
        INSERT INTO kv SELECT x, CAST(x AS BLOB) FROM c";
    Connection::open(folder.join("x.db")).unwrap().execute_batch(sql).unwrap();
    let tree = |to: &str| Unpack::new(folder.join("x.db"), folder.join(to)).tree(true);
    assert_eq!(tree("to").run().unwrap().files, 1234);
    assert_eq!(fs::read(folder.join("to/00/12/34")).unwrap(), b"1234");
    assert_eq!(fs::read(folder.join("to/00/00/01")).unwrap(), b"1");
    assert_eq!(fs::read_dir(folder.join("to/00/07")).unwrap().count(), 100);
    // The keys of this table are names, so the numbers of the folders come from the rowids.
    fs::remove_file(folder.join("x.db")).unwrap();
    Connection::open(folder.join("x.db"))
        .unwrap()
        .execute_batch(
            "CREATE TABLE kv(k TEXT PRIMARY KEY, v); INSERT INTO kv VALUES ('name', 'x'), ('a/b', 'y')",
        )
        .unwrap();
    let report = tree("names").run().unwrap();
    assert_eq!(fs::read(folder.join("names/00/00/name")).unwrap(), b"x");
    assert_eq!(report.refusals[0].name, "a/b");
}

#[test]
fn one_file_of_an_archive_and_the_list_are_written_without_unpacking_to_a_folder() {
    let folder = folder();
    let folder = folder.path();
    let tree = kept(&sample());
    make(&folder.join("from"), &tree);
    run(&Pack::new(folder.join("x.db"), folder.join("from")).compression(Compression::Deflate)).unwrap();
    for (name, node) in &tree {
        let mut out = Vec::new();
        let written = write_file(&folder.join("x.db"), None, name, &mut out);
        match node {
            Node::File { content, .. } => assert!(written.unwrap() == out.len() as u64 && out == *content),
            Node::Folder { .. } => assert!(written.unwrap_err().message().ends_with("it is a folder")),
            Node::Link { .. } => assert!(written.unwrap_err().message().contains("it is a link to")),
        }
    }
    assert!(
        write_file(&folder.join("x.db"), None, b"none", &mut Vec::new())
            .unwrap_err()
            .message()
            .contains("no row")
    );
    let mut names = Vec::new();
    list(&folder.join("x.db"), None, &Selection::default(), &Cancel::new(), |row| {
        names.push(row.unwrap().name);
        Ok(())
    })
    .unwrap();
    assert_eq!(names, tree.into_keys().collect::<Vec<_>>());
}

#[test]
fn pack_names_a_file_that_cannot_be_read_or_stored_and_leaves_no_database() {
    let folder = folder();
    let folder = folder.path();
    let from = folder.join("from");
    fs::create_dir(&from).unwrap();
    fs::File::create(from.join("huge")).unwrap().set_len(1_000_000_001).unwrap();
    let shown = |name: &str| Path::new("from").join(name).display().to_string();
    let refused = run(&Pack::new(folder.join("x.db"), &from)).unwrap_err();
    let huge = format!("{} has 1000000001 bytes", shown("huge"));
    assert!(refused.message().contains(&huge), "{refused}");
    fs::remove_file(from.join("huge")).unwrap();
    fs::write(from.join("gone"), "").unwrap();
    let prepared = Pack::new(folder.join("x.db"), &from).prepare(&Context::default()).unwrap();
    fs::remove_file(from.join("gone")).unwrap();
    let refused = prepared.run(&Context::default()).unwrap_err();
    assert!(
        refused.message().contains("cannot read") && refused.message().contains(&shown("gone")),
        "{refused}"
    );
    // The test can't fail for root, who may read every file.
    #[cfg(unix)]
    if !rustix::process::geteuid().is_root() {
        fs::write(from.join("secret"), "").unwrap();
        fs::set_permissions(from.join("secret"), std::os::unix::fs::PermissionsExt::from_mode(0o000))
            .unwrap();
        let refused = run(&Pack::new(folder.join("x.db"), &from)).unwrap_err();
        assert!(refused.message().contains("from/secret"), "{refused}");
    }
    assert!(!folder.join("x.db").exists());
}

#[test]
fn a_file_that_changes_during_pack_is_stored_with_its_current_size_or_refused() {
    let folder = folder();
    let folder = folder.path();
    let from = folder.join("from");
    fs::create_dir(&from).unwrap();
    for name in ["grows", "shrinks", "stays"] {
        fs::write(from.join(name), content(10_000, 1)).unwrap();
    }
    let pack = Pack::new(folder.join("x.db"), &from);
    let prepared = pack.prepare(&Context::default()).unwrap();
    fs::write(from.join("grows"), content(200_000, 2)).unwrap();
    fs::write(from.join("shrinks"), "short").unwrap();
    prepared.run(&Context::default()).unwrap();
    let db = Connection::open(folder.join("x.db")).unwrap();
    let sizes = "SELECT group_concat(name || sz || (sz = length(data)), ' ') FROM sqlar";
    let sizes: String = db.query_row(sizes, [], |row| row.get(0)).unwrap();
    assert_eq!(sizes, "grows2000001 shrinks51 stays100001");
    // Wine creates no links.
    if cfg!(unix) {
        let prepared = Pack::new(folder.join("y.db"), &from).prepare(&Context::default()).unwrap();
        fs::remove_file(from.join("stays")).unwrap();
        symlink("grows", from.join("stays"));
        let refused = prepared.run(&Context::default()).unwrap_err();
        assert!(refused.message().contains("from/stays has changed"), "{refused}");
    }
}
