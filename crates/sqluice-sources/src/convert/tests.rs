//! Tests of conversions: texts that are converted, and texts that are refused. SQLite prints the dates, and decides if a text is a date.

use proptest::prelude::*;
use rusqlite::Connection;

use super::{Conversion, Convert, Converted, Fault};

fn conversion(asked: &[Convert]) -> Conversion {
    let asked: Vec<_> = asked.iter().map(|convert| ("c".to_owned(), convert.clone())).collect();
    let mut all = Conversion::all(&asked, false).unwrap();
    all.pop().unwrap().1.as_ref().clone()
}

fn converted(conversion: &Conversion, text: &str) -> Result<String, Fault> {
    // `out` has the text of earlier rows, which must not matter.
    let mut out = b"7.5".to_vec();
    Ok(match conversion.text(text.as_bytes(), &mut out)? {
        Converted::Int(int) => int.to_string(),
        Converted::Text => String::from_utf8(out.split_off(3)).unwrap(),
    })
}

fn date(format: &str) -> Conversion {
    conversion(&[Convert::Date(format.to_owned())])
}

fn refusal(asked: &[Convert]) -> String {
    let asked: Vec<_> = asked.iter().map(|convert| ("c".to_owned(), convert.clone())).collect();
    let error = Conversion::all(&asked, false).unwrap_err();
    format!("{} [{}]", error.what(), error.hint_text().unwrap_or_default())
}

fn numbers(comma: bool, thousands: Option<&str>) -> Conversion {
    let mut asked = Vec::new();
    asked.extend(comma.then_some(Convert::DecimalComma));
    asked.extend(thousands.map(|separator| Convert::Thousands(separator.to_owned())));
    conversion(&asked)
}

/// The SQL expression for the month of the date `?1`.
const MONTH: &str = "CAST(strftime('%m', ?1) AS INT)";
const DATES: [&[&str]; 3] = [&["%Y", "%y"], &["%m", "%b", "%B"], &["%d", "%e"]];

fn sql_of(directive: &str) -> String {
    match directive {
        "%y" => "substr(strftime('%Y', ?1), 3)".to_owned(),
        "%b" => format!("substr('JanFebMarAprMayJunJulAugSepOctNovDec', {MONTH} * 3 - 2, 3)"),
        "%B" => format!(
            "rtrim(substr('January  February March    April    May      June     July     August   SeptemberOctober  November \
             December ', {MONTH} * 9 - 8, 9))"
        ),
        "%a" => "substr('SunMonTueWedThuFriSat', strftime('%w', ?1) * 3 + 1, 3)".to_owned(),
        known => format!("strftime('{known}', ?1)"),
    }
}

