//! The ways to fill a new table. All of them insert the same rows, and the rows in the table are compared with the expected rows.

use std::ops::Range;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use rusqlite::{CachedStatement, Connection, Statement};
use sqluice::options::WriteOptions;
use sqluice::progress::Context;
use sqluice::rows::{self, Rows};
use sqluice::schema::Schema;
use sqluice::write::write_tables;

use crate::carray::{self, Array};
use crate::case::{Case, Digest, Ground, Result, Took};
use crate::record::Skip;
use crate::sql::{self, Pragma};
use crate::table::{Block, Filled, Table, TableSource};

/// The number of rows that are computed at a time if the way has no number of rows per statement.
const BLOCK_ROWS: u64 = 4096;

/// The maximum number of computed blocks that wait for the inserting thread.
const BLOCKS_WAITING: usize = 8;

/// The way to insert rows into a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Statements of this number of rows, with the values in the SQL text. Each statement is parsed.
    Text(usize),
    /// One prepared statement of this number of rows, with the values in the SQL text. It is run repeatedly without being parsed again.
    Constant(usize),
    /// Bound parameters, with this number of rows in each statement.
    Bound(usize),
    /// Bound parameters, with rows that other threads compute: the number of rows in each statement, and the number of these threads.
    Producers(usize, usize),
    /// SQLite's `carray`, with this number of rows in each statement, for tables of one integer column.
    Carray(u64),
    /// `sqluice_rows`, with this number of rows in each statement.
    Rows(u64),
    /// INSERT ... SELECT from an attached database that has the rows.
    Attach,
    /// Pages of the database file, which sqluice writes without SQLite.
    Pages,
}

/// The parameters of a case that fills a table.
#[derive(Clone)]
pub(crate) struct Insert {
    table: Table,
    way: Way,
    pragmas: &'static [Pragma],
    /// The number of rows in a transaction; 0 for all rows.
    transaction_rows: u64,
    /// The CREATE INDEX statement, and whether it is run before or after the rows; `None` for a table without an index.
    index: Option<(When, &'static str)>,
    /// `true` if the program sorts the rows before it inserts them; the sort is timed.
    sorted: bool,
    in_memory: bool,
}

/// The order of creating an index and inserting the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Before,
    After,
    /// After the rows, by `sqluice index`.
    AfterBySqluice,
}

impl Insert {
    pub(crate) fn new(table: &Table, way: Way) -> Insert {
        Insert {
            table: table.clone(),
            way,
            pragmas: &[],
            transaction_rows: 0,
            index: None,
            sorted: false,
            in_memory: false,
        }
    }

    pub(crate) fn pragmas(self, pragmas: &'static [Pragma]) -> Insert {
        Insert { pragmas, ..self }
    }

    pub(crate) fn transaction_rows(self, transaction_rows: u64) -> Insert {
        Insert { transaction_rows, ..self }
    }

    pub(crate) fn index(self, when: When, create: &'static str) -> Insert {
        Insert { index: Some((when, create)), ..self }
    }

    pub(crate) fn sorted(self) -> Insert {
        Insert { sorted: true, ..self }
    }

    pub(crate) fn in_memory(self) -> Insert {
        Insert { in_memory: true, ..self }
    }

    /// Returns the case that fills the table.
    pub(crate) fn case(self) -> Case {
        let Insert { table, way, pragmas, index, .. } = &self;
        let mut command = self.command();
        if let Some((when, create)) = index {
            command = match when {
                When::Before => format!("{create}; {command}"),
                When::After => format!("{command}; {create}"),
                When::AfterBySqluice => format!("{command}; sqluice index {create:?}"),
            };
        }
        if matches!(way, Way::Carray(_)) && !carray::is_available() {
            return Case::skipped(command, Skip::NotInstalled);
        }
        // The disk space is that of the table, plus the same for the source of ATTACH, plus twice the same for an index.
        let copies = 1 + u64::from(*way == Way::Attach) + 2 * u64::from(index.is_some());
        let array_rows = if let Way::Carray(rows) = *way { rows.min(table.rows) } else { BLOCK_ROWS };
        let memory = array_rows * 8
            + if self.sorted { table.rows * 16 } else { 0 }
            + if self.in_memory { table.bytes() } else { 0 };
        let (disk, settings) = (table.bytes() * copies, sql::statements(pragmas));
        let expected = table.clone();
        Case::new(command, move |ground| self.run(ground), move || Ok(expected.expected()))
            .settings(settings)
            .disk(disk)
            .memory(memory)
    }

