//! A load of a thousand files under a low limit of open files. The limit applies to the whole process, so the test runs in a process of
//! its own.

#![cfg(all(feature = "load", target_os = "linux"))] // The test sets a limit of open files, as Unix has.

use crate::support::files::{Home, integrity, open};
use crate::support::load::{Way, run};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sqluice::load::Load;
use sqluice::options::WriteOptions;
use sqluice_testkit::own_process::in_own_process;

#[test]
fn a_thousand_files_are_not_open_at_once() {
    in_own_process(|| {
        let home = Home::new();
        let mut files = Vec::new();
        for number in 0..1000 {
            let way = if number % 3 == 0 { Way::Gzip } else { Way::Path };
            let text = format!("a,b\n{number},x\n{number},\n");
            files.push(way.put(&home, &format!("{number}.csv"), text.as_bytes()));
        }
        let open_now = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
        setrlimit(Resource::Nofile, Rlimit { current: Some(open_now + 20), ..getrlimit(Resource::Nofile) })
            .unwrap();

        let (one, many) = (home.path("one.db"), home.path("many.db"));
        let report = run(Load::new(&one, &files).table("t")).unwrap();
        assert_eq!(report.rows, 2000);
        let last = open(&one).query_row("SELECT a FROM t WHERE rowid = 2000", [], |row| row.get(0));
        assert_eq!(last, Ok(999));

        let write = WriteOptions::new().tune(|tuning| tuning.chunk_bytes = 8192);
        let report = run(Load::new(&many, &files).write(write)).unwrap();
        assert_eq!((report.rows, report.tables.len()), (2000, 1000));
        assert_eq!(integrity(&open(&many)), "ok");
    });
}