/// Returns a format of pieces, and the SQL expression that prints it.
fn format_of(pieces: &[String]) -> (String, String) {
    let sql = pieces.iter().map(|piece| match piece.starts_with('%') {
        true => sql_of(piece),
        false => format!("'{}'", piece.replace('\'', "''")),
    });
    (pieces.concat(), sql.collect::<Vec<_>>().join(" || "))
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(256))]

    #[test]
    fn a_date_that_sqlite_prints_in_a_format_is_read_back(
        days in -300..36_000i64,
        seconds in 0..86_400i64,
        pick in prop::collection::vec(0..6usize, 8),
        separators in prop::collection::vec(prop::sample::select(vec![".", "/", "-", " ", ", ", "'", " of "]), 8),
        with in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        offset in -14 * 60..14 * 60i64,
        nanoseconds in 0..1_000_000_000u32,
    ) {
        let (with_time, with_seconds, with_zone, of_twelve) = with;
        let database = Connection::open_in_memory().unwrap();
        let moment: String = database
            .query_row("SELECT datetime('1970-01-01', ?1 || ' days', ?2 || ' seconds')", [days, seconds], |row| row.get(0))
            .unwrap();
        let mut pieces: Vec<String> = Vec::new();
        if pick[0] == 0 {
            pieces.extend(["%Y".to_owned(), separators[0].to_owned(), "%j".to_owned()]);
        } else {
            if pick[1] == 0 {
                pieces.extend(["%a".to_owned(), separators[1].to_owned()]);
            }
            let order = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1], [2, 0, 1], [1, 0, 2]][pick[2]];
            for (place, part) in order.into_iter().enumerate() {
                pieces.push(DATES[part][pick[3 + part] % DATES[part].len()].to_owned());
                pieces.push(separators[2 + place].to_owned());
            }
            pieces.pop();
            // A year of two digits is read as one of 1969 to 2068, so other years are not tested with `%y`.
            if pieces.iter().any(|piece| piece == "%y") && !("1969".."2069").contains(&&moment[..4]) {
                return Ok(());
            }
        }
        let mut expected = "date(?1)";
        let with_zone = with_time && with_zone;
        if with_time {
            expected = if with_seconds { "datetime(?1)" } else { "strftime('%Y-%m-%d %H:%M:00', ?1)" };
            pieces.extend([separators[5].to_owned(), if of_twelve { "%I" } else { "%H" }.to_owned()]);
            pieces.extend([":".to_owned(), "%M".to_owned()]);
            if with_seconds {
                pieces.extend([":".to_owned(), "%S".to_owned()]);
            }
            if of_twelve {
                pieces.extend([" ".to_owned(), "%p".to_owned()]);
            }
        }
        let (mut format, sql) = format_of(&pieces);
        let local = if with_zone { offset } else { 0 };
        let printed = sql.replace("?1", &format!("datetime(?1, '{local} minutes')"));
        let (mut text, mut iso): (String, String) = database
            .query_row(&format!("SELECT {printed}, {expected}"), [&moment], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        if with_time && with_seconds {
            let fraction = format!("{nanoseconds:09}");
            let fraction = fraction.trim_end_matches('0');
            format += " %f";
            text += &format!(" {}", if fraction.is_empty() { "0" } else { fraction });
            if !fraction.is_empty() {
                iso += &format!(".{fraction:0<width$}", width = fraction.len().next_multiple_of(3));
            }
        }
        if with_zone {
            format += "%z";
            let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.abs());
            text += &format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60);
            iso += "+00:00";
        }
        // With an offset, the printed local year may be in another century than the year in UTC, so `%y` is not tested with an offset.
        prop_assume!(!(with_zone && pieces.iter().any(|piece| piece == "%y")));
        prop_assert_eq!(converted(&date(&format), &text), Ok(iso.clone()), "{} in {}", text, format);
        let same: bool = database
            .query_row("SELECT julianday(?1) IS NOT NULL AND date(?1) = substr(?1, 1, 10)", [&iso], |row| row.get(0))
            .unwrap();
        prop_assert!(same, "{}", iso);
    }

    #[test]
    fn a_day_is_converted_only_if_the_calendar_has_it(year in 0..=9999u32, month in 0..15u32, day in 0..34u32) {
        let database = Connection::open_in_memory().unwrap();
        let iso = format!("{year:04}-{month:02}-{day:02}");
        // SQLite reads the 31st of a shorter month as a day of the next one.
        let exists: Option<bool> = database.query_row("SELECT date(?1, '+0 days') = ?1", [&iso], |row| row.get(0)).unwrap();
        let read = converted(&date("%d.%m.%Y"), &format!("{day:02}.{month:02}.{year:04}"));
        prop_assert_eq!(read.ok(), (exists == Some(true)).then_some(iso));
    }

    #[test]
    fn a_misspelled_date_is_refused_or_converted_with_all_digits_of_its_text(
        days in 0..36_000i64,
        at in 0..19usize,
        with in "[ -~]{0,2}",
    ) {
        let database = Connection::open_in_memory().unwrap();
        let text: String = database
            .query_row("SELECT strftime('%Y/%m/%d %H:%M:%S', '1970-01-01', ?1 || ' days')", [days], |row| row.get(0))
            .unwrap();
        let changed = format!("{}{with}{}", &text[..at], &text[at + 1..]);
        if let Ok(iso) = converted(&date("%Y/%m/%d %H:%M:%S"), &changed) {
            // The numbers of the text and of the result are equal, so no part of the text was ignored.
            let digits = |text: &str| -> Vec<u32> {
                text.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap()).collect()
            };
            prop_assert_eq!(digits(&changed), digits(&iso));
            let same: Option<bool> =
                database.query_row("SELECT datetime(?1) = ?1", [&iso], |row| row.get(0)).unwrap();
            prop_assert_eq!(same, Some(true), "{}", changed);
        }
    }

    #[test]
    fn integers_are_read_with_and_without_separators(int in any::<i64>(), bits in 0..64u32, separator in prop::sample::select(vec![",", ".", "'", " ", "_", "\u{a0}", "\u{202f}", "’"])) {
        let int = int >> bits;
        let grouped = grouped(&int.unsigned_abs().to_string(), separator);
        let text = format!("{}{grouped}", if int < 0 { "-" } else { "" });
        let how = numbers(separator == ".", Some(separator));
        prop_assert_eq!(converted(&how, &text), Ok(int.to_string()));
        prop_assert_eq!(converted(&how, &int.to_string()), Ok(int.to_string()));
        prop_assert_eq!(converted(&how, &format!("+{}", int.unsigned_abs())).is_ok(), int != i64::MIN);
        // A separator that is moved by one digit stands between wrong groups.
        if let Some(at) = text.find(separator) {
            let after = at + separator.len();
            let moved = format!("{}{}{separator}{}", &text[..at], &text[after..=after], &text[after + 1..]);
            prop_assert_eq!(converted(&how, &moved), Err(Fault::Groups));
        }
    }

    #[test]
    fn floats_with_a_decimal_comma_are_read(float in any::<f64>().prop_filter("a number", |float| float.is_finite()), scale in 0..20usize) {
        let how = numbers(true, Some("."));
        for text in [format!("{float:?}"), format!("{float:e}"), format!("{:.scale$}", float % 1e6)] {
            let expected: f64 = text.parse().unwrap();
            let written = text.replace('.', ",");
            match converted(&how, &written) {
                Ok(read) if written.contains([',', 'e']) => prop_assert_eq!(read.parse::<f64>().unwrap(), expected, "{}", written),
                Ok(read) => prop_assert_eq!(read.parse::<i64>().unwrap().to_string(), text.replace("-0", "0")),
                // Only numbers with more digits than every float keeps are refused.
                Err(fault) => {
                    prop_assert!(matches!(fault, Fault::Digits | Fault::Beyond64Bits), "{} {:?}", written, fault);
                    let digits = text.split('e').next().unwrap().chars().filter(char::is_ascii_digit).count();
                    prop_assert!(digits > 15, "{}", written);
                }
            }
        }
    }

    #[test]
    fn a_converted_number_has_the_value_of_its_text(text in "[-+0-9., e]{0,12}", comma in any::<bool>(), thousands in any::<bool>()) {
        let separator = if comma { "." } else { "," };
        if !comma && !thousands {
            return Ok(());
        }
        if let Ok(read) = converted(&numbers(comma, thousands.then_some(separator)), &text) {
            let plain = text.replace(separator, "").replace(',', ".");
            prop_assert!(thousands || !text.contains(separator), "{}", text);
            prop_assert_eq!(read.parse::<f64>().unwrap(), plain.parse::<f64>().unwrap());
        }
    }
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(256))]

    #[test]
    fn an_amount_is_the_number_without_its_currency(
        number in "[0-9]{1,9}(\\.[0-9]{1,4})?",
        currency in prop::sample::select(vec!["$", "€", "USD", "CHF ", "US$", "kr ", "\u{20b9}\u{a0}"]),
        form in 0..8usize,
    ) {
        let (text, negative) = match form {
            0 => (format!("{currency}{number}"), false),
            1 => (format!("{number} {currency}"), false),
            2 => (format!("-{currency}{number}"), true),
            3 => (format!("{currency}-{number}"), true),
            4 => (format!("({currency}{number})"), true),
            5 => (format!("{currency}({number})"), true),
            6 => (format!("{number}-"), true),
            _ => (number.clone(), false),
        };
        let read = converted(&conversion(&[Convert::Accounting]), text.trim_end()).unwrap();
        let sign = if negative { -1.0 } else { 1.0 };
        prop_assert_eq!(read.parse::<f64>().unwrap(), sign * number.parse::<f64>().unwrap(), "{}", text);
    }

    #[test]
    fn a_percentage_such_as_12_5_is_stored_as_the_number_0_125(
        number in "-?(0|[1-9][0-9]{0,8})(\\.[0-9]{1,4})?(e[1-9])?",
        blank in prop::sample::select(vec!["", " ", "\u{a0}"]),
    ) {
        let read = converted(&conversion(&[Convert::Percent]), &format!("{number}{blank}%")).unwrap();
        let (mantissa, exponent) = number.split_once('e').unwrap_or((&number, "0"));
        let moved = format!("{mantissa}e{}", exponent.parse::<i32>().unwrap() - 2);
        prop_assert_eq!(read.parse::<f64>().unwrap(), moved.parse::<f64>().unwrap(), "{} {}", number, read);
    }
}

