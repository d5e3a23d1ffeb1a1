//! Compares the indexes of full-text tables (FTS5) with the text of their rows.

use rusqlite::Connection;
use sqluice_core::error::Result;
use sqluice_core::progress::Context;
use sqluice_engine::full_text::check::TextCheck;
use sqluice_engine::full_text::declaration::Declaration;
use sqluice_format::check::{Problem, Report};

use super::PROBLEMS_MAX;
use super::unverified::{Found, Unverified, UnverifiedKind};

/// Checks the full-text tables among `found`, and adds faults to `report`. A table that was compared with its text is removed from `found`.
/// A full-text table that was not compared stays in `found`, and the reason is added to its name.
///
/// # Errors
/// If the check is cancelled.
pub(super) fn check(
    connection: &Connection,
    found: &mut Vec<Found>,
    report: &mut Report,
    workers: usize,
    context: &Context<'_>,
) -> Result<()> {
    let mut left = Vec::new();
    for table in std::mem::take(found) {
        if table.unverified.what != UnverifiedKind::FullText {
            left.push(table);
            continue;
        }
        let name = &table.unverified.name;
        let why = match Declaration::of(connection, name) {
            Ok(Ok(declaration)) => {
                let check = TextCheck {
                    connection,
                    declaration: &declaration,
                    workers,
                    cancel: &context.cancel,
                    progress: context.progress,
                };
                match check.run()? {
                    Ok(findings) => {
                        let problem = |what| Problem { page: None, tree: Some(name.clone()), what };
                        report.problem_count += findings.problems.len() as u64;
                        let room = PROBLEMS_MAX.saturating_sub(report.problems.len());
                        report.problems.extend(findings.problems.into_iter().take(room).map(problem));
                        report.remarks.extend(findings.remarks.into_iter().map(problem));
                        findings.uncompared
                    }
                    Err(error) => Some(error.to_string()),
                }
            }
            Ok(Err(why)) => Some(why),
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = why {
            let unverified = Unverified { what: UnverifiedKind::FullText, name: format!("{name} ({why})") };
            left.push(Found { unverified, table: table.table });
        }
    }
    *found = left;
    Ok(())
}
