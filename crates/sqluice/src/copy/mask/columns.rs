//! Determines the mask of each column: from the mask file, and from foreign keys and unique keys.
//!
//! ```text
//!  customers.id      permute()   from the mask file; a key, so different values must stay different
//!  orders.customer   permute()   refers to customers.id
//! ```

use std::collections::{BTreeMap, HashSet};

use rusqlite::Connection;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::schema::index::{Index, Indexed};
use sqluice_core::schema::{Schema, Table};
use sqluice_core::similar;
use sqluice_generator::mask::{Collation, Equality, Keeps, Mask, MaskColumn, MaskFile, MaskKey};
use sqluice_reader::Snapshot;

use super::Masking;
use super::report::MaskedColumn;
use super::undeclared::{self, Place};
use crate::references::{Known, Origin};

/// The masks of all tables.
#[derive(Default)]
pub(in crate::copy) struct Masks {
    /// The masks of each masked table, by the position of the table in the schema.
    pub(super) tables: BTreeMap<usize, TableMasks>,
    /// The masks of virtual tables, by their names.
    pub(super) virtual_tables: BTreeMap<String, TableMasks>,
    /// The columns that the mask file keeps, so that they need no warning.
    pub(super) kept: HashSet<(String, String)>,
    /// The columns for which the user has said whether they refer to another column, so that their names need no remark.
    pub(super) decided: HashSet<(String, String)>,
    pub(super) columns: Vec<MaskedColumn>,
}

/// The mask of each column of a table; `None` for columns that keep their values.
#[derive(Clone)]
pub(super) struct TableMasks {
    pub(super) table: String,
    pub(super) columns: Vec<Option<ColumnMask>>,
    /// `true` if the rowid column (INTEGER PRIMARY KEY) is masked.
    pub(super) masks_rowids: bool,
}

/// The mask of a column.
#[derive(Clone)]
pub(super) struct ColumnMask {
    pub(super) mask: Mask,
    pub(super) equality: Equality,
    /// The position of the column that identifies the person of a row, and the equality by which two values of this column mean the same
    /// person. `None` if the mask names no such column.
    pub(super) person: Option<(usize, Equality)>,
}

/// The mask of a column, before it gets the secret key.
#[derive(Clone)]
struct Chosen<'f> {
    mask: &'f MaskColumn,
    /// The parent column, as the positions of its table in the schema and of the column in the table; `None` if the mask file names the
    /// column itself.
    parent: Option<(usize, usize)>,
}

/// The state while the masks of columns are determined from a mask file.
struct Resolving<'f> {
    file: &'f MaskFile,
    schema: &'f Schema,
    snapshot: &'f Snapshot,
    chosen: BTreeMap<Place, Chosen<'f>>,
    known: Known,
    /// The mask expressions that must map different values to different values.
    distinct: HashSet<&'f str>,
}

/// The collations by which masks compare values: one for all columns with the same mask.
struct Collations<'f> {
    /// The collation for each mask expression.
    of: BTreeMap<&'f str, Collation>,
    /// The collation of all columns that identify persons.
    person: Collation,
}

impl Masks {
    /// Determines the masks of all columns for the given mask file.
    ///
    /// # Errors
    /// If the file names a column that does not exist, a mask would break a key, a constraint or a foreign key, or a column seems to refer
    /// to a masked key and the user has not decided about it.
    pub(in crate::copy) fn new(
        masking: &Masking,
        (snapshot, schema): (&Snapshot, &Schema),
        is_copied: &dyn Fn(&str) -> bool,
        cancel: &Cancel,
    ) -> Result<Masks> {
        let file = &masking.file;
        let tables: Vec<&Table> = schema.tables.iter().collect();
        let known = Known::new(&tables, &masking.references, &masking.no_references)?;
        let (chosen, distinct) = (BTreeMap::new(), HashSet::new());
        let mut resolving = Resolving { file, schema, snapshot, chosen, known, distinct };
        let of_virtual = resolving.choose()?;
        resolving.follow()?;
        let is_masked =
            |place: Place| resolving.chosen.get(&place).is_some_and(|chosen| !chosen.mask.is_kept());
        let is_decided = |place: Place| {
            resolving.chosen.contains_key(&place) || resolving.known.is_decided(place.0, place.1)
        };
        undeclared::refuse((snapshot, schema), is_masked, is_decided, is_copied, cancel)?;
        resolving.find_distinct()?;
        resolving.refuse_constraints()?;
        resolving.masks(&masking.key, of_virtual)
    }

