//! Decides the types that the samples leave open: reads the files for the names of their columns, if these may be incomplete, and then for
//! the values of the columns in doubt.

use std::collections::BTreeMap;
use std::time::Instant;

use sqluice_core::error::{Place, Result};
use sqluice_core::progress::Context;
use sqluice_core::source::Source;
use sqluice_engine::report::Report;
use sqluice_sources::infer::{self, Found, Inferred, Kinds, Scanned};

use crate::load::PreparedLoad;
use crate::load::files::{bad_files, refusing};
use crate::load::plan::near_types;
use crate::load::tables::existing;
use crate::load::tables::table::{LoadTable, Places};

impl PreparedLoad {
    /// Makes the types final. Reads all values of the columns whose types are only guessed so far.
    ///
    /// # Errors
    /// If a file can't be read, or an expression uses a column that is TEXT although its first or nearly all values are numbers. Bad rows
    /// are no error yet.
    pub fn settle_types(&mut self, context: &Context<'_>) -> Result<()> {
        let read = self.settle_timed(&self.begin(context))?;
        self.estimate();
        read
    }

    /// Makes the types final. The inner result is the first read error, if any; the types then follow from the rows before the error.
    pub(crate) fn settle_timed(&mut self, context: &Context<'_>) -> Result<Result<()>> {
        let started = Instant::now();
        let was_settled = self.tables.iter().all(LoadTable::is_settled);
        let settled = self.settle(context);
        if !was_settled {
            self.spent.phase("types", started);
        }
        settled
    }

    fn settle(&mut self, context: &Context<'_>) -> Result<Result<()>> {
        if self.tables.iter().all(LoadTable::is_settled) {
            return Ok(Ok(()));
        }
        self.keep_streams(context)?;
        let mut read = self.settle_names(context)?;
        context.progress.phase("types", self.total(|table| !table.is_settled()));
        let PreparedLoad { load, tables, plan, .. } = self;
        for table in tables {
            table.settle_inputs(load, plan.threads, context)?;
        }
        for index in 0..self.tables.len() {
            if !self.tables[index].is_settled() {
                read = read.and(self.settle_table(index, context));
            }
        }
        self.plan_again()?;
        Ok(read)
    }

    /// Reads the names of the columns of all files whose tables may get more columns. The inner result is the first read error, if any;
    /// the names before the error are used.
    fn settle_names(&mut self, context: &Context<'_>) -> Result<Result<()>> {
        let mut read = Ok(());
        if !self.tables.iter().any(LoadTable::lacks_names) {
            return Ok(read);
        }
        context.progress.phase("columns", self.total(LoadTable::lacks_names));
        let PreparedLoad { load, tables, plan, skipped, .. } = self;
        for table in tables.iter_mut().filter(|table| table.lacks_names()) {
            context.cancel.check()?;
            let scanned = infer::scan(&mut *table.names_source(load), &[], &[], plan.threads, context);
            read = read.and(scanned.1);
            context.cancel.check()?;
            let bad = table.take_new_names(load)?;
            skipped.extend(bad_files::judge(load, table.files.len(), bad)?);
        }
        existing::check(&self.load, &self.tables)?;
        self.plan_again()?;
        Ok(read)
    }

    /// Reads the rows of a table for their types. If a file can't be read to its end, the types follow from the rows before the error.
    fn settle_table(&mut self, index: usize, context: &Context<'_>) -> Result<()> {
        let PreparedLoad { load, tables, schema, plan, .. } = self;
        context.cancel.check()?;
        let table = &mut tables[index];
        let (columns, results) = (table.columns_in_doubt(schema), table.results_in_doubt(schema));
        let (scanned, read) = {
            let mut source = table.types_source(&columns, load, schema)?;
            infer::scan(&mut *source, &columns, &results, plan.threads, context)
        };
        let mut places: Vec<Places> = scanned.iter().map(shown).collect();
        let mut sought = sought(&columns, &mut places);
        while !sought.is_empty() {
            find_places(&mut *table.types_source(&columns, load, schema)?, &mut sought);
        }
        table.settle(scanned.into_iter().zip(places).collect());
        read
    }
}

