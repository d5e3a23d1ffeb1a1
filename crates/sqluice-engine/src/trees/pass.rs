//! Runs one pass: workers process parts of sources, of sorted runs, or of trees of other databases, and a writer writes the pages that they
//! build.
//!
//! The memory of a pass does not depend on the number of parts. It is the chunks of pages of the workers, and the memory of the parts in
//! progress.

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::source::Source;

use super::Settings;
use super::made_from::copied::onto_pages::Copier;
use super::made_from::rows::RowsEncoder;
use super::made_from::sorted_runs::{self, RunsTree};
use super::made_from::united;
use super::made_from::{BuiltTree, TreeCopy, Trees};
use super::workers::dispenser::{Dispenser, Parts};
use super::workers::message::{Message, Returns};
use super::workers::part_ends::PartEnds;
use super::workers::worker::{Filling, Worker};
use super::writer::page_numbers::Appender;
use super::writer::{PassContext, Writer};

/// Builds and writes `trees`, one after another. `sources` has the source of the rows for each of [`Trees::Rows`]; for other trees it is
/// empty.
pub(super) fn run(
    trees: &Trees<'_>,
    sources: Vec<Box<dyn Source + '_>>,
    settings: &Settings,
    appender: &mut Appender,
    around: &mut PassContext<'_>,
) -> Result<Vec<BuiltTree>> {
    let keep_bad_rows = around.rejects.is_some();
    let parts = match trees {
        Trees::Rows(_) => Parts::Sources(sources),
        Trees::Runs(trees) => Parts::Numbered(trees.iter().map(RunsTree::parts).collect()),
        Trees::Copy(trees) => Parts::Numbered(trees.iter().map(TreeCopy::parts).collect()),
    };
    let dispenser = Dispenser::new(parts);
    let (to_writer, from_workers) = crossbeam_channel::unbounded();
    let cancel = around.cancel;
    std::thread::scope(|scope| {
        let mut returns = Vec::new();
        for index in 0..settings.workers {
            let (chunks, empty) = crossbeam_channel::unbounded();
            let (parts, ended) = crossbeam_channel::unbounded();
            let (bad_rows, taken) = crossbeam_channel::unbounded();
            returns.push(Returns { chunks, parts, bad_rows });
            let to_writer = to_writer.clone();
            let worker = Worker {
                index,
                settings,
                keep_bad_rows,
                empty,
                made: 0,
                ended,
                ahead: 0,
                taken,
                bad_rows_ahead: 0,
                to_writer,
            };
            let dispenser = &dispenser;
            let started = std::thread::Builder::new()
                .name("sqluice-worker".to_owned())
                .spawn_scoped(scope, move || work(worker, dispenser, trees, cancel));
            if let Err(error) = started {
                dispenser.stop();
                return Err(Error::target("cannot start a thread").because(error));
            }
        }
        drop(to_writer);
        let writer = Writer::new(trees, appender, around);
        let written = writer.write_all(&from_workers, &returns);
        dispenser.stop();
        if written.is_err() {
            cancel.cancel();
        }
        // Dropping the channels ends the workers that wait for the writer to return a chunk.
        drop(returns);
        written
    })
}

/// Runs one worker, which takes parts from `dispenser` and sends the pages of each part to the writer in chunks.
fn work(mut worker: Worker<'_>, dispenser: &Dispenser<'_>, trees: &Trees<'_>, cancel: &Cancel) {
    let mut encoder: Option<(usize, RowsEncoder<'_>)> = None;
    let mut copier: Option<(usize, Copier<'_>)> = None;
    let mut last = None;
    while worker.may_go_on().is_ok()
        && let Some((id, task)) = dispenser.next()
    {
        last = Some(id);
        let filling = Filling::new(&mut worker, id, cancel);
        let done = match trees {
            Trees::Rows(trees) => {
                let encoder = match &mut encoder {
                    Some((tree, encoder)) if *tree == id.tree => encoder,
                    other => {
                        let new = RowsEncoder::new(&trees[id.tree], filling.worker.settings);
                        &mut other.insert((id.tree, new)).1
                    }
                };
                filling.finish(task, |filling, task| encoder.encode(filling, task))
            }
            Trees::Runs(trees) => filling.finish(task, |filling, task| {
                sorted_runs::onto_pages::write_part(&trees[id.tree], filling, task)
            }),
            Trees::Copy(trees) => match &trees[id.tree] {
                TreeCopy::Copied(tree) => {
                    let copier = match &mut copier {
                        Some((of, copier)) if *of == id.tree => copier,
                        other => &mut other.insert((id.tree, Copier::new(tree))).1,
                    };
                    filling.finish(task, |filling, task| copier.copy(filling, task))
                }
                TreeCopy::United(tree) => {
                    filling.finish(task, |filling, task| united::onto_pages::unite(tree, filling, task))
                }
            },
        };
        if done.is_err() {
            return;
        }
    }
    // The worker's last rows and index entries are still in its sort buffers, and are passed to the sorters. An error is sent to the writer
    // as if a part had failed.
    if let (Some((_, encoder)), Some(id)) = (&mut encoder, last)
        && !dispenser.is_stopped()
        && let Err(error) = encoder.flush()
    {
        let failed = Message::Failed { error, ends: PartEnds::None };
        let _ = worker.to_writer.send((id, u64::MAX, failed));
    }
}
