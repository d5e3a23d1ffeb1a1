//! Helpers of the tests of the command: running it, and checking its output and files.

#![allow(clippy::print_stdout, reason = "a test that fails shows what it saw and how to repeat it")]
#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "some of it is for tests of Linux"))]

#[cfg(target_os = "linux")] // strace, which records calls, is a program of Linux.
pub(crate) mod disk;
pub(crate) mod existing;
pub(crate) mod kills;
pub(crate) mod old;
mod process;
pub(crate) mod strace;
#[cfg(target_os = "linux")] // `unshare`, which makes containers, is a program of Linux.
pub(crate) mod unseen;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Output};

pub(crate) use process::{
    Limit, SQLUICE, WAITS, children, end, finish, kill_when, output, peak_bytes, program, run, send, signal,
    spawn, spawn_as_is, sqluice, sqluice_with_file_limit, start, wait_until,
};
use serde_json::Value;
use sqluice::error::Setting;
use sqluice::splitmix::SplitMix64;
pub(crate) use sqluice_testkit::names;
pub(crate) use sqluice_testkit::skip::tell;
pub(crate) use sqluice_testkit::sqlite::integrity_of as integrity;
use tempfile::TempDir;

/// Returns a temporary folder on the disk of the build, because the system's temporary folder may be in memory.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// The exit status and the output of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let ran = Ran {
            status: output.status,
            stdout: in_words_of_unix(String::from_utf8(output.stdout).unwrap()),
            stderr: in_words_of_unix(String::from_utf8(output.stderr).unwrap()),
        };
        let foreign = foreign_terms(&ran.stderr);
        assert!(foreign.is_empty(), "words of another front end: {foreign:?} in {ran:?}");
        ran
    }
}

/// Replaces the `\` of Windows in paths below the working folder by `/`. JSON and manual pages are unchanged: there, `\` has other
/// meanings.
fn in_place(said: String) -> String {
    let is_marked_up = said.starts_with('{') || said.starts_with(".ie ");
    if is_marked_up { said } else { said.replace(r".\", "./").replace(r"\*", "/*") }
}

/// Replaces system error texts of Windows by those of Linux, and paths in the working folder by paths with `/`.
fn in_words_of_unix(said: String) -> String {
    if cfg!(unix) {
        return said;
    }
    let words = [
        (2, "No such file or directory (os error 2)"),
        (3, "No such file or directory (os error 2)"),
        (5, "Permission denied (os error 13)"),
        (80, "File exists (os error 17)"),
        (183, "File exists (os error 17)"),
        (267, "Not a directory (os error 20)"),
    ];
    words.iter().fold(in_place(said), |said, (number, words)| {
        said.replace(&std::io::Error::from_raw_os_error(*number).to_string(), words)
    })
}

/// Returns the words of a message that name settings as Python or the engine does, such as `temp_dir=`. The command must name them as
/// flags.
fn foreign_terms(said: &str) -> Vec<String> {
    let of_python = ["=True", "=False", "if_exists"].map(str::to_owned).into_iter();
    let of_engine = Setting::all().flat_map(|setting| {
        let name = setting.name();
        [format!("`{name}`"), format!("`{name} = ")]
    });
    of_python.chain(of_engine).filter(|term| said.contains(term.as_str())).collect()
}

#[test]
fn settings_named_as_in_python_or_the_engine_are_found_in_a_message() {
    assert_eq!(foreign_terms("error: x\n\nhint: --overwrite, --temp-dir DIR"), Vec::<String>::new());
    assert_eq!(foreign_terms("hint: overwrite=True"), ["=True"]);
    assert_eq!(foreign_terms("hint: `temp_dir = DIR`, `append`"), ["`append`", "`temp_dir = "]);
}

impl Ran {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Asserts that the run succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Ran {
        assert!(self.status.success(), "{self:?}");
        self
    }

    /// Asserts that the run failed with `code`, `error` in its message, a hint if one is expected, and no panic.
    #[track_caller]
    pub(crate) fn failed(self, code: i32, error: &str) -> Ran {
        assert_eq!(self.code(), Some(code), "{self:?}");
        assert!(self.stderr.starts_with("error: ") && self.stderr.contains(error), "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        self
    }

    /// Parses standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Returns the arguments that generate `target` from a preset.
pub(crate) fn generate<'a>(target: &'a str, rows: &'a str) -> [&'a str; 6] {
    ["generate", target, "--preset", "user", "--rows", rows]
}

/// Returns the temporary files of `target` in a folder.
pub(crate) fn temporaries(folder: &Path, target: &str) -> Vec<PathBuf> {
    let prefix = format!(".{target}.sqluice-tmp-");
    let names = names(folder).into_iter().filter(|name| name.starts_with(&prefix));
    names.map(|name| folder.join(name)).collect()
}

/// Returns the size of the temporary file of `target`; 0 if no such file exists.
pub(crate) fn written_bytes(folder: &Path, target: &str) -> u64 {
    let files = temporaries(folder, target).into_iter();
    files.filter_map(|path| fs::metadata(path).ok()).map(|file| file.len()).max().unwrap_or(0)
}

/// Waits until the temporary file of `target` is not empty, and returns its path.
#[track_caller]
pub(crate) fn wait_for_writes(folder: &Path, target: &str, child: &mut Child) -> PathBuf {
    assert!(wait_until(child, || written_bytes(folder, target) > 0), "it ended before it wrote anything");
    temporaries(folder, target).pop().expect("a temporary file that was there a moment ago")
}

/// Returns the checksum that `check` reports for a sound database.
#[track_caller]
pub(crate) fn checksum(database: &Path) -> String {
    let checked = run(Path::new("/"), [OsStr::new("check"), OsStr::new("--json"), database.as_os_str()]).ok();
    checked.json()["checksum"].as_str().unwrap().to_owned()
}

/// A generator of random numbers that prints its seed if the test fails.
pub(crate) struct Random(SplitMix64);

impl Random {
    /// Makes a generator with the seed in SQLUICE_SEED, or, if it is not set, by the time.
    pub(crate) fn new() -> Random {
        let time =
            || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
        let seed = std::env::var("SQLUICE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(time);
        println!("SQLUICE_SEED={seed}");
        Random(SplitMix64(seed))
    }

    /// Makes a generator with a fixed seed.
    pub(crate) fn seeded(seed: u64) -> Random {
        Random(SplitMix64(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next()
    }

    pub(crate) fn fraction(&mut self) -> f64 {
        self.0.fraction()
    }
}
