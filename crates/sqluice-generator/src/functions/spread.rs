//! Values in exact proportions: `shares`, `nulls`, `pool`.
//!
//! Each row gets a share: a random number of 64 bits, read as a fraction from 0 to 1. Each block of 65,536 rows has exactly one share in
//! each 65,536th of this range, in a shuffled order; a smaller last block has one in each of as many equal parts as it has rows:
//!
//! ```text
//!  row      0      1      2      3     ...  65,535
//!  share   0.71   0.02   0.33   0.98   ...  0.51        one in each 65,536th
//!           │      │
//!  shares('a': 1, 'b': 3): below 0.25 is a, from 0.25 on b
//! ```
//!
//! So a value has the number of rows that its weight demands, with an error of about one row in ten thousand. A function passes the share
//! to its inner functions: of `nulls(0.5, shares('a', 'b'))`, half of the rows that are not NULL are 'a'.

use std::sync::Arc;

use sqluice_core::batch::ROWS_MAX;
use sqluice_core::error::Result;

use super::choice::{Literals, Picker};
use super::grouped::{scaled, scaled_up};
use super::ranks::Ranks;
use super::{Arguments, Fault, Function, Generate};
use crate::generator::{ByShare, Class, Domain, Groups, Parent, Placed, Scope, Size, World};
use crate::parse::{ExprNode, Literal};
use crate::random::{Key, Shuffle, below64};
use crate::vector::{RowRange, Vector};

/// The number of rows in a block.
const BLOCK: u64 = 1 << 16;

/// 2^64 divided by the golden ratio: its multiples are evenly spread, however many there are.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The table of an expression that needs the row count of its table.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    table: usize,
    name: String,
}

impl Counted {
    /// Returns the table that a call belongs to.
    pub(super) fn of(arguments: &Arguments<'_>) -> Counted {
        let table = arguments.context.table;
        let name =
            arguments.context.names.tables.get(table).map_or(String::new(), |table| table.name.clone());
        Counted { table, name }
    }

    /// Returns the table's row count, or `u64::MAX` if it is not known or the expression belongs to no table.
    pub(super) fn rows(&self, world: &World) -> u64 {
        world.rows_of(self.table, &self.name).unwrap_or(u64::MAX)
    }
}

/// Returns the share of row `row`, of `count` rows. The shares of all rows are evenly spread.
#[inline]
fn share(key: Key, count: u64, row: u64) -> u64 {
    let (block, at) = (row / BLOCK, row % BLOCK);
    let size = count.max(row + 1).saturating_sub(block * BLOCK).min(BLOCK);
    if size < BLOCK {
        let place = Shuffle::new(key.child(block), size).place(at);
        // The range is divided into `size` equal parts; a row's share is the middle of its part.
        return (((u128::from(place) << 64) | 1 << 63) / u128::from(size)) as u64;
    }
    // Odd factors and shifts make a bijection of the numbers below 2^16.
    let mut place = at as u16;
    for bits in [key.word(!block), key.child(1).word(block)] {
        for (factor, term) in [(bits, bits >> 16), (bits >> 32, bits >> 48)] {
            place = place.wrapping_mul(factor as u16 | 1).wrapping_add(term as u16);
            place ^= place >> 8;
        }
    }
    // Within each 65,536th, the rows of all blocks are evenly spread.
    let within = key.word(u64::from(place)).wrapping_add(block.wrapping_mul(STEP));
    u64::from(place) << 48 | within >> 16
}

/// Writes the shares of some rows to `out`.
fn shares_of(at: Scope<'_>, count: u64, rows: &[u64], out: &mut [u64]) {
    rows.iter().zip(out).for_each(|(&row, slot)| *slot = share(at.key, count, row));
}

/// Generates the values of consecutive rows from their shares.
pub(super) fn fill(
    inner: &dyn ByShare,
    table: &Counted,
    at: Scope<'_>,
    rows: RowRange,
    out: &mut Vector,
) -> Result<()> {
    let mut numbers = [0; ROWS_MAX];
    let numbers = &mut numbers[..rows.count];
    (rows.first..).zip(&mut *numbers).for_each(|(row, number)| *number = row);
    fill_at(inner, table, at, numbers, out)
}

