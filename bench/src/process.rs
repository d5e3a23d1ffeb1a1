//! Runs a lap as a process, times it from its start to its end, and measures its CPU time and memory.
//!
//! Laps run in separate processes even if this program could do the work itself. On Linux, a new process inherits the peak memory of its
//! parent: once this process had used four gigabytes for a cache of SQLite, every later lap would report at least as much.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Instant;

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The resources that a process used, and its output.
#[derive(Clone, Debug)]
pub struct Took {
    /// The seconds from its start to its end.
    pub seconds: f64,
    /// The CPU seconds of all its threads together.
    pub cpu_seconds: f64,
    /// The peak memory in bytes.
    pub memory_bytes: u64,
    /// The output of the process.
    pub stdout: String,
}

impl Took {
    /// Returns the sum of the times of two processes that ran one after the other, their higher peak memory, and the output of the second.
    #[must_use]
    pub fn then(self, second: Took) -> Took {
        Took {
            seconds: self.seconds + second.seconds,
            cpu_seconds: self.cpu_seconds + second.cpu_seconds,
            memory_bytes: self.memory_bytes.max(second.memory_bytes),
            ..second
        }
    }
}

/// Runs the laps of a comparison, and stops the running lap when this program is asked to end.
#[derive(Debug)]
pub struct Runner {
    comparison: &'static str,
    running: Arc<AtomicI32>,
    stop: Arc<AtomicBool>,
}

impl Runner {
    /// Creates a runner for the comparison that this program knows by this name.
    ///
    /// From now on, SIGINT, SIGTERM and SIGHUP end the running lap, and then the run with an error, so that its files are removed.
    ///
    /// # Errors
    /// When signals can't be handled.
    pub fn new(comparison: &'static str) -> anyhow::Result<Runner> {
        let runner = Runner { comparison, running: Arc::default(), stop: Arc::default() };
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot listen for signals")?;
        let (running, stop) = (runner.running.clone(), runner.stop.clone());
        std::thread::spawn(move || {
            for _ in signals.forever() {
                stop.store(true, Ordering::SeqCst);
                end(running.load(Ordering::SeqCst));
            }
        });
        Ok(runner)
    }

    /// Returns `true` if the run was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Runs a process to its end.
    ///
    /// # Errors
    /// When the process can't be started, fails, or the run was asked to stop.
    pub fn run(&self, command: &mut Command) -> anyhow::Result<Took> {
        self.run_to(0, command)
    }

    /// Runs a process to its end, which must have this exit status.
    ///
    /// # Errors
    /// When the process can't be started, has another exit status, or the run was asked to stop.
    pub fn run_to(&self, code: i32, command: &mut Command) -> anyhow::Result<Took> {
        let name = command.get_program().to_string_lossy().into_owned();
        let start = Instant::now();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let pid = i32::try_from(child.id()).context("a process id is an i32")?;
        self.running.store(pid, Ordering::SeqCst);
        if self.is_stopped() {
            end(pid);
        }
        let mut stdout = String::new();
        let read = child.stdout.take().map_or(Ok(0), |mut pipe| pipe.read_to_string(&mut stdout));
        let waited = wait(pid);
        self.running.store(0, Ordering::SeqCst);
        let (status, usage) = waited.with_context(|| format!("cannot wait for {name}"))?;
        let seconds = start.elapsed().as_secs_f64();
        if self.is_stopped() {
            bail!("interrupted");
        }
        read.with_context(|| format!("cannot read what {name} says"))?;
        if status.code() != Some(code) {
            bail!("{name} failed: {status}\n{stdout}");
        }
        Ok(Took {
            seconds,
            cpu_seconds: seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
            memory_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
            stdout,
        })
    }

    /// Runs a lap of the comparison in a process of this program to its end; SQLite's temporary files are in `folder`.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run).
    pub fn own(&self, words: &[impl AsRef<OsStr>], folder: &Path) -> anyhow::Result<Took> {
        let mut command = Command::new(this()?);
        let lap = self.run(command.args(["lap", self.comparison]).args(words).env("SQLITE_TMPDIR", folder));
        lap.with_context(|| format!("the lap {}", words[0].as_ref().display()))
    }
}

/// Returns the path of the running program.
///
/// # Errors
/// When the system does not report it.
pub fn this() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("cannot find this program")
}

/// Asks a process to end; 0 stands for no process.
fn end(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        // The process may have ended by itself.
        let _ = kill_process(pid, Signal::TERM);
    }
}

fn wait(pid: i32) -> io::Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    // SAFETY: `rusage` is plain numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to locals that outlive the call, which writes nothing else.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        if waited == pid {
            return Ok((ExitStatus::from_raw(status), usage));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn seconds_of(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_timed_and_its_output_is_returned() {
        let took = Runner::new("load")
            .unwrap()
            .run(Command::new("sh").args(["-c", "sleep 0.1; echo heard"]))
            .unwrap();
        assert_eq!(took.stdout, "heard\n");
        assert!(took.seconds >= 0.1 && took.memory_bytes > 0, "{took:?}");
    }

    #[test]
    fn a_process_that_fails_is_an_error() {
        let runner = Runner::new("load").unwrap();
        let error = runner.run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert!(error.to_string().contains("exit status: 3"), "{error}");
        assert!(runner.run_to(3, Command::new("sh").args(["-c", "exit 3"])).is_ok());
        assert!(runner.run_to(3, Command::new("sh").args(["-c", "exit 0"])).is_err());
        assert!(runner.run(&mut Command::new("/nowhere/nothing")).is_err());
    }
}
