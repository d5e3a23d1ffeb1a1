//! What the tests of the command share: running it, and looking at what it left.

#![allow(clippy::print_stdout, reason = "a test that fails shows what it saw and how to repeat it")]
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod disk;
pub(crate) mod existing;
pub(crate) mod old;
pub(crate) mod strace;
#[cfg(target_os = "linux")] // `unshare`, which makes containers, is a program of Linux.
pub(crate) mod unseen;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use sqluice::error::Setting;
use sqluice::splitmix::SplitMix64;
pub(crate) use sqluice_testkit::names;
#[allow(unused_imports, reason = "each test file uses a part")]
pub(crate) use sqluice_testkit::skip::tell;
#[allow(unused_imports, reason = "each test file uses a part")]
pub(crate) use sqluice_testkit::sqlite::integrity_of as integrity;
use tempfile::TempDir;

/// The command under test.
pub(crate) const SQLUICE: &str = env!("CARGO_BIN_EXE_sqluice");

/// A folder on the disk that the build is on: the system's may be in memory.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// The command, to be run in `folder`, without a terminal.
pub(crate) fn sqluice(folder: &Path) -> Command {
    let mut command = Command::new(SQLUICE);
    command.current_dir(folder).stdin(Stdio::null()).env_remove("NO_COLOR");
    command
}

/// Runs the command to its end.
pub(crate) fn run(folder: &Path, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ran {
    let mut command = sqluice(folder);
    command.args(args);
    Ran::from(started(|| command.output()))
}

/// Starts the command; what it says can be had from [`end`].
pub(crate) fn start(folder: &Path, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Child {
    let mut command = sqluice(folder);
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    started(|| command.spawn())
}

/// Tries again where wine starts no program, which happens now and then.
pub(crate) fn started<T>(mut attempt: impl FnMut() -> std::io::Result<T>) -> T {
    const ERROR_INTERNAL_ERROR: i32 = 1359;
    for _ in 0..3 {
        match attempt() {
            Err(error) if cfg!(windows) && error.raw_os_error() == Some(ERROR_INTERNAL_ERROR) => {}
            other => return other.unwrap(),
        }
    }
    attempt().unwrap()
}

/// Waits for the end of what [`start`] started, at most a minute.
pub(crate) fn end(mut child: Child) -> Ran {
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("the command does not end: {:?}", Ran::from(child.wait_with_output().unwrap()));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ran::from(child.wait_with_output().unwrap())
}

/// Sends a signal. Windows has only the last: KILL.
pub(crate) fn send(child: &Child, signal: &str) {
    let (program, id) = (if cfg!(windows) { "taskkill" } else { "kill" }, child.id().to_string());
    let args = if cfg!(windows) { ["/F", "/PID", &id] } else { ["-s", signal, &id] };
    assert!(cfg!(unix) || signal == "KILL", "Windows has no {signal}");
    let sent = Command::new(program).args(args).stdout(Stdio::null()).status().unwrap();
    assert!(sent.success());
}

/// How a run ended and what it said.
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

/// Paths below the working folder, with `/`. JSON and manual pages have their own meanings for `\`.
fn in_place(said: String) -> String {
    let is_marked_up = said.starts_with('{') || said.starts_with(".ie ");
    if is_marked_up { said } else { said.replace(r".\", "./").replace(r"\*", "/*") }
}

/// What the system says of errors, in the words of Linux; and paths in the working folder as on Linux.
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

/// What a message says in the words of Python or of the engine: parameters, and settings by their names there. The command's are flags.
fn foreign_terms(said: &str) -> Vec<String> {
    let of_python = ["=True", "=False", "if_exists"].map(str::to_owned).into_iter();
    let of_engine = Setting::ALL.iter().flat_map(|setting| {
        let name = setting.name();
        [format!("`{name}`"), format!("`{name} = ")]
    });
    of_python.chain(of_engine).filter(|term| said.contains(term.as_str())).collect()
}

#[test]
fn words_of_other_front_ends_are_seen() {
    assert_eq!(foreign_terms("error: x\n\nhint: --overwrite, --temp-dir DIR"), Vec::<String>::new());
    assert_eq!(foreign_terms("hint: overwrite=True"), ["=True"]);
    assert_eq!(foreign_terms("hint: `temp_dir = DIR`, `append`"), ["`append`", "`temp_dir = "]);
}

impl Ran {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Asserts that it succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Ran {
        assert!(self.status.success(), "{self:?}");
        self
    }

    /// Asserts that it failed with `code`, `error` in its words, a hint if one should be there, and no panic.
    #[track_caller]
    pub(crate) fn failed(self, code: i32, error: &str) -> Ran {
        assert_eq!(self.code(), Some(code), "{self:?}");
        assert!(self.stderr.starts_with("error: ") && self.stderr.contains(error), "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The arguments that make `target` from the preset.
pub(crate) fn generate<'a>(target: &'a str, rows: &'a str) -> [&'a str; 6] {
    ["generate", target, "--preset", "user", "--rows", rows]
}

/// The temporary files of `target` in a folder.
pub(crate) fn temporaries(folder: &Path, target: &str) -> Vec<PathBuf> {
    let prefix = format!(".{target}.sqluice-tmp-");
    let names = names(folder).into_iter().filter(|name| name.starts_with(&prefix));
    names.map(|name| folder.join(name)).collect()
}

/// Waits until the temporary file of `target` has something in it.
pub(crate) fn wait_for_writes(folder: &Path, target: &str, child: &mut Child) -> PathBuf {
    let started = Instant::now();
    loop {
        let written = |path: &PathBuf| fs::metadata(path).is_ok_and(|file| file.len() > 0);
        if let Some(found) = temporaries(folder, target).into_iter().find(written) {
            return found;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended before it wrote anything");
        assert!(started.elapsed() < Duration::from_secs(60), "it writes nothing");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// The checksum that `check` finds in a sound database.
#[track_caller]
pub(crate) fn checksum(database: &Path) -> String {
    let checked = run(Path::new("/"), [OsStr::new("check"), OsStr::new("--json"), database.as_os_str()]).ok();
    checked.json()["checksum"].as_str().unwrap().to_owned()
}

/// Random numbers whose seed is printed when the test fails.
pub(crate) struct Random(SplitMix64);

impl Random {
    /// Seeded by SQLUICE_SEED, or else by the time.
    pub(crate) fn new() -> Random {
        let time =
            || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
        let seed = std::env::var("SQLUICE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(time);
        println!("SQLUICE_SEED={seed}");
        Random(SplitMix64(seed))
    }

    /// The same each time.
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