/// Generates the values of `rows`, in any order, from their shares.
pub(super) fn fill_at(
    inner: &dyn ByShare,
    table: &Counted,
    at: Scope<'_>,
    rows: &[u64],
    out: &mut Vector,
) -> Result<()> {
    let mut shares = [0; ROWS_MAX];
    let shares = &mut shares[..rows.len()];
    shares_of(at, table.rows(at.world), rows, shares);
    inner.make(at, rows, shares, out)
}

/// Generates the values of an inner function: from the shares if it takes shares, else from the row numbers.
pub(super) fn hand_down(
    inner: &dyn Generate,
    at: Scope<'_>,
    rows: &[u64],
    shares: &[u64],
    out: &mut Vector,
) -> Result<()> {
    match inner.by_share() {
        Some(by_share) => by_share.make(at, rows, shares, out),
        None => inner.fill_at(at, rows, out),
    }
}

/// Returns the position of `share` in the part of `width` shares from `begin` on: from 0 at the beginning to nearly 2^64 at the end.
fn within(share: u64, begin: u64, width: u64) -> u64 {
    (((u128::from(share.saturating_sub(begin))) << 64) / u128::from(width.max(1))).min(u128::from(u64::MAX))
        as u64
}

pub(super) const SHARES: Function = Function {
    name: "shares",
    signature: "shares(a, b: weight, ...)",
    about: "one of the values, as choice, but each in exactly its share of the rows",
    example: "shares('new': 2, 'paid': 3, int(1, 9))",
    build: shares,
};

pub(super) const NULLS: Function = Function {
    name: "nulls",
    signature: "nulls(p, inner)",
    about: "NULL in exactly that share of the rows, and the inner value otherwise",
    example: "nulls(0.25, int(1, 9))",
    build: |arguments| {
        arguments.count(2)?;
        let share = arguments.real(0)?;
        if !(0.0..=1.0).contains(&share) {
            let at = arguments.place(0);
            return Err(arguments.fault(at, format!("argument 1 must be from 0 to 1, not {share}")));
        }
        let from = ((1.0 - share) * 2f64.powi(64)) as u64;
        Ok(Arc::new(Nulls { from, inner: arguments.compile(1)?, table: Counted::of(arguments) }))
    },
};

pub(super) const POOL: Function = Function {
    name: "pool",
    signature: "pool(n, x, s)",
    about: "one of n values of x, each in equally many rows; with s, the k-th value in a number of rows in proportion to 1 / k^s, at least one",
    example: "pool(50, text(3, 20))",
    build: |arguments| {
        arguments.count_within(2, 3)?;
        let count = arguments.int_within(0, 1, i64::MAX)? as u64;
        let ranks = match arguments.arguments.len() {
            3 => Some(Ranks::new(count, arguments.positive(2)?)),
            _ => None,
        };
        let inner = arguments.compile(1)?;
        let ints = inner.by_share().and_then(|by_share| by_share.different_ints(count));
        Ok(Arc::new(Pool { count, ranks, inner, ints, table: Counted::of(arguments) }))
    },
};

fn shares(arguments: &Arguments<'_>) -> Result<Arc<dyn Generate>, Fault> {
    let given = arguments.arguments;
    if given.is_empty() {
        return Err(arguments.fault(arguments.at(), "takes at least one argument"));
    }
    let weight = |index: usize| given[index].weight.as_ref().map_or(1.0, |weight| weight.value);
    let total: f64 = (0..given.len()).map(weight).sum();
    if total == 0.0 || total.is_infinite() {
        return Err(
            arguments.fault(arguments.at(), "the sum of the weights must be above 0, and not too large")
        );
    }
    let mut begun = 0.0;
    let mut begins = Vec::new();
    for index in 0..given.len() {
        begins.push((begun / total * 2f64.powi(64)) as u64);
        begun += weight(index);
    }
    let literals: Option<Vec<&Literal>> = given
        .iter()
        .map(|argument| match &argument.value.node {
            ExprNode::Literal(literal) if *literal != Literal::Null => Some(literal),
            _ => None,
        })
        .collect();
    let options = match literals {
        Some(literals) => {
            Options::Literals(Literals::new(Picker::new(&vec![1.0; literals.len()]), &literals))
        }
        None => Options::Functions(
            (0..given.len()).map(|index| arguments.compile(index)).collect::<Result<_, _>>()?,
        ),
    };
    Ok(Arc::new(Shares { begins, options, table: Counted::of(arguments) }))
}

