//! The first reading of a damaged file: what each page is, all pages on all cores. A sound leaf of a table without overflow pages usually
//! needs no other reading until its rows are written, because the survey keeps the shape of its rows.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use sqluice_core::error::Result;
use sqluice_core::progress::{Amount, Context};
use sqluice_format::page::PageKind;
use sqluice_format::salvage::{Salvage, Shape, Types};

use super::file::DamagedFile;

/// The number of bytes that a thread reads at once: a multiple of every page size.
const RUN_BYTES: usize = 1 << 20;

/// The properties of a page.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageFacts {
    /// The kind; `None` if the page is not a B-tree page.
    pub kind: Option<PageKind>,
    /// `true` if the page is a B-tree page without a fault.
    pub is_whole: bool,
    /// `true` if the page is empty: all bytes are zeros.
    pub is_zero: bool,
    /// A number that pages with the same bytes share; 0 for pages without rows.
    pub content: u64,
    /// `true` if an entry overflows to other pages.
    pub overflows: bool,
    /// The number of sound entries.
    pub entries: u16,
    /// The number of cells that are not sound.
    pub lost: u16,
    /// On a leaf of a table, the first and the last rowid of the entries whose rowids ascend; on an interior page of a table, of the keys
    /// of its children. `None` if the page has none, and for all other pages.
    pub rowids: Option<(i64, i64)>,
    /// The position of the shape of a whole leaf in [`Survey::shapes`], counted from 1; 0 if the shape is not known.
    pub shape: u32,
}

/// The facts of all pages.
#[derive(Debug, Default)]
pub struct Survey {
    /// The facts of each page, those of page 1 first.
    pub pages: Vec<PageFacts>,
    /// The shapes of whole leaves of tables.
    pub shapes: Vec<Shape>,
}

