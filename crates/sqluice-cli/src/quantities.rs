//! Numbers, rates and times, as people read them.

pub(crate) use sqluice::size::grouped;

/// A number of things: `1 row`, `2,000 rows`.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Rows in a second, as people read it: `94.1 M rows/s`.
pub(crate) fn rate(rows: u64, seconds: f64) -> String {
    // A clock may say that no time has passed.
    let rate = rows as f64 / seconds.max(1e-6);
    match rate {
        999_950.0.. => format!("{:.1} M rows/s", rate / 1e6),
        999.5.. => format!("{:.1} k rows/s", rate / 1e3),
        _ => format!("{rate:.0} rows/s"),
    }
}

/// A time to wait, as people read it: `9 s`, `2 min 5 s`, `3 h 20 min`.
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
    fn one_is_no_plural() {
        assert_eq!((counted(0, "row"), counted(1, "row")), ("0 rows".to_owned(), "1 row".to_owned()));
        assert_eq!(counted(2000, "row"), "2,000 rows");
    }

    #[test]
    fn rates_have_a_unit_and_need_no_time_to_pass() {
        assert_eq!(rate(0, 0.0), "0 rows/s");
        assert_eq!(rate(7, 0.0), "7.0 M rows/s");
        assert_eq!(rate(999, 1.0), "999 rows/s");
        assert_eq!(rate(1500, 1.0), "1.5 k rows/s");
        assert_eq!(rate(999_960, 1.0), "1.0 M rows/s");
        assert_eq!(rate(188_200_000, 2.0), "94.1 M rows/s");
    }

    #[test]
    fn waiting_is_reported_in_the_unit_that_matters() {
        assert_eq!((wait(-1.0), wait(8.6), wait(99.4)), ("0 s".into(), "9 s".into(), "99 s".into()));
        assert_eq!((wait(125.0), wait(12_000.0)), ("2 min 5 s".into(), "3 h 20 min".into()));
        assert_eq!(wait(f64::NAN), "0 s");
    }
}
