//! `sqluice check`: calls the engine and prints the problems, or the report as JSON.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;
use sqluice::check::{Check, Checked, Unverified};
use sqluice::error::Setting;
use sqluice::progress::Cancel;
use sqluice_format::check::TreeKind;

use crate::Exit;
use crate::args;
use crate::printer::Printer;
use crate::quantities::{counted, elapsed, grouped, size};
use crate::shell::line;

#[derive(Serialize)]
struct Report<'a> {
    sound: bool,
    checksum: Option<&'a str>,
    pages: u32,
    bytes: u64,
    rows: u64,
    problems: Vec<String>,
    problem_count: u64,
    /// The deviations from the format that SQLite accepts.
    remarks: Vec<String>,
    unverified: &'a [Unverified],
    /// The `sqluice recover` command that saves the undamaged rows, if rows of a table are damaged.
    hint: Option<String>,
    /// The PRAGMA by which SQLite also checked the database, if any.
    sqlite_check: Option<&'a str>,
    sqlite_problems: &'a [String],
    seconds: f64,
}

pub(super) fn run(args: &args::Check, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    let mut check = Check::new(args.db.clone()).checksum(true);
    args.flags.hand_over(&mut [&mut check])?;
    let checked = printer.watched(cancel, |context| check.run_with(context))?;
    let report = Report {
        sound: checked.is_sound(),
        checksum: checked.checksum.as_deref(),
        pages: checked.report.page_count,
        bytes: checked.bytes,
        rows: checked.rows(),
        problems: checked.report.problems.iter().map(ToString::to_string).collect(),
        problem_count: checked.report.problem_count,
        remarks: checked.report.remarks.iter().map(ToString::to_string).collect(),
        unverified: &checked.unverified,
        hint: has_damaged_table(&checked)
            .then(|| line(&["sqluice".into(), "recover".into(), args.db.clone().into(), "NEW.db".into()])),
        sqlite_check: args.flags.has(Setting::Full).then_some("integrity_check"),
        sqlite_problems: &checked.sqlite_problems,
        seconds: checked.seconds,
    };
    if printer.is_json() {
        printer.json(&report)?;
    } else if !(printer.is_quiet() && report.sound) {
        printer.data(&text(&args.db, &report, printer.is_verbose()))?;
    }
    Ok(if report.sound { Exit::SUCCESS } else { Exit::FAILURE })
}

/// Returns `true` if a problem is in the rows of a table. (Damaged indexes can be rebuilt from the rows.)
fn has_damaged_table(checked: &Checked) -> bool {
    let is_table = |name: &str| {
        let trees = &checked.report.trees;
        trees.iter().any(|tree| tree.name == name && tree.kind != TreeKind::Index)
    };
    checked.report.problems.iter().any(|problem| problem.tree.as_deref().is_some_and(is_table))
}

fn text(db: &Path, report: &Report<'_>, verbose: bool) -> String {
    let mut text = String::new();
    for problem in &report.problems {
        let _ = writeln!(text, "{problem}");
    }
    let listed = report.problems.len() as u64;
    if report.problem_count > listed {
        let _ = writeln!(text, "... and {} more", grouped(report.problem_count - listed));
    }
    for problem in report.sqlite_problems {
        let _ = writeln!(text, "SQLite: {problem}");
    }
    for remark in &report.remarks {
        let _ = writeln!(text, "remark: {remark}");
    }
    let verdict = if report.sound { "is sound" } else { "is NOT sound" };
    let by_sqlite = report.sqlite_check.map_or(String::new(), |check| format!(", also by SQLite's {check},"));
    let _ = writeln!(
        text,
        "{} {verdict}: {}, {}, {}, checked{by_sqlite} in {}",
        db.display(),
        counted(report.rows, "row"),
        counted(u64::from(report.pages), "page"),
        size(report.bytes),
        elapsed(report.seconds)
    );
    if let Some(hint) = &report.hint {
        let _ = writeln!(text, "hint: to save the rows that are sound: {hint}");
    }
    if let Some(checksum) = report.checksum.filter(|_| verbose) {
        let _ = writeln!(text, "checksum {checksum}");
    }
    if !report.unverified.is_empty() {
        let _ = writeln!(text, "not verified: {}", unverified(report.unverified));
    }
    text
}

/// The maximum number of listed names of a kind. `--json` has all names.
const NAMES_MAX: usize = 5;

/// Describes the unverified parts, by kind.
fn unverified(all: &[Unverified]) -> String {
    let kinds = all.chunk_by(|one, other| one.what == other.what).map(|of_kind| {
        let names: Vec<&str> = of_kind.iter().take(NAMES_MAX).map(|one| one.name.as_str()).collect();
        let more = match of_kind.len() - names.len() {
            0 => String::new(),
            more => format!(" and {} more", grouped(more as u64)),
        };
        format!("{} {}{more}", of_kind[0].what, names.join(", "))
    });
    kinds.collect::<Vec<_>>().join("; ")
}
