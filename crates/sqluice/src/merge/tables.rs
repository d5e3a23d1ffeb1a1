//! Chooses, for each table, the cheapest method of merging that its keys allow.
//!
//! ```text
//!  rowids of the sources        own key (INTEGER PRIMARY KEY)            no own key
//!  1-9    10-19   20-29         concatenated                             concatenated
//!  1-19   10-29                 interleaved; a shared rowid is a         renumbered: 1-19, 20-39
//!                               repeated key
//! ```

use std::collections::HashMap;

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;
use sqluice_core::schema::Table;
use sqluice_core::schema::index::{Index, Indexed};
use sqluice_core::schema::token::{self, TokenKind, same};
use sqluice_engine::options::OnConflict;

use super::Merge;
use super::declarations::{self, Joined};
use super::sources::{Shared, Source};

/// The method of merging a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// At most one source has rows: its rows are copied.
    Copied,
    /// The rows of one source follow those of another, with their rowids.
    Concatenated,
    /// The rows of all sources are merged in the order of the key.
    Interleaved,
    /// The rows of one source follow those of another, with new rowids.
    Renumbered,
    /// The rows are inserted by SQLite, for this reason.
    Inserted(String),
}

/// A table of the result.
pub(super) struct MergedTable<'s> {
    /// The table as the first source declares it.
    pub(super) table: &'s Table,
    /// The position of the table among the shared objects.
    pub(super) object: usize,
    /// The positions of the table's indexes among the shared objects.
    pub(super) indexes: Vec<usize>,
    /// The sources with rows, in order; or the first source with the table, if no source has rows.
    pub(super) members: Vec<Member>,
    /// `true` if no source has rows.
    pub(super) is_empty: bool,
    /// The number of sources that have the table.
    pub(super) sources: usize,
    pub(super) method: Method,
    /// The declaration in the result, if it differs from that of the first source.
    pub(super) joined: Option<Joined>,
}

/// A source that has rows of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) source: usize,
    /// The smallest and the largest rowid; 0 and 0 for a WITHOUT ROWID table.
    pub(super) rowids: (i64, i64),
    /// The offset that is added to rowids.
    pub(super) offset: i64,
}

impl Member {
    /// Returns the range of rowids in the result, which may exceed the range of valid rowids.
    fn range(&self) -> (i128, i128) {
        let offset = i128::from(self.offset);
        (i128::from(self.rowids.0) + offset, i128::from(self.rowids.1) + offset)
    }
}

/// The sources and options on which the choice of methods depends.
pub(super) struct Around<'s> {
    pub(super) merge: &'s Merge,
    pub(super) sources: &'s [Source],
    pub(super) shared: &'s [Shared],
    /// For each source, the reason why its rows can't be copied as stored; `None` if they can.
    pub(super) foreign: Vec<Option<String>>,
    /// The positions of the indexes of each table, by the table's name in lower case.
    pub(super) indexes: HashMap<String, Vec<usize>>,
    pub(super) cancel: &'s Cancel,
}