#[test]
fn the_settings_percent_accounting_and_thousands_can_be_combined_for_a_column() {
    for (asked, text, read) in [
        (&[Convert::Percent][..], "12.5%", Ok("0.125")),
        (&[Convert::Percent], "100%", Ok("1")),
        (&[Convert::Percent], "-0%", Ok("0")),
        (&[Convert::Percent], ".5%", Ok("0.005")),
        (&[Convert::Percent], "1e3%", Ok("0.01e3")),
        (&[Convert::Percent], "12.5", Err(Fault::Mismatch)),
        (&[Convert::Percent], "%", Err(Fault::Mismatch)),
        (&[Convert::Percent], "5%%", Err(Fault::Mismatch)),
        (&[Convert::Percent, Convert::DecimalComma], "12,5 %", Ok("0.125")),
        (&[Convert::Percent, Convert::Accounting], "(12.5%)", Ok("-0.125")),
        (&[Convert::Accounting], "12.5%", Err(Fault::Mismatch)),
        (&[Convert::Accounting], "$1,234.50", Err(Fault::Mismatch)),
        (&[Convert::Accounting, Convert::Thousands(",".to_owned())], "($1,234.50)", Ok("-1234.50")),
        (&[Convert::Accounting, Convert::Thousands(",".to_owned())], "€ 1,23", Err(Fault::Groups)),
        (&[Convert::Accounting], "5 MHZ", Err(Fault::Mismatch)),
        (&[Convert::Accounting], "--5", Err(Fault::Mismatch)),
        (&[Convert::Accounting], "(5", Err(Fault::Mismatch)),
        (&[Convert::Accounting], "$", Err(Fault::Mismatch)),
    ] {
        assert_eq!(converted(&conversion(asked), text).as_deref(), read.as_ref().copied(), "{text}");
    }
}