/// The values that `shares(...)` chooses among: literals, or functions that generate them.
#[derive(Debug)]
enum Options {
    Literals(Literals),
    Functions(Vec<Arc<dyn Generate>>),
}

#[derive(Debug)]
struct Shares {
    /// The lowest share of each option; an option of weight 0 has the same begin as the next option, and no shares.
    begins: Vec<u64>,
    options: Options,
    table: Counted,
}

impl Shares {
    /// Returns the option that a share belongs to.
    fn option(&self, share: u64) -> usize {
        self.begins.partition_point(|begin| *begin <= share) - 1
    }

    /// Returns the position of a share among the shares of its option, as [`within`].
    fn within(&self, option: usize, share: u64) -> u64 {
        let end = self.begins.get(option + 1).copied().unwrap_or(u64::MAX);
        within(share, self.begins[option], end - self.begins[option])
    }
}

impl ByShare for Shares {
    fn make(&self, at: Scope<'_>, rows: &[u64], shares: &[u64], out: &mut Vector) -> Result<()> {
        let options: Vec<u64> = shares.iter().map(|share| self.option(*share) as u64).collect();
        let functions = match &self.options {
            Options::Literals(literals) => return literals.nth(at, &options, out),
            Options::Functions(functions) => functions,
        };
        let mut made: Vec<(Vector, usize)> = Vec::new();
        for (number, function) in functions.iter().enumerate() {
            let (mut its_rows, mut its_shares) = (Vec::new(), Vec::new());
            for (index, _) in options.iter().enumerate().filter(|(_, option)| **option == number as u64) {
                its_rows.push(rows[index]);
                its_shares.push(self.within(number, shares[index]));
            }
            let mut values = Vector::default();
            hand_down(&**function, at.child(number as u64 + 1), &its_rows, &its_shares, &mut values)?;
            made.push((values, 0));
        }
        out.values();
        for option in options {
            let (values, next) = &mut made[option as usize];
            out.push(values.get(*next));
            *next += 1;
        }
        out.settle();
        Ok(())
    }
}

impl Generate for Shares {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        fill(self, &self.table, at, rows, out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        fill_at(self, &self.table, at, rows, out)
    }

    fn size(&self) -> Size {
        match &self.options {
            Options::Literals(literals) => literals.size(),
            Options::Functions(functions) => {
                let sizes = functions.iter().map(|function| function.size());
                let mean = sizes.clone().map(|size| size.mean).sum::<u64>().div_ceil(functions.len() as u64);
                Size { mean, max: 2 * sizes.map(|size| size.max).max().unwrap_or(0) + 8 }
            }
        }
    }

    fn class(&self) -> Class {
        match &self.options {
            Options::Literals(literals) => literals.class(),
            Options::Functions(functions) => {
                functions.iter().fold(Class::Null, |class, function| class.or(function.class()))
            }
        }
    }

    fn nullable(&self) -> bool {
        match &self.options {
            Options::Literals(_) => false,
            Options::Functions(functions) => functions.iter().any(|function| function.nullable()),
        }
    }

    fn by_share(&self) -> Option<&dyn ByShare> {
        Some(self)
    }
}

#[derive(Debug)]
struct Nulls {
    /// Shares from this one on become NULL; smaller shares get values of `inner`.
    from: u64,
    inner: Arc<dyn Generate>,
    table: Counted,
}

