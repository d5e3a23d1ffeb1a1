//! A command line and its results: messages, exit code, files, rows.
//!
//! ```ignore
//! sqluice("load x.db in.csv").file("in.csv", "a\n1\n").succeeds().says("Loaded 1 row into x.db: [..]").holds("SELECT a FROM \"in\"", "1");
//! ```
//!
//! `[..]` in an expected text stands for any text within a line.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use tempfile::TempDir;

use crate::support::{self, Ran, folder, integrity};

/// The name and content of a file with a header and a row.
pub(crate) const ONE_ROW: (&str, &str) = ("one.csv", "a,b\n1,2\n");

/// A command line, and the files that exist before it runs.
pub(crate) struct Transcript {
    folder: TempDir,
    args: Vec<String>,
    stdin: Option<Vec<u8>>,
}

/// The results of a command line.
pub(crate) struct Done {
    folder: TempDir,
    args: Vec<String>,
    pub(crate) ran: Ran,
}

/// Returns a command line. `args` is split at spaces that are not within `'`.
pub(crate) fn sqluice(args: &str) -> Transcript {
    Transcript { folder: folder(), args: split(args), stdin: None }
}

fn split(args: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    for (index, part) in args.split('\'').enumerate() {
        if index % 2 == 1 {
            word.get_or_insert_default().push_str(part);
            continue;
        }
        for (index, plain) in part.split(' ').enumerate() {
            if index > 0 {
                words.extend(word.take());
            }
            if !plain.is_empty() {
                word.get_or_insert_default().push_str(plain);
            }
        }
    }
    words.extend(word);
    words
}

/// Runs a command line with these files, and asserts that it fails and leaves no other files.
#[track_caller]
pub(crate) fn fails(files: &[(&str, &str)], args: &str, code: i32, stderr: &str) {
    let with_files = |transcript: Transcript, &(name, content): &(&str, &str)| transcript.file(name, content);
    files.iter().fold(sqluice(args), with_files).fails(code, stderr);
}

impl Transcript {
    /// Creates a file before the run; a folder if its name ends with a slash.
    pub(crate) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Transcript {
        let path = self.folder.path().join(name);
        if name.ends_with('/') {
            fs::create_dir(path).unwrap();
        } else {
            fs::write(path, content).unwrap();
        }
        self
    }

    /// Sends `content` to standard input, through a pipe.
    pub(crate) fn stdin(mut self, content: impl AsRef<[u8]>) -> Transcript {
        self.stdin = Some(content.as_ref().to_owned());
        self
    }

    /// Returns the folder in which the command will run, so that a test can prepare more than files.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn run(self) -> Done {
        let Transcript { folder, args, stdin } = self;
        let mut command = support::sqluice(folder.path());
        command.args(&args);
        let ran = match stdin {
            None => support::finish(&mut command),
            Some(content) => {
                let mut child = support::spawn(command.stdin(Stdio::piped()));
                let mut pipe = child.stdin.take().unwrap();
                // The command may close the pipe before it has read everything.
                let feeder = std::thread::spawn(move || {
                    let _ = std::io::Write::write_all(&mut pipe, &content);
                });
                let ran = support::end(child);
                feeder.join().unwrap();
                ran
            }
        };
        assert!(!ran.stderr.contains("panicked"), "{args:?}: {ran:?}");
        Done { folder, args, ran }
    }

    /// Asserts that the command fails with this error, and changes no file.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, stderr: &str) {
        self.fails_leaving(&[], code, stderr);
    }

    /// Asserts that the command fails with this error, and changes no file except `left`.
    #[track_caller]
    pub(crate) fn fails_leaving(self, left: &[(&str, &str)], code: i32, stderr: &str) {
        let mut expected = files_in(self.folder());
        expected.extend(left.iter().map(|(name, content)| ((*name).to_owned(), content.as_bytes().to_vec())));
        let done = self.run();
        assert_eq!(done.ran.code(), Some(code), "{:?}: {:?}", done.args, done.ran);
        done.says(stderr).prints("").contains(expected);
    }

    /// Runs the command, and asserts that it ends with this exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Done {
        let done = self.run();
        assert_eq!(done.ran.code(), Some(code), "{:?}: {:?}", done.args, done.ran);
        done
    }

    /// Runs the command, and asserts that it succeeds, and that `x.db`, if it exists, is sound.
    #[track_caller]
    pub(crate) fn succeeds(self) -> Done {
        let done = self.run();
        assert_eq!(done.ran.code(), Some(0), "{:?}: {:?}", done.args, done.ran);
        let database = done.folder().join("x.db");
        if database.exists() {
            assert_eq!(integrity(&database), "ok", "{:?}", done.args);
        }
        let hidden = files_in(done.folder()).into_keys().find(|name| name.starts_with('.'));
        assert_eq!(hidden, None, "{:?}: something was left", done.args);
        done
    }
}

