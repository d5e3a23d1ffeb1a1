//! Creates full-text tables, and fills their shadow tables.

use std::sync::Arc;

use sqluice_core::error::Result;
use sqluice_core::progress::{Amount, Progress};
use sqluice_core::schema::{Table, quoted};
use sqluice_format::fts5::{PAGE_BYTES_DEFAULT, Segment, SegmentWriter, averages, level_of, structure};
use sqluice_format::scan::{Kind, Scan, Tree};

use super::declared::{DeclaredTextIndex, Ours};
use super::request::Content;
use super::texts::TextTaker;
use crate::existing::Transaction;
use crate::existing::indexes::entries::in_parts;
use crate::full_text::shadow::{NewSegment, Shadows, WrittenSegment};
use crate::full_text::{Collected, Collector, Joined, Totals, WrittenTextIndex};
use crate::phases::Phases;
use crate::sort::Spill;
use crate::trees::Settings;

/// The number of the segment that holds all terms. SQLite uses the next ones.
const SEGMENT: u16 = 1;

/// The number of parts of the table for each worker. More and smaller parts would make more doclists for each term, and with fewer parts,
/// workers would be idle for longer at the end.
const PARTS_OF_WORKER: usize = 4;

/// The number of doclists between two reports of the progress.
const REPORTED: u64 = 4096;

/// Creates and fills all declared full-text tables. Commits nothing. Returns what was written of each; `None` for a table that SQLite
/// filled.
///
/// # Errors
/// If the file is damaged or can't be written.
pub fn make(
    transaction: &Transaction<'_>,
    declared: &[DeclaredTextIndex<'_>],
    settings: &Settings,
    phases: &mut Phases<'_>,
) -> Result<Vec<Option<WrittenTextIndex>>> {
    let made = declared.iter().map(|declared| {
        let name = &declared.request.name;
        phases.begin(&format!("create {name}"), None);
        transaction.execute(&declared.sql)?;
        let made = match &declared.ours {
            Some(ours) => Some(Making { transaction, declared, settings }.fill(ours, phases)?),
            None => {
                phases.begin(&format!("sqlite {name}"), None);
                transaction.execute(&fill_by_sqlite(declared))?;
                None
            }
        };
        declared.triggers.iter().try_for_each(|trigger| transaction.execute(trigger))?;
        Ok(made)
    });
    made.collect()
}

/// Returns the statement by which SQLite fills a full-text table.
fn fill_by_sqlite(declared: &DeclaredTextIndex<'_>) -> String {
    let name = quoted(&declared.request.name);
    match declared.request.content {
        Content::External => format!("INSERT INTO {name}({name}) VALUES ('rebuild')"),
        Content::Own => {
            let columns = columns(declared);
            format!("INSERT INTO {name}(rowid, {columns}) {}", select(declared))
        }
    }
}

/// Returns the quoted names of the columns, with commas.
fn columns(declared: &DeclaredTextIndex<'_>) -> String {
    let columns = declared.request.columns.iter().map(|column| quoted(&column.name));
    columns.collect::<Vec<_>>().join(", ")
}

/// Returns the query for the rowids and columns of the table, in the order of rowids.
fn select(declared: &DeclaredTextIndex<'_>) -> String {
    let rowid = quoted(&declared.rowid);
    format!(
        "SELECT {rowid}, {} FROM main.{} ORDER BY {rowid}",
        columns(declared),
        quoted(&declared.table.name)
    )
}

/// A full-text table that is filled.
struct Making<'m> {
    transaction: &'m Transaction<'m>,
    declared: &'m DeclaredTextIndex<'m>,
    settings: &'m Settings,
}

