//! Proposes candidate expressions for a column, the likeliest first. The caller tests their values against the CHECKs.

use sqluice_core::affinity::Affinity;
use sqluice_core::schema::{Column, Table};

use super::checks::{Bound, Bounds, End};
use super::order::LAST_SECOND;
use super::{names, types};
use crate::functions::shifted;
use crate::parse::Literal;

/// The length of a range of integers if the schema sets only one end.
const SPAN: i64 = 1_000_000;
const SPAN_OF_REALS: f64 = 1000.0;
/// The maximum length of a text, in characters, if the schema sets only the minimum.
const LENGTH: i64 = 20;

/// Returns at least one candidate for a column.
pub(super) fn proposals(table: &Table, index: usize, bounds: &Bounds) -> Vec<String> {
    // The columns of a full-text table have no declared types.
    let text = Column::new(&table.columns[index].name, "TEXT");
    let column = if table.is_virtual { &text } else { &table.columns[index] };
    if table.rowid_alias == Some(index) {
        return vec!["row()".to_owned()];
    }
    let mut proposals = Vec::new();
    if let Some(values) = &bounds.one_of {
        proposals.push(choice(values));
    }
    let dates = is_date(column) || names::is_moment(&column.name);
    if has_column_end(bounds) {
        // A proposal can't be tested against bounds that are columns, so the expression with these bounds goes first.
        proposals.extend(range(column, bounds, dates));
    }
    let named = names::expression(&table.name, column).map(|named| cut(named, column));
    proposals.extend(named);
    if bounds.json {
        proposals.push("json({'id': int(1, 1000), 'tags': [word(), word()]})".to_owned());
    }
    proposals.extend(range(column, bounds, dates));
    proposals.extend(bounds.patterns.iter().map(|(pattern, _)| pattern.clone()));
    proposals.extend(lengths(column, bounds));
    proposals.extend(of_default(column));
    proposals.push(types::expression(column));
    proposals
}

fn has_column_end(bounds: &Bounds) -> bool {
    [&bounds.low, &bounds.high].into_iter().flatten().any(|bound| matches!(bound.end, End::Column(_)))
}

fn choice(values: &[Literal]) -> String {
    let values = values.iter().map(Literal::to_string).collect::<Vec<_>>().join(", ");
    format!("choice({values})")
}

/// Shortens the values of an expression to the column's length if needed.
fn cut(expression: String, column: &Column) -> String {
    let length = types::length(column).filter(|_| column.affinity == Affinity::Text);
    // A column of 10 to 18 characters has room for the day, but not for the time.
    if let (Some(10..19), true) = (length, expression.starts_with("timestamp(")) {
        return names::DAYS.to_owned();
    }
    let longest = types::longest(&expression);
    match (length, longest) {
        (Some(length), Some(longest)) if longest > length => format!("left({expression}, {length})"),
        _ => expression,
    }
}

fn is_date(column: &Column) -> bool {
    let declared = column.declared_type.to_ascii_uppercase();
    declared.contains("DATE") || declared.contains("TIMESTAMP")
}

/// Returns an expression for values between the bounds, if there are any.
fn range(column: &Column, bounds: &Bounds, dates: bool) -> Option<String> {
    if bounds.low.is_none() && bounds.high.is_none() {
        return None;
    }
    let texts = [&bounds.low, &bounds.high]
        .into_iter()
        .flatten()
        .any(|bound| matches!(&bound.end, End::Value(Literal::Text(_))));
    if texts || (dates && has_column_end(bounds) && column.affinity != Affinity::Integer) {
        return moments(column, bounds);
    }
    let reals = [&bounds.low, &bounds.high]
        .into_iter()
        .flatten()
        .any(|bound| matches!(&bound.end, End::Value(Literal::Real(_))));
    match column.affinity {
        Affinity::Text => None,
        Affinity::Real => numbers(bounds),
        Affinity::Numeric if reals || types::scale(column) > 0 => numbers(bounds),
        _ => ints(bounds),
    }
}

