//! Parses text as the value of a setting, by its kind.

use std::path::PathBuf;

use sqluice::error::Error;
use sqluice::given::{RowCount, Value};
use sqluice::options::PageSize;
use sqluice::settings::{Kind, numbers};
use sqluice::source::csv::Delimiter;

use crate::terms::rendered;

/// Parses one value of a flag.
pub(super) fn value(kind: Kind, text: &str) -> Result<Value, String> {
    Ok(match kind {
        Kind::Switch | Kind::YesOrNo => Value::Switch(boolean_word(text)?),
        Kind::Count => Value::Count(numbers::count(text)?),
        Kind::Integer(least, most) => Value::Integer(integer(text, least, most)?),
        Kind::Unsigned => Value::Count(number(text)?),
        Kind::Real => Value::Real(number(text)?),
        Kind::Bytes => Value::Count(numbers::bytes(text)?),
        Kind::PageSize => Value::Count(page_size(text)?),
        Kind::Duration => Value::Duration(numbers::duration(text)?),
        Kind::Path | Kind::Statements => Value::Path(PathBuf::from(text)),
        Kind::Character => Value::Character(role(text)?),
        Kind::Delimiter => Value::Text(delimiter(text)?),
        Kind::Texts | Kind::Names | Kind::Indexes => Value::Texts(vec![text.to_owned()]),
        Kind::Columns => Value::Texts(columns(text)?),
        Kind::Types => Value::Pairs(vec![column_type(text)?]),
        Kind::Expressions => Value::Pairs(vec![expression(text)?]),
        Kind::TableTexts => Value::Pairs(vec![table_text(text)?]),
        Kind::Renames => Value::Pairs(vec![rename(text)?]),
        Kind::Dates => Value::Pairs(vec![date(text)?]),
        Kind::Separators => Value::Pairs(vec![thousands(text)?]),
        Kind::Booleans => Value::Booleans(vec![boolean(text)?]),
        Kind::RowCounts => Value::RowCounts(vec![rows(text)?]),
        Kind::Share => share(text).map(|(share, shares)| Value::Share(share, shares))?,
        _ => Value::Text(text.to_owned()),
    })
}

/// Parses a number of any type.
fn number<T: std::str::FromStr<Err: ToString>>(text: &str) -> Result<T, String> {
    text.parse::<T>().map_err(|error| error.to_string())
}

fn integer(text: &str, least: i64, most: i64) -> Result<i64, String> {
    match number(text)? {
        integer if (least..=most).contains(&integer) => Ok(integer),
        integer => Err(format!("{integer} is not in {least}..={most}")),
    }
}

fn boolean_word(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| format!("{text:?} is not true or false"))
}

fn page_size(text: &str) -> Result<u64, String> {
    let bytes = numbers::bytes(text)?;
    match u32::try_from(bytes).ok().and_then(PageSize::new) {
        Some(_) => Ok(bytes),
        None => Err("a page size is a power of two from 512 to 65536".to_owned()),
    }
}

/// Parses one character of ASCII, or a name for one.
fn character(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" | b"tab" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | 0) => Ok(*byte),
        _ => Err(format!("{text:?} is not one character of ASCII, such as ; or \\t")),
    }
}

/// Parses the value of a flag such as `--quote`: one character, or `none`, for which `None` is returned.
fn role(text: &str) -> Result<Option<u8>, String> {
    match text {
        "" | "none" => Ok(None),
        _ => character(text).map(Some),
    }
}

/// Parses a delimiter, which may have several characters or a name such as `tab`.
fn delimiter(text: &str) -> Result<String, String> {
    match text.parse::<Delimiter>() {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(rendered(Error::what(&error))),
    }
}

/// Parses names with commas between them. A name with commas is quoted as in SQL.
fn columns(text: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    let mut rest = text;
    loop {
        let begin = rest.trim_start();
        let (name, after) = match begin.chars().next() {
            Some(open @ ('"' | '`' | '[')) => quoted_name(begin, if open == '[' { ']' } else { open })?,
            _ => {
                let end = begin.find(',').unwrap_or(begin.len());
                (begin[..end].trim_end().to_owned(), &begin[end..])
            }
        };
        if name.is_empty() {
            return Err(format!("a name is missing in {text:?}"));
        }
        names.push(name);
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(more) => more,
            None if after.is_empty() => return Ok(names),
            None => return Err(format!("expected a comma before {after:?}")),
        };
    }
}

