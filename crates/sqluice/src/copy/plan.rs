//! The plan of a copy, which `--dry-run` prints.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use sqluice_core::size::Bytes;
use sqluice_engine::output::Replacement;
use sqluice_format::database::Header;
use sqluice_reader::StoredObject;

use super::{AutoVacuum, ChosenSetting, JournalMode, MaskPlan, Opened, Purpose, Remade, RowSelection};

/// The plan of a copy, which [`Copy::prepare`](super::Copy::prepare) makes.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CopyPlan {
    /// The database to copy.
    pub source: PathBuf,
    /// `true` if the source was downloaded to a temporary file first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fetched: bool,
    /// `true` if the copy is uploaded to an object store.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub uploaded: bool,
    /// The new file; for [`Purpose::D1`], the folder of the SQL files.
    pub target: PathBuf,
    /// The number of bytes of the source.
    pub source_bytes: u64,
    /// The journal mode of the source.
    pub source_journal_mode: String,
    /// `true` if the copy replaces the source. No other process may use the source meanwhile.
    pub in_place: bool,
    /// The method that will replace an existing file at the target; `None` if no file is replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Replacement>,
    /// `true` if other processes can commit to the source during the copy.
    pub others_can_commit: bool,
    /// The page size of the copy, in bytes.
    pub page_bytes: usize,
    /// The journal mode of the copy.
    pub journal_mode: JournalMode,
    /// The auto_vacuum mode of the copy. SQLite writes the copy if the mode is `full` or `incremental`.
    pub auto_vacuum: AutoVacuum,
    /// `true` if all interior pages follow page 1. The source is then read twice.
    pub interior_first: bool,
    /// The purpose of the copy; `None` for no particular purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Purpose>,
    /// The settings that follow from the purpose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chosen: Vec<ChosenSetting>,
    /// The copied tables and indexes, in the order of the schema.
    pub trees: Vec<PlannedTree>,
    /// The objects that are left out.
    pub left_out: Vec<String>,
    /// The objects that will not work in the copy because of left-out objects.
    pub broken: Vec<String>,
    /// The tables whose rows are chosen by a condition or a sample.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub selected: Vec<RowSelection>,
    /// `true` if rows that refer to left-out rows are left out, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sample_children: bool,
    /// The masked columns, and remarks about unmasked values; `None` if the copy is not masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mask: Option<MaskPlan>,
}

/// The plan for a table or an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlannedTree {
    /// `table` or `index`.
    pub kind: String,
    /// The name of the table or index.
    pub name: String,
    /// A description of the way in which the table or index is copied.
    pub how: String,
}

