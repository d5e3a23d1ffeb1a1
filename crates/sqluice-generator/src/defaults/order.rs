//! The order of dates and times ("moments") that column names imply: nothing is shipped before it is ordered, no order is older than its
//! customer, and nothing happens after today.
//!
//! ```text
//!  customer   birth_date   long before all others
//!             created_at ──────────────┐ first of its row
//!  orders     ordered_at <── after ────┘ of the row that `customer` refers to
//!             shipped_at <── after ordered_at, some days
//!             updated_at <── after shipped_at, some more
//!             due_date   <── after ordered_at; no other moment follows it
//! ```
//!
//! Today is the end of 2025: the same seed has to give the same bytes next year, too. Comments and CHECKs take precedence.
//!
//! The values of each such column lie in an interval. The intervals of a row are narrowed until each begins and ends no earlier than the
//! interval before it: then every value can follow the value before it, and satisfies the CHECKs that its interval was derived from.

use sqluice_core::error::Result;
use sqluice_core::schema::Column;

use super::checks::{Bound, End};
use super::{Chooser, names};
use crate::functions::{Form, moment, seconds};
use crate::parse::{Expr, ExprNode, Literal, parse};

/// The last second of generated values, unless the schema states another.
pub(super) const LAST_SECOND: &str = "2025-12-31 23:59:59";

/// The first second of moments other than births.
const FIRST_SECOND: &str = "2015-01-01 00:00:00";
const FIRST_BIRTH: &str = "1945-01-01";
const LAST_BIRTH: &str = "1996-12-31";

/// The first moment of a row lies at least this long before today, so that later moments and the rows of children have room.
const ROOM: i64 = 30 * DAY;

const DAY: i64 = 86_400;

/// The maximum number of days between a row and a row that refers to it.
const CHILD_DAYS: i64 = 4000;

/// The stages in the life of a row: the words that name a stage, and the maximum number of days after the stage before.
const STAGES: &[(&str, i64)] = &[
    ("birth birthday birthdate dateofbirth dob born", 0),
    (
        "created create creation createdat registered registration joined join signup signed inserted added opened founded \
         established",
        0,
    ),
    (
        "order ordered placed booked booking purchase purchased begin began begins start started starts from hire hired \
         hiredate rental rented invoice invoiced in checkin departure submitted requested",
        30,
    ),
    ("approved accepted confirmed paid payment processed authorized reviewed verified", 5),
    ("shipped shipping shipment ship sent dispatched published released", 10),
    ("delivered delivery received arrived arrival", 14),
    (
        "end ended ends finish finished completed return returned closed cancelled canceled until to out checkout resolved \
         stopped left terminated",
        60,
    ),
    (
        "updated update modified modification changed edited seen login accessed synced updatedat lastupdate",
        120,
    ),
    ("deleted removed archived died death deceased deletedat", 200),
];

/// The stage of a column whose name says only that it is a date or time, such as `at` or `timestamp`.
const UNNAMED: usize = 2;

/// The words that name a limit, such as a due date. No other date or time of the row has to be later than a limit.
const LIMITS: &str = "due required expires expiry expiration deadline renewal scheduled";
const LIMIT_DAYS: i64 = 30;

/// The stage in the life of a row that a column name implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Birth,
    At(usize),
    Limit,
}

fn stage(name: &str) -> Option<Stage> {
    let words = names::words(name);
    let of = |word: &str| {
        let is_it = |all: &str| all.split_whitespace().any(|it| it == word);
        match STAGES.iter().position(|(all, _)| is_it(all)) {
            Some(0) => Some(Stage::Birth),
            Some(stage) => Some(Stage::At(stage)),
            None => is_it(LIMITS).then_some(Stage::Limit),
        }
    };
    if of(&words.concat()) == Some(Stage::Birth) || words.iter().any(|word| of(word) == Some(Stage::Birth)) {
        return Some(Stage::Birth);
    }
    if words.iter().any(|word| word == "last" || word == "latest") {
        return Some(Stage::At(STAGES.len() - 2));
    }
    let stage = of(&words.concat()).or_else(|| words.iter().rev().find_map(|word| of(word)));
    stage.or(names::is_moment(name).then_some(Stage::At(UNNAMED)))
}