/// Parses a quoted name at the start of a text, in which the closing quote is doubled, except `]`. Returns the name and the
/// text after it.
fn quoted_name(text: &str, close: char) -> Result<(String, &str), String> {
    let mut name = String::new();
    let mut rest = &text[1..];
    while let Some(end) = rest.find(close) {
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        if close == ']' || !rest.starts_with(close) {
            return Ok((name, rest));
        }
        name.push(close);
        rest = &rest[1..];
    }
    Err(format!("the quote in {text:?} is not closed"))
}

fn column_type(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((column, declared)) if !column.is_empty() && !declared.trim().is_empty() => {
            Ok((column.to_owned(), declared.trim().to_owned()))
        }
        _ => Err(format!("{text:?} is not COLUMN=TYPE, such as zip=TEXT")),
    }
}

/// Parses a column and the expression of its values. A name with `=` is quoted as in SQL.
fn expression(text: &str) -> Result<(String, String), String> {
    match before_equals(text)? {
        Some((column, expression)) if !column.is_empty() && !expression.trim().is_empty() => {
            Ok((column, expression.trim().to_owned()))
        }
        _ => Err(format!("{text:?} is not COLUMN=EXPRESSION, such as email=lower(email)")),
    }
}

/// Parses a table and the text after `=`. Names with `=` are quoted as in SQL.
fn table_text(text: &str) -> Result<(String, String), String> {
    match before_equals(text)? {
        Some((table, value)) if !table.is_empty() && !value.trim().is_empty() => {
            Ok((table, value.trim().to_owned()))
        }
        Some((table, _)) if !table.is_empty() => Err(format!("{text:?} has no value after =")),
        _ => Err(format!("{text:?} does not begin with TABLE=, such as orders=")),
    }
}

/// Parses a column and its new name. Names with `=` are quoted as in SQL.
fn rename(text: &str) -> Result<(String, String), String> {
    let wrong = || format!("{text:?} is not OLD=NEW, such as e-mail=email");
    let (old, new) = before_equals(text)?.ok_or_else(wrong)?;
    let new = match new.trim_start().starts_with(['"', '`', '[']) {
        true => columns(new)?,
        false => vec![new.trim().to_owned()],
    };
    match &new[..] {
        [new] if !old.is_empty() && !new.is_empty() => Ok((old, new.clone())),
        _ => Err(wrong()),
    }
}

/// Returns the name before the first `=` that is not in quotes, and the text after it; `None` if there is no such `=`.
fn before_equals(text: &str) -> Result<Option<(String, &str)>, String> {
    let begin = text.trim_start();
    match begin.chars().next() {
        Some(open @ ('"' | '`' | '[')) => {
            let (name, after) = quoted_name(begin, if open == '[' { ']' } else { open })?;
            Ok(after.trim_start().strip_prefix('=').map(|after| (name, after)))
        }
        _ => Ok(begin.split_once('=').map(|(name, after)| (name.trim_end().to_owned(), after))),
    }
}

/// Parses `COLUMN=FORMAT`. The format has directives such as `%d`; the last `=` before the first directive ends the column.
fn date(text: &str) -> Result<(String, String), String> {
    let directive = text.find('%').unwrap_or(text.len());
    match text[..directive].rsplit_once('=') {
        Some((column, before)) if !column.is_empty() => {
            Ok((column.to_owned(), text[directive - before.len()..].to_owned()))
        }
        _ => Err(format!("{text:?} is not COLUMN=FORMAT, such as placed=%d.%m.%Y")),
    }
}

fn boolean(text: &str) -> Result<(String, Option<(String, String)>), String> {
    match text.rsplit_once('=').map(|(column, words)| (column, words.split_once('/'))) {
        None if !text.is_empty() => Ok((text.to_owned(), None)),
        Some((column, Some((yes, no)))) if !column.is_empty() => {
            Ok((column.to_owned(), Some((yes.to_owned(), no.to_owned()))))
        }
        _ => Err(format!("{text:?} is not COLUMN or COLUMN=TRUE/FALSE, such as paid=ja/nein")),
    }
}

fn thousands(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((column, separator)) if !column.is_empty() && !separator.is_empty() => {
            Ok((column.to_owned(), separator.to_owned()))
        }
        _ => Err(format!("{text:?} is not COLUMN=CHAR, such as price=,")),
    }
}

fn rows(text: &str) -> Result<RowCount, String> {
    match text.rsplit_once('=') {
        Some((table, rows)) => match rows.strip_suffix(['x', 'X']) {
            Some(factor) => match factor.parse() {
                Ok(factor) if (0.0..=1e9).contains(&factor) => {
                    Ok(RowCount::PerParent(table.to_owned(), factor))
                }
                _ => Err("a factor is a number from 0 to 1e9, such as 3x or 0.5x".to_owned()),
            },
            None => Ok(RowCount::Count(Some(table.to_owned()), numbers::count(rows)?)),
        },
        None => Ok(RowCount::Count(None, numbers::count(text)?)),
    }
}