    /// Returns the masks of a table; `None` if no column of the table is masked.
    pub(super) fn of(&self, schema: &Schema, table: &str) -> Option<&TableMasks> {
        let number = schema.tables.iter().position(|known| known.name.eq_ignore_ascii_case(table))?;
        self.tables.get(&number)
    }

    /// Returns `true` if the rowids of a table are masked.
    pub(in crate::copy) fn has_rowids_of(&self, table: &str) -> bool {
        self.tables.values().any(|masks| masks.masks_rowids && masks.table.eq_ignore_ascii_case(table))
    }

    /// Returns `true` if a table is masked.
    pub(in crate::copy) fn has(&self, schema: &Schema, table: &str) -> bool {
        self.of(schema, table).is_some()
    }
}

impl TableMasks {
    /// Returns masks for a table in which no column is masked.
    pub(super) fn none(table: &str, columns: usize) -> TableMasks {
        TableMasks { table: table.to_owned(), columns: vec![None; columns], masks_rowids: false }
    }

    /// Returns `true` if a column of the table is masked.
    pub(super) fn is_masked(&self) -> bool {
        self.columns.iter().any(Option::is_some)
    }

    /// Returns `true` if the mask of a column changes its values.
    pub(super) fn has(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(Option::is_some)
    }
}

impl<'f> Resolving<'f> {
    fn error(&self, mask: &MaskColumn, message: String) -> Error {
        Error::input(message).at(self.file.place(mask))
    }

