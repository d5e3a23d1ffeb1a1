//! Formats numbers, rates and times for people.

use sqluice::size::Bytes;

pub(crate) use sqluice::size::grouped;

/// Formats a number of things: `1 row`, `2,000 rows`, `2 entries`, `3 indexes`.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    let number_text = grouped(number);
    match thing.strip_suffix('y') {
        _ if number == 1 => format!("{number_text} {thing}"),
        Some(stem) => format!("{number_text} {stem}ies"),
        None if thing.ends_with('x') => format!("{number_text} {thing}es"),
        None => format!("{number_text} {thing}s"),
    }
}

/// Formats things as a list: `1 table`, `1 table and 2 indexes`, `3 files, 1 folder and 1 link`.
pub(crate) fn listed(things: &[String]) -> String {
    match things {
        [] => String::new(),
        [thing] => thing.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Formats a number of bytes: `8.2 kB`. JSON reports have the exact number.
pub(crate) fn size(bytes: u64) -> String {
    format!("{:.1}", Bytes(bytes))
}

/// Formats an elapsed time: `8 ms`, `1.24 s`, `2 min 5 s`.
pub(crate) fn elapsed(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 0.9995 => format!("{:.0} ms", (seconds * 1000.0).max(1.0)),
        seconds if seconds < 99.995 => format!("{seconds:.2} s"),
        seconds => wait(seconds),
    }
}

/// Formats a rate of rows: `94.1 M rows/s`.
pub(crate) fn rate(rows: u64, seconds: f64) -> String {
    // The elapsed time of a coarse clock may be 0, by which the rows can't be divided.
    let rate = rows as f64 / seconds.max(1e-6);
    match rate {
        999_950.0.. => format!("{:.1} M rows/s", rate / 1e6),
        999.5.. => format!("{:.1} k rows/s", rate / 1e3),
        _ => format!("{rate:.0} rows/s"),
    }
}

/// Formats a time to wait: `9 s`, `2 min 5 s`, `3 h 20 min`.
pub(crate) fn wait(seconds: f64) -> String {
    match seconds.max(0.0).round() as u64 {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds @ 100..6_000 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_one_takes_the_singular_and_any_other_count_the_plural() {
        assert_eq!((counted(0, "row"), counted(1, "row")), ("0 rows".to_owned(), "1 row".to_owned()));
        assert_eq!(counted(2000, "row"), "2,000 rows");
        assert_eq!(
            (counted(1, "entry"), counted(2, "entry")),
            ("1 entry".to_owned(), "2 entries".to_owned())
        );
        assert_eq!(
            (counted(1, "index"), counted(2, "index")),
            ("1 index".to_owned(), "2 indexes".to_owned())
        );
    }

    #[test]
    fn the_last_item_of_a_list_follows_the_word_and() {
        let things = ["a", "b", "c"].map(str::to_owned);
        assert_eq!((listed(&things[..0]), listed(&things[..1])), (String::new(), "a".to_owned()));
        assert_eq!((listed(&things[..2]), listed(&things)), ("a and b".to_owned(), "a, b and c".to_owned()));
    }

    #[test]
    fn elapsed_times_are_in_milliseconds_seconds_or_minutes() {
        let texts = [0.0, 0.008, 0.999, 0.9999, 1.239, 99.99, 125.0].map(elapsed);
        assert_eq!(texts, ["1 ms", "8 ms", "999 ms", "1.00 s", "1.24 s", "99.99 s", "2 min 5 s"]);
    }

    #[test]
    fn sizes_from_1000_bytes_have_one_decimal_place() {
        assert_eq!([0, 999, 8192, 6_615_040].map(size), ["0 bytes", "999 bytes", "8.2 kB", "6.6 MB"]);
    }

    #[test]
    fn rates_are_finite_even_if_no_time_has_passed() {
        assert_eq!(rate(0, 0.0), "0 rows/s");
        assert_eq!(rate(7, 0.0), "7.0 M rows/s");
        assert_eq!(rate(999, 1.0), "999 rows/s");
        assert_eq!(rate(1500, 1.0), "1.5 k rows/s");
        assert_eq!(rate(999_960, 1.0), "1.0 M rows/s");
        assert_eq!(rate(188_200_000, 2.0), "94.1 M rows/s");
    }

    #[test]
    fn waiting_times_are_in_seconds_minutes_or_hours() {
        assert_eq!((wait(-1.0), wait(8.6), wait(99.4)), ("0 s".into(), "9 s".into(), "99 s".into()));
        assert_eq!((wait(125.0), wait(12_000.0)), ("2 min 5 s".into(), "3 h 20 min".into()));
        assert_eq!(wait(f64::NAN), "0 s");
    }
}
