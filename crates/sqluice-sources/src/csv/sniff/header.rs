//! Decides if the first record names the columns.
//!
//! ```text
//!  10,open,ann      column 1: 10, a number over a number, is a value                 vote -2.5
//!  11,7,bob         column 2: `open`, a word over a single number, may be a name     vote +0.8
//!                   column 3 is text and counts less; all votes together are below 0: the first record is a row
//! ```
//!
//! In each column, the first field is compared with those below. The first field is a value if it has the same kind as the fields below (a
//! number, a date, an address) or, over codes such as `AB-12`, their shape, or if it is one of few words that recur. If not, the first
//! field is a name.
//! Numbers are names if they are years or a sequence, over other values.
//!
//! Columns of numbers, dates and the like outvote columns of text. If all columns are text, the first record is the header, with a note,
//! unless the record recurs or looks like the codes below.

use std::collections::HashSet;

use super::cell::{CellKind, shape};
use super::field::Field;

/// The absolute score below which a decision is close.
const CLOSE: f64 = 0.75;

/// The decision about the header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Decision {
    /// `true` if the first record is a header.
    pub(super) header: bool,
    /// `true` if the evidence for and against a header is nearly even, or all values are text.
    pub(super) close: bool,
}

/// Decides if `first` names the columns of the values in `rest`. `columns` are the columns of the target table, if known.
pub(super) fn decide(first: &[Field<'_>], rest: &[&[Field<'_>]], columns: &[&str]) -> Decision {
    let is_column =
        |field: &Field<'_>| columns.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(&field.value));
    if first.iter().all(is_column) {
        return Decision { header: true, close: false };
    }
    let score = score(first, rest);
    let only_text = rest.iter().copied().flatten().chain(first).all(|field| !field.kind().is_typed());
    Decision { header: score > 0.0, close: (score.abs() < CLOSE || only_text) && !rest.is_empty() }
}