/// A column whose values are dates or times, with the interval of its values in seconds since 0000-03-01.
#[derive(Clone, Debug)]
struct Moment {
    column: usize,
    stage: Stage,
    form: Form,
    /// The start of the interval.
    low: i64,
    high: i64,
    /// `true` if a CHECK or a comment sets `low`.
    low_said: bool,
    high_said: bool,
    /// `true` if a comment sets the expression of the column, which then stays unchanged.
    said: bool,
}

/// Returns the columns with which CHECKs compare `column`. The first `bool` is `true` if `column` has the higher value, the second
/// if equal values are forbidden.
fn compared(chooser: &Chooser<'_>, column: usize) -> Vec<(usize, bool, bool)> {
    let bounds = &chooser.bounds[column];
    let of = |bound: &Option<Bound>, after: bool| match bound {
        Some(Bound { end: End::Column(name), open }) => Some((chooser.table.column(name)?, after, *open)),
        _ => None,
    };
    [of(&bounds.low, true), of(&bounds.high, false)].into_iter().flatten().collect()
}

/// Returns the bound in seconds since 0000-03-01; `None` if the bound is not a literal. A bound that is not allowed itself is moved into
/// the range by a day or a second, depending on `form`: upwards if `inwards` is 1, downwards if `inwards` is -1.
fn said(bound: &Option<Bound>, form: Form, inwards: i64) -> Option<i64> {
    match bound {
        Some(Bound { end: End::Value(value), open }) => {
            let step = if form == Form::Day { DAY } else { 1 };
            seconds(value).map(|moment| if *open { moment + inwards * step } else { moment })
        }
        _ => None,
    }
}

fn at(text: &str) -> i64 {
    seconds(&Literal::Text(text.to_owned())).unwrap_or(0)
}

/// Returns the form of an expression's values if they are dates or times, and the ends of their interval if these are literals.
fn interval(expr: &Expr, column: &Column) -> Option<(Form, Option<(i64, i64)>)> {
    let ExprNode::Call { name, arguments } = &expr.node else { return None };
    let form = match &name.to_ascii_lowercase()[..] {
        "date" => Form::Day,
        "timestamp" => Form::Second,
        "int" if names::is_epoch(&column.name) => Form::Int,
        _ => return None,
    };
    let end = |index: usize| match &arguments.get(index)?.value.node {
        ExprNode::Literal(literal) => seconds(literal),
        _ => None,
    };
    Some((form, end(0).zip(end(1))))
}

