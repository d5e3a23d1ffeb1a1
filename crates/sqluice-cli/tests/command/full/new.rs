//! New databases on unusual file systems: full ones, ones without a free inode, read-only ones (small ext4 images on a loop device), with
//! a limit on file sizes, and in memory (tmpfs). Also an export to a full disk.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::thread;

use sqluice_testkit::disk::Disk;
use sqluice_testkit::skip::skipped;

use crate::support::{
    Ran, checksum, end, finish, folder, generate, integrity, names, run, spawn, sqluice,
    sqluice_with_file_limit,
};

const FULL: &str = "\
error: cannot write x.db
  caused by: No space left on device (os error 28)

hint: free some space or choose another folder; nothing was left behind
";

/// Loads 24 MB from a pipe, whose size is unknown in advance.
fn load_too_much(root: &Path, flags: &[&str]) -> Ran {
    let args = ["load", "x.db", "-", "--table", "big", "--type", "a=TEXT", "--header"];
    let mut command = sqluice(root);
    let mut child = spawn(command.args(args).args(flags).stdin(Stdio::piped()));
    let mut pipe = child.stdin.take().unwrap();
    let writer = thread::spawn(move || {
        let row = format!("{}\n", "x".repeat(999));
        // The command stops reading before the end, so an error of writing to the pipe is ignored.
        let _ = pipe.write_all(format!("a\n{}", row.repeat(24_000)).as_bytes());
    });
    let ran = end(child);
    writer.join().unwrap();
    ran
}

#[test]
fn a_full_disk_is_a_clear_error_that_leaves_nothing() {
    let Some(image) = Disk::ext4(folder(), 16) else { return };
    let root = image.root();
    let (before, free) = (names(&root), image.free_bytes());
    // These page sizes and threads give direct and buffered writes, and the disk fills up within a write or between two.
    for page_size in ["4096", "65536", "1024"] {
        for threads in ["1", "2"] {
            let ran = load_too_much(&root, &["--page-size", page_size, "-j", threads]);
            assert_eq!((ran.code(), &*ran.stderr), (Some(1), FULL), "{ran:?}");
            assert_eq!(names(&root), before);
            assert_eq!(image.free_bytes(), free, "all space is free again");
        }
    }

    // A load that fits succeeds afterwards.
    run(&root, generate("x.db", "300k")).ok();
    assert_eq!(integrity(&root.join("x.db")), "ok");

    // An old database stays when the new one does not fit beside it.
    let ran = load_too_much(&root, &["--overwrite"]);
    assert_eq!((ran.code(), &*ran.stderr), (Some(1), FULL), "{ran:?}");
    assert_eq!(integrity(&root.join("x.db")), "ok");
    run(&root, [&generate("x.db", "200k")[..], &["--overwrite"]].concat()).ok();
    assert_eq!(integrity(&root.join("x.db")), "ok");
}

#[test]
fn a_database_that_will_not_fit_on_the_disk_is_refused_and_one_that_just_fits_is_written() {
    let Some(image) = Disk::ext4(folder(), 16) else { return };
    let root = image.root();
    let (before, free) = (names(&root), image.free_bytes());
    let refused = |rows: &str, flags: &[&str]| {
        let ran = run(&root, [&generate("x.db", rows)[..], flags].concat());
        let sizes = |said: &str| -> Option<(f64, f64)> {
            let (needed, free) =
                said.strip_prefix("error: x.db will take about ")?.split_once(" MB, but only ")?;
            let free = free.split_once(" MB is free in .\n\nhint: free some space")?.0;
            Some((needed.parse().ok()?, free.parse().ok()?))
        };
        let (needed, said_free) = sizes(&ran.stderr).unwrap_or_else(|| panic!("{ran:?}"));
        assert!(needed > said_free && (said_free - free as f64 / 1e6).abs() < 0.1, "{ran:?}");
    };
    refused("20M", &[]);
    refused("20M", &["--dry-run"]);
    refused("20M", &["--page-size", "1024"]);
    assert_eq!(names(&root), before);

    // The temporary file of a killed run counts as free space, because it is removed first.
    let left = root.join(".x.db.sqluice-tmp-1-0");
    fs::write(&left, vec![1; free as usize - 1_000_000]).unwrap();
    let rows = (free * 95 / 100 / 19).to_string();
    run(&root, generate("x.db", &rows)).ok();
    assert!(!left.exists());
    assert!(fs::metadata(root.join("x.db")).unwrap().len() > free * 85 / 100);
    assert_eq!(integrity(&root.join("x.db")), "ok");
}

