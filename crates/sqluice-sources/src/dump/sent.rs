//! A source of the rows of a table that a database server sends.
//!
//! ```text
//!  blocks of whole rows, as they arrive ──> parts ──> threads decode literals to batches
//! ```
//!
//! The blocks of all tables arrive one after another on one reader, which the sources of the tables share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use sqluice_core::error::{Place, Result};
use sqluice_core::source::blocks::{Block, Blocks, Spare, Turn};
use sqluice_core::source::{Part, Sink, Source};

use super::rows::{Decoder, Origin, Shape, TableRows};

/// A source of the rows of a table that a server sends.
pub struct SentRows {
    rows: Arc<TableRows>,
    blocks: Arc<Mutex<dyn Blocks>>,
    spare: Spare,
    /// The name of the server, for messages.
    name: Arc<PathBuf>,
    next: usize,
    first_row: u64,
}

impl SentRows {
    /// Creates the source. All sources share `blocks`; the sources must be read in the order in which their blocks arrive.
    pub fn new(rows: Arc<TableRows>, blocks: &Arc<Mutex<dyn Blocks>>, name: Arc<PathBuf>) -> SentRows {
        let spare = blocks.lock().unwrap_or_else(PoisonError::into_inner).spare();
        SentRows { rows, blocks: Arc::clone(blocks), spare, name, next: 0, first_row: 0 }
    }
}

impl Source for SentRows {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        while let Some((table, shape)) = self.rows.sent.get(self.next) {
            self.spare.wait_for_turn();
            let next = self.blocks.lock().unwrap_or_else(PoisonError::into_inner).next(*table)?;
            let Some(block) = next else {
                self.next += 1;
                continue;
            };
            let first_row = self.first_row;
            self.first_row += block.rows;
            return Ok(Some(Box::new(SentPart {
                _turn: self.spare.turn(&block),
                block,
                shape: Arc::clone(shape),
                spare: self.spare.clone(),
                name: Arc::clone(&self.name),
                first_row,
            })));
        }
        Ok(None)
    }
}

/// A block of rows from the server.
struct SentPart {
    block: Block,
    shape: Arc<Shape>,
    spare: Spare,
    name: Arc<PathBuf>,
    first_row: u64,
    /// The permission to hold a long block, which only one part has at a time. It is returned when the part is dropped.
    _turn: Option<Turn>,
}

impl Part for SentPart {
    fn first_row(&self) -> u64 {
        self.first_row
    }

    fn input_bytes(&self) -> u64 {
        self.block.text.len() as u64
    }