impl Chooser<'_> {
    /// Returns the columns with dates and times in the order in which a row gets them; limits are last.
    fn moments(&self) -> Result<Vec<Moment>> {
        let mut moments = Vec::new();
        for (column, declared) in self.table.columns.iter().enumerate() {
            if self.refers[column] {
                continue;
            }
            let Some(stage) = stage(&declared.name) else { continue };
            let expr = match (&self.commented[column], &self.chosen[column]) {
                (Some(commented), _) => commented.clone(),
                (None, Some(chosen)) => parse(chosen, 0).ok(),
                (None, None) => None,
            };
            let Some((form, ends)) = expr.and_then(|expr| interval(&expr, declared)) else { continue };
            let is_said = self.commented[column].is_some();
            let (low, high) = match (is_said, ends) {
                (true, Some(both)) => (Some(both.0), Some(both.1)),
                // The ends are other columns: the values already follow these.
                (true, None) => continue,
                (false, _) => {
                    let bounds = &self.bounds[column];
                    (said(&bounds.low, form, 1), said(&bounds.high, form, -1))
                }
            };
            let (first, last) = match stage {
                Stage::Birth => (at(FIRST_BIRTH), at(LAST_BIRTH)),
                _ => (at(FIRST_SECOND), at(LAST_SECOND)),
            };
            // A day begins at midnight.
            let whole =
                |moment: i64| if form == Form::Day { moment - moment.rem_euclid(DAY) } else { moment };
            let mut moment = Moment {
                column,
                stage,
                form,
                low: low.unwrap_or(first),
                high: whole(high.unwrap_or(last)),
                low_said: low.is_some(),
                high_said: high.is_some(),
                said: is_said,
            };
            if moment.low > moment.high {
                // The one end that a CHECK sets lies beyond the default of the other end.
                match (low, high) {
                    (Some(low), _) => moment.high = whole(low + 365 * DAY),
                    (None, _) => moment.low = moment.high - 20 * 365 * DAY,
                }
            }
            if is_said || self.keeps(column, &moment.evenly())? {
                moments.push(moment);
            }
        }
        moments.sort_by_key(|moment| (moment.stage, moment.column));
        self.without_contradictions(&mut moments);
        Ok(moments)
    }

    /// Removes columns for which CHECKs demand another order. Of the columns with comments, keeps only the first, and dates of birth.
    fn without_contradictions(&self, moments: &mut Vec<Moment>) {
        let place = |moments: &[Moment], column: usize| moments.iter().position(|it| it.column == column);
        let mut out = Vec::new();
        for (index, moment) in moments.iter().enumerate() {
            for (other, after, _) in compared(self, moment.column) {
                let is_kept = place(moments, other).is_some_and(|place| {
                    let follows = if after { place < index } else { place > index };
                    follows && moments[place].stage != Stage::Limit
                });
                if !is_kept {
                    out.extend([moment.column, other]);
                }
            }
        }
        let mut comments = 0;
        moments.retain(|moment| {
            comments += usize::from(moment.said && moment.stage != Stage::Birth);
            !out.contains(&moment.column) && (!moment.said || comments <= 1)
        });
    }

    /// Returns `true` if a column belongs to a key.
    fn is_in_key(&self, column: usize) -> bool {
        self.keys().iter().any(|(key, _)| key.contains(&column))
    }

    /// Narrows the intervals so that each value can follow the one before it and still lie in the range that its CHECKs allow. Returns
    /// `false` if this is impossible.
    fn narrow(moments: &mut [Moment]) -> bool {
        if let Some(first) = moments.first_mut().filter(|first| !first.high_said && !first.said) {
            first.high = first.high.min(at(LAST_SECOND) - ROOM);
            // The end is rounded down to midnight, so that it is the same for days and for seconds.
            first.high -= first.high.rem_euclid(DAY);
        }
        for index in (1..moments.len()).rev() {
            let [before, after] = &mut moments[index - 1..=index] else { return false };
            if before.said {
                // A column with a comment keeps its whole interval, so the next column must end at least a day after it.
                if after.high_said && before.high > after.high - DAY {
                    return false;
                }
                after.high = after.high.max(before.high + DAY);
            } else if !after.said {
                before.high = before.high.min(after.high - DAY);
            }
            if after.low > before.low && after.low <= before.high {
                if before.said && after.low_said {
                    return false;
                }
                if !before.said {
                    before.low = after.low;
                }
            }
        }
        moments.iter().all(|moment| moment.low <= moment.high)
                        // A column before a column with a comment is computed from the latter, so its values could break its own CHECKs.
            && moments.iter().position(|moment| moment.said).is_none_or(|said| {
                moments[..said].iter().all(|moment| !moment.low_said && !moment.high_said)
            })
    }
}

impl Moment {
    /// Returns an expression whose values are evenly spread over the interval.
    fn evenly(&self) -> String {
        let function = match self.form {
            Form::Day => "date",
            Form::Second => "timestamp",
            Form::Int => "int",
        };
        format!("{function}({}, {})", moment(self.low, self.form), moment(self.high, self.form))
    }

