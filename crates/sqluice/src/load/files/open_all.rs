//! Opens the files of a load on all cores, and reports the number of opened files.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sqluice_core::error::Result;
use sqluice_core::progress::{Amount, Cancel, Context, Progress};
use sqluice_core::remote::without_secrets;
use sqluice_engine::plan::LeftOutFile;
use sqluice_sources::input::InputFile;

use super::bad_files::BadFile;
use super::file::LoadFile;
use super::open::{self, Found};
use crate::load::inputs::input::LoadInput;
use crate::load::request::Request;

/// The memory that a sample takes while it is examined, as a multiple of its text: copies exist as text, as fields, and as columns.
const SAMPLE_SHARE: u64 = 4;

/// The time before the first report. If all files are open by then, nothing is reported.
const REPORTED_AFTER: Duration = Duration::from_millis(200);

/// The opened files of a load.
#[derive(Default)]
pub(crate) struct OpenedFiles {
    /// The tables of the files.
    pub(crate) files: Vec<LoadFile>,
    /// The dumps.
    pub(crate) dumps: Vec<InputFile>,
    /// The files of folders that are left out because of their content.
    pub(crate) left_out: Vec<LeftOutFile>,
    /// The files that can't be loaded.
    pub(crate) bad: Vec<BadFile>,
}

/// Opens all files of a load on all cores. The result does not depend on the number of cores. The files that can't be loaded are returned
/// separately.
pub(crate) fn open_all(load: &Request, inputs: &[LoadInput], context: &Context<'_>) -> Result<OpenedFiles> {
    let cancel = &context.cancel;
    let watched = SampledFiles::new(context.progress, inputs.len());
    if load.one_table().is_some() && load.limit.is_some() {
        return open_in_turn(load, inputs, cancel, &watched);
    }
    let rows_max = load.limit.unwrap_or(u64::MAX);
    let next = AtomicUsize::new(0);
    let open_some = || {
        let mut opened = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            match inputs.get(index) {
                Some(input) if cancel.check().is_ok() => {
                    opened.push((index, open::open(input, load, cancel, rows_max)));
                    watched.one_more();
                }
                _ => return opened,
            }
        }
    };
    let mut opened = std::thread::scope(|scope| {
        let start = |_| {
            let thread = std::thread::Builder::new().name("sqluice-sample".to_owned());
            // If a thread can't be started, the other threads open its files.
            thread.spawn_scoped(scope, open_some).ok()
        };
        let others: Vec<_> = (1..threads(load, inputs.len())).filter_map(start).collect();
        let mut opened = open_some();
        for thread in others {
            opened.extend(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        opened
    });
    cancel.check()?;
    opened.sort_unstable_by_key(|(index, _)| *index);
    Ok(divide(inputs, opened.into_iter().map(|(_, file)| file)))
}

/// Separates the opened files from the errors about files that can't be loaded.
fn divide(inputs: &[LoadInput], opened: impl Iterator<Item = Result<Found>>) -> OpenedFiles {
    let mut divided = OpenedFiles::default();
    for (input, file) in inputs.iter().zip(opened) {
        let name = || without_secrets(&input.path).display().to_string();
        match file {
            Ok(Found::Tables(of_path)) => divided.files.extend(of_path),
            Ok(Found::Dump(dump)) => divided.dumps.push(*dump),
            Ok(Found::LeftOut(why)) => divided.left_out.push(LeftOutFile::new(name(), why)),
            Err(error) => divided.bad.push(BadFile { name: name(), error }),
        }
    }
    divided
}

/// Returns the number of threads that open files.
fn threads(load: &Request, files: usize) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let fitting = load.write.memory_bytes / (load.write.tuning.sample_bytes as u64 * SAMPLE_SHARE).max(1);
    let fitting = usize::try_from(fitting).unwrap_or(usize::MAX);
    load.write.threads.unwrap_or_else(cores).min(fitting).clamp(1, files.max(1))
}

/// Opens all files of a load one by one: the row limit of each file depends on the rows of the files before it.
fn open_in_turn(
    load: &Request,
    inputs: &[LoadInput],
    cancel: &Cancel,
    watched: &SampledFiles<'_>,
) -> Result<OpenedFiles> {
    // The row limit of the next file; `None` if the number of rows in an earlier file is unknown.
    let mut rows_left = Some(load.limit.unwrap_or(u64::MAX));
    let mut opened = Vec::new();
    for input in inputs {
        cancel.check()?;
        let mut found = open::open(input, load, cancel, rows_left.unwrap_or(0));
        let tables = match &mut found {
            Ok(Found::Tables(tables)) => &mut tables[..],
            _ => &mut [],
        };
        for file in tables {
            if rows_left.is_none() {
                file.unsee();
            }
            rows_left = rows_left.filter(|_| file.seen).map(|rows| rows - file.sample_rows);
        }
        opened.push(found);
        watched.one_more();
    }
    Ok(divide(inputs, opened.into_iter()))
}

/// Counts the files that have been opened so far, and reports the count to `progress` if opening takes long.
struct SampledFiles<'p> {
    progress: &'p dyn Progress,
    files: u64,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    done: u64,
    reported: bool,
}

impl<'p> SampledFiles<'p> {
    fn new(progress: &'p dyn Progress, files: usize) -> SampledFiles<'p> {
        SampledFiles { progress, files: files as u64, started: Instant::now(), state: Mutex::default() }
    }

    /// Counts one more opened file, and reports the count if opening takes long.
    fn one_more(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        state.done += 1;
        if self.started.elapsed() < REPORTED_AFTER {
            return;
        }
        let mut more = 1;
        if !state.reported {
            self.progress.phase("sample", Some(Amount { rows: self.files, bytes: 0 }));
            (state.reported, more) = (true, state.done);
        }
        self.progress.advance(Amount { rows: more, bytes: 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A phase with its total.
    type Phase = (String, Option<Amount>);

    /// The reports that were made: phases, and the rows done in all of them.
    #[derive(Default)]
    struct Heard(Mutex<(Vec<Phase>, u64)>);

    impl Progress for Heard {
        fn phase(&self, name: &str, total: Option<Amount>) {
            self.0.lock().unwrap().0.push((name.to_owned(), total));
        }

        fn advance(&self, done: Amount) {
            self.0.lock().unwrap().1 += done.rows;
        }
    }

    #[test]
    fn files_that_are_sampled_quickly_are_not_reported_as_progress() {
        let heard = Heard::default();
        let watched =
            SampledFiles { started: Instant::now() + REPORTED_AFTER, ..SampledFiles::new(&heard, 3) };
        (0..3).for_each(|_| watched.one_more());
        assert_eq!(*heard.0.lock().unwrap(), (Vec::new(), 0));
    }

    #[test]
    fn the_first_progress_report_also_counts_the_files_sampled_before() {
        let heard = Heard::default();
        let mut watched =
            SampledFiles { started: Instant::now() + REPORTED_AFTER, ..SampledFiles::new(&heard, 5) };
        watched.one_more();
        watched.one_more();
        watched.started = Instant::now().checked_sub(REPORTED_AFTER).unwrap();
        (0..3).for_each(|_| watched.one_more());
        let all = Some(Amount { rows: 5, bytes: 0 });
        assert_eq!(*heard.0.lock().unwrap(), (vec![("sample".to_owned(), all)], 5));
    }
}