fn grouped(digits: &str, separator: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text += separator;
        }
        text.push(digit);
    }
    text
}

#[test]
fn dates_are_read_in_the_formats_that_people_use() {
    for (format, text, iso) in [
        ("%d.%m.%Y", "31.01.2024", "2024-01-31"),
        ("%d.%m.%Y", "1.2.2024", "2024-02-01"),
        ("%m/%d/%y", "12/31/68", "2068-12-31"),
        ("%m/%d/%y", "12/31/69", "1969-12-31"),
        ("%Y%m%d", "20240229", "2024-02-29"),
        ("%d%m%y", "010203", "2003-02-01"),
        ("%e %B %Y", " 1 march 2024", "2024-03-01"),
        ("%d-%b-%y", "05-MAY-24", "2024-05-05"),
        ("%b %d, %Y", "September 7, 2024", "2024-09-07"),
        ("%a, %d %b %Y %T %z", "Thu, 29 Feb 2024 23:30:00 -0100", "2024-03-01 00:30:00+00:00"),
        ("%FT%T%z", "2024-01-31T13:45:00Z", "2024-01-31 13:45:00+00:00"),
        ("%F %H:%M %Z", "2024-01-31 13:45 utc", "2024-01-31 13:45:00+00:00"),
        ("%F %I%p", "2024-01-31 12am", "2024-01-31 00:00:00"),
        ("%F %I:%M %p", "2024-01-31 12:01 PM", "2024-01-31 12:01:00"),
        ("%F %T.%f", "2024-01-31 13:45:00.0250", "2024-01-31 13:45:00.025"),
        ("%F %T.%f%z", "2024-01-31 13:45:00.5+01", "2024-01-31 12:45:00.500+00:00"),
        ("%Y-%j", "2024-366", "2024-12-31"),
        ("%d.%m.%Y (100%%)", "01.02.2024 (100%)", "2024-02-01"),
        ("%d日%m月%Y", "1日2月2024", "2024-02-01"),
    ] {
        assert_eq!(converted(&date(format), text), Ok(iso.to_owned()), "{text} in {format}");
    }
}