impl Done {
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns another command line in the same folder.
    pub(crate) fn then(self, args: &str) -> Transcript {
        Transcript { folder: self.folder, args: split(args), stdin: None }
    }

    /// Asserts that standard error is this text. The line about the recognised format of a load is ignored unless the text has one;
    /// indentation is ignored.
    #[track_caller]
    pub(crate) fn says(self, expected: &str) -> Done {
        let expects_all = expected.lines().any(is_recognised);
        let lines = self.ran.stderr.lines().filter(|line| expects_all || !is_recognised(line));
        let trimmed = |line: &str| line.trim_start().to_owned();
        let said: Vec<String> = lines.map(trimmed).collect();
        let expected: Vec<String> = expected.lines().map(trimmed).collect();
        self.said(&said.join("\n"), &expected.join("\n"));
        self
    }

    /// Asserts that standard output is this text.
    #[track_caller]
    pub(crate) fn prints(self, expected: &str) -> Done {
        self.said(&self.ran.stdout, expected);
        self
    }

    #[track_caller]
    fn said(&self, said: &str, expected: &str) {
        assert!(matches(said, expected), "{:?}\nsaid:\n{said}\nexpected:\n{expected}", self.args);
    }

    /// Asserts that a query on `x.db` returns these rows: a line for each row, with values as SQL literals, separated by `|`.
    #[track_caller]
    pub(crate) fn holds(self, query: &str, expected: &str) -> Done {
        assert_eq!(self.found(query), expected, "{:?}: {query}", self.args);
        self
    }

    /// Returns the rows of a query on `x.db`, in the form of [`Done::holds`].
    pub(crate) fn found(&self, query: &str) -> String {
        rows(&self.folder().join("x.db"), query).unwrap_or_else(|error| error.to_string())
    }

    /// Asserts that a file has this content.
    #[track_caller]
    pub(crate) fn file_is(self, name: &str, expected: impl AsRef<[u8]>) -> Done {
        let found = fs::read(self.folder().join(name)).unwrap();
        let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(show(&found), show(expected.as_ref()), "{name}");
        assert_eq!(found, expected.as_ref(), "{name}");
        self
    }

    #[track_caller]
    fn contains(self, expected: BTreeMap<String, Vec<u8>>) {
        let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        let found = files_in(self.folder());
        assert_eq!(names(&found), names(&expected), "{:?}: something was left or is gone", self.args);
        let changed = expected.iter().find(|(name, content)| found[*name] != **content);
        assert!(changed.is_none(), "{:?}: changed: {changed:?}", self.args);
    }
}

/// Returns `true` for a line of a report about the recognised format of files.
fn is_recognised(line: &str) -> bool {
    line.trim_start().starts_with("read ")
}

/// Returns all entries of a folder by name, with the content of files; other entries have an empty content.
fn files_in(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let content = |name: String| {
        let path = folder.join(&name);
        let content = if path.is_file() { fs::read(path).unwrap() } else { Vec::new() };
        (name, content)
    };
    support::names(folder).into_iter().map(content).collect()
}

fn rows(database: &Path, query: &str) -> rusqlite::Result<String> {
    let connection = Connection::open(database)?;
    let mut statement = connection.prepare(query)?;
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let values: rusqlite::Result<Vec<String>> =
            (0..columns).map(|column| row.get_ref(column).map(literal)).collect();
        Ok(values?.join("|"))
    })?;
    Ok(rows.collect::<rusqlite::Result<Vec<String>>>()?.join("\n"))
}

fn literal(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(int) => int.to_string(),
        ValueRef::Real(real) => format!("{real:?}"),
        ValueRef::Text(text) => format!("'{}'", String::from_utf8_lossy(text)),
        ValueRef::Blob(blob) => format!("{blob:?}"),
    }
}

/// Returns `true` if each line of `said` matches the line of `expected`, where `[..]` stands for any text.
pub(crate) fn matches(said: &str, expected: &str) -> bool {
    let (said, expected): (Vec<_>, Vec<_>) = (said.lines().collect(), expected.lines().collect());
    said.len() == expected.len()
        && said.iter().zip(expected).all(|(said, expected)| line_matches(said, expected))
}

fn line_matches(said: &str, expected: &str) -> bool {
    match expected.split_once("[..]") {
        None => said == expected,
        Some((start, rest)) => said.strip_prefix(start).is_some_and(|said| {
            (0..=said.len()).any(|at| said.is_char_boundary(at) && line_matches(&said[at..], rest))
        }),
    }
}
