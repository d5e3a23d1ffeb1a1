//! Describes the references of a table to itself, as trees.

use sqluice_core::schema::Reference;

use super::several::lines;
use super::{Keys, Made, name};

impl Keys<'_> {
    /// Describes a reference of a table to itself, as trees. If the reference has several columns, the parent is drawn by the first column
    /// that may differ between a row and its parent.
    pub(super) fn reference_to_itself(&mut self, number: usize, reference: &Reference) {
        let Some((_, _, columns)) = self.world.parent(reference) else { return };
        let table = self.described.table;
        let pairs = || reference.columns.iter().copied().zip(columns.iter().copied());
        let Some((first, key)) = pairs().find(|(column, key)| column != key && self.made[*column].is_none())
        else {
            return;
        };
        let Some(facts) = self.described.facts_of(first).filter(|_| self.described.read[key].is_some())
        else {
            return;
        };
        let of_key = format!("{}.{}", name(&table.name), name(&table.columns[key].name));
        let lineage = self.described.facts.lineages.get(number).and_then(Option::as_ref);
        let made = match lineage {
            _ if facts.values() == 0 => "NULL".to_owned(),
            Some(lineage) => format!("ref({of_key}, {})", lineage.arguments(table.columns[first].not_null)),
            None => self.described.with_nulls(facts, format!("ref({of_key})")),
        };
        self.set(first, made);
        self.is_grouped[first] = lineage.is_some();
        let leader = name(&table.columns[first].name);
        for (other, key) in pairs().filter(|(other, key)| other != key && *other != first) {
            if self.made[other].is_none() {
                self.set(other, format!("{leader}.{}", name(&table.columns[key].name)));
            }
        }
    }

    /// Describes references of several columns to a row of the same group, such as
    /// `FOREIGN KEY (company, boss) REFERENCES staff (company, id)`. The rows of the group must have line numbers. A row then refers to a
    /// lower line number.
    pub(super) fn trees_in_groups(&mut self) {
        let table = self.described.table;
        for (number, pairs) in self.own_references() {
            let (shared, own): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(column, key)| column == key);
            let (&[(group, _)], &[(column, line)]) = (&shared[..], &own[..]) else { continue };
            // Another reference, or a key, may describe the column already.
            let is_tree =
                |made: &Made| made.expression.starts_with("ref(") && made.expression.contains(", tree(");
            if !self.made[column].as_ref().is_some_and(is_tree) {
                continue;
            }
            let of_group = name(&table.columns[group].name);
            let first = match self.made[line].as_ref().map(|made| &made.expression[..]) {
                Some(made) if made == lines(&of_group, 1) => 1,
                Some(made) if made == lines(&of_group, 0) => 0,
                _ => continue,
            };
            let lineage = self.described.facts.lineages.get(number).and_then(Option::as_ref);
            let groups = self.described.facts_of(group).map_or(1.0, |facts| facts.different().max(1.0));
            let line = name(&table.columns[line].name);
            let is_not_null = table.columns[column].not_null;
            if let Some(made) = lineage.and_then(|lineage| lineage.lines(&line, first, groups, is_not_null)) {
                self.set(column, made);
                self.is_grouped[column] = false;
            }
        }
    }

    /// Returns `true` if a column refers to another row of its own table. A column whose value is the same in a row and its parent does
    /// not.
    pub(super) fn refers_to_itself(&self, column: usize) -> bool {
        let mut pairs = self.own_references().into_iter().flat_map(|(_, pairs)| pairs);
        pairs.any(|(own, key)| own == column && own != key)
    }

    /// Returns `true` if a foreign key of the table refers to a column of this key.
    pub(super) fn is_parent_of_itself(&self, key: &[usize]) -> bool {
        self.own_references().iter().flat_map(|(_, pairs)| pairs).any(|(_, parent)| key.contains(parent))
    }

    /// Returns the references of the table to itself. Each comes with its position in the table's references, and pairs of a referring
    /// column and the column that it refers to.
    fn own_references(&self) -> Vec<(usize, Vec<(usize, usize)>)> {
        let table = self.described.table;
        let own = table.references.iter().enumerate();
        let own = own.filter(|(_, reference)| reference.parent.eq_ignore_ascii_case(&table.name));
        own.filter_map(|(number, reference)| {
            let (_, _, columns) = self.world.parent(reference)?;
            Some((number, reference.columns.iter().copied().zip(columns).collect()))
        })
        .collect()
    }
}