    fn command(&self) -> String {
        let Table { name, .. } = &self.table;
        let columns = self.table.names();
        let transactions = match self.transaction_rows {
            0 => String::new(),
            1 => ", a transaction each".to_owned(),
            rows => format!(", {rows} rows a transaction"),
        };
        let what = match self.way {
            Way::Text(rows) => {
                format!("INSERT INTO {name} ({columns}) VALUES (1), ...: {rows} rows of text a statement")
            }
            Way::Constant(rows) => format!(
                "INSERT INTO {name} ({columns}) VALUES (1), ...: prepared once, {rows} rows a statement"
            ),
            Way::Bound(rows) if rows > 3 => {
                format!("{}, ...: {rows} rows a statement, prepared once", self.table.insert(1))
            }
            Way::Bound(rows) => format!("{}: prepared once", self.table.insert(rows)),
            Way::Producers(rows, threads) => {
                format!("{}, ...: {rows} rows a statement, made by {threads} threads", self.table.insert(1))
            }
            Way::Carray(rows) => format!(
                "INSERT INTO {name} ({columns}) SELECT value FROM carray(?1, ?2, 'int64'): {} rows a statement",
                rows.min(self.table.rows)
            ),
            Way::Rows(rows) => format!(
                "INSERT INTO {name} ({columns}) SELECT {} FROM sqluice_rows(?1): {rows} rows a statement",
                arguments(&self.table)
            ),
            Way::Attach => format!("INSERT INTO {name} SELECT * FROM source.{name}"),
            Way::Pages => "sqluice::write::write_tables".to_owned(),
        };
        let sorted = if self.sorted { "rows in order first; " } else { "" };
        format!("{sorted}{what}{transactions}")
    }

    fn run(&self, ground: &Ground<'_>) -> Result<Took> {
        match self.way {
            Way::Pages => self.run_pages(ground),
            _ => self.run_sql(ground),
        }
    }

    fn run_pages(&self, ground: &Ground<'_>) -> Result<Took> {
        let file = ground.file();
        let before = match self.index {
            Some((When::Before, create)) => format!("; {create}"),
            _ => String::new(),
        };
        let sql = format!("{}{before}", self.table.create);
        let ((), seconds) = ground.time(|| {
            pages(&file, &sql, self.table_in_order())?;
            self.index_after(&file)
        })?;
        self.took(ground, &sql::open(&file, &[])?, seconds)
    }

    fn run_sql(&self, ground: &Ground<'_>) -> Result<Took> {
        let file = ground.file();
        let db = if self.in_memory { Connection::open_in_memory()? } else { Connection::open(&file)? };
        sql::set(&db, self.pragmas)?;
        rows::register(&db)?;
        db.execute_batch(&self.table.create)?;
        if let Some((When::Before, create)) = self.index {
            db.execute_batch(create)?;
        }
        if self.way == Way::Attach {
            let source = ground.path("source.db");
            pages(&source, &self.table.create, self.table.clone())?;
            db.execute("ATTACH ?1 AS source", [source.to_str()])?;
        }
        if self.in_memory {
            let ((), seconds) = ground.time(|| self.fill(&db))?;
            return self.took(ground, &db, seconds);
        }
        let ((), seconds) = ground.time(|| {
            self.fill(&db)?;
            if let Some((When::After, create)) = self.index {
                db.execute_batch(create)?;
            }
            sql::close(db)?;
            self.index_after(&file)
        })?;
        self.took(ground, &sql::open(&file, &[])?, seconds)
    }