fn ints(bounds: &Bounds) -> Option<String> {
    let end = |bound: &Bound, step: i64| -> Option<(String, Option<i64>)> {
        match &bound.end {
            End::Column(name) if bound.open && step > 0 => Some((format!("{} + 1", column(name)), None)),
            End::Column(name) if bound.open => Some((format!("{} - 1", column(name)), None)),
            End::Column(name) => Some((column(name), None)),
            End::Value(Literal::Int(int)) => {
                let int = if bound.open { int.checked_add(step)? } else { *int };
                Some((int.to_string(), Some(int)))
            }
            End::Value(Literal::Real(real)) => {
                let inner = if step > 0 { real.ceil() } else { real.floor() };
                // A bound that no integer reaches makes no proposal: `c > 1e19`.
                let int = (inner.abs() < i64::MAX as f64).then_some(inner as i64)?;
                let int = int.checked_add(if bound.open && inner == *real { step } else { 0 })?;
                Some((int.to_string(), Some(int)))
            }
            End::Value(_) => None,
        }
    };
    let low = bounds.low.as_ref().map(|bound| end(bound, 1));
    let high = bounds.high.as_ref().map(|bound| end(bound, -1));
    match (low, high) {
        (Some(low), Some(high)) => Some(format!("int({}, {})", low?.0, high?.0)),
        (Some(low), None) => Some(match low? {
            (low, Some(int)) => format!("int({low}, {})", int.saturating_add(SPAN)),
            (low, None) => format!("int({low}, {low} + 1000)"),
        }),
        (None, Some(high)) => Some(match high? {
            (high, Some(int)) if int >= 0 => format!("int(0, {high})"),
            (high, Some(int)) => format!("int({}, {high})", int.saturating_sub(SPAN)),
            (high, None) => format!("int({high} - 1000, {high})"),
        }),
        (None, None) => None,
    }
}

/// Returns an expression for numbers between the bounds, with as many decimal places, at least two, as a hundred different numbers need.
/// If a bound is a column, the numbers are not rounded. Returns `None` without bounds, if a bound is no number, or if the numbers need more
/// than eight places.
fn numbers(bounds: &Bounds) -> Option<String> {
    if has_column_end(bounds) {
        let end = |bound: &Bound, step: &str| match &bound.end {
            End::Column(name) if bound.open => Some(format!("{} {step} 0.01", column(name))),
            End::Column(name) => Some(column(name)),
            End::Value(value @ (Literal::Int(_) | Literal::Real(_))) => Some(value.to_string()),
            End::Value(_) => None,
        };
        let low = bounds.low.as_ref().map(|bound| end(bound, "+"));
        let high = bounds.high.as_ref().map(|bound| end(bound, "-"));
        return match (low, high) {
            (Some(low), Some(high)) => Some(format!("real({}, {})", low?, high?)),
            (Some(low), None) => low.map(|low| format!("real({low}, {low} + 100)")),
            (None, Some(high)) => high.map(|high| format!("real({high} - 100, {high})")),
            (None, None) => None,
        };
    }
    let value = |bound: &Bound| match bound.end {
        End::Value(Literal::Int(int)) => Some((int as f64, bound.open)),
        End::Value(Literal::Real(real)) => Some((real, bound.open)),
        _ => None,
    };
    let low = bounds.low.as_ref().map(value);
    let high = bounds.high.as_ref().map(value);
    let (low, high) = match (low, high) {
        (Some(low), Some(high)) => (low?, high?),
        (Some(low), None) => (low?, (low?.0 + SPAN_OF_REALS, false)),
        (None, Some(high)) if high?.0 > 0.0 => ((0.0, false), high?),
        (None, Some(high)) => ((high?.0 - SPAN_OF_REALS, false), high?),
        (None, None) => return None,
    };
    let places = (2..9).find(|&places| (high.0 - low.0) * 10_f64.powi(places) >= 100.0)?;
    let step = 10_f64.powi(-places);
    let inner = |(end, open): (f64, bool), step: f64| if open { end + step } else { end };
    let (low, high) = (inner(low, step), inner(high, -step));
    let places_of = places as usize;
    Some(format!("decimal({low:.places_of$}, {high:.places_of$}, {places})"))
}