#[test]
fn a_text_that_is_no_date_of_the_format_is_refused() {
    for (format, text) in [
        ("%d.%m.%Y", "31.02.2024"),
        ("%d.%m.%Y", "29.02.2023"),
        ("%d.%m.%Y", "01.13.2024"),
        ("%d.%m.%Y", "00.01.2024"),
        ("%d.%m.%Y", "01.02.24"),
        ("%d.%m.%Y", "01.02.2024 "),
        ("%d.%m.%Y", " 01.02.2024"),
        ("%d.%m.%Y", "01.02.20245"),
        ("%d.%m.%Y", "n/a"),
        ("%d.%m.%Y", "+1.02.2024"),
        ("%Y%m%d", "2024131"),
        ("%a %F", "Mon 2024-01-31"),
        ("%F %T", "2024-01-31 24:00:00"),
        ("%F %T", "2024-01-31 23:59:60"),
        ("%F %I %p", "2024-01-31 13 PM"),
        ("%F %I %p", "2024-01-31 0 AM"),
        ("%Y-%j", "2023-366"),
        ("%Y-%j", "2023-0"),
        ("%FT%T%z", "2024-01-31T13:45:00"),
        ("%FT%T%z", "2024-01-31T13:45:00+15:00"),
        ("%FT%T%z", "9999-12-31T23:45:00-01:00"),
        ("%FT%T %Z", "2024-01-31T13:45:00 CEST"),
    ] {
        assert!(converted(&date(format), text).is_err(), "{text} in {format}");
    }
}

#[test]
fn an_invalid_format_is_refused_with_a_list_of_all_directives() {
    for (format, why) in [
        ("%d.%q.%Y", "\"%q\" is not a directive that is known"),
        ("%d.%m.%", "\"%\" is not a directive that is known"),
        ("%d.%m", "the year is missing in it"),
        ("", "the year is missing in it"),
        ("%Y-%m", "the day is missing in it"),
        ("%d.%d.%Y", "it has the day twice"),
        ("%F %Y", "it has the year twice"),
        ("%F %j", "it has the day of the year beside month or day"),
        ("%F %M", "the hour is missing in it"),
        ("%F %H:%S", "the minute is missing in it"),
        ("%F%z", "the hour is missing in it"),
    ] {
        let expected = format!("`date = c={format}`: {why} [directives are %Y year, %y");
        let refused = refusal(&[Convert::Date(format.to_owned())]);
        assert!(refused.starts_with(&expected), "{refused}");
    }
    let refused = refusal(&[Convert::Date("%F %I".to_owned())]);
    assert!(refused.contains("%I and %p belong together"), "{refused}");
    let refused = refusal(&[Convert::Date("%H:%M:%S.%f%Y%m%d".to_owned())]);
    assert!(refused.contains("%f takes all digits that follow"), "{refused}");
}

#[test]
fn booleans_are_words_in_any_case() {
    let usual = conversion(&[Convert::Boolean(None)]);
    for (texts, int) in
        [(["true", "T", "Yes", "y", "ON", "1"], "1"), (["FALSE", "f", "no", "N", "off", "0"], "0")]
    {
        for text in texts {
            assert_eq!(converted(&usual, text).as_deref(), Ok(int), "{text}");
        }
    }
    for text in ["maybe", "2", "true ", "tr", "ja", "-1"] {
        assert_eq!(converted(&usual, text), Err(Fault::Mismatch), "{text}");
    }
    let given = conversion(&[Convert::Boolean(Some(("Ja".to_owned(), "ÜBER".to_owned())))]);
    for (text, int) in [("ja", "1"), ("JA", "1"), ("über", "0"), ("Über", "0")] {
        assert_eq!(converted(&given, text).as_deref(), Ok(int), "{text}");
    }
    assert_eq!(converted(&given, "true"), Err(Fault::Mismatch));
    let words = |yes: &str, no: &str| Convert::Boolean(Some((yes.to_owned(), no.to_owned())));
    assert!(refusal(&[words("x", "X")]).contains("both words are the same"));
    assert!(refusal(&[words("x", "")]).contains("a word is missing"));
}