impl PreparedLoad {
    /// Adds to the report why columns are TEXT, for columns whose values were counted only while they were loaded. Parts of the files are
    /// read again to find the places of values. After a read error, the report lacks the places that were not found.
    pub(crate) fn explain_types(&mut self, report: &mut Report) {
        let PreparedLoad { load, tables, schema, watches, .. } = self;
        for (table, watch) in tables.iter_mut().zip(watches) {
            let kinds: Vec<(usize, Kinds)> = watch.kinds();
            if kinds.is_empty() {
                continue;
            }
            let index = table.index_in(schema);
            let (declared, columns) = (&schema.tables[index], &mut report.tables[index].columns);
            for (column, kinds) in &kinds {
                table.take_kinds(&declared.columns[*column].name, kinds.clone(), Places::new());
            }
            near_types::report(table, load, declared, columns);
            let noted = |column: usize| {
                (columns[column].missed.is_some() || columns[column].nulls.is_some())
                    && table.kinds_of_all(&declared.columns[column].name).is_some()
            };
            let kinds: Vec<(usize, Kinds)> = kinds.into_iter().filter(|(column, _)| noted(*column)).collect();
            let indexes: Vec<usize> = kinds.iter().map(|(column, _)| *column).collect();
            let mut places: Vec<Places> = kinds.iter().map(|(_, kinds)| unplaced(kinds)).collect();
            let mut sought = sought(&indexes, &mut places);
            while !sought.is_empty() {
                let Ok(mut source) = table.source(load, schema) else { break };
                find_places(&mut *source, &mut sought);
            }
            for ((column, kinds), places) in kinds.into_iter().zip(places) {
                table.take_kinds(&declared.columns[column].name, kinds, places);
            }
            near_types::report(table, load, declared, columns);
        }
    }
}

/// Returns the values that notes may show, without their places.
fn unplaced(kinds: &Kinds) -> Places {
    kinds.shown().into_iter().map(|found| (found.clone(), None)).collect()
}

/// Returns the values that notes may show about a column that has turned out to be TEXT.
fn shown(Scanned { evidence, kinds }: &Scanned) -> Places {
    match evidence.conclude() {
        Inferred::Text => unplaced(kinds),
        Inferred::Integer | Inferred::Real => Vec::new(),
    }
}

/// A value whose place is sought, with its column and the place to fill in.
type Sought<'p> = (&'p Found, usize, &'p mut Option<Place>);

/// Returns the values with unknown places, grouped by the part of the source that has them: the number of the part, counted from 0.
fn sought<'p>(columns: &[usize], places: &'p mut [Places]) -> BTreeMap<u64, Vec<Sought<'p>>> {
    let mut sought: BTreeMap<u64, Vec<Sought<'_>>> = BTreeMap::new();
    for (column, places) in columns.iter().zip(places) {
        for (found, place) in places {
            sought.entry(found.part).or_default().push((found, *column, place));
        }
    }
    sought
}

/// Finds the place of one value in each part that has values in `sought`, and takes this value out of `sought`: in one pass over the parts,
/// a part can be decoded only once. Parts without such values are read again, but not decoded. Callers repeat the pass until `sought` is
/// empty.
fn find_places(source: &mut dyn Source, sought: &mut BTreeMap<u64, Vec<Sought<'_>>>) {
    for index in 0..sought.last_key_value().map_or(0, |(last, _)| last + 1) {
        let part = source.next_part();
        let Some(values) = sought.get_mut(&index) else { continue };
        if let (Some((found, column, place)), Ok(Some(mut part))) = (values.pop(), part) {
            *place = refusing::place_in(&mut *part, found.row, column);
        }
        if values.is_empty() {
            sought.remove(&index);
        }
    }
}