fn share(text: &str) -> Result<(u64, u64), String> {
    let share =
        text.split_once('/').and_then(|(share, shares)| Some((share.parse().ok()?, shares.parse().ok()?)));
    share
        .filter(|&(share, shares)| 1 <= share && share <= shares)
        .ok_or("a part is I/N, such as 2/4 for the second of four parts; I is from 1 to N".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_can_be_a_character_or_a_name_for_the_tab() {
        assert_eq!(character("\\t"), Ok(b'\t'));
        assert_eq!(character("tab"), Ok(b'\t'));
        assert_eq!(character(";"), Ok(b';'));
        assert!(["", "||", "§", "\n", "\0"].into_iter().all(|text| character(text).is_err()));
        assert_eq!((role(""), role("none"), role("'")), (Ok(None), Ok(None), Ok(Some(b'\''))));
    }

    #[test]
    fn the_last_equals_sign_separates_a_column_from_its_format() {
        let pair = |column: &str, what: &str| Ok((column.to_owned(), what.to_owned()));
        assert_eq!(date("a=b=%Y=%m"), pair("a=b", "%Y=%m"));
        assert_eq!(date("a=on %d"), pair("a", "on %d"));
        assert_eq!(thousands("a=b=,"), pair("a=b", ","));
        assert_eq!(boolean("a"), Ok(("a".to_owned(), None)));
        let words = Some(("ja".to_owned(), "nein".to_owned()));
        assert_eq!(boolean("a=b=ja/nein"), Ok(("a=b".to_owned(), words)));
        assert!(["%d", "=%d", "", "a"].into_iter().all(|text| date(text).is_err()));
        assert!(["a=b", "=ja/nein", ""].into_iter().all(|text| boolean(text).is_err()));
        assert!(["a", "=,", "a="].into_iter().all(|text| thousands(text).is_err()));
    }

    #[test]
    fn the_last_equals_sign_separates_a_column_from_its_type() {
        assert_eq!(column_type("a=b=TEXT"), Ok(("a=b".to_owned(), "TEXT".to_owned())));
        assert!(["a", "=TEXT", "a=", "a= "].into_iter().all(|text| column_type(text).is_err()));
    }

    #[test]
    fn an_expression_begins_after_the_first_equals_sign_outside_of_quotes() {
        let pair = |column: &str, what: &str| Ok((column.to_owned(), what.to_owned()));
        assert_eq!(expression("a = b = 'c'"), pair("a", "b = 'c'"));
        assert_eq!(expression("\"a=b\" = 1"), pair("a=b", "1"));
        assert_eq!(rename("a b=c d"), pair("a b", "c d"));
        assert_eq!(rename("[a=b]=\"c=d\""), pair("a=b", "c=d"));
        assert!(["a", "=b", "a=", "\"a", "\"a\"b=c"].into_iter().all(|text| expression(text).is_err()));
        assert!(["a", "=b", "a=", "a=\"b", "a=\"b\",c"].into_iter().all(|text| rename(text).is_err()));
    }

    #[test]
    fn quoted_column_names_may_contain_commas() {
        let parsed = |text: &str| columns(text).map(|names| names.join("|"));
        assert_eq!(parsed("a, b c ,d"), Ok("a|b c|d".to_owned()));
        assert_eq!(parsed("\"a,b\",`c\"`,[d,e]"), Ok("a,b|c\"|d,e".to_owned()));
        assert_eq!(parsed("\"a\"\"b\" , \" c \""), Ok("a\"b| c ".to_owned()));
        assert!(["", "a,", ",a", "\"a", "\"a\" b", "\"\""].into_iter().all(|text| columns(text).is_err()));
    }

    #[test]
    fn a_row_count_on_the_command_line_may_name_a_table() {
        assert_eq!(rows("1e3"), Ok(RowCount::Count(None, 1000)));
        assert_eq!(rows("a=b=10k"), Ok(RowCount::Count(Some("a=b".to_owned()), 10_000)));
        assert!(rows("a=").is_err());
    }

    #[test]
    fn a_row_count_may_be_a_multiple_of_the_rows_of_the_parent_table() {
        assert_eq!(rows("a=2.5x"), Ok(RowCount::PerParent("a".to_owned(), 2.5)));
        for wrong in ["3x", "a=x", "a=-1x", "a=NaNx", "a=infx"] {
            assert!(rows(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_share_has_a_number_from_1_to_the_number_of_shares() {
        assert_eq!(share("2/4"), Ok((2, 4)));
        for wrong in ["0/4", "5/4", "2", "/", "1/0", "-1/4"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
