//! `--overwrite`: lists the content that is lost, asks a user at a terminal, and reports the replacement.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sqluice::error::Error;
use sqluice::output::Wanted;
use sqluice::progress::Cancel;
use sqluice::report::{Replaced, ReplacedTable, Replacement};

use super::typed;
use crate::printer::Printer;
use crate::quantities::{counted, grouped};

/// The maximum number of listed tables.
const TABLES_MAX: usize = 20;

/// Asks the user before a database with tables is replaced, and returns an error unless the answer is yes. Does not ask with `--yes`, or if
/// no answer is possible: standard input or standard error is not a terminal, or standard input is one of the `inputs`.
pub(super) fn confirm<'p>(
    wanted: Option<Wanted>,
    yes: bool,
    inputs: impl IntoIterator<Item = &'p Path>,
    printer: &Printer,
    cancel: &Cancel,
) -> anyhow::Result<()> {
    let reads_stdin = inputs.into_iter().any(|input| input == Path::new("-"));
    if yes || reads_stdin || !printer.can_ask() {
        return Ok(());
    }
    let Some(wanted) = wanted.filter(|wanted| wanted.replaces) else { return Ok(()) };
    let Some(replaced) = wanted.recover_replaced(cancel)?.filter(|replaced| !replaced.is_empty()) else {
        return Ok(());
    };
    printer.ask(&question(wanted.target.name(), &replaced));
    let answer = typed::line(cancel)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Error::target(format!(
            "{} was not replaced, as you answered",
            wanted.target.name().display()
        ))
        .into()),
    }
}

fn question(path: &Path, replaced: &Replaced) -> String {
    let mut text = format!("{} will be replaced. It holds {}:\n", path.display(), summary(replaced));
    for table in replaced.tables.iter().take(TABLES_MAX) {
        let _ = writeln!(text, "  {}: {}", table.name, rows(table));
    }
    if let Some(more @ 1..) = replaced.tables.len().checked_sub(TABLES_MAX) {
        let _ = writeln!(text, "  and {}", counted(more as u64, "more table"));
    }
    text + "Replace it? [y/N] "
}

fn rows(table: &ReplacedTable) -> String {
    match table.rows {
        Some(number) if table.estimated => format!("about {}", counted(number, "row")),
        Some(number) => counted(number, "row"),
        None => "unknown rows".to_owned(),
    }
}

/// Summarizes a replaced database: `3 tables, 12,000 rows`.
fn summary(replaced: &Replaced) -> String {
    let Replaced { tables, rows, estimated, unread, .. } = replaced;
    if let Some(why) = unread {
        return format!("unknown content ({why})");
    }
    let rows = match estimated {
        true => format!("about {} rows", grouped(*rows)),
        false => counted(*rows, "row"),
    };
    format!("{}, {rows}", counted(tables.len() as u64, "table"))
}

/// Reports the removed temporary files of killed runs.
pub(super) fn summarize_removed(removed: &[PathBuf], printer: &Printer) {
    for path in removed {
        printer.note(&format!("  removed {}, a temporary file of a killed run", path.display()));
    }
}

/// Reports the replaced database and the method of the replacement.
pub(super) fn summarize(
    replaced: Option<&Replaced>,
    replacement: Option<&Replacement>,
    target: Option<&Path>,
    printer: &Printer,
) {
    let Some(target) = target else { return };
    if let Some(how @ Replacement::Transaction { .. }) = replacement {
        printer.note(&format!("  {} was replaced {how}", target.display()));
    }
    let Some(replaced) = replaced else { return };
    printer.note(&format!("  replaced {}, which held {}", target.display(), summary(replaced)));
    for table in replaced.tables.iter().take(TABLES_MAX) {
        printer.detail(&format!("    {}: {}", table.name, rows(table)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(tables: usize) -> Replaced {
        let table = |number| ReplacedTable { name: format!("t{number}"), rows: Some(1000), estimated: false };
        let tables: Vec<_> = (0..tables).map(table).collect();
        Replaced { rows: 1000 * tables.len() as u64, tables, ..Replaced::default() }
    }

    #[test]
    fn the_question_before_a_replacement_lists_the_first_tables() {
        let mut one = replaced(1);
        assert_eq!(
            question(Path::new("x.db"), &one),
            "x.db will be replaced. It holds 1 table, 1,000 rows:\n  t0: 1,000 rows\nReplace it? [y/N] "
        );
        (one.estimated, one.tables[0].estimated) = (true, true);
        assert!(question(Path::new("x.db"), &one).contains("about 1,000 rows:\n  t0: about 1,000 rows\n"));
        let many = question(Path::new("x.db"), &replaced(23));
        assert!(many.contains("  t19: 1,000 rows\n  and 3 more tables\nReplace"), "{many}");
        assert_eq!(many.lines().count(), 23);
    }
}
