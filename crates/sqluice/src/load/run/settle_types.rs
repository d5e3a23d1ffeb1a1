//! Types that no sample can decide: all files are read once, for the names of their columns and for the values of the columns in doubt.

use std::time::Instant;

use sqluice_core::error::Result;
use sqluice_core::progress::Context;
use sqluice_sources::infer;

use crate::load::PreparedLoad;
use crate::load::files::bad_files;
use crate::load::tables::existing;
use crate::load::tables::table::LoadTable;

impl PreparedLoad {
    /// Makes the types final, by reading everything whose types are only guessed so far.
    ///
    /// # Errors
    /// If a file can't be read. Bad rows are no error yet.
    pub fn settle_types(&mut self, context: &Context<'_>) -> Result<()> {
        let read = self.settle_timed(&self.begin(context))?;
        self.estimate();
        read
    }

    /// Makes the types final. The inner result is the first error of reading; the rows before the error count.
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
        for index in 0..self.tables.len() {
            if !self.tables[index].is_settled() {
                read = read.and(self.settle_table(index, context));
            }
        }
        self.plan_again()?;
        Ok(read)
    }

    /// Reads the names of the columns of all files whose tables may get more columns. The inner result is the first error of reading; the
    /// names before the error count.
    fn settle_names(&mut self, context: &Context<'_>) -> Result<Result<()>> {
        let mut read = Ok(());
        if !self.tables.iter().any(LoadTable::lacks_names) {
            return Ok(read);
        }
        context.progress.phase("columns", self.total(LoadTable::lacks_names));
        let PreparedLoad { load, tables, plan, skipped, .. } = self;
        for table in tables.iter_mut().filter(|table| table.lacks_names()) {
            context.cancel.check()?;
            let scanned = infer::scan(&mut *table.names_source(load), &[], plan.threads, context);
            read = read.and(scanned.1);
            context.cancel.check()?;
            let bad = table.take_new_names(load)?;
            skipped.extend(bad_files::judge(load, table.files.len(), bad)?);
        }
        existing::check(&self.load, &self.tables)?;
        self.plan_again()?;
        Ok(read)
    }

    /// Reads the rows of a table for their types. If a file can't be read to its end, the rows before the error decide.
    fn settle_table(&mut self, index: usize, context: &Context<'_>) -> Result<()> {
        let PreparedLoad { load, tables, schema, plan, .. } = self;
        context.cancel.check()?;
        let table = &mut tables[index];
        let columns = table.columns_in_doubt(schema);
        let (evidence, read) = {
            let mut source = table.types_source(&columns, load, schema)?;
            infer::scan(&mut *source, &columns, plan.threads, context)
        };
        table.settle(&evidence);
        read
    }
}
