//! Runs a merge: finds, for each object of the result, the B-trees of the sources that it consists of, and writes the result.

use std::borrow::Cow;
use std::sync::Arc;

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Context;
use sqluice_engine::attempts::copied_database::{
    self, CopiedObject, CopiedPiece, CopyJob, SharedTree, TreeContent, repeated_rows,
};
use sqluice_engine::attempts::placed_leaves::PlacedLeaves;
use sqluice_engine::options::OnConflict;
use sqluice_engine::output::{Exclusive, Target};
use sqluice_engine::verification::VerifiedTree;
use sqluice_format::database::Header;
use sqluice_format::record;
use sqluice_format::value::Value;
use sqluice_reader::StoredObject;

use super::design::{Design, SCHEMA_FORMAT};
use super::inserted;
use super::known::{LeftOut, Run};
use super::orphans;
use super::place::Placed;
use super::report::MergeReport;
use super::sources;
use super::tables::{MergedTable, Method};
use super::{Merge, Orphans, virtual_tables};
use crate::copy::{AutoVacuum, verification, without_table};

/// The table in which SQLite keeps the largest rowids of AUTOINCREMENT tables.
const SEQUENCE: &str = "sqlite_sequence";

/// Merges the sources into the target. `exclusive` is the lock on the target, if the target is the first source.
pub(super) fn run(
    merge: &Merge,
    target: &Target,
    exclusive: Option<Exclusive>,
    context: &Context<'_>,
) -> Result<MergeReport> {
    let sources = sources::open(merge, target, exclusive.as_ref(), context)?;
    let shared = sources::shared(&sources)?;
    let design = Design::new(merge, &sources, &shared, &context.cancel)?;
    let inserted = inserted::insert((merge, target), &sources, &shared, &design.tables, context)?;
    let lists = merge.lists(&sources, &design)?;
    let verifications = sources
        .iter()
        .map(|source| verification(&source.snapshot, &source.schema, merge.no_verify))
        .collect::<Result<Vec<_>>>()?;
    let run = Run {
        merge,
        sources: &sources,
        shared: &shared,
        design: &design,
        inserted: inserted.as_ref(),
        lists: &lists,
        verifications: &verifications,
    };
    let left_out = run.left_out(context)?;
    let orphans = match merge.write.on_conflict {
        OnConflict::Abort => Vec::new(),
        OnConflict::Ignore | OnConflict::Replace => orphans::find(&run, &left_out, &context.cancel)?,
    };
    if merge.orphans == Orphans::Refuse && !orphans.is_empty() {
        return Err(orphans::refused(&orphans));
    }
    // These are the objects of the result: their text encoding and statements may differ from those in the source.
    let objects = run.objects()?;
    let copied: Vec<CopiedObject<'_>> = design
        .written
        .iter()
        .zip(&objects)
        .map(|(&place, object)| Ok(CopiedObject { object, tree: run.tree(place, &left_out)?, keep: None }))
        .collect::<Result<_>>()?;
    let schema = design.schema(&sources);
    let header = run.header(exclusive.as_ref().is_some_and(Exclusive::is_wal));
    let source_bytes = sources.iter().map(|source| source.snapshot.bytes()).sum();
    let used_bytes = sources.iter().map(|source| source.snapshot.used_bytes()).sum();
    let finish = |path: &std::path::Path| {
        virtual_tables::finish(merge, &design.virtual_tables, &sources, path, context)
    };
    let is_finished = virtual_tables::is_needed(merge, &design.virtual_tables);
    let options = merge.write.clone().on_conflict(OnConflict::Abort);
    let job = CopyJob {
        schema: &schema,
        objects: &copied,
        source_bytes: (source_bytes, used_bytes),
        header,
        target,
        compact: merge.compact,
        interior_first: false,
        auto_vacuum: AutoVacuum::of(sources[0].snapshot.header()).number(),
        replaced: exclusive.is_some().then_some(&*sources[0].snapshot),
        exclusive: exclusive.map(Arc::new),
        also_verified: run.read_by_sqlite(),
        finish: is_finished.then_some(&finish),
        options: &options,
    };
    let made = copied_database::copy(&job, context).map_err(|error| {
        let error = crate::copy::with_remedy(error, |tree| without_table(&tree.table));
        with_remedy(merge, &design, error)
    })?;
    Ok(MergeReport { orphans, ..MergeReport::new(&run, &left_out, &made, header.geometry) })
}

