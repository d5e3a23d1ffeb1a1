//! Turns the figures of `advise` into recommendations: what to use, its disadvantages, and the lines to type.

use std::fmt::{self, Formatter};

use serde::Serialize;
use sqluice::schema::Schema;

use super::ways::OTHER_PAGE_BYTES;
use crate::advice::durability::{Risk, gives_up};
use crate::advice::{Way, Ways};
use crate::figures;
use crate::record::{Experiment, Outcome, Provenance};

/// A recommendation, with the lines to follow it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Recommendation {
    /// The question that the recommendation answers.
    pub question: &'static str,
    /// The recommendation in words.
    pub say: String,
    /// The figures that support the recommendation.
    pub because: Vec<String>,
    /// The costs besides time; empty if there are none.
    pub gives_up: Vec<String>,
    /// SQL to run, or lines to type into a shell.
    pub lines: Vec<String>,
}

/// Returns the recommendations for a schema, the most important first.
pub(super) fn recommendations(schema: &Schema, experiments: &[Experiment]) -> Vec<Recommendation> {
    let ways = |id: &str| experiments.iter().find(|experiment| experiment.id == id).and_then(Ways::new);
    let method = ways("method");
    let each = [
        method.as_ref().and_then(|ways| new_database(schema, ways)),
        method.as_ref().and_then(in_a_program),
        method.as_ref().and_then(unsafe_pragmas),
        ways("transaction").as_ref().and_then(small_transactions),
        ways("index").as_ref().and_then(indexes),
        ways("page-size").as_ref().and_then(|ways| page_size(schema, ways)),
    ];
    each.into_iter().flatten().collect()
}