    fn after(&self, other: &str, least: i64, most: i64) -> String {
        format!("after({other}, {least}, {most}, {})", moment(self.high, self.form))
    }

    fn days(&self) -> i64 {
        match self.stage {
            Stage::Birth => 0,
            Stage::At(stage) => STAGES[stage].1,
            Stage::Limit => LIMIT_DAYS,
        }
    }
}

/// The columns of a table with dates and times: dates of birth, the chain in which each value follows the value before it, and limits such
/// as due dates.
struct Row {
    births: Vec<Moment>,
    chain: Vec<Moment>,
    limits: Vec<Moment>,
}

impl Row {
    fn of(chooser: &Chooser<'_>) -> Result<Row> {
        let all = chooser.moments()?;
        let of = |stage: fn(Stage) -> bool| -> Vec<Moment> {
            all.iter().filter(|moment| stage(moment.stage)).cloned().collect()
        };
        let (mut births, mut chain) =
            (of(|stage| stage == Stage::Birth), of(|stage| matches!(stage, Stage::At(_))));
        // A column in a key keeps the expression that makes the key unique. It can't follow another column, but others can follow it.
        let mut place = 0;
        chain.retain(|moment| {
            place += 1;
            place == 1 || moment.said || !chooser.is_in_key(moment.column)
        });
        let mut limits = of(|stage| stage == Stage::Limit);
        limits.retain(|limit| !limit.said && !chooser.is_in_key(limit.column));
        let room = |chain: &mut Vec<Moment>| {
            if let Some(last) = chain.last_mut().filter(|last| !last.high_said && !limits.is_empty()) {
                last.high -= 2 * DAY;
            }
        };
        room(&mut chain);
        if !Chooser::narrow(&mut chain) {
            chain = of(|stage| matches!(stage, Stage::At(_)));
            chain.retain(|it| !it.said && !it.low_said && !it.high_said && !chooser.is_in_key(it.column));
            room(&mut chain);
            if !Chooser::narrow(&mut chain) {
                chain.clear();
            }
        }
        let last_birth = chain.first().map_or(i64::MAX, |first| first.low - 18 * 365 * DAY);
        for birth in births.iter_mut().filter(|birth| !birth.high_said && birth.high > last_birth) {
            birth.high = last_birth - last_birth.rem_euclid(DAY);
            if !birth.low_said {
                birth.low = birth.low.min(birth.high - 50 * 365 * DAY);
            }
        }
        births.retain(|birth| !birth.said && birth.low <= birth.high && !chooser.is_in_key(birth.column));
        Ok(Row { births, chain, limits })
    }

    /// Returns the first column of the chain. The dates and times of child rows are later than the value of this column.
    fn first(&self) -> Option<&Moment> {
        self.chain.first()
    }
}