/// Adds a remedy to the error for a key that several sources have.
fn with_remedy(merge: &Merge, design: &Design<'_>, mut error: Error) -> Error {
    let Some(duplicate) = error.take_duplicate() else { return error };
    let has_rowids = |merged: &&MergedTable<'_>| {
        !merged.table.without_rowid && (merged.table.rowid_alias.is_some() || merge.keep_rowids)
    };
    // `true` if the error is about the key of a table's own tree.
    let is_own = |merged: &&MergedTable<'_>| {
        merged.method == Method::Interleaved
            && [&duplicate.table, &duplicate.index]
                .iter()
                .all(|name| name.eq_ignore_ascii_case(&merged.table.name))
    };
    let by_rowid = design.tables.iter().filter(has_rowids).find(is_own);
    let mut hint = message![
        Setting::OnConflict.to("ignore"),
        " keeps the first row, ",
        Setting::OnConflict.to("replace"),
        " the last"
    ];
    if let Some(merged) = by_rowid {
        match merged.table.rowid_alias {
            Some(_) => {
                hint.push("; ");
                hint.push(Setting::Renumber.to(&merged.table.name));
                hint.push(" gives new numbers");
            }
            None => {
                hint.push("; without ");
                hint.push(Setting::KeepRowids);
                hint.push(" rows get new rowids");
            }
        }
    }
    error.hint(hint)
}

impl<'r> Run<'r> {
    fn header(&self, is_wal: bool) -> Header {
        let first = self.sources[0].snapshot.header();
        let version = if is_wal { 2 } else { 1 };
        let sqlite_version = u32::try_from(rusqlite::version_number()).unwrap_or_default();
        Header {
            write_version: version,
            read_version: version,
            schema_cookie: first.schema_cookie.wrapping_add(1),
            schema_format: SCHEMA_FORMAT,
            default_cache_size: first.default_cache_size,
            text_encoding: first.used_text_encoding(),
            user_version: first.user_version,
            application_id: first.application_id,
            ..Header::new(first.geometry, 0, sqlite_version)
        }
    }

    /// Finds the rows that are left out because of their keys.
    fn left_out(&self, context: &Context<'_>) -> Result<LeftOut> {
        let Run { merge, sources, shared, design, .. } = *self;
        let mut left_out = LeftOut::new();
        if merge.write.on_conflict == OnConflict::Abort {
            return Ok(left_out);
        }
        let schema = design.schema(sources);
        for (place, merged) in design.tables.iter().enumerate() {
            if merged.members.len() < 2 || matches!(merged.method, Method::Inserted(_)) {
                continue;
            }
            let by_rowid = (merged.method == Method::Interleaved).then_some(merged.object);
            let is_unique = |at: &&usize| {
                let mut indexes = merged.table.indexes.iter();
                indexes.any(|index| index.unique && index.name.eq_ignore_ascii_case(&shared[**at].name))
            };
            let trees =
                by_rowid.iter().chain(merged.indexes.iter().filter(is_unique)).map(|&at| SharedTree {
                    object: shared[at].object(sources),
                    pieces: self.pieces(merged, at, &LeftOut::new(), false),
                });
            let trees: Vec<SharedTree<'_>> = trees.collect();
            if trees.is_empty() {
                continue;
            }
            context.progress.phase(&format!("keys of {}", merged.table.name), None);
            let on_conflict = merge.write.on_conflict;
            let rows = repeated_rows(&schema, &trees, on_conflict, &merge.write, context)?;
            for (piece, rowid) in rows {
                let source = merged.members[piece as usize].source;
                left_out.entry((source, place)).or_default().push(rowid);
            }
        }
        Ok(left_out)
    }