/// Returns a score, above zero if `first` is a header.
pub(super) fn score(first: &[Field<'_>], rest: &[&[Field<'_>]]) -> f64 {
    let kinds: Vec<CellKind> = first.iter().map(Field::kind).collect();
    if rest.is_empty() {
        return if kinds.iter().any(|kind| kind.is_typed()) { -1.0 } else { 1.0 };
    }
    let same = |row: &&[Field<'_>]| {
        row.len() == first.len() && row.iter().zip(first).all(|(field, name)| field.value == name.value)
    };
    let others: Vec<&[Field<'_>]> = rest.iter().copied().filter(|row| !same(row)).collect();
    let repeats = others.len() < rest.len();
    let rest = &others[..];
    let counted = counted(first, &kinds, rest);
    let columns: Vec<Vote> = (0..first.len())
        .map(|column| of_column(column, first, kinds[column], counted[column], rest))
        .collect();
    let typed =
        || columns.iter().filter_map(|vote| if let Vote::Typed(score) = vote { Some(*score) } else { None });
    let text = columns.iter().map(|vote| if let Vote::Text(score) = vote { *score } else { 0.0 });
    let all_for = typed().next().is_some() && typed().all(|score| score > 0.0);
    let is_numbered = is_numbered(first);
    let text_score = match text.sum::<f64>() {
        score if all_for || is_numbered => score.max(0.0),
        score => score,
    };
    // Without votes against, the first record is a header.
    let mut score = 0.3 + typed().sum::<f64>() + text_score;
    let values: HashSet<&[u8]> = first.iter().map(|field| &field.value[..]).collect();
    if values.len() < first.iter().filter(|field| !field.value.is_empty()).count() {
        score -= 0.5;
    }
    // A record that recurs is a row, unless it stands over numbers: then the header is repeated.
    if repeats && !all_for {
        score -= 2.0;
    }
    score
}

/// The vote of a column: above zero for a header, below zero against a header.
enum Vote {
    /// The vote of a column whose values, or whose first field, are numbers, dates and the like.
    Typed(f64),
    /// The vote of a column that is text or empty.
    Text(f64),
}

/// Returns the vote of a column.
fn of_column(
    column: usize,
    first: &[Field<'_>],
    top: CellKind,
    counted: bool,
    rest: &[&[Field<'_>]],
) -> Vote {
    let field = &first[column];
    let below: Vec<(&Field<'_>, CellKind)> =
        rest.iter().filter_map(|row| row.get(column)).map(|field| (field, field.kind())).collect();
    let filled: Vec<&(&Field<'_>, CellKind)> =
        below.iter().filter(|(_, kind)| !matches!(kind, CellKind::Empty | CellKind::Missing)).collect();
    if counted {
        return Vote::Typed(1.0);
    }
    if top == CellKind::Empty {
        // In many files, the column with the names of the rows has no name.
        let full = !below.is_empty() && filled.len() * 10 >= below.len() * 9;
        return Vote::Text(if column == 0 && first.len() > 1 {
            0.0
        } else if full {
            -1.0
        } else {
            -0.3
        });
    }
    if top == CellKind::Missing {
        return Vote::Typed(-0.7);
    }
    if filled.is_empty() {
        return if top.is_typed() { Vote::Typed(-0.7) } else { Vote::Text(0.2) };
    }
    let of = |wanted: CellKind| filled.iter().filter(|(_, kind)| *kind == wanted).count();
    let most = [
        CellKind::Number,
        CellKind::Amount,
        CellKind::Date,
        CellKind::Time,
        CellKind::Address,
        CellKind::Truth,
    ]
    .into_iter()
    .find(|&kind| of(kind) * 5 >= filled.len() * 4);
    match most {
        Some(kind) if kind == top => Vote::Typed(if kind == CellKind::Truth { -1.5 } else { -2.5 }),
        Some(CellKind::Number) if top == CellKind::Amount => Vote::Typed(-2.5),
        Some(CellKind::Amount) if top == CellKind::Number => Vote::Typed(-2.5),
        Some(_) if top.is_typed() => Vote::Typed(-1.5),
        // A single value may be an exception, so it counts less.
        Some(_) if filled.len() == 1 => Vote::Typed(0.8),
        Some(_) => Vote::Typed(1.2),
        None if top.is_typed() => Vote::Typed(-1.0),
        None => Vote::Text(of_text(field, &filled)),
    }
}

/// Returns `true` if the fields are one word with consecutive numbers: `col1,col2,col3`.
fn is_numbered(fields: &[Field<'_>]) -> bool {
    let number = |field: &Field<'_>| {
        let text = str::from_utf8(&field.value).ok()?;
        let word = text.trim_end_matches(|character: char| character.is_ascii_digit());
        Some((word.to_owned(), text[word.len()..].parse::<usize>().ok()?))
    };
    let numbered: Option<Vec<(String, usize)>> = fields.iter().map(number).collect();
    numbered.is_some_and(|numbered| {
        let Some((word, from)) = numbered.first() else { return false };
        let counts = |(at, (other, number)): (usize, &(String, usize))| other == word && *number == from + at;
        numbered.len() >= 2 && !word.is_empty() && *from <= 1 && numbered.iter().enumerate().all(counts)
    })
}

/// Returns the vote of a column of text whose first field is text, too.
fn of_text(field: &Field<'_>, filled: &[&(&Field<'_>, CellKind)]) -> f64 {
    if field.value.len() > 80 || field.value.contains(&b'\n') || field.value.ends_with(b".") {
        return -0.8;
    }
    let recurs = filled.iter().any(|(other, _)| other.value == field.value);
    if recurs {
        return -0.8;
    }
    let distinct: HashSet<&[u8]> = filled.iter().map(|(field, _)| &field.value[..]).collect();
    let mut score = 0.0;
    // Few distinct words recur, and the first field is none of these words.
    if filled.len() >= 5 && distinct.len() * 2 <= filled.len() {
        score += 0.8;
    }
    // If the values have one shape with digits, such as `AB-12`, they are codes. A first field of this shape is a code, too, and any other
    // is a name.
    let top = shape(&field.value);
    let has_digits = |shape: &Vec<u8>| shape.contains(&b'9');
    let shapes: Vec<Vec<u8>> = filled.iter().map(|(field, _)| shape(&field.value)).collect();
    let alike = shapes.iter().filter(|other| **other == shapes[0]).count();
    if alike * 10 >= shapes.len() * 9 && shapes.len() >= 2 {
        if has_digits(&shapes[0]) {
            score += if top == shapes[0] { -1.2 } else { 0.9 };
        } else if top != shapes[0] && shapes.len() >= 3 {
            score += 0.4;
        }
    } else if shapes.iter().all(has_digits) && !has_digits(&top) && shapes.len() >= 3 {
        score += 0.7;
    }
    if is_name(&field.value) {
        score += 0.5;
    }
    score
}

/// Returns `true` if `text` looks like the name of a column: `first_name`, `orderId`, or a common name such as `price`.
fn is_name(text: &[u8]) -> bool {
    const NAMES: &str = " id key name title label code type kind class category status state date time year month day city country \
        region address email phone price amount total count quantity qty value score rank size weight height width length age sex \
        gender description comment comments note notes text message url link user username customer product item order index \
        number no rate percent lat lon lng latitude longitude start end from to group level parent source target created updated \
        first last first_name last_name zip postcode street department team version language currency ";
    let Ok(text) = str::from_utf8(text) else { return false };
    let text = text.trim();
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let camel = begins && text.bytes().any(|byte| byte.is_ascii_uppercase());
    let lower = text.to_ascii_lowercase();
    let words = lower.split([' ', '_', '-', '.']).filter(|word| !word.is_empty());
    let known = words.clone().any(|word| word.len() < 20 && NAMES.contains(&format!(" {word} ")));
    plain && (text.contains('_') && begins || camel) || known && words.count() <= 4
}

/// Returns a flag for each field of the first record, `true` if the field is a year, a number of a sequence or a date that names its
/// column.
fn counted(first: &[Field<'_>], kinds: &[CellKind], rest: &[&[Field<'_>]]) -> Vec<bool> {
    let mut counted = vec![false; first.len()];
    let number = |field: &Field<'_>| str::from_utf8(field.value.trim_ascii()).ok()?.parse::<i64>().ok();
    let is_year = |number: &i64| (1800..=2100).contains(number);
    let columns: Vec<usize> = (0..first.len()).filter(|&column| number(&first[column]).is_some()).collect();
    let top: Vec<i64> = columns.iter().filter_map(|&column| number(&first[column])).collect();
    let below = |column: usize| rest.iter().filter_map(move |row| row.get(column));
    let step = |numbers: &[i64]| match numbers {
        [first, second, ..]
            if numbers.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == second.checked_sub(*first)) =>
        {
            second.checked_sub(*first)
        }
        _ => None,
    };
    let ascending =
        top.windows(2).all(|pair| pair[0] < pair[1]) || top.windows(2).all(|pair| pair[0] > pair[1]);
    let has_name =
        kinds.iter().any(|kind| matches!(kind, CellKind::Text)) || kinds.first() == Some(&CellKind::Empty);
    // A row with the same sequence shows that the numbers are values.
    let in_sequence = |row: &&&[Field<'_>]| {
        let numbers: Vec<i64> =
            columns.iter().filter_map(|&column| row.get(column).and_then(number)).collect();
        numbers.len() == top.len() && step(&numbers).is_some() && step(&numbers) == step(&top)
    };
    let sequence = top.len() >= 3
        && step(&top) == Some(1)
        && matches!(top[0], 0 | 1)
        && !rest.iter().any(|row| in_sequence(&row));
    let years = top.len() >= 2 && top.iter().all(is_year) && ascending && has_name;
    let all = columns.len() == first.len() && top.first() == Some(&0);
    if years || sequence && (has_name || all) {
        for &column in &columns {
            let (mut values, mut like) = (0, 0);
            for value in below(column).filter(|value| value.kind() != CellKind::Empty) {
                values += 1;
                like += usize::from(years && number(value).is_some_and(|number| is_year(&number)));
            }
            counted[column] = !years || like * 2 < values || values == 0;
        }
    }
    let dates: Vec<usize> = (0..first.len()).filter(|&column| kinds[column] == CellKind::Date).collect();
    if dates.len() >= 3 && has_name {
        for column in dates {
            counted[column] = !below(column).any(|value| value.kind() == CellKind::Date);
        }
    }
    counted
}