impl ByShare for Nulls {
    fn make(&self, at: Scope<'_>, rows: &[u64], shares: &[u64], out: &mut Vector) -> Result<()> {
        let rest: Vec<u64> = shares.iter().map(|share| within(*share, 0, self.from)).collect();
        hand_down(&*self.inner, at.child(1), rows, &rest, out)?;
        if self.from < u64::MAX {
            out.keep(&shares.iter().map(|share| *share < self.from).collect::<Vec<_>>());
        }
        Ok(())
    }
}

impl Generate for Nulls {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        fill(self, &self.table, at, rows, out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        fill_at(self, &self.table, at, rows, out)
    }

    fn size(&self) -> Size {
        self.inner.size()
    }

    fn class(&self) -> Class {
        self.inner.class()
    }

    fn nullable(&self) -> bool {
        self.from < u64::MAX || self.inner.nullable()
    }

    fn by_share(&self) -> Option<&dyn ByShare> {
        Some(self)
    }

    fn parent(&self) -> Option<&dyn Parent> {
        self.inner.parent().map(|_| self as &dyn Parent)
    }

    fn rows_max(&self, world: &World) -> Result<Option<u64>> {
        self.inner.rows_max(world)
    }
}

/// Returns the parent rows of the inner reference, and `None` for rows whose value is NULL.
impl Parent for Nulls {
    fn table(&self) -> usize {
        self.inner.parent().map_or(0, Parent::table)
    }

    fn column(&self) -> Option<usize> {
        self.inner.parent()?.column()
    }