    /// Returns the B-trees of the sources that an object consists of, in the order of the sources or, if their rows are concatenated, of
    /// the rows.
    fn pieces(
        &self,
        merged: &MergedTable<'_>,
        place: usize,
        left_out: &LeftOut,
        in_order: bool,
    ) -> Vec<CopiedPiece<'r>> {
        let Run { sources, shared, design, .. } = *self;
        let object = &shared[place];
        let table = design.table_of[&place];
        let members = if in_order { merged.in_order() } else { merged.members.clone() };
        let pieces = members.iter().filter_map(|member| {
            let stored = object.object_of(sources, member.source)?;
            let piece = CopiedPiece::of_source(&self.verifications[member.source], stored)?;
            let mut changes = match &*object.kind {
                "index" => design.index_changes(merged, member, &object.name),
                _ => design.table_changes(merged, member),
            };
            let left_out = left_out.get(&(member.source, table)).cloned();
            changes.left_out = Cow::Owned(left_out.unwrap_or_default());
            Some(CopiedPiece { changes, ..piece })
        });
        pieces.collect()
    }

    /// Returns the B-trees of the sources that have the rows of inserted tables: tables whose rows SQLite has read and inserted.
    fn read_by_sqlite(&self) -> Vec<VerifiedTree<'r>> {
        let Run { sources, shared, design, verifications, .. } = *self;
        let is_inserted = |merged: &&MergedTable<'_>| matches!(merged.method, Method::Inserted(_));
        let inserted = design.tables.iter().filter(is_inserted);
        let trees = inserted.flat_map(|merged| {
            merged.members.iter().filter_map(|member| {
                let object = shared[merged.object].object_of(sources, member.source)?;
                object.tree.as_ref()?;
                Some(VerifiedTree { verification: &verifications[member.source], object })
            })
        });
        trees.collect()
    }

    /// Returns the content of an object's B-tree in the result. `place` is the position of the object among the shared objects.
    fn tree(&self, place: usize, left_out: &LeftOut) -> Result<TreeContent<'r>> {
        let Run { sources, shared, design, inserted, .. } = *self;
        let object = &shared[place];
        if object.kind == "table" && object.name == SEQUENCE {
            return Ok(TreeContent::Sequences(self.sequences()?));
        }
        let first = object.object(sources);
        let Some(&table) = design.table_of.get(&place) else {
            let piece = CopiedPiece::of_source(&self.verifications[object.members[0].0], first);
            return Ok(piece.map_or(TreeContent::None, |piece| TreeContent::Copied(vec![piece])));
        };
        let merged = &design.tables[table];
        if let (Method::Inserted(_), Some(inserted)) = (&merged.method, inserted) {
            let made = inserted.object(&object.kind, &object.name);
            let made = made.ok_or_else(|| Error::input(format!("SQLite made no {}", object.describe())))?;
            let piece = made.tree.as_ref().map(|tree| CopiedPiece::of_new(&inserted.snapshot, tree));
            return Ok(self.in_order(place, made, piece.into_iter().collect()));
        }
        if let Some(Placed { place, .. }) = self.merge.placed.first()
            && object.kind == "table"
            && object.name == place.table
        {
            return Ok(TreeContent::Placed(PlacedLeaves { file: &place.file, lists: self.lists }));
        }
        let is_united = match &*object.kind {
            "index" => true,
            _ => merged.method == Method::Interleaved,
        };
        let pieces = self.pieces(merged, place, left_out, !is_united);
        Ok(match self.in_order(place, first, pieces) {
            TreeContent::Copied(pieces) if is_united && pieces.len() > 1 => TreeContent::United(pieces),
            content => content,
        })
    }

    /// Returns the B-trees `pieces` as content of the result: copied if they have the order of the result, otherwise sorted.
    fn in_order<'a>(
        &self,
        place: usize,
        object: &StoredObject,
        pieces: Vec<CopiedPiece<'a>>,
    ) -> TreeContent<'a> {
        match self.design.order(place, object) {
            Some(order) if pieces.iter().any(|piece| piece.tree.order.as_ref() != Some(&order)) => {
                TreeContent::Sorted(pieces, order)
            }
            _ => TreeContent::Copied(pieces),
        }
    }

    /// Returns the largest rowids of AUTOINCREMENT tables.
    fn sequences(&self) -> Result<Vec<(String, i64)>> {
        let Run { sources, design, .. } = *self;
        let given = sources.iter().map(|source| source.snapshot.sequences()).collect::<Result<Vec<_>>>()?;
        let rows = design.tables.iter().filter(|merged| merged.table.autoincrement).filter_map(|merged| {
            let name = merged.table.name.to_ascii_lowercase();
            let mut offsets = vec![0; sources.len()];
            merged.members.iter().for_each(|member| offsets[member.source] = member.offset);
            let largest = given.iter().zip(offsets);
            let largest =
                largest.filter_map(|(given, offset)| Some(given.get(&name)?.saturating_add(offset)));
            Some((merged.table.name.clone(), largest.max()?))
        });
        Ok(rows.collect())
    }

    /// Returns the objects of the result, with their rows of `sqlite_schema`. The root pages are not set yet.
    fn objects(&self) -> Result<Vec<StoredObject>> {
        let Run { sources, shared, design, inserted, .. } = *self;
        let encoding = sources[0].snapshot.header().used_text_encoding();
        let objects = design.written.iter().map(|&place| {
            let object = &shared[place];
            let mut stored = object.object(sources).clone();
            let merged = design.table_of.get(&place).map(|&table| &design.tables[table]);
            let is_inserted = merged.is_some_and(|merged| matches!(merged.method, Method::Inserted(_)));
            if let (true, Some(inserted)) = (is_inserted, inserted) {
                if let Some(made) = inserted.object(&object.kind, &object.name) {
                    stored = made.clone();
                }
                return stored;
            }
            let (source, _) = object.members[0];
            if sources[source].snapshot.header().used_text_encoding() != encoding {
                stored.record = schema_record(&stored, encoding);
            }
            stored
        });
        Ok(objects.collect())
    }
}

/// Returns the record of an object in `sqlite_schema`, with text in the given encoding.
fn schema_record(object: &StoredObject, encoding: u32) -> Vec<u8> {
    let encoded = |text: &str| -> Vec<u8> {
        match encoding {
            2 => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            3 => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            _ => text.as_bytes().to_vec(),
        }
    };
    let [kind, name, table] = [&object.kind, &object.name, &object.table].map(|text| encoded(text));
    let sql = object.sql.as_deref().map(encoded);
    let sql = sql.as_deref().map_or(Value::Null, Value::Text);
    let values = [Value::Text(&kind), Value::Text(&name), Value::Text(&table), Value::Int(0), sql];
    let mut record = Vec::new();
    record::encode(&values, &mut record);
    record
}