/// Returns an expression for days, or for days and times, between the bounds.
fn moments(declared: &Column, bounds: &Bounds) -> Option<String> {
    let ends = [&bounds.low, &bounds.high];
    let has = |length: usize| {
        ends.into_iter()
            .flatten()
            .any(|bound| matches!(&bound.end, End::Value(Literal::Text(text)) if text.len() == length))
    };
    let upper = declared.declared_type.to_ascii_uppercase();
    let with_time = has("2000-01-01 00:00:00".len())
        || (!has("2000-01-01".len())
            && (upper.contains("TIME") || (!upper.contains("DATE") && names::is_second(&declared.name))));
    let (function, first, last, unit, computed) = if with_time {
        ("timestamp", "2000-01-01 00:00:00", LAST_SECOND, "second", "datetime")
    } else {
        ("date", "2000-01-01", &LAST_SECOND[.."2000-01-01".len()], "day", "date")
    };
    let years = 20 * 365 * if with_time { 86_400 } else { 1 };
    // Returns the end that the schema sets, or a date 20 years from the other end.
    let end = |bound: &Option<Bound>, other: &Option<Bound>, otherwise: &str, sign: i64| {
        let value = |bound: &Option<Bound>| match bound {
            Some(Bound { end: End::Value(Literal::Text(text)), .. }) => Some(text.clone()),
            _ => None,
        };
        match bound {
            Some(Bound { end: End::Column(name), open: true }) => {
                let name = sqluice_core::schema::quoted(name).replace('\'', "''");
                let plus = if sign > 0 { "-" } else { "+" };
                Some(format!("sql('{computed}({name}, ''{plus}1 {unit}'')')"))
            }
            Some(Bound { end: End::Column(name), .. }) => Some(column(name)),
            Some(bound) => {
                let text = value(&Some(bound.clone()))?;
                let text = if bound.open { shifted(&text, -sign)? } else { text };
                Some(Literal::Text(text).to_string())
            }
            None => {
                let other = value(other);
                // A range that begins in the past ends today at the latest.
                let past = |other: &String| sign > 0 && other.as_str() < otherwise;
                let far = other.filter(|other| !past(other)).and_then(|other| shifted(&other, sign * years));
                Some(Literal::Text(far.unwrap_or(otherwise.to_owned())).to_string())
            }
        }
    };
    let low = end(&bounds.low, &bounds.high, first, -1)?;
    let high = end(&bounds.high, &bounds.low, last, 1)?;
    Some(format!("{function}({low}, {high})"))
}

/// Quotes a column name for an expression.
fn column(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Returns an expression for texts or blobs whose lengths are within the bounds, or `None` if the bounds limit no length.
fn lengths(column: &Column, bounds: &Bounds) -> Option<String> {
    if bounds.length_min.is_none() && bounds.length_max.is_none() {
        return None;
    }
    let declared = types::length(column).map(|length| length as i64);
    let most = [bounds.length_max, declared].into_iter().flatten().min();
    let least = bounds.length_min.unwrap_or(1).max(0);
    let most = most.unwrap_or(least.max(LENGTH)).max(least).min(1 << 20);
    let function =
        if column.affinity == Affinity::Blob && !column.declared_type.is_empty() { "blob" } else { "text" };
    Some(format!("{function}({}, {most})", least.min(most)))
}

/// Returns an expression whose most frequent value is the column's DEFAULT, or an expression that fits the DEFAULT if this is
/// CURRENT_TIMESTAMP, CURRENT_DATE, TRUE or FALSE. Returns `None` if the column has no DEFAULT, or a DEFAULT of another kind.
fn of_default(column: &Column) -> Option<String> {
    let default = column.default.as_deref()?.trim();
    let otherwise = types::expression(column);
    match &default.to_ascii_uppercase()[..] {
        "CURRENT_TIMESTAMP" => Some("timestamp('2000-01-01 00:00:00', '2025-12-31 23:59:59')".to_owned()),
        "CURRENT_DATE" => Some("date('2000-01-01', '2025-12-31')".to_owned()),
        "TRUE" | "FALSE" => Some("choice(0, 1)".to_owned()),
        _ if default.parse::<i64>().is_ok() && column.affinity != Affinity::Text => {
            Some(format!("choice({default}: 3, {otherwise})"))
        }
        _ if default.starts_with('\'') && default.len() > 2 && column.affinity == Affinity::Text => {
            Some(format!("choice({default}: 3, {otherwise})"))
        }
        _ => None,
    }
}