/// Replaces the expressions of dates and times in all tables, so that each value follows the values before it.
pub(super) fn order(choosers: &mut [Chooser<'_>], ordered: &[bool]) -> Result<()> {
    let rows = choosers.iter().zip(ordered).map(|(chooser, ordered)| match ordered {
        true => Row::of(chooser),
        false => Ok(Row { births: Vec::new(), chain: Vec::new(), limits: Vec::new() }),
    });
    let rows: Vec<Row> = rows.collect::<Result<_>>()?;
    // For each table, the parent tables whose dates and times precede those of the table.
    let mut needs = vec![Vec::new(); choosers.len()];
    for table in 0..choosers.len() {
        let parents = parents(choosers, &rows, &mut needs, table);
        choosers[table].choose_moments(&rows[table], &parents);
    }
    Ok(())
}

/// Returns expressions for the dates and times of parent rows that the first date or time of a table's row must follow.
fn parents(choosers: &[Chooser<'_>], rows: &[Row], needs: &mut [Vec<usize>], table: usize) -> Vec<String> {
    let (chooser, mut found) = (&choosers[table], Vec::new());
    let Some(first) = rows[table].first() else { return found };
    if first.said || chooser.is_in_key(first.column) {
        return found;
    }
    for reference in &chooser.table.references {
        let Some(&column) = reference.columns.first() else { continue };
        let parent = chooser.schema.place(&reference.parent).filter(|parent| *parent != table);
        let Some(parent) = parent else { continue };
        let Some(theirs) = rows[parent].first().filter(|theirs| theirs.high <= first.high) else { continue };
        if !chooser.names_rows(column) || reaches(needs, parent, table) {
            continue;
        }
        needs[table].push(parent);
        let (own, their) = (&chooser.table.columns[column], &choosers[parent].table.columns[theirs.column]);
        found.push(format!("{}.{}", name(&own.name), name(&their.name)));
        if theirs.low < first.low {
            found.push(moment(first.low, first.form).to_string());
        }
    }
    found
}

/// Returns `true` if the dates and times of table `from` depend on those of table `to`, directly or through other tables.
fn reaches(needs: &[Vec<usize>], from: usize, to: usize) -> bool {
    from == to || needs[from].iter().any(|&next| reaches(needs, next, to))
}

fn name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

impl Chooser<'_> {
    /// Returns `true` if every value of a column is taken from a row of another table.
    fn names_rows(&self, column: usize) -> bool {
        let is_ref = |expr: &Expr| matches!(&expr.node, ExprNode::Call { name, .. } if name.eq_ignore_ascii_case("ref"));
        match (&self.commented[column], &self.chosen[column]) {
            (Some(commented), _) => commented.as_ref().is_some_and(is_ref),
            (None, Some(chosen)) => chosen.starts_with("ref(") && self.refers[column],
            (None, None) => false,
        }
    }

    fn choose_moments(&mut self, row: &Row, parents: &[String]) {
        for birth in &row.births {
            self.chosen[birth.column] = Some(birth.evenly());
        }
        let called = |chooser: &Self, moment: &Moment| name(&chooser.table.columns[moment.column].name);
        // If a CHECK forbids equal values, all dates and times of the row are at least a day apart.
        let open = |moment: &Moment| compared(self, moment.column).iter().any(|(_, _, open)| *open);
        let least = i64::from(row.chain.iter().chain(&row.limits).any(open));
        let said = row.chain.iter().position(|moment| moment.said);
        for (index, own) in row.chain.iter().enumerate() {
            if own.said {
                continue;
            }
            let chosen = match (said, index.checked_sub(1).map(|before| &row.chain[before])) {
                (Some(said), _) if index < said => {
                    let next = &row.chain[index + 1];
                    own.after(&called(self, next), -next.days().max(1), -least)
                }
                (_, None) if parents.is_empty() => own.evenly(),
                (_, None) => match parents {
                    [one] => own.after(one, 0, CHILD_DAYS),
                    all => own.after(&format!("latest({})", all.join(", ")), 0, CHILD_DAYS),
                },
                // CHECKs already put this interval after the one before.
                (_, Some(before)) if own.low > before.low && !before.said => own.evenly(),
                (_, Some(before)) => own.after(&called(self, before), least, own.days().max(least)),
            };
            self.chosen[own.column] = Some(chosen);
        }
        let begun = row.chain.iter().rfind(|it| it.stage <= Stage::At(UNNAMED)).or(row.chain.first());
        for limit in row.limits.iter().filter(|limit| !limit.low_said) {
            let others = compared(self, limit.column);
            let asked = |it: &&Moment| others.iter().any(|(other, ..)| *other == it.column);
            let Some(before) = row.chain.iter().rfind(asked).or(begun) else { continue };
            if before.high <= limit.high - DAY {
                self.chosen[limit.column] = Some(limit.after(&called(self, before), least, limit.days()));
            }
        }
    }
}