    fn place(&self) -> Option<Place> {
        Some(Place::file(&**self.name))
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let mut text = std::mem::take(&mut self.block.text);
        let origin = Origin::Sent { name: &self.name, first_row: self.first_row };
        Decoder::new(origin, &self.shape).decode(&mut text, sink)?;
        self.spare.give_back(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use sqluice_core::affinity::Affinity;
    use sqluice_core::batch::Batch;
    use sqluice_core::error::Assumption;
    use sqluice_core::progress::Context;
    use sqluice_core::source::Refused;

    use super::super::conversion::Conversion;
    use super::super::file::DumpFile;
    use super::super::lex::Dialect;
    use super::super::split::{Item, Splitter};
    use super::*;

    /// Blocks of rows that are all in memory, in place of those that a server sends.
    #[derive(Default)]
    struct Given(VecDeque<(usize, Block)>, Spare);

    impl Blocks for Given {
        fn next(&mut self, table: usize) -> Result<Option<Block>> {
            let is_next = self.0.front().is_some_and(|(of, _)| *of == table);
            Ok(self.0.pop_front_if(|_| is_next).map(|(_, block)| block))
        }

        fn spare(&self) -> Spare {
            self.1.clone()
        }
    }

    fn shape(dialect: Dialect, columns: usize) -> Shape {
        Shape {
            rules: dialect.rules(),
            copy: dialect == Dialect::Postgres,
            targets: (0..columns).map(Some).collect(),
            conversions: Vec::new(),
            table: "t".to_owned(),
            into: "of_sqlite".to_owned(),
            defaults: vec![None; columns],
            columns: vec![(Affinity::Text, false); columns],
            default_values: vec![None; columns],
            refuses_null: vec![None; columns],
        }
    }

    /// Returns, for each part of a source, the number of its first row and the values of its rows.
    fn values(source: &mut dyn Source) -> Result<Vec<(u64, Vec<String>)>> {
        let mut rows = Vec::new();
        while let Some(mut part) = source.next_part()? {
            assert_eq!(part.first_row(), rows.len() as u64);
            let mut take = |batch: &Batch<'_>| -> std::result::Result<(), Refused> {
                for row in 0..batch.rows {
                    let of_row = batch.columns.iter().map(|column| format!("{:?}", column.get(row)));
                    rows.push((rows.len() as u64, of_row.collect()));
                }
                Ok(())
            };
            part.decode(&mut take)?;
        }
        Ok(rows)
    }

    fn sent(shape: Shape, blocks: Vec<(usize, Block)>) -> SentRows {
        let shape = Arc::new(shape);
        let sent = vec![(0, Arc::clone(&shape)), (1, shape)];
        let rows = Arc::new(TableRows { sent, ..TableRows::default() });
        let blocks: Arc<Mutex<dyn Blocks>> = Arc::new(Mutex::new(Given(blocks.into(), Spare::default())));
        SentRows::new(rows, &blocks, Arc::new(PathBuf::from("postgres://host/shop")))
    }

    /// Returns rows as a dump, and as blocks, each of which ends after a row that `cuts` marks.
    fn both(dialect: Dialect, rows: &[Vec<Option<String>>], cuts: &[bool]) -> (String, Vec<(usize, Block)>) {
        let is_copy = dialect == Dialect::Postgres;
        let line = |row: &Vec<Option<String>>| {
            let field = |value: &Option<String>| match (value, is_copy) {
                (None, true) => "\\N".to_owned(),
                (Some(text), true) => {
                    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r")
                }
                (None, false) => "NULL".to_owned(),
                (Some(text), false) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
            };
            let fields: Vec<String> = row.iter().map(field).collect();
            if is_copy { fields.join("\t") + "\n" } else { format!("({})", fields.join(",")) }
        };
        let lines: Vec<String> = rows.iter().map(line).collect();
        let text = |lines: &[String]| match is_copy {
            true => lines.concat(),
            false => format!("INSERT INTO t VALUES\n{};\n", lines.join(",\n")),
        };
        let mut blocks = Vec::new();
        let mut from = 0;
        for end in 1..=lines.len() {
            if end == lines.len() || cuts[end % cuts.len()] {
                let block = Block { text: text(&lines[from..end]).into_bytes(), rows: (end - from) as u64 };
                // Two partitions (table 0 and table 1) have the rows of one table.
                blocks.push((usize::from(end * 2 > lines.len()), block));
                from = end;
            }
        }
        let dump = match is_copy {
            true => format!("COPY t FROM stdin;\n{}\\.\n", text(&lines)),
            false => text(&lines),
        };
        (dump, blocks)
    }

    proptest! {
        #[test]
        fn rows_from_a_server_equal_the_rows_of_the_same_dump(
            rows in vec(vec(proptest::option::of("[a'\\\\\n\t\r\"é0-9.(),;-]{0,9}"), 3), 1..40),
            cuts in vec(any::<bool>(), 1..9),
            is_copy in any::<bool>(),
        ) {
            let dialect = if is_copy { Dialect::Postgres } else { Dialect::MySql };
            let (dump, blocks) = both(dialect, &rows, &cuts);
            let file = Arc::new(DumpFile::of_text(dump, PathBuf::from("dump")));
            let context = Context::default();
            let script = Splitter::new(&file, dialect.rules(), 1 << 20, &context).split().unwrap();
            let Some(Item::Rows(of_dump)) = script.items.first() else { panic!("{:?}", script.items) };
            let shape_of_dump = Arc::new(shape(dialect, 3));
            let pieces = script.pieces[of_dump.pieces.clone()].iter();
            let pieces = pieces.map(|piece| (*piece, Arc::clone(&shape_of_dump))).collect();
            let expected = Arc::new(TableRows { pieces, ..TableRows::default() });
            let expected = values(&mut expected.source(Arc::clone(&file))).unwrap();
            prop_assert_eq!(expected.len(), rows.len());
            prop_assert_eq!(values(&mut sent(shape(dialect, 3), blocks)).unwrap(), expected);
        }
    }

    #[test]
    fn an_error_names_the_row_by_its_number_among_all_rows_of_the_table() {
        let block = |text: &str, rows| (0, Block { text: text.as_bytes().to_vec(), rows });
        let blocks = vec![block("1\n2\n", 2), block("3\n4\tx\n", 2)];
        let error = values(&mut sent(shape(Dialect::Postgres, 1), blocks)).unwrap_err();
        assert_eq!(error.record(), Some(("of_sqlite", 4)));
        assert_eq!(
            error.without_hint(),
            "postgres://host/shop: a row of t has more values than COPY has columns (1) (row 4 of t)"
        );
        // The number of the row must include the rows of batches before the failing one.
        let nan = Shape {
            conversions: vec![Conversion::Float],
            refuses_null: vec![Some("x".to_owned())],
            ..shape(Dialect::Postgres, 1)
        };
        let blocks = vec![block(&("1\n".repeat(2000) + "NaN\n"), 2001)];
        let error = values(&mut sent(nan, blocks)).unwrap_err();
        assert_eq!(error.record(), Some(("of_sqlite", 2001)));
        assert_eq!((error.column(), error.refuted()), (Some("x"), Some(Assumption::StoredValues)));
    }
}