    fn rows(&self, at: Scope<'_>, rows: &[u64], out: &mut Vec<Option<u64>>) -> Result<()> {
        if let Some(parent) = self.inner.parent() {
            parent.rows(at.child(1), rows, out)?;
        }
        let count = self.table.rows(at.world);
        for (&row, parent) in rows.iter().zip(out) {
            *parent = parent.filter(|_| share(at.key, count, row) < self.from);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Pool {
    count: u64,
    /// The row counts of the values; `None` if all values have equally many rows.
    ranks: Option<Ranks>,
    inner: Arc<dyn Generate>,
    /// The values, if the inner function has `count` different integers.
    ints: Option<Vec<i64>>,
    table: Counted,
}

/// Returns the share in the middle of part `number`, if all shares are divided into `count` equal parts.
pub(super) fn middle(number: u64, count: u64) -> u64 {
    (((u128::from(number) << 65) | 1 << 64) / (2 * u128::from(count))) as u64
}

impl Pool {
    /// Generates the pool's values with these numbers, each below `count`. Different numbers have different values if the inner function
    /// has enough of them.
    fn values(&self, at: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()> {
        let inner = at.child(1);
        if let Some(ints) = &self.ints {
            let slots = out.ints(numbers.len()).iter_mut();
            slots.zip(numbers).for_each(|(slot, number)| *slot = ints[*number as usize]);
            return Ok(());
        }
        if let Some(by_share) = self.inner.by_share() {
            let shares: Vec<u64> = numbers.iter().map(|number| middle(*number, self.count)).collect();
            return by_share.make(inner, numbers, &shares, out);
        }
        match self.inner.domain() {
            Some(domain) if domain.count(at.world)? >= self.count => {
                let shuffle = Shuffle::new(at.key.child(2), domain.count(at.world)?);
                domain.nth(
                    inner,
                    &numbers.iter().map(|number| shuffle.place(*number)).collect::<Vec<_>>(),
                    out,
                )
            }
            Some(domain) if domain.is_endless() => domain.nth(inner, numbers, out),
            _ => self.inner.fill_at(inner, numbers, out),
        }
    }

    /// Returns the place of each row: the group is the number of the row's value, and the ordinal numbers the rows with this value from 0.
    fn placed<'r>(&'r self, at: Scope<'_>, rows: &'r [u64]) -> impl Iterator<Item = Placed> + 'r {
        let (count, all) = (self.count, self.table.rows(at.world).max(1));
        let shuffle = Shuffle::new(at.key.child(0), all);
        rows.iter().map(move |row| {
            let position = shuffle.place(row % all);
            if let Some(ranks) = &self.ranks {
                let group = ranks.value(position, all);
                return Placed { group, ordinal: position - ranks.first(group, all), position };
            }
            let group = scaled(position, count, all);
            Placed { group, ordinal: position - scaled_up(group, all, count), position }
        })
    }
}

impl ByShare for Pool {
    fn make(&self, at: Scope<'_>, _: &[u64], shares: &[u64], out: &mut Vector) -> Result<()> {
        let all = self.table.rows(at.world).clamp(1, 1 << 40);
        let number = |share: &u64| match &self.ranks {
            Some(ranks) => ranks.value(below64(*share, all), all),
            None => below64(*share, self.count),
        };
        let numbers: Vec<u64> = shares.iter().map(number).collect();
        self.values(at, &numbers, out)
    }
}

impl Groups for Pool {
    fn places(&self, at: Scope<'_>, rows: &[u64], out: &mut Vec<Option<Placed>>) -> Result<()> {
        out.extend(self.placed(at, rows).map(Some));
        Ok(())
    }
}

impl Generate for Pool {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        self.fill_at(at, &(rows.first..).take(rows.count).collect::<Vec<_>>(), out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        let numbers: Vec<u64> = self.placed(at, rows).map(|place| place.group).collect();
        self.values(at, &numbers, out)
    }

    fn groups(&self) -> Option<&dyn Groups> {
        Some(self)
    }

    fn size(&self) -> Size {
        self.inner.size()
    }

    fn class(&self) -> Class {
        self.inner.class()
    }

    fn nullable(&self) -> bool {
        self.inner.nullable()
    }

    fn by_share(&self) -> Option<&dyn ByShare> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_of_n_integers_between_quantiles_has_n_different_values() {
        for (count, points) in [
            (13, "-0.2, 0.2, 0.2, 5.2, 12.2"),
            (5, "0.5, 5.5"),
            (40, "1, 1, 1, 40"),
            (9, "7, 7, 9"),
            (60, "0, 100, 100"),
        ] {
            let sql = format!("CREATE TABLE t (a INT -- gen: pool({count}, int_quantiles({points}))\n)");
            let schema = sqluice_core::schema::Schema::parse(sql, "s.sql".as_ref()).unwrap();
            let spec = crate::spec::Spec::new(&schema).unwrap();
            let rows = crate::sqlite_rows::rows(
                spec.tables[0].source_among(1, &[2000], 0, 2000).unwrap(),
                &schema.tables[0],
            )
            .unwrap();
            let mut ints: Vec<i64> =
                rows.iter()
                    .map(|row| {
                        if let rusqlite::types::Value::Integer(int) = row[0] {
                            int
                        } else {
                            panic!("{row:?}")
                        }
                    })
                    .collect();
            ints.sort_unstable();
            ints.dedup();
            let ends: Vec<f64> = points.split(", ").map(|point| point.parse().unwrap()).collect();
            let range = (ends[0] + 0.5).floor() as i64..=((ends[ends.len() - 1] + 0.5).ceil() - 1.0) as i64;
            assert_eq!(ints.len() as i64, count.min(range.end() - range.start() + 1), "{points}: {ints:?}");
            assert!(ints.iter().all(|int| range.contains(int)), "{points}: {ints:?}");
        }
    }

    #[test]
    fn random_shares_are_evenly_spread_between_0_and_1() {
        for count in [1, 2, 100, 1000, BLOCK, 3 * BLOCK] {
            let key = Key::of_column(5, "t", "c");
            let mut shares: Vec<u64> = (0..count).map(|row| share(key, count, row)).collect();
            shares.sort_unstable();
            for (rank, found) in shares.iter().enumerate() {
                let expected = (rank as f64 + 0.5) / count as f64;
                let off = (*found as f64 / 2f64.powi(64) - expected).abs() * count as f64;
                assert!(off < 2.0, "{count} rows, rank {rank}: {off} ranks off");
            }
        }
    }

    #[test]
    fn the_position_of_a_number_within_a_range_is_scaled_to_64_bits() {
        assert_eq!(within(10, 10, 5), 0);
        assert_eq!(within(1 << 63, 0, 1 << 63), u64::MAX);
        assert_eq!(within(1 << 62, 0, 1 << 63), 1 << 63);
    }
}
