//! Runs that are killed at a random time of a chosen phase. The test waits for the phase, so it works at any speed of the machine.
//!
//! ```text
//!  event   start       first page                 last page               rename to the target
//!  phase   |  Opening  |         Writing          |      Publishing       |  Done
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use super::{Random, end, kill_when, run, start, tell, temporaries, wait_until, written_bytes};

/// The progress of a run that writes a file under a temporary name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// The temporary file does not exist, or is empty.
    Opening,
    /// The temporary file has some of its bytes.
    Writing,
    /// The temporary file has its full size; page 1, the sync or the rename may be missing.
    Publishing,
    /// The temporary file does not exist any more.
    Done,
}

/// The kills of a test, whose runs write `target`. Most hit the phase `Writing`; some aim at each other phase, which may be too short to be
/// hit.
pub(crate) struct Kills {
    target: &'static str,
    whole_bytes: u64,
    wanted: usize,
    random: Random,
    aimed: BTreeMap<Phase, usize>,
    seen: BTreeMap<Phase, usize>,
    /// The time from the start to the first write in the last run.
    opening: Duration,
}

/// The largest random delay between the awaited event and the kill.
const DELAY_MAX: Duration = Duration::from_millis(2);

impl Kills {
    /// Plans `wanted` kills while a file of `whole_bytes` is written.
    pub(crate) fn new(target: &'static str, whole_bytes: u64, wanted: usize) -> Kills {
        let (aimed, seen) = (BTreeMap::new(), BTreeMap::new());
        let opening = Duration::from_millis(20);
        Kills { target, whole_bytes, wanted, random: Random::new(), aimed, seen, opening }
    }

    /// Plans `wanted` kills of runs with these arguments. Makes a complete run in `folder` first, to find the size of the file.
    pub(crate) fn of_run(folder: &Path, target: &'static str, args: &[&str], wanted: usize) -> Kills {
        run(folder, args).ok();
        Kills::new(target, fs::metadata(folder.join(target)).unwrap().len(), wanted)
    }

    /// Returns the phase that the next kill aims at; `None` if there were enough kills.
    pub(crate) fn next(&mut self) -> Option<Phase> {
        let kills: usize = self.aimed.values().sum();
        assert!(kills < 20 * self.wanted + 50, "too early or too late each time: {}", self.histogram());
        let of = |counts: &BTreeMap<Phase, usize>, phase| counts.get(&phase).copied().unwrap_or(0);
        let others = self.wanted.div_ceil(3);
        let other =
            [Phase::Opening, Phase::Publishing].into_iter().find(|&phase| of(&self.aimed, phase) < others);
        let writing = (of(&self.seen, Phase::Writing) < self.wanted).then_some(Phase::Writing);
        // The phases take turns, so that each phase occurs with each of the states that a test prepares in turn.
        let aim = if kills.is_multiple_of(2) { writing.or(other) } else { other.or(writing) };
        *self.aimed.entry(aim?).or_default() += 1;
        aim
    }

    /// Kills a run that was just started in `folder`, at a random time of a phase. Returns the phase that the run had reached.
    #[track_caller]
    pub(crate) fn kill(&mut self, aim: Phase, folder: &Path, mut child: Child) -> Phase {
        let (started, part) = (Instant::now(), self.random.fraction());
        let written = || written_bytes(folder, self.target);
        match aim {
            Phase::Opening => {
                let delay = self.opening.mul_f64(part);
                wait_until(&mut child, || started.elapsed() >= delay || written() > 0);
            }
            Phase::Writing => {
                wait_until(&mut child, || written() > 0);
                self.opening = started.elapsed();
                let bytes = (self.whole_bytes as f64 * part) as u64;
                wait_until(&mut child, || written() >= bytes);
                thread::sleep(DELAY_MAX.mul_f64(self.random.fraction() / 2.0));
            }
            Phase::Publishing | Phase::Done => {
                wait_until(&mut child, || written() >= self.whole_bytes);
                thread::sleep(DELAY_MAX.mul_f64(part));
            }
        }
        child.kill().unwrap();
        let is_done = end(child).status.success();
        let reached =
            match temporaries(folder, self.target).first().map(|path| fs::metadata(path).unwrap().len()) {
                None if is_done || aim > Phase::Opening => Phase::Done,
                None | Some(0) => Phase::Opening,
                Some(bytes) if bytes >= self.whole_bytes => Phase::Publishing,
                Some(_) => Phase::Writing,
            };
        *self.seen.entry(reached).or_default() += 1;
        reached
    }

    /// Returns the number of kills in each phase, as text.
    fn histogram(&self) -> String {
        format!("{:?} of {:?} aimed at", self.seen, self.aimed)
    }

    /// Prints the number of kills in each phase.
    pub(crate) fn tell(&self, what: &str) {
        tell(&format!("kills of {what}: {}", self.histogram()));
    }
}

/// Makes a run leave its temporary file: it is killed while it writes.
#[track_caller]
pub(crate) fn leave_temporary(folder: &Path, target: &str, args: &[&str]) {
    for _ in 0..50 {
        let ran = kill_when(start(folder, args), || written_bytes(folder, target) > 0);
        if !ran.status.success() && temporaries(folder, target).len() == 1 {
            return;
        }
        fs::remove_file(folder.join(target)).unwrap();
    }
    panic!("too late each time");
}