impl CopyPlan {
    pub(super) fn new(
        opened: &Opened,
        header: &Header,
        mode: JournalMode,
        replacement: Option<Replacement>,
    ) -> CopyPlan {
        let Opened { settled, snapshot, schema, objects, selection, conditions, masked, .. } = opened;
        let copy = &settled.copy;
        let is_relocated = !copy.compact && masked.is_none() && header.geometry == snapshot.geometry();
        let by_leaves = if is_relocated { "full leaves as they are, others anew" } else { "all leaves anew" };
        let (kept, left_out): (Vec<&StoredObject>, Vec<_>) =
            objects.iter().partition(|object| selection.has(object));
        let trees = kept.iter().filter_map(|object| {
            let tree = object.tree.as_ref()?;
            if copy.purpose == Some(Purpose::D1) {
                let how =
                    if object.kind == "table" { "INSERT statements" } else { "CREATE INDEX, after all rows" };
                let (kind, name) = (object.kind.clone(), object.name.clone());
                return Some(PlannedTree { kind, name, how: how.to_owned() });
            }
            let how = match (opened.remade(&object.table), &*object.kind) {
                (Some(Remade::Masked), "table") => Some("made of masked rows"),
                (Some(Remade::Masked), _) => Some("made of the entries of masked rows"),
                (Some(Remade::Reduced), "table") => Some("made of the kept rows"),
                (Some(Remade::Reduced), _) => Some("made of the entries of kept rows"),
                (None, _) => None,
            };
            if let Some(how) = how {
                let (kind, name) = (object.kind.clone(), object.name.clone());
                return Some(PlannedTree { kind, name, how: how.to_owned() });
            }
            let order = match (&tree.order, &tree.unknown_order) {
                (Some(_), _) => "; order verified, sorted again if it does not hold".to_owned(),
                (None, Some(why)) => format!("; order not verified: {why}"),
                (None, None) => String::new(),
            };
            let (kind, name) = (object.kind.clone(), object.name.clone());
            Some(PlannedTree { kind, name, how: format!("{by_leaves}{order}") })
        });
        CopyPlan {
            source: snapshot.name().to_owned(),
            fetched: snapshot.is_fetched(),
            uploaded: copy.write.destination.is_some(),
            target: copy.target.clone(),
            source_bytes: snapshot.bytes(),
            source_journal_mode: snapshot.journal_mode().to_owned(),
            in_place: copy.is_in_place(),
            replacement,
            others_can_commit: snapshot.lets_others_commit() && !copy.is_in_place(),
            page_bytes: header.geometry.page_bytes(),
            journal_mode: mode,
            auto_vacuum: copy.auto_vacuum_of(snapshot),
            interior_first: copy.interior_first,
            purpose: copy.purpose,
            chosen: settled.chosen.clone(),
            trees: trees.collect(),
            left_out: left_out.into_iter().map(StoredObject::describe).collect(),
            broken: selection.broken().to_vec(),
            selected: conditions.plan(schema),
            sample_children: copy.sample_children,
            mask: masked.as_ref().map(|masked| masked.plan.clone()),
        }
    }
}

/// Formats the plan as `--dry-run` prints it.
impl fmt::Display for CopyPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = Bytes(self.source_bytes);
        writeln!(f, "{} to {}: {bytes}", self.source.display(), self.target.display())?;
        if self.fetched {
            writeln!(f, "the source is fetched to a temporary file first")?;
        }
        let others = match self.others_can_commit {
            _ if self.in_place => "no other process may use it meanwhile, and the copy takes its place",
            true => "other processes can write to it meanwhile, and its log grows",
            false => "other processes can read it meanwhile, and wait with their commits",
        };
        let others = if self.fetched { "changes after it was fetched are not in the copy" } else { others };
        writeln!(f, "the source is in journal mode {}: {others}", self.source_journal_mode)?;
        if let Some(how @ Replacement::Transaction { .. }) = &self.replacement {
            writeln!(f, "{} is replaced {how}", self.target.display())?;
        }
        match self.purpose {
            Some(Purpose::D1) => writeln!(f, "for d1: files of SQL statements in a folder")?,
            _ => writeln!(f, "pages of {} bytes", self.page_bytes)?,
        }
        for ChosenSetting { name, value, why } in &self.chosen {
            let purpose = self.purpose.map_or("", Purpose::name);
            writeln!(f, "for {purpose}: {} {value}: {why}", name.replace('_', " "))?;
        }
        if self.auto_vacuum != AutoVacuum::None {
            writeln!(f, "auto_vacuum: SQLite's VACUUM INTO makes the file from a temporary copy")?;
        }
        if self.uploaded {
            let how = if self.auto_vacuum == AutoVacuum::None {
                "as they are made"
            } else {
                "when that file is done"
            };
            writeln!(f, "pages are uploaded {how}")?;
        }
        if self.interior_first {
            writeln!(f, "interior pages first: the source is read twice, the first time to count them")?;
        }
        for PlannedTree { kind, name, how } in &self.trees {
            writeln!(f, "{kind} {name}: {how}")?;
        }
        for rows in &self.selected {
            writeln!(f, "{rows}")?;
        }
        match (&self.selected[..], self.sample_children) {
            ([], _) => {}
            (_, true) => writeln!(f, "rows that refer to left-out rows are left out, too")?,
            (_, false) => writeln!(f, "the run finds the rows that refer to left-out rows")?,
        }
        for object in &self.left_out {
            writeln!(f, "left out: {object}")?;
        }
        self.broken.iter().try_for_each(|broken| writeln!(f, "will not work: {broken}"))?;
        self.mask.iter().try_for_each(|mask| mask.fmt(f))
    }
}