    fn index_after(&self, file: &Path) -> Result {
        if let Some((When::AfterBySqluice, create)) = self.index {
            sqluice::index::Index::new(file, [create]).run()?;
        }
        Ok(())
    }

    fn table_in_order(&self) -> Table {
        if !self.sorted {
            return self.table.clone();
        }
        let mut block = Block::default();
        self.table.fill(0..self.table.rows, &mut block);
        match block.columns.pop() {
            Some(Filled::Ints(mut ints)) => {
                ints.sort_unstable();
                self.table.with_ints(ints)
            }
            _ => self.table.clone(),
        }
    }

    /// Inserts all rows, with the requested number of rows in each transaction.
    fn fill(&self, db: &Connection) -> Result {
        let table = self.table_in_order();
        let step = if self.transaction_rows == 0 { table.rows } else { self.transaction_rows };
        let mut first = 0;
        while first < table.rows {
            let next = (first + step).min(table.rows);
            // A single statement is a transaction by itself, without BEGIN.
            if step > 1 {
                db.execute_batch("BEGIN")?;
            }
            insert(db, &table, self.way, first..next)?;
            if step > 1 {
                db.execute_batch("COMMIT")?;
            }
            first = next;
        }
        Ok(())
    }

    fn took(&self, ground: &Ground<'_>, db: &Connection, seconds: f64) -> Result<Took> {
        let table = &self.table;
        sql::maybe_drop(db, ground, table.name)?;
        let queries = table.queries();
        let found: Result<Vec<Digest>> = queries.iter().map(|query| sql::digest(db, query)).collect();
        sql::sound(db)?;
        if let Some((_, create)) = self.index {
            let made: bool =
                db.query_row("SELECT count(*) > 0 FROM sqlite_schema WHERE sql = ?1", [create], |row| {
                    row.get(0)
                })?;
            if !made {
                return Err("the index was not created".into());
            }
        }
        let took = Took::rate(table.rows, seconds, found?);
        if self.in_memory {
            return Ok(took);
        }
        Ok(took.with("database_bytes", sql::file_bytes(&ground.file())? as f64))
    }
}

/// Writes a new database with one table.
pub(crate) fn pages(file: &Path, sql: &str, table: Table) -> Result {
    let schema = Schema::parse(sql.to_owned(), Path::new("lab.sql"))?;
    let source = Box::new(TableSource { table, next: 0 });
    write_tables(Some(file), &schema, vec![source], &WriteOptions::default(), &Context::default())?;
    Ok(())
}

/// Returns the names of the columns of `sqluice_rows`: `c1, c2`.
fn arguments(table: &Table) -> String {
    (1..=table.columns.len()).map(|number| format!("c{number}")).collect::<Vec<_>>().join(", ")
}

