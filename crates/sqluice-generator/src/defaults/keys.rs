//! Chooses the default expressions of columns in keys: a column of a FOREIGN KEY takes values of parent rows, and the values of a PRIMARY
//! KEY or UNIQUE constraint must not repeat.

use sqluice_core::affinity::Affinity;
use sqluice_core::error::Result;
use sqluice_core::schema::index::Indexed;
use sqluice_core::schema::{Reference, Table};

use super::Chooser;
use crate::functions::compile;
use crate::generator::World;
use crate::parse::parse;

/// Quotes a name for an expression.
fn name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

impl Chooser<'_> {
    /// Chooses `ref(...)` for columns in a FOREIGN KEY. All columns of one key refer to the same parent row.
    pub(super) fn choose_references(&mut self) {
        // FOREIGN KEYs of several columns choose first: they decide about a column that is also a FOREIGN KEY by itself.
        let mut references: Vec<&Reference> = self.table.references.iter().collect();
        references.sort_by_key(|reference| std::cmp::Reverse(reference.columns.len()));
        for reference in references {
            let Some(parent) = self.schema.table(&reference.parent) else { continue };
            let Some(theirs) = parent_columns(reference, parent) else { continue };
            self.choose_reference(reference, parent, &theirs);
        }
    }

    fn choose_reference(&mut self, reference: &Reference, parent: &Table, theirs: &[usize]) {
        let own = parent.name.eq_ignore_ascii_case(&self.table.name);
        let mut leader = None;
        for (&column, &their) in reference.columns.iter().zip(theirs) {
            if self.refers[column] || !self.is_open(column) {
                // A comment or another FOREIGN KEY sets this column. The other columns of the key then take values of the row that this
                // column refers to.
                leader = leader.or(Some(column));
                continue;
            }
            let (table, their) = (name(&parent.name), name(&parent.columns[their].name));
            let optional = !self.table.columns[column].not_null;
            self.chosen[column] = Some(match leader {
                Some(leader) => format!("{}.{their}", name(&self.table.columns[leader].name)),
                None if own && self.table.rowid_alias == Some(column) => continue,
                None if own && optional && !self.is_key_part(column) => {
                    format!("case(when row() = 1 then NULL else ref({table}.{their}))")
                }
                None if self.is_key(column) && self.refers_to_key(column) => {
                    self.distinct(&format!("ref({table}.{their})"), self.free_group())
                }
                None if self.is_key(column) => format!("ref({table}.{their}, each(1))"),
                None => format!("ref({table}.{their})"),
            });
            self.refers[column] = true;
            leader = leader.or(Some(column));
        }
    }

    /// Returns the columns of each key, with `true` if the key ignores the case of letters.
    pub(super) fn keys(&self) -> Vec<(Vec<usize>, bool)> {
        let of_index = |index: &sqluice_core::schema::index::Index| {
            let columns = index.columns[..index.key_columns].iter();
            let folded = columns.clone().any(|column| column.collation.eq_ignore_ascii_case("NOCASE"));
            let columns: Option<Vec<usize>> = columns
                .map(|column| match column.value {
                    Indexed::Column(column) => Some(column),
                    Indexed::Rowid | Indexed::Expression => None,
                })
                .collect();
            columns.map(|columns| (columns, folded))
        };
        let alias = self.table.rowid_alias.map(|alias| (vec![alias], false));
        let indexes = self.table.clustered.iter().chain(&self.table.indexes).filter(|index| index.unique);
        alias.into_iter().chain(indexes.filter_map(of_index)).collect()
    }

    /// Returns `true` if a column is a key by itself.
    fn is_key(&self, column: usize) -> bool {
        self.keys().iter().any(|(key, _)| key[..] == [column])
    }

    fn is_key_part(&self, column: usize) -> bool {
        self.table.clustered.iter().any(|key| {
            key.columns[..key.key_columns].iter().any(|part| part.value == Indexed::Column(column))
        })
    }

    /// Changes expressions so that no two rows have the same key.
    pub(super) fn choose_keys(&mut self) -> Result<()> {
        let mut keys = self.keys();
        keys.sort_by_key(|(key, _)| key.len());
        for (key, folded) in keys {
            if key.iter().any(|&column| self.is_distinct(column) || self.differs_within(column, &key)) {
                continue;
            }
            if let [column] = key[..] {
                if self.is_open(column) {
                    self.make_distinct(column, folded)?;
                }
                continue;
            }
            // `customer_id.city` has one value for each customer. Beside `customer_id`, it does not help to make the key unique.
            let follows = |chosen: &Option<String>| {
                chosen.as_ref().is_some_and(|chosen| {
                    key.iter().any(|&leader| {
                        chosen.starts_with(&format!("{}.", name(&self.table.columns[leader].name)))
                    })
                })
            };
            let members: Vec<usize> =
                key.iter().copied().filter(|&column| !follows(&self.chosen[column])).collect();
            let together = members.iter().all(|&column| self.is_open(column) && self.can_be_distinct(column));
            if together {
                let group = self.free_group();
                for column in members {
                    let chosen = self.chosen[column].take().unwrap_or_default();
                    self.chosen[column] = Some(self.distinct(&chosen, group));
                }
                continue;
            }
            let mut ones: Vec<usize> =
                members.into_iter().filter(|&column| self.is_open(column) && !self.refers[column]).collect();
            // Columns that are not yet `distinct(...)` for another key are preferred.
            let grouped =
                |column: usize| self.chosen[column].as_ref().is_some_and(|it| it.starts_with("distinct("));
            ones.sort_by_key(|&column| (grouped(column), std::cmp::Reverse(column)));
            match ones.first() {
                Some(&column) => self.make_distinct(column, folded)?,
                None => self.note_alike(&key),
            }
        }
        Ok(())
    }

    /// Returns the lowest group number that no `distinct(x, group)` of the table uses.
    fn free_group(&self) -> i64 {
        (1..).find(|&group| self.members(group).is_empty()).unwrap_or(1)
    }

    /// Returns the call `distinct(expression, group)`. Group 1 is the default and is not written.
    fn distinct(&self, expression: &str, group: i64) -> String {
        if group == 1 {
            format!("distinct({expression})")
        } else {
            format!("distinct({expression}, {group})")
        }
    }

    fn note_alike(&mut self, key: &[usize]) {
        let names: Vec<&str> = key.iter().map(|&column| &self.table.columns[column].name[..]).collect();
        self.notes.push(format!(
            "rows of {} may have the same key ({}), which ends the run: write -- gen: distinct(...) in a comment of each of these columns",
            self.table.name,
            names.join(", ")
        ));
    }

    /// Returns `true` if `distinct(...)` accepts the expression of a column.
    fn can_be_distinct(&self, column: usize) -> bool {
        let Some(chosen) = &self.chosen[column] else { return false };
        if self.refers[column] {
            return chosen.starts_with("ref(") && !chosen.contains("each(") && self.refers_to_key(column);
        }
        compiles(&format!("distinct({chosen})"))
    }

    /// Returns `true` if all FOREIGN KEYs of a column have one column and refer to a key of another table.
    fn refers_to_key(&self, column: usize) -> bool {
        self.table.references.iter().filter(|reference| reference.columns.contains(&column)).all(
            |reference| {
                let parent = self.schema.table(&reference.parent);
                let theirs = parent.and_then(|parent| Some((parent, parent_columns(reference, parent)?)));
                theirs.is_some_and(|(parent, theirs)| {
                    theirs.len() == 1
                        && parent.unique_keys().contains(&theirs)
                        && parent.name != self.table.name
                })
            },
        )
    }

    /// Replaces the expression of a column that refers to no other table by an expression without duplicate values. Adds a note if no such
    /// expression satisfies the CHECKs.
    fn make_distinct(&mut self, column: usize, folded: bool) -> Result<()> {
        let chosen = self.chosen[column].clone().unwrap_or_default();
        let declared = &self.table.columns[column];
        let mut proposals = Vec::new();
        if declared.affinity == Affinity::Integer && chosen == super::types::INTEGERS {
            proposals.push("row()".to_owned());
        }
        // `distinct` does not accept a range that ends at another column. Texts that differ may be equal in a key that ignores case.
        if compiles(&format!("distinct({chosen})")) && !(folded && chosen.starts_with("text(")) {
            proposals.push(self.distinct(&chosen, self.free_group()));
        }
        proposals.extend(self.bounds[column].patterns.iter().filter_map(|(_, numbered)| numbered.clone()));
        let bounds = &self.bounds[column];
        let is_named = !["text(", "choice(", "distinct("].iter().any(|other| chosen.starts_with(other));
        if declared.affinity == Affinity::Text && is_named {
            let numbered = format!("template('{{{}}} {{row()}}')", chosen.replace('\'', "''"));
            let room = super::types::length(declared).unwrap_or(u64::MAX);
            if super::types::longest(&numbered).is_some_and(|longest| longest <= room) {
                proposals.push(numbered);
            }
        }
        let typed = super::types::distinct(declared, bounds.length_min, bounds.length_max, folded);
        proposals.extend(typed.into_iter().map(|typed| match typed.strip_prefix("distinct(") {
            Some(inner) => self.distinct(inner.strip_suffix(')').unwrap_or(inner), self.free_group()),
            None => typed,
        }));
        // Expressions with fewer than `FEW` values are tried last, unless a CHECK limits the values.
        if bounds.one_of.is_none() && bounds.low.is_none() && bounds.high.is_none() {
            proposals.sort_by_key(|proposal| capacity(proposal) < FEW);
        }
        for proposal in proposals {
            if self.keeps(column, &proposal)? {
                self.chosen[column] = Some(proposal);
                return Ok(());
            }
        }
        self.note_alike(&[column]);
        Ok(())
    }
}

/// Expressions with fewer distinct values than this number are tried last for a key.
const FEW: u64 = 1000;

/// Returns the maximum number of rows in which an expression gives a different value to each row.
fn capacity(expression: &str) -> u64 {
    let world = World::new(1, Vec::new());
    let generator = parse(expression, 0).and_then(|expr| compile(&expr));
    let most = generator.ok().and_then(|generator| generator.rows_max(&world).ok().flatten());
    most.unwrap_or(u64::MAX)
}

fn compiles(expression: &str) -> bool {
    parse(expression, 0).and_then(|expr| compile(&expr)).is_ok()
}

/// Returns the columns that a FOREIGN KEY refers to, or `None` if the parent table has no such columns or another number of them.
fn parent_columns(reference: &Reference, parent: &Table) -> Option<Vec<usize>> {
    let named: Option<Vec<usize>> =
        reference.parent_columns.iter().map(|column| parent.column(column)).collect();
    let columns = match named? {
        none if none.is_empty() => parent.primary_key()?,
        named => named,
    };
    (columns.len() == reference.columns.len()).then_some(columns)
}