/// Calls `work` for runs of consecutive pages, on all cores, with the number of the first page and the bytes of the run. Runs without a
/// page that `is_wanted` are not read.
pub(super) fn on_all_cores<T: Send>(
    file: &DamagedFile,
    threads: usize,
    context: &Context<'_>,
    is_wanted: impl Fn(u32) -> bool + Sync,
    work: impl Fn(u32, &[u8]) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let page_bytes = file.geometry().page_bytes();
    let per_run = (RUN_BYTES / page_bytes) as u32;
    let runs = file.page_count().div_ceil(per_run) as usize;
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(runs)));
    let one = || -> Result<()> {
        let mut bytes = vec![0; RUN_BYTES];
        loop {
            let run = next.fetch_add(1, Ordering::Relaxed);
            if run >= runs {
                return Ok(());
            }
            context.cancel.check()?;
            let first = run as u32 * per_run + 1;
            let pages = per_run.min(file.page_count() - first + 1);
            let bytes = &mut bytes[..pages as usize * page_bytes];
            if (first..first + pages).any(&is_wanted) {
                file.read_pages(first, bytes)?;
                let result = work(first, bytes)?;
                done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((run, result));
            }
            context.progress.advance(Amount { rows: 0, bytes: bytes.len() as u64 });
        }
    };
    let stopping = || one().inspect_err(|_| next.store(runs, Ordering::Relaxed));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(runs)).map(|_| scope.spawn(stopping)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_unstable_by_key(|(run, _)| *run);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

/// Reads all pages.
///
/// # Errors
/// When the file can't be read.
pub fn survey(file: &DamagedFile, threads: usize, context: &Context<'_>) -> Result<Survey> {
    let geometry = file.geometry();
    let runs = on_all_cores(
        file,
        threads,
        context,
        |_| true,
        |first, bytes| {
            let (mut salvage, mut types, mut shapes) = (Salvage::default(), Types::new(), Shapes::default());
            let pages = bytes.chunks_exact(geometry.page_bytes());
            let facts = (first..).zip(pages).map(|(number, page)| {
                match salvage.read_packed(page, number, geometry, &mut types) {
                    Some((rows, rowids)) => PageFacts {
                        kind: Some(PageKind::LeafTable),
                        is_whole: true,
                        content: content(page),
                        entries: few(rows),
                        rowids: Some(rowids),
                        shape: shapes.number(&salvage.shape),
                        ..PageFacts::default()
                    },
                    None => {
                        let kind = salvage.read(page, number, geometry, &mut types);
                        facts(kind, &salvage, page, &mut shapes)
                    }
                }
            });
            let facts = facts.collect::<Vec<_>>();
            Ok((facts, shapes.list))
        },
    )?;
    let (mut all, mut pages) = (Shapes::default(), Vec::with_capacity(file.page_count() as usize));
    for (of_run, shapes) in runs {
        let numbers: Vec<u32> = shapes.iter().map(|shape| all.number(shape)).collect();
        let numbered = |facts: PageFacts| {
            let shape = facts.shape.checked_sub(1).map_or(0, |shape| numbers[shape as usize]);
            PageFacts { shape, ..facts }
        };
        pages.extend(of_run.into_iter().map(numbered));
    }
    Ok(Survey { pages, shapes: all.list })
}

/// Different shapes, and their numbers.
#[derive(Default)]
struct Shapes {
    list: Vec<Shape>,
    numbers: HashMap<Shape, u32>,
}

/// The largest number of shapes that are kept. The leaves of a sound file have few.
const SHAPES_MAX: usize = 10_000;

impl Shapes {
    /// Returns the position of a shape, counted from 1; 0 if there are too many shapes.
    fn number(&mut self, shape: &Shape) -> u32 {
        if self.list.last() == Some(shape) {
            return self.list.len() as u32;
        }
        if let Some(number) = self.numbers.get(shape) {
            return *number;
        }
        if self.list.len() == SHAPES_MAX {
            return 0;
        }
        self.list.push(shape.clone());
        self.numbers.insert(shape.clone(), self.list.len() as u32);
        self.list.len() as u32
    }
}

fn facts(kind: Option<PageKind>, salvage: &Salvage, page: &[u8], shapes: &mut Shapes) -> PageFacts {
    let Some(kind) = kind else {
        return PageFacts { is_zero: page.iter().all(|byte| *byte == 0), ..PageFacts::default() };
    };
    let rowids = match kind {
        PageKind::LeafTable => {
            let mut rowids =
                salvage.entries.iter().filter(|entry| entry.in_order).map(|entry| entry.cell.rowid);
            rowids.next().map(|first| (first, rowids.next_back().unwrap_or(first)))
        }
        PageKind::InteriorTable => {
            let mut rowids = salvage.children.iter().filter_map(|(_, rowid)| *rowid);
            rowids.next().map(|first| (first, rowids.next_back().unwrap_or(first)))
        }
        _ => None,
    };
    let has_shape = kind == PageKind::LeafTable && salvage.is_whole && salvage.shape.is_known;
    PageFacts {
        kind: Some(kind),
        is_whole: salvage.is_whole,
        is_zero: false,
        content: if salvage.entries.is_empty() { 0 } else { content(page) },
        overflows: salvage.entries.iter().any(|entry| entry.cell.overflow.is_some()),
        entries: few(salvage.entries.len()),
        lost: few(salvage.lost),
        rowids,
        shape: if has_shape && !salvage.entries.is_empty() { shapes.number(&salvage.shape) } else { 0 },
    }
}

fn few(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// Returns a number that follows from the bytes of a page. Each of four hashes takes every fourth word, so that none waits for another.
fn content(page: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    let mut hashes = [0xcbf2_9ce4_8422_2325_u64; 4];
    for words in page.as_chunks::<8>().0.as_chunks::<4>().0 {
        for (hash, word) in hashes.iter_mut().zip(words) {
            *hash = mix(*hash, u64::from_be_bytes(*word));
        }
    }
    hashes.into_iter().fold(0, mix)
}