#[test]
fn a_disk_without_a_free_inode_is_a_clear_error() {
    let Some(image) = Disk::ext4(folder(), 2) else { return };
    let root = image.root();
    // The disk has no free inode.
    let full = (0..).find(|index| fs::File::create(root.join(format!("{index}"))).is_err()).unwrap();
    let ran = run(&root, generate("x.db", "3")).failed(1, "cannot create a file in .");
    assert!(
        ran.stderr.contains("caused by: No space left on device")
            && ran.stderr.contains("hint: free some space")
    );
    fs::remove_file(root.join(format!("{}", full - 1))).unwrap();
    run(&root, generate("x.db", "3")).ok();
}

#[test]
fn a_read_only_disk_is_a_clear_error() {
    let Some(image) = Disk::ext4(folder(), 16) else { return };
    let root = image.root();
    run(&root, generate("x.db", "1k")).ok();
    image.remount_read_only();
    let before = names(&root);
    let ran = run(&root, generate("y.db", "3"));
    let stderr = "\
error: cannot create a file in .
  caused by: Read-only file system (os error 30)

hint: choose a folder that you may write to
";
    assert_eq!((ran.code(), &*ran.stderr), (Some(1), stderr), "{ran:?}");
    run(&root, generate("x.db", "3")).failed(1, "x.db is read-only");
    for flag in ["--dry-run", "-q"] {
        let args = [&generate("x.db", "3")[..], &["--overwrite", flag]].concat();
        run(&root, args).failed(1, "x.db is read-only, and is not replaced\n\nhint: ");
    }
    // A database on the read-only disk can still be checked.
    run(&root, ["check", "--full", "x.db"]).ok();
    run(&root, ["info", "x.db"]).ok();
    assert_eq!(names(&root), before);
}

#[test]
fn a_database_over_the_limit_on_file_sizes_is_a_clear_error_that_leaves_nothing() {
    let folder = folder();
    // One limit is 8 MiB or half of this, as units have 1024 or 512 bytes, depending on the shell. The other limit is within a page.
    for limit in [8192, 9] {
        for page_size in ["4096", "1024"] {
            let mut command = sqluice_with_file_limit(folder.path(), limit);
            let ran = finish(command.args(generate("x.db", "700k")).args(["--page-size", page_size]));
            let stderr = "\
error: cannot write x.db
  caused by: File too large (os error 27)

hint: raise the limit on file sizes (ulimit -f) or choose another file system
";
            assert_eq!((ran.code(), &*ran.stderr), (Some(1), stderr), "{ran:?}");
            assert_eq!(names(folder.path()), [""; 0]);
        }
    }
}

/// Makes databases of three page sizes in `folder`. Returns the checksum of each, and the way it was written (direct or buffered).
fn make(folder: &Path) -> Vec<(String, String)> {
    let made = ["512", "4096", "65536"].map(|page_size| {
        let args = [&generate("x.db", "300k")[..], &["--json", "--page-size", page_size]].concat();
        let report = run(folder, args).ok().json();
        let path = folder.join("x.db");
        assert_eq!(integrity(&path), "ok");
        assert_eq!(report["checksum"], checksum(&path));
        fs::remove_file(path).unwrap();
        (report["checksum"].as_str().unwrap().to_owned(), report["output"].as_str().unwrap().to_owned())
    });
    made.into()
}

#[test]
fn a_new_database_has_the_same_bytes_on_each_tested_file_system() {
    let checksums = |made: &[(String, String)]| made.iter().map(|(sum, _)| sum.clone()).collect::<Vec<_>>();
    let here = make(folder().path());
    assert_eq!(here[0].1, "buffered", "pages of 512 bytes are no blocks of a disk");

    if Path::new("/dev/shm").is_dir() {
        let memory = tempfile::tempdir_in("/dev/shm").unwrap();
        assert_eq!(checksums(&make(memory.path())), checksums(&here));
    } else {
        skipped("/dev/shm does not exist");
    }

    let Some(image) = Disk::ext4(folder(), 32) else { return };
    let on_image = make(&image.root());
    assert_eq!(checksums(&on_image), checksums(&here));
    let outputs: Vec<_> = on_image.iter().map(|(_, output)| &**output).collect();
    assert_eq!(outputs, ["buffered", "direct", "direct"]);
}

#[test]
fn an_export_that_does_not_fit_on_the_disk_leaves_no_file() {
    let Some(image) = Disk::ext4(folder(), 16) else { return };
    let root = image.root();
    run(&root, generate("x.db", "450k")).ok();
    let (before, free) = (names(&root), image.free_bytes());
    for to in ["x.csv", "x.ndjson", "x.arrow"] {
        let ran = run(&root, ["export", "x.db", "--to", to, "-j2"]);
        if ran.code() == Some(0) {
            panic!("the disk is too large for this test: {ran:?}");
        }
        let expected = FULL.replace("x.db", to);
        assert_eq!((ran.code(), &*ran.stderr), (Some(1), &*expected), "{ran:?}");
        assert_eq!(names(&root), before);
        assert_eq!(image.free_bytes(), free, "all space is free again");
    }
}
