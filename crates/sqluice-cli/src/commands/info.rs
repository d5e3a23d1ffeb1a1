//! `sqluice info`: prints the page size, encoding, tables, indexes and free pages of a database.

use std::fmt::Write;

use serde::Serialize;
use sqluice::check::{Check, Checked};
use sqluice::progress::Cancel;
use sqluice_format::check::{Tree, TreeKind};
use sqluice_format::database::encoding_name;

use crate::Exit;
use crate::args;
use crate::printer::Printer;
use crate::quantities::{grouped, size};
use crate::table::{Align, Table};

#[derive(Serialize)]
struct Report {
    bytes: u64,
    page_bytes: usize,
    pages: u32,
    freelist_pages: u32,
    journal: &'static str,
    encoding: &'static str,
    auto_vacuum: bool,
    reserved_bytes: u8,
    schema_format: u32,
    schema_cookie: u32,
    change_counter: u32,
    user_version: u32,
    application_id: u32,
    written_by: String,
    sound: bool,
    trees: Vec<TreeReport>,
}

#[derive(Serialize)]
struct TreeReport {
    name: String,
    table: String,
    kind: &'static str,
    rows: u64,
    root_page: u32,
    depth: u32,
    leaf_pages: u32,
    interior_pages: u32,
    overflow_pages: u32,
    payload_bytes: u64,
    /// The fraction of the pages' bytes that is in use, 0 to 1.
    fill: f64,
}

pub(super) fn run(args: &args::Info, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    let check = Check::new(args.db.clone());
    let checked = printer.watched(cancel, |context| check.run_with(context))?;
    let Some(report) = Report::new(&checked) else {
        let problem = checked.report.problems.first().map_or("it is empty".to_owned(), ToString::to_string);
        let message = format!("{} is not a SQLite database: {problem}", args.db.display());
        return Err(sqluice::error::Error::input(message).hint("name a database file").into());
    };
    if printer.is_json() {
        printer.json(&report)?;
    } else {
        printer.data(&text(&report, printer))?;
    }
    Ok(Exit::SUCCESS)
}

impl Report {
    fn new(checked: &Checked) -> Option<Report> {
        let header = checked.report.header?;
        let version = header.sqlite_version;
        Some(Report {
            bytes: checked.bytes,
            page_bytes: header.geometry.page_bytes(),
            pages: checked.report.page_count,
            freelist_pages: checked.report.freelist_pages,
            journal: if header.write_version == 2 { "wal" } else { "rollback" },
            encoding: encoding_name(header.text_encoding),
            auto_vacuum: header.largest_root != 0,
            reserved_bytes: header.geometry.reserved_bytes(),
            schema_format: header.schema_format,
            schema_cookie: header.schema_cookie,
            change_counter: header.change_counter,
            user_version: header.user_version,
            application_id: header.application_id,
            written_by: format!("{}.{}.{}", version / 1_000_000, version / 1000 % 1000, version % 1000),
            sound: checked.is_sound(),
            trees: checked.report.trees.iter().map(TreeReport::new).collect(),
        })
    }
}

impl TreeReport {
    fn new(tree: &Tree) -> TreeReport {
        let all = (tree.used_bytes + tree.unused_bytes).max(1);
        TreeReport {
            name: tree.name.clone(),
            table: tree.table.clone(),
            kind: match tree.kind {
                TreeKind::Table => "table",
                TreeKind::WithoutRowid => "without rowid",
                TreeKind::Index => "index",
            },
            rows: tree.rows,
            root_page: tree.root_page,
            depth: tree.depth,
            leaf_pages: tree.leaf_pages,
            interior_pages: tree.interior_pages,
            overflow_pages: tree.overflow_pages,
            payload_bytes: tree.payload_bytes,
            fill: tree.used_bytes as f64 / all as f64,
        }
    }

    fn pages(&self) -> u64 {
        u64::from(self.leaf_pages) + u64::from(self.interior_pages) + u64::from(self.overflow_pages)
    }
}

fn text(report: &Report, printer: &Printer) -> String {
    let mut text = String::new();
    let written_by = format!("{} (the version in the file's header)", report.written_by);
    let facts = [
        ("size", size(report.bytes)),
        ("pages", format!("{} of {} bytes", grouped(u64::from(report.pages)), report.page_bytes)),
        ("free pages", grouped(u64::from(report.freelist_pages))),
        ("journal", report.journal.to_owned()),
        ("encoding", report.encoding.to_owned()),
        ("schema", format!("format {}, cookie {}", report.schema_format, report.schema_cookie)),
        ("user version", report.user_version.to_string()),
        ("application id", report.application_id.to_string()),
        ("SQLite", written_by),
    ];
    for (name, value) in facts {
        let _ = writeln!(text, "{name:14}  {value}");
    }
    if !report.sound {
        let _ = writeln!(text, "NOT sound: sqluice check lists the problems");
    }
    let left = ["name", "kind"].map(|name| (name.to_owned(), Align::Left));
    let right = ["rows", "pages", "overflow", "depth", "fill"].map(|name| (name.to_owned(), Align::Right));
    let mut table = Table::new(left.into_iter().chain(right));
    for tree in &report.trees {
        table.row(vec![
            tree.name.clone(),
            tree.kind.to_owned(),
            grouped(tree.rows),
            grouped(tree.pages()),
            grouped(u64::from(tree.overflow_pages)),
            tree.depth.to_string(),
            format!("{:.0}%", tree.fill * 100.0),
        ]);
    }
    text + "\n" + &table.render(|line| printer.bold_data(line))
}