/// Inserts the rows `range` within an open transaction.
fn insert(db: &Connection, table: &Table, way: Way, range: Range<u64>) -> Result {
    let name = table.name;
    match way {
        Way::Text(degree) => {
            let block_rows = BLOCK_ROWS.max(degree as u64) / degree as u64 * degree as u64;
            table.blocks(range, block_rows, |block| {
                for first in (0..block.rows).step_by(degree) {
                    let rows = first..(first + degree).min(block.rows);
                    changed(db.execute(&table.insert_text(block, rows.clone()), [])?, rows.len())?;
                }
                Ok(())
            })
        }
        Way::Constant(degree) => constant(db, table, degree, range),
        Way::Bound(degree) => {
            table.blocks(range, whole(degree), |block| bind_block(db, table, degree, block))
        }
        Way::Producers(degree, threads) => producers(db, table, degree, threads, range),
        Way::Carray(length) => {
            let sql =
                format!("INSERT INTO {name} ({}) SELECT value FROM carray(?1, ?2, 'int64')", table.names());
            let mut statement = db.prepare_cached(&sql)?;
            table.blocks(range, length, |block| match &block.columns[..] {
                [Filled::Ints(ints)] => {
                    changed(Array::with(ints, &mut statement, |insert| insert.raw_execute())?, ints.len())
                }
                _ => Err("carray has one column".into()),
            })
        }
        Way::Rows(length) => {
            let columns = arguments(table);
            let sql =
                format!("INSERT INTO {name} ({}) SELECT {columns} FROM sqluice_rows(?1)", table.names());
            let mut statement = db.prepare_cached(&sql)?;
            table.blocks(range, length, |block| {
                let columns = block.columns.iter().map(Filled::column).collect();
                let rows = Rows::from_batch(&sqluice::batch::Batch { rows: block.rows, columns })?;
                changed(rows.lend(&mut statement, 1, |insert| insert.execute())??, block.rows)
            })
        }
        Way::Attach => changed(
            db.execute(&format!("INSERT INTO main.{name} SELECT * FROM source.{name}"), [])?,
            (range.end - range.start) as usize,
        ),
        Way::Pages => Err("pages are not inserted".into()),
    }
}

/// Returns the number of rows in a block: the largest multiple of `degree` up to [`BLOCK_ROWS`], or `degree` if it is larger.
fn whole(degree: usize) -> u64 {
    let degree = degree as u64;
    BLOCK_ROWS.max(degree) / degree * degree
}

/// Returns an error unless a statement has inserted the expected number of rows.
fn changed(rows: usize, expected: usize) -> Result {
    if rows == expected { Ok(()) } else { Err(format!("{rows} rows were inserted, not {expected}").into()) }
}

fn constant(db: &Connection, table: &Table, degree: usize, range: Range<u64>) -> Result {
    let mut block = Block::default();
    table.fill(0..degree as u64, &mut block);
    let mut prepared = db.prepare_cached(&table.insert_text(&block, 0..degree))?;
    let mut left = (range.end - range.start) as usize;
    while left >= degree {
        changed(prepared.raw_execute()?, degree)?;
        left -= degree;
    }
    match left {
        0 => Ok(()),
        left => changed(db.execute(&table.insert_text(&block, 0..left), [])?, left),
    }
}

/// Inserts a block with `degree` rows in each statement, and the rest with a smaller statement.
fn bind_block(db: &Connection, table: &Table, degree: usize, block: &Block) -> Result {
    let full = block.rows - block.rows % degree;
    let mut statement: CachedStatement<'_>;
    if full > 0 {
        statement = db.prepare_cached(&table.insert(degree))?;
        for first in (0..full).step_by(degree) {
            bind(&mut statement, block, first..first + degree)?;
        }
    }
    if full < block.rows {
        statement = db.prepare_cached(&table.insert(block.rows - full))?;
        bind(&mut statement, block, full..block.rows)?;
    }
    Ok(())
}

fn bind(statement: &mut Statement<'_>, block: &Block, rows: Range<usize>) -> Result {
    let mut parameter = 0;
    for row in rows.clone() {
        for column in &block.columns {
            parameter += 1;
            match column {
                Filled::Ints(ints) => statement.raw_bind_parameter(parameter, ints[row])?,
                Filled::Text(..) => statement.raw_bind_parameter(parameter, column.text(row))?,
            }
        }
    }
    changed(statement.raw_execute()?, rows.len())
}