/// Quotes a path as a word of a shell if needed.
fn word(path: &std::path::Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn new_database(schema: &Schema, ways: &Ways<'_>) -> Option<Recommendation> {
    let pages = ways.named("sqluice, pages")?;
    let sql = ways.best(|way| way.variant.provenance != Provenance::Sqluice && way.risk == Risk::Nothing)?;
    let faster = ways.is_clearly_better(&pages, &sql);
    let say = if faster {
        format!(
            "Fill a new database with sqluice: {} as fast as a prepared INSERT.",
            figures::ratio(ways.times(&pages, &sql))
        )
    } else {
        "With as few rows as these sqluice is not clearly faster than a prepared INSERT in one transaction."
            .to_owned()
    };
    let file = word(&schema.file);
    let table =
        schema.tables.first().map_or_else(String::new, |table| word(std::path::Path::new(&table.name)));
    let lines = vec![
        format!("sqluice load app.db rows.csv --schema {file} --table {table}"),
        format!("sqluice generate test.db {file} --rows 1M"),
    ];
    let gives_up = if faster {
        vec!["a database that is filled this way can't be read before it is complete".to_owned()]
    } else {
        Vec::new()
    };
    let because = vec![format!("{} (including the generation of its rows)", ways.against(&pages, &sql))];
    Some(Recommendation {
        question: "A new database?",
        say,
        because,
        gives_up,
        lines: if faster { lines } else { Vec::new() },
    })
}

fn in_a_program(ways: &Ways<'_>) -> Option<Recommendation> {
    let prepared = ways.named("prepared INSERT, defaults")?;
    let rows = ways.named("sqluice_rows, defaults")?;
    let (say, lines) = if ways.is_clearly_better(&rows, &prepared) {
        let times = figures::ratio(ways.times(&rows, &prepared));
        (
            format!(
                "In a program, insert some thousand rows a statement by sqluice_rows: {times} as fast as row by row."
            ),
            vec![rows.variant.command.clone()],
        )
    } else {
        let say =
            "In a program, a prepared INSERT will do: sqluice_rows is not clearly faster with these tables."
                .to_owned();
        (say, vec![prepared.variant.command.clone()])
    };
    let because = vec![ways.against(&rows, &prepared)];
    Some(Recommendation { question: "Rows from a program?", say, because, gives_up: Vec::new(), lines })
}

fn unsafe_pragmas(ways: &Ways<'_>) -> Option<Recommendation> {
    let pair = |name: &str| {
        Some((ways.named(&format!("{name}, unsafe"))?, ways.named(&format!("{name}, defaults"))?))
    };
    let pairs: Vec<(Way<'_>, Way<'_>)> =
        ["sqluice_rows", "prepared INSERT"].into_iter().filter_map(pair).collect();
    let clearly = pairs.iter().filter(|(risky, safe)| ways.is_clearly_better(risky, safe));
    let most = clearly.map(|(risky, safe)| ways.times(risky, safe)).reduce(f64::max);
    let settings = &pairs.first()?.0.variant.settings;
    let settings: Vec<String> =
        settings.iter().filter(|setting| !setting.starts_with("page_size")).cloned().collect();
    let because = pairs.iter().map(|(risky, safe)| ways.against(risky, safe)).collect();
    let (say, lines) = match most.filter(|times| *times > 1.1) {
        Some(times) => (
            format!(
                "Unsafe PRAGMAs make a load up to {} as fast. Only for a new file that can be made again.",
                figures::ratio(times)
            ),
            vec![as_pragmas(&settings)],
        ),
        None => (
            "Leave journal_mode and synchronous alone for a load: to switch them off brings next to nothing."
                .to_owned(),
            Vec::new(),
        ),
    };
    Some(Recommendation { question: "Unsafe PRAGMAs?", say, because, gives_up: gives_up(&settings), lines })
}

fn small_transactions(ways: &Ways<'_>) -> Option<Recommendation> {
    let one = ways.named("1 row a transaction")?;
    let wal = ways.named("1 row a transaction, WAL and NORMAL")?;
    let thousand = ways.named("1,000 rows a transaction");
    let mut because = vec![ways.against(&wal, &one)];
    because.extend(thousand.map(|thousand| ways.against(&thousand, &one)));
    because.extend(
        ways.named("all rows a transaction")
            .zip(thousand)
            .map(|(all, thousand)| ways.against(&all, &thousand)),
    );
    let settings: Vec<String> =
        wal.variant.settings.iter().filter(|setting| !setting.starts_with("page_size")).cloned().collect();
    let pays = ways.is_clearly_better(&wal, &one);
    let mut say = match pays {
        true => format!(
            "For many small transactions: WAL with synchronous=NORMAL, {} as fast as the defaults.",
            figures::ratio(ways.times(&wal, &one))
        ),
        false => "WAL with synchronous=NORMAL makes small transactions no faster here.".to_owned(),
    };
    if let Some(thousand) = thousand.filter(|thousand| ways.is_clearly_better(thousand, &one)) {
        say += &format!(
            " Better, where rows can wait: many rows a transaction, {} with 1,000.",
            figures::ratio(ways.times(&thousand, &one))
        );
    }
    let (lines, gives_up) =
        if pays { (vec![as_pragmas(&settings)], gives_up(&settings)) } else { (Vec::new(), Vec::new()) };
    Some(Recommendation { question: "Small transactions?", say, because, gives_up, lines })
}

fn indexes(ways: &Ways<'_>) -> Option<Recommendation> {
    let after = ways.named("prepared INSERT, indexes after")?;
    let before = ways.named("prepared INSERT, indexes before")?;
    let rows = ways.named("sqluice_rows, indexes after").zip(ways.named("sqluice_rows, indexes before"));
    let mut because = vec![ways.against(&after, &before)];
    because.extend(rows.map(|(after, before)| ways.against(&after, &before)));
    let is_after = ways.is_clearly_better(&after, &before);
    let say = if is_after {
        format!("Make the indexes after the rows: {} as fast.", figures::ratio(ways.times(&after, &before)))
    } else if ways.is_clearly_better(&before, &after) {
        format!(
            "Keep the indexes while rows are inserted: {} as fast as to make them afterwards.",
            figures::ratio(ways.times(&before, &after))
        )
    } else {
        "Whether indexes are made before or after the rows makes no difference at this size.".to_owned()
    };
    let gives_up = if is_after {
        vec!["until then queries have no index, and duplicate keys are reported only at the end".to_owned()]
    } else {
        Vec::new()
    };
    let lines =
        if is_after { vec!["sqluice index app.db 'CREATE INDEX ...'".to_owned()] } else { Vec::new() };
    Some(Recommendation { question: "Indexes before or after?", say, because, gives_up, lines })
}

fn page_size(schema: &Schema, ways: &Ways<'_>) -> Option<Recommendation> {
    let of = |who: &str, bytes: u32| ways.named(&format!("{who}, pages of {bytes}"));
    let rows = (of("sqluice_rows", 4096)?, of("sqluice_rows", OTHER_PAGE_BYTES)?);
    let pages = of("sqluice", 4096).zip(of("sqluice", OTHER_PAGE_BYTES));
    let mut because = vec![ways.against(&rows.1, &rows.0)];
    because.extend(pages.map(|(small, large)| ways.against(&large, &small)));
    let larger = ways.is_clearly_better(&rows.1, &rows.0) && ways.times(&rows.1, &rows.0) > 1.1;
    let (say, gives_up, lines) = if larger {
        (
            format!(
                "Pages of {OTHER_PAGE_BYTES} bytes: rows go in {} as fast.",
                figures::ratio(ways.times(&rows.1, &rows.0))
            ),
            vec!["a change of a single row writes more bytes: measure your updates, too".to_owned()],
            vec![
                format!("PRAGMA page_size={OTHER_PAGE_BYTES}; -- before the first table"),
                format!(
                    "sqluice generate test.db {} --rows 1M --page-size {OTHER_PAGE_BYTES}",
                    word(&schema.file)
                ),
            ],
        )
    } else {
        (
            format!("Stay with pages of 4096 bytes: {OTHER_PAGE_BYTES} is not clearly faster."),
            Vec::new(),
            Vec::new(),
        )
    };
    Some(Recommendation { question: "Page size?", say, because, gives_up, lines })
}

/// Formats settings as SQL.
fn as_pragmas(settings: &[String]) -> String {
    settings.iter().map(|setting| format!("PRAGMA {setting};")).collect::<Vec<_>>().join(" ")
}

/// Writes all recommendations and figures as text.
pub(super) fn write(
    f: &mut Formatter<'_>,
    all: &[Recommendation],
    experiments: &[Experiment],
) -> fmt::Result {
    for one in all {
        writeln!(f, "\n{} {}", one.question, one.say)?;
        for line in &one.because {
            writeln!(f, "  {}", line.replace('\u{a0}', " "))?;
        }
        match &one.gives_up[..] {
            [] => writeln!(f, "  gives up: nothing")?,
            lines => lines
                .iter()
                .try_for_each(|line| writeln!(f, "  gives up: {}", line.replace('\u{a0}', " ")))?,
        }
        for line in &one.lines {
            writeln!(f, "    {line}")?;
        }
    }
    for variant in experiments.iter().flat_map(|experiment| &experiment.variants) {
        if let Outcome::Failed { why } = &variant.outcome {
            writeln!(f, "\nFAILED {}: {why}", variant.name)?;
        }
    }
    Ok(())
}