    /// Finds the columns that the mask file names, and sets their masks. Returns the entries of the file that name columns of virtual
    /// tables.
    fn choose(&mut self) -> Result<Vec<&'f MaskColumn>> {
        let mut of_virtual = Vec::new();
        for mask in self.file.columns() {
            let found =
                self.schema.tables.iter().position(|table| table.name.eq_ignore_ascii_case(&mask.table));
            let Some(number) = found else {
                let others = || self.schema.others.iter().filter(|other| other.kind == "table");
                if others().any(|other| other.name.eq_ignore_ascii_case(&mask.table)) {
                    of_virtual.push(mask);
                    continue;
                }
                let names = self.schema.tables.iter().map(|table| &*table.name);
                let message = format!("{} has no table {}", self.snapshot.name().display(), mask.table);
                return Err(self.error(mask, message).hint(similar::hint(&mask.table, names)));
            };
            let table = &self.schema.tables[number];
            let Some(column) = table.column(&mask.column) else {
                let names = table.columns.iter().map(|column| &*column.name);
                let message = format!("table {} has no column {}", table.name, mask.column);
                return Err(self.error(mask, message).hint(similar::hint(&mask.column, names)));
            };
            if table.columns[column].generated.is_some() {
                let message = format!("{}.{} is computed by SQLite", table.name, table.columns[column].name);
                return Err(self.error(mask, message).hint("mask the columns that it is computed from"));
            }
            if self.chosen.insert((number, column), Chosen { mask, parent: None }).is_some() {
                let message = format!("{}.{} has two masks", table.name, table.columns[column].name);
                return Err(self.error(mask, message).hint("leave one of them out"));
            }
        }
        Ok(of_virtual)
    }

    fn name(&self, (table, column): Place) -> String {
        let table = &self.schema.tables[table];
        format!("{}.{}", table.name, table.columns[column].name)
    }

    /// Gives each column that refers to a masked column the same mask, also along chains of references. Refuses a reference between columns
    /// with different masks, or from a masked column to one without a mask.
    fn follow(&mut self) -> Result<()> {
        let pairs = self.references();
        loop {
            let before = self.chosen.len();
            for &(child, parent) in &pairs {
                let of_parent = self.chosen.get(&parent).filter(|chosen| !chosen.mask.is_kept());
                let of_child =
                    self.chosen.get(&child).filter(|chosen| !chosen.mask.is_kept() || of_parent.is_some());
                match (of_child, of_parent) {
                    (Some(own), Some(other)) if own.mask.expression() != other.mask.expression() => {
                        let (child, parent) = (self.name(child), self.name(parent));
                        let message = format!("{child} refers to {parent}, which has another mask");
                        let hint = format!("leave the mask of {child} out: it gets that of {parent}");
                        return Err(self.error(own.mask, message).hint(hint));
                    }
                    (None, Some(other)) => {
                        let mask = other.mask;
                        let (table, column) = child;
                        if self.schema.tables[table].columns[column].generated.is_some() {
                            let message = format!(
                                "{} refers to {}, and is computed by SQLite",
                                self.name(child),
                                self.name(parent)
                            );
                            return Err(self
                                .error(mask, message)
                                .hint("take the mask off, or the foreign key"));
                        }
                        self.chosen.insert(child, Chosen { mask, parent: Some(parent) });
                    }
                    _ => {}
                }
            }
            if self.chosen.len() == before {
                break;
            }
        }
        let broken = pairs.iter().find_map(|&(child, parent)| {
            let own = self.chosen.get(&child).filter(|own| !own.mask.is_kept())?;
            let other = self.chosen.get(&parent).filter(|other| !other.mask.is_kept());
            other.is_none().then_some((own, child, parent))
        });
        match broken {
            None => Ok(()),
            Some((own, child, parent)) => {
                let (child, parent) = (self.name(child), self.name(parent));
                let message = format!("{child} refers to {parent}, which has no mask");
                let hint = format!("mask {parent}: {child} gets the same mask");
                Err(self.error(own.mask, message).hint(hint))
            }
        }
    }

    /// Returns the references between columns, declared in the schema or given by the user, as pairs of child and parent.
    fn references(&self) -> Vec<(Place, Place)> {
        let mut pairs = Vec::new();
        for (child, table) in self.schema.tables.iter().enumerate() {
            for reference in &table.references {
                let parents = || self.schema.tables.iter().enumerate();
                let found = parents().find(|(_, parent)| parent.name.eq_ignore_ascii_case(&reference.parent));
                let Some((number, parent)) = found else { continue };
                let columns: Vec<usize> = match &reference.parent_columns[..] {
                    [] => parent.primary_key().unwrap_or_default(),
                    named => named.iter().filter_map(|name| parent.column(name)).collect(),
                };
                let of_child = reference.columns.iter().map(|&column| (child, column));
                pairs.extend(of_child.zip(columns.into_iter().map(|column| (number, column))));
            }
        }
        let given = self.known.list.iter().filter(|reference| reference.origin == Origin::Given);
        pairs.extend(given.map(|given| ((given.child, given.columns[0]), (given.parent, given.keys[0]))));
        pairs
    }

    /// Finds the masks that must keep different values different (those of keys), and refuses masks that can't.
    fn find_distinct(&mut self) -> Result<()> {
        let places: Vec<Place> = self.chosen.keys().copied().collect();
        for place @ (table, column) in places {
            let chosen = &self.chosen[&place];
            let declared = &self.schema.tables[table];
            let keys = keys_with(declared, column);
            if keys.is_empty() || chosen.mask.is_kept() {
                continue;
            }
            match chosen.mask.keeps() {
                Keeps::Different => {}
                Keeps::OnRequest => {
                    self.distinct.insert(chosen.mask.expression());
                }
                // A mask that shifts dates is allowed if the person is in the key, too: different dates of one person stay different.
                Keeps::Nothing if self.person_is_in(&keys, declared, chosen.mask) => {}
                Keeps::Nothing => {
                    let message = format!(
                        "{} is part of a unique key, and the mask {} may turn different values into the same one",
                        self.name(place),
                        chosen.mask.expression()
                    );
                    let hint = "use a mask that keeps different values different, such as shape(), \
                                permute(), email() or uuid4()";
                    return Err(self.error(chosen.mask, message).hint(hint));
                }
            }
        }
        Ok(())
    }

    fn person_is_in(&self, keys: &[Vec<usize>], table: &Table, mask: &MaskColumn) -> bool {
        let person =
            mask.person().filter(|_| mask.shift_days().is_some()).and_then(|name| table.column(name));
        person.is_some_and(|person| keys.iter().all(|key| key.contains(&person)))
    }

    /// Refuses masks that would make values which violate constraints, and masks that name a missing column of persons. If a column gets
    /// its mask through a reference, masks other than `shift()` that depend on another column of the row are refused, too.
    fn refuse_constraints(&self) -> Result<()> {
        for (&(table, column), Chosen { mask, parent }) in &self.chosen {
            let declared = &self.schema.tables[table];
            let name = self.name((table, column));
            if let (Some(parent), Some(other)) =
                (parent, mask.person().filter(|_| mask.shift_days().is_none()))
            {
                let message = format!(
                    "{name} refers to {}, whose mask depends on the column {other} of its own row",
                    self.name(*parent)
                );
                return Err(self
                    .error(mask, message)
                    .hint("take with() out of the mask of a column that others refer to"));
            }
            if declared.columns[column].not_null && mask.makes_nulls() {
                let message = format!("{name} is NOT NULL, and {} may be NULL", mask.expression());
                return Err(self.error(mask, message).hint("choose a mask that is never NULL"));
            }
            if declared.rowid_alias == Some(column) && mask.makes_strings() {
                let message =
                    format!("{name} is INTEGER PRIMARY KEY, and {} is no integer", mask.expression());
                return Err(self.error(mask, message).hint("permute() and shape() give integers"));
            }
            if let Some(person) = mask.person()
                && declared.column(person).is_none()
            {
                let names = declared.columns.iter().map(|column| &*column.name);
                let message = format!("table {} has no column {person}", declared.name);
                return Err(self.error(mask, message).hint(similar::hint(person, names)));
            }
        }
        Ok(())
    }

    /// Returns, for each mask expression, the common collation of the columns with this mask, and the common collation of the columns that
    /// identify persons. If one of the columns has NOCASE, values that differ only in case get the same new value in all of them.
    fn collations(&self) -> Result<Collations<'f>> {
        let mut collations = Collations { of: BTreeMap::new(), person: Collation::Binary };
        for (&place, Chosen { mask, .. }) in self.chosen.iter().filter(|(_, chosen)| !chosen.mask.is_kept()) {
            let collation = self.equality(self.origin(place), mask)?.collation;
            let of = collations.of.entry(mask.expression()).or_insert(collation);
            *of = of.or(collation);
            let person = mask.person().and_then(|name| self.schema.tables[place.0].column(name));
            if let Some(person) = person {
                let collation = self.equality((place.0, person), mask)?.collation;
                collations.person = collations.person.or(collation);
            }
        }
        Ok(collations)
    }

    /// Returns the equality by which values of a column identify the same person.
    fn person_equality(&self, table: usize, column: usize, collation: Collation) -> Equality {
        Equality { collation, numeric: self.schema.tables[table].columns[column].affinity.is_numeric() }
    }

    /// Builds the masks of all tables. `key` is the secret key, `of_virtual` the masks of virtual tables from [`Self::choose`].
    fn masks(self, key: &MaskKey, of_virtual: Vec<&'f MaskColumn>) -> Result<Masks> {
        let mut masks = Masks {
            tables: BTreeMap::new(),
            virtual_tables: BTreeMap::new(),
            kept: HashSet::new(),
            decided: HashSet::new(),
            columns: Vec::new(),
        };
        for (table, column) in self.known.decided() {
            let declared = &self.schema.tables[table];
            masks.decided.insert(lower(&declared.name, &declared.columns[column].name));
        }
        let collations = self.collations()?;
        for (&place, Chosen { mask, parent }) in &self.chosen {
            let (table, column) = place;
            let declared = &self.schema.tables[table];
            let is_distinct = self.distinct.contains(mask.expression());
            let Some(made) = mask.mask(key, is_distinct) else {
                masks.kept.insert(lower(&declared.name, &declared.columns[column].name));
                continue;
            };
            let person = mask.person().and_then(|name| declared.column(name));
            let person =
                person.map(|person| (person, self.person_equality(table, person, collations.person)));
            // Values of a foreign key are compared like values of its parent column.
            let equality = self.equality(self.origin(place), mask)?;
            let equality = Equality { collation: collations.of[mask.expression()], ..equality };
            let of_table = masks.tables.entry(table).or_insert_with(|| TableMasks {
                table: declared.name.clone(),
                columns: vec![None; declared.columns.len()],
                masks_rowids: false,
            });
            of_table.masks_rowids |= declared.rowid_alias == Some(column);
            of_table.columns[column] = Some(ColumnMask { mask: made, equality, person });
            masks.columns.push(MaskedColumn {
                table: declared.name.clone(),
                column: declared.columns[column].name.clone(),
                mask: mask.expression().to_owned(),
                keeps_different: is_distinct || mask.keeps() == Keeps::Different,
                follows: parent.map(|parent| self.name(parent)),
            });
        }
        for mask in of_virtual {
            let collation = collations.of.get(mask.expression()).copied().unwrap_or_default();
            self.add_virtual(mask, (key, Equality { collation, numeric: false }), &mut masks)?;
        }
        Ok(masks)
    }

    /// Follows the references from a column to the last parent, and returns this column; the column itself if it has no parent.
    fn origin(&self, place: Place) -> Place {
        let mut origin = place;
        // The number of steps is limited, because references may form a cycle.
        for _ in 0..self.chosen.len() {
            match self.chosen.get(&origin).and_then(|chosen| chosen.parent) {
                Some(parent) if parent != place => origin = parent,
                _ => break,
            }
        }
        origin
    }

    /// Returns the equality of the column's values for its mask: values that are equal by it get the same new value.
    fn equality(&self, (table, column): Place, mask: &MaskColumn) -> Result<Equality> {
        let declared = &self.schema.tables[table];
        let name = &declared.columns[column].name;
        let connection = self.snapshot.connection();
        let collation = collation(&connection, &declared.name, name);
        match Collation::of_name(&collation) {
            Some(collation) => {
                Ok(Equality { collation, numeric: declared.columns[column].affinity.is_numeric() })
            }
            None => {
                let message = format!(
                    "{}.{name} has the collation {collation}, which only an application defines",
                    declared.name
                );
                Err(self
                    .error(mask, message)
                    .hint("leave the mask out, or give the column a built-in collation of SQLite"))
            }
        }
    }

    fn add_virtual(
        &self,
        mask: &MaskColumn,
        (key, equality): (&MaskKey, Equality),
        masks: &mut Masks,
    ) -> Result<()> {
        let others = || self.schema.others.iter().filter(|other| other.kind == "table");
        let Some(table) = others().find(|other| other.name.eq_ignore_ascii_case(&mask.table)) else {
            return Ok(());
        };
        let names = column_names(&self.snapshot.connection(), &table.name);
        let Some(column) = names.iter().position(|name| name.eq_ignore_ascii_case(&mask.column)) else {
            let message = format!("table {} has no column {}", table.name, mask.column);
            return Err(self
                .error(mask, message)
                .hint(similar::hint(&mask.column, names.iter().map(String::as_str))));
        };
        let Some(made) = mask.mask(key, false) else {
            masks.kept.insert(lower(&table.name, &names[column]));
            return Ok(());
        };
        let person = mask.person().map(|person| {
            let found = names.iter().position(|name| name.eq_ignore_ascii_case(person));
            found.map(|person| (person, Equality::default())).ok_or_else(|| {
                let message = format!("table {} has no column {person}", table.name);
                self.error(mask, message).hint(similar::hint(person, names.iter().map(String::as_str)))
            })
        });
        let of_table = masks.virtual_tables.entry(table.name.to_ascii_lowercase()).or_insert_with(|| {
            TableMasks { table: table.name.clone(), columns: vec![None; names.len()], masks_rowids: false }
        });
        let person = person.transpose()?;
        of_table.columns[column] = Some(ColumnMask { mask: made, equality, person });
        masks.columns.push(MaskedColumn {
            table: table.name.clone(),
            column: names[column].clone(),
            mask: mask.expression().to_owned(),
            keeps_different: mask.keeps() == Keeps::Different,
            follows: None,
        });
        Ok(())
    }
}