/// Inserts the rows `range` in blocks that `threads` other threads compute.
fn producers(db: &Connection, table: &Table, degree: usize, threads: usize, range: Range<u64>) -> Result {
    let (send, receive) = mpsc::sync_channel::<Block>(BLOCKS_WAITING);
    let rows = range.end - range.start;
    thread::scope(|scope| {
        for thread in 0..threads as u64 {
            let part = |at: u64| range.start + rows * at / threads as u64;
            let (mut first, end, send) = (part(thread), part(thread + 1), send.clone());
            scope.spawn(move || {
                while first < end {
                    let next = (first + whole(degree)).min(end);
                    let mut block = Block::default();
                    table.fill(first..next, &mut block);
                    if send.send(block).is_err() {
                        // Nobody receives any more, because the inserting thread has failed.
                        return;
                    }
                    first = next;
                }
            });
        }
        drop(send);
        // The receiver is moved here, so that it is dropped before the threads are joined. This ends threads that wait to send.
        let receive = receive;
        receive.iter().try_for_each(|block| bind_block(db, table, degree, &block))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Skip;
    use crate::sql::UNSAFE;
    use crate::table::{int32, shuffled};

    const WAYS: [Way; 10] = [
        Way::Text(1),
        Way::Text(7),
        Way::Bound(1),
        Way::Bound(20),
        Way::Producers(50, 4),
        Way::Carray(1000),
        Way::Rows(1000),
        Way::Attach,
        Way::Pages,
        Way::Carray(u64::MAX),
    ];

    fn run(insert: Insert, drop_row: bool) -> (Vec<Digest>, Vec<Digest>) {
        let folder = tempfile::tempdir().unwrap();
        let case = insert.case();
        let work = case.work.unwrap_or_else(|skip: Skip| panic!("{skip:?}"));
        let took = (work.run)(&Ground::new(folder.path(), drop_row)).unwrap();
        (took.found, (work.expected)().unwrap())
    }

    #[test]
    fn every_way_of_inserting_stores_the_expected_rows_and_a_lost_row_is_noticed() {
        let tables = [Table::integers(10_007, int32), Table::user(10_007, false), Table::strings(107, 4, 13)];
        for (table, way) in tables.iter().flat_map(|table| WAYS.map(|way| (table, way))) {
            if table.columns.len() > 1 && matches!(way, Way::Carray(_)) {
                continue;
            }
            for pragmas in [&[], UNSAFE] {
                let insert = Insert::new(table, way).pragmas(pragmas);
                let (found, expected) = run(insert.clone(), false);
                assert_eq!(found, expected, "{way:?}");
                assert_eq!(found[0].rows, table.rows);
                let (found, expected) = run(insert, true);
                assert_ne!(found, expected, "{way:?}");
            }
        }
    }

    #[test]
    fn transactions_sorting_and_indexes_do_not_change_the_rows() {
        const INDEX: &str = "CREATE INDEX by_value ON integers (value)";
        let table = Table::integers(2003, shuffled(2003));
        let inserts = [
            Insert::new(&table, Way::Bound(20)).transaction_rows(100),
            Insert::new(&table, Way::Bound(1)).transaction_rows(1000),
            Insert::new(&table, Way::Carray(500)).sorted().index(When::Before, INDEX),
            Insert::new(&table, Way::Carray(500)).index(When::After, INDEX),
            Insert::new(&table, Way::Bound(1)).index(When::AfterBySqluice, INDEX),
            Insert::new(&table, Way::Pages).index(When::Before, INDEX),
            Insert::new(&table, Way::Pages).sorted(),
            Insert::new(&table, Way::Rows(10)).in_memory(),
        ];
        for (at, insert) in inserts.into_iter().enumerate() {
            let (found, expected) = run(insert, false);
            assert_eq!(found, expected, "{at}");
        }
    }

    #[test]
    fn constant_rows_repeat_the_first_row_of_the_table() {
        let (found, expected) = run(Insert::new(&Table::user(1003, true), Way::Constant(20)), false);
        assert_eq!(found, expected);
        let (found, expected) = run(Insert::new(&Table::user(1003, false), Way::Constant(20)), false);
        assert_ne!(found, expected);
    }
}