impl<'s> Around<'s> {
    /// Returns the table at position `place` of the shared objects: the sources of its rows, and the method by which they are merged.
    pub(super) fn table(&self, place: usize) -> Result<MergedTable<'s>> {
        let Around { merge, sources, shared, .. } = *self;
        let object = &shared[place];
        let indexes = self.indexes.get(&object.name.to_ascii_lowercase()).cloned().unwrap_or_default();
        let first = &sources[object.members[0].0];
        let Some(table) = first.schema.table(&object.name) else {
            return Err(Error::input(format!("{} of {} can't be read", object.describe(), first.name())));
        };
        let (mut members, mut inserted) = (Vec::new(), None);
        if !merge.add_columns {
            self.refuse_other_declarations(object)?;
        }
        for &(source, at) in &object.members {
            let Source { snapshot, objects, .. } = &sources[source];
            let tree = objects[at].tree.as_ref().expect("a table that is not virtual has a tree");
            if let Some(rowids) = snapshot.rowid_range(tree, self.cancel)? {
                members.push(Member { source, rowids, offset: 0 });
                inserted = inserted.or_else(|| self.foreign[source].clone());
            }
        }
        let is_empty = members.is_empty();
        if is_empty {
            let source = object.members[0].0;
            members.push(Member { source, rowids: (0, 0), offset: 0 });
            inserted = self.foreign[source].clone();
        }
        if inserted.is_none() {
            inserted = self.why_inserted((table, place), &members, &indexes)?;
        }
        let joined = if merge.add_columns {
            let with_rows =
                if is_empty { Vec::new() } else { members.iter().map(|member| member.source).collect() };
            declarations::joined(sources, object, &with_rows)?
        } else {
            None
        };
        let (sources, method) = (object.members.len(), Method::Copied);
        let mut merged =
            MergedTable { table, object: place, indexes, members, is_empty, sources, method, joined };
        merged.method = match inserted {
            Some(why) => Method::Inserted(why),
            None if merged.members.len() == 1 => Method::Copied,
            None if table.without_rowid => Method::Interleaved,
            None => self.by_rowids(&mut merged)?,
        };
        self.refuse_renumber(&merged)?;
        if let Method::Inserted(why) = &merged.method
            && table.rowid_alias.is_none()
            && !table.without_rowid
            && !merge.keep_rowids
            && merged.members.len() > 1
        {
            let why = why.clone();
            self.refuse_named_rowids(&merged)?;
            merged.method = Method::Inserted(why);
        }
        Ok(merged)
    }

    /// Refuses to renumber a table that can't get new numbers.
    fn refuse_renumber(&self, merged: &MergedTable<'_>) -> Result<()> {
        let MergedTable { table, members, method, .. } = merged;
        if !self.merge.renumber.iter().any(|name| name.eq_ignore_ascii_case(&table.name)) {
            return Ok(());
        }
        if table.rowid_alias.is_none() {
            let message = format!("table {} has no INTEGER PRIMARY KEY that could be renumbered", table.name);
            let error = Error::usage(message);
            return Err(match table.without_rowid {
                true => error,
                false => {
                    error.hint("there is no need to: if sources share rowids of the table, its rows get new ones, and no column shows rowids")
                }
            });
        }
        match method {
            Method::Inserted(why) if !are_disjoint(members) => Err(Error::usage(format!(
                "table {} can't be renumbered: SQLite inserts its rows, because {why}",
                table.name
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses tables that are declared differently.
    fn refuse_other_declarations(&self, object: &Shared) -> Result<()> {
        let sources = self.sources;
        let sql_of = |(source, at): (usize, usize)| sources[source].objects[at].sql.as_deref().unwrap_or("");
        let first = object.members[0];
        let other = object.members.iter().find(|&&member| !same(sql_of(first), sql_of(member)));
        match other {
            Some(&other) => Err(differently(sources, object, first, other)),
            None => Ok(()),
        }
    }

    /// Returns the reason why SQLite must insert the rows, or `None` if the tree is made from the trees of the sources.
    fn why_inserted(
        &self,
        (table, place): (&Table, usize),
        members: &[Member],
        indexes: &[usize],
    ) -> Result<Option<String>> {
        let Around { merge, sources, shared, .. } = *self;
        if merge.source_column.is_some() {
            return Ok(Some("a column is added".to_owned()));
        }
        let object = &shared[place];
        let sql_of = |(source, at): (usize, usize)| sources[source].objects[at].sql.as_deref().unwrap_or("");
        let mut others =
            object.members.iter().filter(|&&other| !same(sql_of(object.members[0]), sql_of(other)));
        if let Some((source, _)) = others.next() {
            return Ok(Some(format!("{} declares it differently", sources[*source].name())));
        }
        for &at in indexes {
            let index = &shared[at];
            if let Some(missing) =
                members.iter().find(|member| index.object_of(sources, member.source).is_none())
            {
                let name = sources[missing.source].name();
                return Ok(Some(format!("{name} has no {}", index.describe())));
            }
        }
        if members.len() == 1 {
            return Ok(None);
        }
        for at in indexes.iter().copied().chain([place]) {
            let unknown = members.iter().find_map(|member| {
                let tree = shared[at].object_of(sources, member.source)?.tree.as_ref()?;
                Some((member.source, tree.unknown_order.as_ref()?))
            });
            if let Some((source, why)) = unknown {
                if self.sources[source].snapshot.header().used_text_encoding() != UTF_8 {
                    return Ok(Some(why.clone()));
                }
                let message = format!("{} can't be merged: {why}", shared[at].describe());
                return Err(Error::input(message).hint(message![
                    "drop it in the sources, or leave its table out: ",
                    Setting::ExcludeTable.to(&table.name)
                ]));
            }
        }
        let leaves_out = merge.write.on_conflict != OnConflict::Abort;
        Ok((leaves_out && table.without_rowid).then(|| {
            "it is WITHOUT ROWID, and rows with repeated keys are left out by their rowids".to_owned()
        }))
    }

    /// Chooses the method of merging a table with rowids.
    fn by_rowids(&self, merged: &mut MergedTable<'s>) -> Result<Method> {
        let merge = self.merge;
        let table = merged.table;
        if are_disjoint(&merged.members) {
            return Ok(Method::Concatenated);
        }
        let named = |name: &String| name.eq_ignore_ascii_case(&table.name);
        let is_renumbered = match table.rowid_alias {
            Some(_) => merge.renumber.iter().any(named),
            None => !merge.keep_rowids,
        };
        if !is_renumbered {
            return Ok(Method::Interleaved);
        }
        self.refuse_named_rowids(merged)?;
        let ranges: Vec<(i64, i64)> = merged.members.iter().map(|member| member.rowids).collect();
        match raised(&ranges) {
            Ok(offsets) => {
                merged.members.iter_mut().zip(offsets).for_each(|(member, offset)| member.offset = offset);
                Ok(Method::Renumbered)
            }
            Err(_) if table.rowid_alias.is_none() => {
                Ok(Method::Inserted("its rowids are too large to be raised".to_owned()))
            }
            Err(place) => Err(self.too_large(table, merged.members[place].source)),
        }
    }

    /// Returns the error for a table with rowids that would become too large.
    pub(super) fn too_large(&self, table: &Table, source: usize) -> Error {
        let message = format!("table {} of {} can't be renumbered", table.name, self.sources[source].name());
        Error::input(message).hint("its numbers, or values that refer to them, are too large to be raised")
    }

    /// Refuses new rowids for rows of a table if other objects name its rowids.
    pub(super) fn refuse_named_rowids(&self, merged: &MergedTable<'s>) -> Result<()> {
        let Around { sources, shared, .. } = *self;
        let table = merged.table;
        let mut names: Vec<String> = ["rowid", "_rowid_", "oid"].map(str::to_owned).to_vec();
        names.retain(|name| table.column(name).is_none());
        // If a column is the rowid, views and triggers use this column as a key, and see the new numbers.
        let about_rows = table.rowid_alias.is_none();
        names.extend(table.rowid_alias.map(|alias| table.columns[alias].name.clone()));
        let names_one =
            |sql: &str| mentions(sql, |name| names.iter().any(|own| own.eq_ignore_ascii_case(name)));
        let culprit = if token::checks(&table.sql).into_iter().any(names_one) {
            Some(format!("a CHECK of table {}", table.name))
        } else {
            let index = merged.indexes.iter().map(|&at| &shared[at]).find(|shared| {
                let index = table.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(&shared.name));
                let computes = index.is_some_and(|index| index.partial || has_expressions(index));
                let sql = shared.object(sources).sql.as_deref().unwrap_or("");
                computes && names_one(sql)
            });
            let others = shared.iter().filter(|shared| matches!(&*shared.kind, "view" | "trigger"));
            let other = others.filter(|_| about_rows).find(|shared| {
                let object = shared.object(sources);
                let sql = object.sql.as_deref().unwrap_or("");
                let is_about = object.table.eq_ignore_ascii_case(&table.name)
                    || mentions(sql, |name| name.eq_ignore_ascii_case(&table.name));
                is_about && names_one(sql)
            });
            index.or(other).map(Shared::describe)
        };
        let Some(culprit) = culprit else { return Ok(()) };
        let message = format!("rows of table {} would get new rowids, which {culprit} names", table.name);
        let error = Error::input(message);
        Err(match about_rows {
            true => {
                error.hint(message!["keep the rowids, if no two rows have the same: ", Setting::KeepRowids])
            }
            false => error.hint("drop it in the sources, and make it again afterwards"),
        })
    }
}

/// The text encoding UTF-8 in the header.
const UTF_8: u32 = 1;

/// Returns `true` if an index has expressions.
pub(super) fn has_expressions(index: &Index) -> bool {
    index.columns.iter().any(|column| column.value == Indexed::Expression)
}

/// Returns `true` if no two members have overlapping ranges of rowids.
fn are_disjoint(members: &[Member]) -> bool {
    disjoint(members.iter().map(|member| member.rowids).collect())
}

/// Returns `true` if no two ranges overlap.
pub(super) fn disjoint(mut ranges: Vec<(i64, i64)>) -> bool {
    ranges.sort_unstable();
    ranges.windows(2).all(|pair| pair[0].1 < pair[1].0)
}

/// Returns the offset to add to each range so that it begins after the previous range.
///
/// # Errors
/// The index of the first range whose numbers would become too large for a rowid.
pub(super) fn raised(ranges: &[(i64, i64)]) -> std::result::Result<Vec<i64>, usize> {
    let mut last: Option<i128> = None;
    let mut offsets = Vec::with_capacity(ranges.len());
    for (place, &(first, largest)) in ranges.iter().enumerate() {
        let (first, largest) = (i128::from(first), i128::from(largest));
        let offset = last.map_or(0, |last| (last + 1 - first).max(0));
        last = Some(largest + offset);
        match i64::try_from(offset) {
            Ok(offset) if last <= Some(i128::from(i64::MAX)) => offsets.push(offset),
            _ => return Err(place),
        }
    }
    Ok(offsets)
}

/// Returns `true` if `is_meant` returns `true` for a word or a quoted name of an SQL statement.
pub(super) fn mentions(sql: &str, is_meant: impl Fn(&str) -> bool) -> bool {
    token::tokens(sql).iter().any(|token| {
        matches!(token.kind, TokenKind::Word | TokenKind::QuotedName)
            && token.name(sql).is_some_and(|name| is_meant(&name))
    })
}

/// Returns the error for an object that two sources declare differently.
pub(super) fn differently(
    sources: &[Source],
    object: &Shared,
    one: (usize, usize),
    other: (usize, usize),
) -> Error {
    let of = |(source, at): (usize, usize)| {
        let sql = sources[source].objects[at].sql.as_deref().unwrap_or("nothing");
        let sql: Vec<&str> = sql.split_whitespace().collect();
        format!("{} has {}", sources[source].name(), sql.join(" "))
    };
    let (one, other) = (of(one), of(other));
    let error = Error::input(format!("{} is declared differently: {one}; {other}", object.describe()));
    match &*object.kind {
        "table" => error.hint(message![
            "declare it the same, or, if one of them only lacks columns, let them be added: ",
            Setting::AddColumns
        ]),
        _ => error.hint("declare it the same, or drop it in one of them"),
    }
}

impl MergedTable<'_> {
    /// Returns the members in the order in which their rows are written.
    pub(super) fn in_order(&self) -> Vec<Member> {
        let mut members = self.members.clone();
        if matches!(self.method, Method::Concatenated | Method::Renumbered) {
            members.sort_by_key(Member::range);
        }
        members
    }

    /// Returns notes about differences between the declarations of sources that change no value.
    pub(super) fn notes(&self) -> &[String] {
        self.joined.as_ref().map_or(&[], |joined| &joined.notes)
    }

    /// Returns the number of sources with rows.
    pub(super) fn with_rows(&self) -> usize {
        if self.is_empty { 0 } else { self.members.len() }
    }

    /// Returns `true` if rows have new rowids and a column is the rowid.
    pub(super) fn has_new_keys(&self) -> bool {
        self.is_renumbered() && self.table.rowid_alias.is_some()
    }

    /// Returns `true` if the method adds offsets to rowids. Rows that SQLite inserts may have new rowids, too.
    pub(super) fn is_renumbered(&self) -> bool {
        self.method == Method::Renumbered
    }
}