/// Returns the unique keys of a table that contain a column, each as the positions of its columns in the table.
fn keys_with(table: &Table, column: usize) -> Vec<Vec<usize>> {
    let columns = |index: &Index| {
        let key = index.columns[..index.key_columns].iter().filter_map(|column| match column.value {
            Indexed::Column(column) => Some(column),
            Indexed::Rowid | Indexed::Expression => None,
        });
        key.collect::<Vec<_>>()
    };
    let indexes = table.clustered.iter().chain(&table.indexes).filter(|index| index.unique);
    let alias = table.rowid_alias.map(|alias| vec![alias]);
    alias.into_iter().chain(indexes.map(columns)).filter(|key| key.contains(&column)).collect()
}

/// Returns the names of a table's columns, as `SELECT *` returns them.
pub(super) fn column_names(connection: &Connection, table: &str) -> Vec<String> {
    let sql = "SELECT name FROM pragma_table_xinfo(?1) WHERE hidden <> 1 ORDER BY cid";
    let names = connection.prepare(sql).and_then(|mut statement| {
        statement.query_map([table], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()
    });
    names.unwrap_or_default()
}

fn collation(connection: &Connection, table: &str, column: &str) -> String {
    let about = connection.column_metadata(Some("main"), table, column);
    let name = about.ok().and_then(|(_, collation, ..)| Some(collation?.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| "BINARY".to_owned())
}

/// Returns the names of a table and a column in lower case.
pub(super) fn lower(table: &str, column: &str) -> (String, String) {
    (table.to_ascii_lowercase(), column.to_ascii_lowercase())
}
