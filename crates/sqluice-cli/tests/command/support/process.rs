//! Programs that tests run: with the signals of a shell's child, without a terminal, and with a limit after which they are ended.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::Ran;

/// The command under test.
pub(crate) const SQLUICE: &str = env!("CARGO_BIN_EXE_sqluice");

/// Time after which a test gives up: many times what anything takes that a test waits for.
const LIMIT: Duration = Duration::from_secs(180);

/// Time between two looks at something that a test waits for.
const PAUSE: Duration = Duration::from_micros(200);

/// The factor of all waits of the command. See `sqluice_core::waits`.
pub(crate) const WAITS: &str = "SQLUICE_WAITS";

/// Returns a command that runs `program` without a terminal, and with the signals that a shell gives its children: a program that `nohup`
/// started has passed ignored signals on to this process.
pub(crate) fn program(program: impl AsRef<OsStr>) -> Command {
    let mut command = if cfg!(target_os = "linux") {
        let mut env = Command::new("env");
        env.arg("--default-signal=HUP,INT,QUIT,TERM,PIPE,XFSZ").arg(program);
        env
    } else {
        Command::new(program)
    };
    command.stdin(Stdio::null());
    command
}

/// Returns sqluice, to be run in `folder`.
pub(crate) fn sqluice(folder: &Path) -> Command {
    let mut command = program(SQLUICE);
    command.current_dir(folder).env_remove("NO_COLOR").env_remove(WAITS);
    command
}

/// Returns sqluice with a limit on the sizes of its files, in units of 512 bytes.
pub(crate) fn sqluice_with_file_limit(folder: &Path, blocks: u64) -> Command {
    let mut command = program("sh");
    let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, SQLUICE]).current_dir(folder);
    command
}

/// Runs sqluice to its end.
pub(crate) fn run(folder: &Path, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ran {
    finish(sqluice(folder).args(args))
}

/// Starts sqluice; [`end`] waits for it.
pub(crate) fn start(folder: &Path, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Child {
    spawn(sqluice(folder).args(args))
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command) -> Ran {
    end(spawn(command))
}

/// Runs a command to its end, and returns what it printed as bytes.
pub(crate) fn output(command: &mut Command) -> Output {
    end_with_output(spawn(command))
}

/// Starts a command whose outputs are read by [`end`].
pub(crate) fn spawn(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    spawn_as_is(command)
}

/// Starts a command whose outputs the caller has chosen. Under wine a program does not start now and then: it is started again.
pub(crate) fn spawn_as_is(command: &mut Command) -> Child {
    const ERROR_INTERNAL_ERROR: i32 = 1359;
    for _ in 0..3 {
        match command.spawn() {
            Err(error) if cfg!(windows) && error.raw_os_error() == Some(ERROR_INTERNAL_ERROR) => {}
            other => return started(command, other),
        }
    }
    let last = command.spawn();
    started(command, last)
}

fn started(command: &Command, started: io::Result<Child>) -> Child {
    started.unwrap_or_else(|error| panic!("{command:?} does not start (tools/setup test?): {error}"))
}

/// Waits for the end of a program.
pub(crate) fn end(child: Child) -> Ran {
    Ran::from(end_with_output(child))
}

/// Waits for the end of a program. One that has not ended after [`LIMIT`] is killed, and the test fails.
fn end_with_output(child: Child) -> Output {
    let id = child.id();
    let (ended, watched) = channel::<()>();
    let watch = thread::spawn(move || {
        let is_late = watched.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout);
        if is_late {
            kill_with_children(id);
        }
        is_late
    });
    let output = child.wait_with_output().unwrap();
    drop(ended);
    assert!(!watch.join().unwrap(), "a program had to be killed after {LIMIT:?}: {output:?}");
    output
}

/// Kills a program and those that it has started: they would keep its outputs open.
fn kill_with_children(id: u32) {
    children(id).into_iter().for_each(kill_with_children);
    let _ = signal(id, "KILL");
}

/// The processes that a process has started.
pub(crate) fn children(id: u32) -> Vec<u32> {
    let said = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    said.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

/// Runs a command to its end, which must be a good one, and returns the most bytes of memory that it had.
pub(crate) fn peak_bytes(command: &mut Command) -> u64 {
    let mut child = spawn(command);
    let (path, mut peak) = (format!("/proc/{}/status", child.id()), 0);
    wait_until(&mut child, || {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) << 10);
        thread::sleep(Duration::from_millis(5));
        false
    });
    end(child).ok();
    peak
}

/// Sends a signal to a process; `false`: no such process exists. Windows has only KILL.
pub(crate) fn signal(id: u32, signal: &str) -> bool {
    let (program, id) = (if cfg!(windows) { "taskkill" } else { "kill" }, id.to_string());
    let args = if cfg!(windows) { ["/F", "/PID", &id] } else { ["-s", signal, &id] };
    assert!(cfg!(unix) || signal == "KILL", "Windows has no {signal}");
    let sent = Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
    sent.unwrap().success()
}

/// Sends a signal to a program that still runs, or whose end was not waited for.
pub(crate) fn send(child: &Child, signal: &str) {
    assert!(self::signal(child.id(), signal), "{signal} cannot be sent");
}

/// Waits until `is_there`, or until the program has ended: then returns `false`.
#[track_caller]
pub(crate) fn wait_until(child: &mut Child, mut is_there: impl FnMut() -> bool) -> bool {
    let limit = Limit::new();
    while !is_there() {
        if child.try_wait().unwrap().is_some() {
            return is_there();
        }
        if limit.is_over() {
            kill_with_children(child.id());
            panic!("what was waited for did not happen within {LIMIT:?}");
        }
        thread::sleep(PAUSE);
    }
    true
}

/// Waits until `is_there`, kills the program, and returns how it ended: with success if it was done before.
#[track_caller]
pub(crate) fn kill_when(mut child: Child, is_there: impl FnMut() -> bool) -> Ran {
    wait_until(&mut child, is_there);
    child.kill().unwrap();
    end(child)
}

/// A moment after which a test gives up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit(Instant);

impl Limit {
    pub(crate) fn new() -> Limit {
        Limit(Instant::now())
    }

    pub(crate) fn is_over(self) -> bool {
        self.0.elapsed() > LIMIT
    }

    /// Waits a moment.
    ///
    /// # Panics
    /// When the limit is over.
    #[track_caller]
    pub(crate) fn pause(self, what: &str) {
        assert!(!self.is_over(), "{what} did not happen within {LIMIT:?}");
        thread::sleep(PAUSE);
    }
}
