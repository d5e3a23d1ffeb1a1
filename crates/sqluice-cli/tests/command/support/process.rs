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

/// The time after which a waiting test fails: many times as long as anything that tests wait for.
const LIMIT: Duration = Duration::from_secs(180);

/// The pause between two checks of a condition that a test waits for.
const PAUSE: Duration = Duration::from_micros(200);

/// The environment variable with the factor for all waiting times of the command. See `sqluice_core::waits`.
pub(crate) const WAITS: &str = "SQLUICE_WAITS";

/// Returns a command that runs `program` without a terminal, and with the signals that a shell gives its children. Otherwise it
/// would ignore the signals that this process ignores, such as SIGHUP if `nohup` started the tests.
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

/// Starts a command whose outputs the caller has set. Under wine, a start sometimes fails, and is tried again.
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

/// Waits for the end of a program. If it has not ended after [`LIMIT`], kills it, and the test fails.
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

/// Kills a program and the programs that it has started, which would keep its outputs open.
fn kill_with_children(id: u32) {
    children(id).into_iter().for_each(kill_with_children);
    let _ = signal(id, "KILL");
}

/// Returns the processes that a process has started.
pub(crate) fn children(id: u32) -> Vec<u32> {
    let said = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    said.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

/// Runs a command, which must succeed, and returns its peak of resident memory.
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

/// Sends a signal to a process. Returns `false` if the process does not exist. Windows has only KILL.
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

/// Waits until `is_there` returns `true`, and returns `true`. Returns `false` if the program ends before.
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

/// Waits until `is_there` returns `true`, and kills the program. Returns its end, which is a success if the program ended before.
#[track_caller]
pub(crate) fn kill_when(mut child: Child, is_there: impl FnMut() -> bool) -> Ran {
    wait_until(&mut child, is_there);
    child.kill().unwrap();
    end(child)
}

/// The time at which a waiting test fails.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit(Instant);

impl Limit {
    pub(crate) fn new() -> Limit {
        Limit(Instant::now())
    }

    pub(crate) fn is_over(self) -> bool {
        self.0.elapsed() > LIMIT
    }

    /// Pauses for [`PAUSE`].
    ///
    /// # Panics
    /// If the limit is over. The message says that the test waited for `what`.
    #[track_caller]
    pub(crate) fn pause(self, what: &str) {
        assert!(!self.is_over(), "{what} did not happen within {LIMIT:?}");
        thread::sleep(PAUSE);
    }
}
