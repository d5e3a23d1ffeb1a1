//! The order in which an exported file is written, synced and named, as strace sees it.
//!
//! A file that is renamed before its content is on the disk may be empty after a power failure, and the file that it replaced is lost.

use std::fs;

use crate::support::strace::{Call, calls, strace};
use crate::support::{folder, generate, run};

#[test]
fn an_exported_file_is_synced_before_its_rename_and_the_folder_afterwards() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("old.db", "10k")).ok();
    for (name, flags) in
        [("x.csv", &[][..]), ("x.csv", &["--overwrite"]), ("x.ndjson.gz", &[]), ("x.parquet", &[])]
    {
        let log = tempfile::NamedTempFile::new().unwrap();
        let traced =
            ["--seccomp-bpf", "-y", "-s", "0", "-e", "trace=%desc,%file", "-o", log.path().to_str().unwrap()];
        strace(folder, &traced, &[&["export", "old.db", "user", "--to", name], flags].concat()).ok();
        let log = fs::read_to_string(log.path()).unwrap();
        let temporary = format!("/.{name}.sqluice-tmp-");
        let mut order: Vec<&str> = Vec::new();
        for Call { name, args, result, .. } in calls(&log) {
            let is_of_file = args.contains(&temporary) && result >= 0;
            let step = match &*name {
                "write" | "pwrite64" | "writev" | "pwritev" if is_of_file => "write",
                "fsync" | "fdatasync" if is_of_file => "sync",
                "rename" | "renameat" | "renameat2" if is_of_file => "name",
                "fsync" | "fdatasync" if args.contains(&format!("<{}>", folder.display())) => {
                    "sync the folder"
                }
                _ => continue,
            };
            if order.last() != Some(&step) {
                order.push(step);
            }
        }
        assert_eq!(order, ["write", "sync", "name", "sync the folder"], "{name} {flags:?}");
    }
}
