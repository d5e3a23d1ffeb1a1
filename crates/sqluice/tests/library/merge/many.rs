//! Merges of more databases than the usual limit of open files allows.

use rusqlite::Connection;
use sqluice::merge::Merge;

use super::twin::{integrity, open};

#[test]
#[cfg(unix)] // The test sets a limit of open files, which Windows lacks.
fn more_databases_are_merged_than_the_usual_limit_of_open_files_allows() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    sqluice_testkit::own_process::in_own_process(|| {
        let folder = tempfile::tempdir().unwrap();
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(128), ..limit }).unwrap();
        let sources: Vec<_> = (0..150).map(|number| folder.path().join(format!("{number}.db"))).collect();
        for (source, number) in sources.iter().zip(0..) {
            let script = format!(
                "PRAGMA synchronous = OFF; CREATE TABLE t (id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES ({number}, 'x')"
            );
            Connection::open(source).unwrap().execute_batch(&script).unwrap();
        }
        let target = folder.path().join("all.db");
        let report = Merge::new(&target, &sources).run().unwrap();
        assert_eq!((report.rows, report.sources.len()), (150, 150));
        assert_eq!(integrity(&target), "ok");
        let sum: i64 = open(&target).query_row("SELECT sum(id) FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(sum, 149 * 150 / 2);
        // If the system does not allow more open files, the error says so.
        setrlimit(Resource::Nofile, Rlimit { current: Some(128), maximum: Some(128) }).unwrap();
        let error = Merge::new(folder.path().join("none.db"), &sources).run().unwrap_err();
        assert!(error.to_string().contains("the system allows this process 128 files"), "{error}");
    });
}