#[test]
fn a_number_is_read_only_in_the_notation_of_its_column() {
    let (comma, both, apart) = (numbers(true, None), numbers(true, Some(".")), numbers(false, Some(",")));
    for (how, text, number) in [
        (&comma, "3,14", "3.14"),
        (&comma, "-0,50", "-0.50"),
        (&comma, ",5", "0.5"),
        (&comma, "+007", "7"),
        (&comma, "-0", "0"),
        (&comma, "1,5e-05", "1.5e-05"),
        (&both, "1.234,56", "1234.56"),
        (&both, "1234,56", "1234.56"),
        (&both, "-1.234.567", "-1234567"),
        (&apart, "1,234,567", "1234567"),
        (&apart, "1,234.50", "1234.50"),
        (&apart, "9,223,372,036,854,775,807", "9223372036854775807"),
    ] {
        assert_eq!(converted(how, text).as_deref(), Ok(number), "{text}");
    }
    for (how, text, fault) in [
        (&comma, "3.14", Fault::Mismatch),
        (&comma, "3,", Fault::Mismatch),
        (&comma, ",", Fault::Mismatch),
        (&comma, "-", Fault::Mismatch),
        (&comma, "1,2,3", Fault::Mismatch),
        (&comma, "1 000", Fault::Mismatch),
        (&comma, "12 €", Fault::Mismatch),
        (&comma, "1e", Fault::Mismatch),
        (&comma, "inf", Fault::Mismatch),
        (&comma, "0x1f", Fault::Mismatch),
        (&comma, "٣", Fault::Mismatch),
        (&both, "1.23", Fault::Groups),
        (&both, "1.2345", Fault::Groups),
        (&both, "1234.567", Fault::Groups),
        (&both, ".123", Fault::Mismatch),
        (&both, "1..234", Fault::Groups),
        (&both, "1,234.567", Fault::Mismatch),
        (&apart, "1,23", Fault::Groups),
        (&apart, "9,223,372,036,854,775,808", Fault::Beyond64Bits),
        (&comma, "0,12345678901234567890", Fault::Digits),
        (&comma, "1e999", Fault::Digits),
        (&comma, "1e-999", Fault::Digits),
    ] {
        assert_eq!(converted(how, text), Err(fault), "{text}");
    }
}

#[test]
fn conversions_that_exclude_each_other_are_refused() {
    let date = || Convert::Date("%F".to_owned());
    let thousands = |separator: &str| Convert::Thousands(separator.to_owned());
    for (asked, why) in [
        (vec![date(), Convert::DecimalComma], "column \"c\" can't follow both `date` and `decimal_comma`"),
        (vec![Convert::Boolean(None), date()], "column \"c\" can't follow both `boolean` and `date`"),
        (vec![date(), date()], "`date` names the column \"c\" twice"),
        (vec![thousands("."), thousands(",")], "`thousands` names the column \"c\" twice"),
        (
            vec![Convert::DecimalComma, thousands("."), thousands("'")],
            "`thousands` names the column \"c\" twice",
        ),
        (
            vec![thousands("."), Convert::DecimalComma, Convert::DecimalComma],
            "`decimal_comma` names the column \"c\" twice",
        ),
        (vec![Convert::Percent, Convert::Percent], "`percent` names the column \"c\" twice"),
        (vec![Convert::Accounting, date()], "column \"c\" can't follow both `accounting` and `date`"),
        (vec![thousands(".")], "the point stands before the decimals"),
        (vec![thousands(","), Convert::DecimalComma], "the comma stands before the decimals"),
        (vec![thousands("1")], "that is not a thousands separator"),
        (vec![thousands("ab")], "that is not a thousands separator"),
        (vec![thousands("")], "that is not a thousands separator"),
    ] {
        let refused = refusal(&asked);
        assert!(refused.contains(why), "{refused}");
    }
}