impl Making<'_> {
    fn fill(&self, ours: &Ours, phases: &mut Phases<'_>) -> Result<WrittenTextIndex> {
        let Making { transaction, declared, settings } = self;
        let name = &declared.request.name;
        if declared.request.content == Content::Own {
            phases.begin(&format!("content of {name}"), None);
            let columns = (0..declared.request.columns.len()).map(|number| format!(", c{number}"));
            let (content, columns) = (self.shadow("content"), columns.collect::<String>());
            transaction.execute(&format!("INSERT INTO {content}(id{columns}) {}", select(declared)))?;
        }
        let cancel = transaction.cancel().child();
        let spill = Arc::new(Spill::new(settings.temp_dir.clone()));
        // No pages are written meanwhile, so their buffers are free.
        let memory_bytes =
            settings.sort_bytes + settings.workers * settings.chunks_per_worker * settings.chunk_bytes;
        let collector = Collector::new(&ours.index, settings.workers, memory_bytes, &spill);

        phases.begin(&format!("read {}", declared.table.name), None);
        self.read(ours, &collector, phases.progress())?;

        phases.begin(&format!("sort {name}"), None);
        let collected = collector.sorted(settings.workers, memory_bytes, &cancel)?;

        phases.begin(&format!("merge {name}"), Some(Amount { rows: collected.doclists(), bytes: 0 }));
        self.insert(ours, &collected, phases.progress())
    }

    /// Returns the quoted name of a shadow table.
    fn shadow(&self, suffix: &str) -> String {
        format!("main.{}", quoted(&format!("{}_{suffix}", self.declared.request.name)))
    }

    /// Reads the rows of the table, and collects their terms.
    fn read(&self, ours: &Ours, collector: &Collector<'_>, progress: &dyn Progress) -> Result<()> {
        let Making { transaction, declared, settings } = self;
        let Table { name, .. } = declared.table;
        let Settings { geometry, page_count, workers, .. } = **settings;
        let view = transaction.view(page_count, progress)?;
        let tree = Tree { root_page: transaction.root_page(name)?, kind: Kind::Table, geometry, page_count };
        // No part is too large: a worker ends a run by itself when the memory of the run is used up.
        let scan = Scan::in_parts_of(&mut view.pages(), tree, usize::MAX);
        let scan = scan.and_then(|scan| scan.with_parts(&mut view.pages(), PARTS_OF_WORKER * workers));
        let scan = scan.map_err(|error| view.failed(error))?.with_fields(ours.texts.wanted());
        in_parts((view, name), &scan, workers, || Ok(TextTaker::new(&ours.texts, collector.worker()?)))
    }

    /// Inserts the rows of the shadow tables.
    fn insert(
        &self,
        ours: &Ours,
        collected: &Collected,
        progress: &dyn Progress,
    ) -> Result<WrittenTextIndex> {
        let Making { transaction, declared, .. } = self;
        let shadows = Shadows::new(transaction.connection(), &declared.request.name)
            .with_errors(|error, what| transaction.failed(error, what));
        let cookie = shadows.cookie()?;
        let writer = SegmentWriter::new(SEGMENT, ours.index.detail, PAGE_BYTES_DEFAULT);
        let mut segment = NewSegment::begin(&shadows, writer)?;
        let mut doclists = 0;
        collected.each_doclist(|term, _, doclist| {
            segment.take(term, doclist)?;
            doclists += 1;
            if doclists % REPORTED == 0 {
                transaction.cancel().check()?;
                progress.advance(Amount { rows: REPORTED, bytes: 0 });
            }
            Ok(())
        })?;
        let WrittenSegment { leaves, terms, bytes } = segment.finish()?;
        shadows.insert_sizes(collected, None, || transaction.cancel().check())?;
        let Totals { rows, tokens } = &collected.totals;
        // Without rows, both rows stay as they are.
        if *rows > 0 {
            let segment = Segment { id: SEGMENT, leaves };
            let structure = structure(cookie, &segment, level_of(leaves), None);
            shadows.put(&averages(*rows, tokens), &structure)?;
        }
        Ok(WrittenTextIndex { rows: *rows, tokens: tokens.iter().sum(), terms, leaves, bytes })
    }
}
