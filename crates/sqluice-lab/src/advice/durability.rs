//! The risks of SQLite's settings: what can be lost or damaged, and when.
//!
//! ```text
//!  journal_mode,
//!  synchronous             a crash of the program        a power failure, a crash of the system
//!  DELETE, FULL            nothing                       nothing, or the very last transaction is rolled back (the defaults)
//!  DELETE, EXTRA           nothing                       nothing
//!  WAL, FULL               nothing                       nothing
//!  WAL, NORMAL             nothing                       the last transactions are rolled back
//!  DELETE, NORMAL          nothing                       on old file systems, rarely, damage
//!  DELETE or WAL, OFF      nothing                       damage
//!  OFF or MEMORY, any      damage                        damage
//! ```
//!
//! The table follows <https://www.sqlite.org/pragma.html> and <https://www.sqlite.org/wal.html>.

use crate::figures;
use crate::record::Variant;

/// The worst effect that settings may have on a database, in ascending order of harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Risk {
    /// Committed transactions persist. With the defaults, a power failure in the moment after a commit may roll back this transaction,
    /// because the folder is not synced after the journal is deleted (`synchronous=EXTRA` syncs it).
    Nothing,
    /// A power failure may roll back the last transactions; the database stays intact.
    LosesLast,
    /// A power failure may damage the database.
    DamageByPower,
    /// A crash of the program, or a power failure, may damage the database.
    DamageByCrash,
    /// The variant leaves no database on the disk.
    NotKept,
}

/// The known settings; `None` if a setting was not given.
#[derive(Debug, Default)]
struct Known {
    journal: Option<String>,
    synchronous: Option<String>,
    exclusive: bool,
    no_checkpoints: bool,
    temp_in_memory: bool,
    cache: Option<i64>,
}

impl Known {
    /// Parses settings such as `journal_mode=WAL` or `PRAGMA main.journal_mode = WAL;`. The last value counts; other settings are ignored.
    fn new(settings: &[String]) -> Known {
        let mut known = Known::default();
        for setting in settings.iter().flat_map(|setting| setting.split([';', ','])) {
            let setting = setting.to_ascii_lowercase();
            let Some((name, value)) = setting.split_once('=') else { continue };
            let name = name.trim().trim_start_matches("pragma").trim();
            let name = name.rsplit('.').next().unwrap_or(name);
            let value = value.trim().trim_matches(['\'', '"']);
            match name {
                "journal_mode" => known.journal = Some(value.to_owned()),
                "synchronous" => known.synchronous = Some(level(value).to_owned()),
                "locking_mode" => known.exclusive = value == "exclusive",
                "wal_autocheckpoint" => {
                    known.no_checkpoints = value.parse::<i64>().is_ok_and(|pages| pages <= 0)
                }
                "temp_store" => known.temp_in_memory = value == "memory" || value == "2",
                "cache_size" => known.cache = value.parse().ok(),
                _ => {}
            }
        }
        known
    }

    fn journal(&self) -> &str {
        self.journal.as_deref().unwrap_or("delete")
    }

    fn synchronous(&self) -> &str {
        self.synchronous.as_deref().unwrap_or("full")
    }

    fn risk(&self) -> Risk {
        match (self.journal(), self.synchronous()) {
            ("off" | "memory", _) => Risk::DamageByCrash,
            (_, "off") => Risk::DamageByPower,
            ("wal", "normal") => Risk::LosesLast,
            // Damage is rare and limited to old file systems, but `Nothing` means that none is possible anywhere.
            (_, "normal") => Risk::DamageByPower,
            _ => Risk::Nothing,
        }
    }
}

/// Returns the name of a level of `PRAGMA synchronous`, which may be given as a number.
fn level(value: &str) -> &str {
    match value {
        "0" => "off",
        "1" => "normal",
        "2" => "full",
        "3" => "extra",
        other => other,
    }
}

/// Returns the risk for the database under these settings.
pub(crate) fn risk(settings: &[String]) -> Risk {
    Known::new(settings).risk()
}

/// Returns the risk for the database of a variant. Some published variants are "unsafe" by name, without known settings.
pub(crate) fn risk_of(variant: &Variant) -> Risk {
    let name = variant.name.to_ascii_lowercase();
    if name.contains("in memory") || name.contains("busy loop") {
        return Risk::NotKept;
    }
    let by_name = if name.contains("unsafe") { Risk::DamageByCrash } else { Risk::Nothing };
    risk(&variant.settings).max(by_name)
}

/// Returns the disadvantages of these settings, a sentence each.
pub(crate) fn gives_up(settings: &[String]) -> Vec<String> {
    let known = Known::new(settings);
    let mut words = Vec::new();
    match known.journal() {
        "off" => words.push(
            "journal_mode=OFF: there is no ROLLBACK, and a crash of the program within a transaction most likely leaves a \
             damaged database. For a file that can be made again",
        ),
        "memory" => words.push(
            "journal_mode=MEMORY: a crash of the program within a transaction most likely leaves a damaged database, \
             because the journal goes with it. For a file that can be made again",
        ),
        "wal" => words.push(
            "journal_mode=WAL: the open database has two more files, -wal and -shm, and can't be on a network file system; \
             committed transactions are in the -wal file until a checkpoint",
        ),
        _ => {}
    }
    match (known.journal(), known.synchronous()) {
        (_, "off") => words.push(
            "synchronous=OFF: a crash of the program alone loses nothing that was committed; a power failure or a \
             crash of the system can damage the database",
        ),
        ("wal", "normal") => words.push(
            "synchronous=NORMAL with WAL: a power failure or a crash of the system can roll back the transactions that \
             were committed last, but damages nothing; a crash of the program loses nothing",
        ),
        ("delete" | "truncate" | "persist", "normal") => words.push(
            "synchronous=NORMAL without WAL: on older file systems a power failure at just the wrong moment can damage \
             the database; seldom",
        ),
        _ => {}
    }
    if known.exclusive {
        words.push("locking_mode=EXCLUSIVE: no other process can read or write the database meanwhile");
    }
    if known.no_checkpoints {
        words.push(
            "wal_autocheckpoint=0: the log grows, and reads become slower, until the program runs a checkpoint itself",
        );
    }
    if known.temp_in_memory {
        words.push("temp_store=MEMORY: temporary tables and sorting take memory, not disk");
    }
    let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    words.extend(known.cache.map(|cache| format!("cache_size={cache}: up to {} of memory", memory(cache))));
    words
}

/// Formats the memory of a `cache_size`: a number of pages, or of KiB if negative.
fn memory(cache: i64) -> String {
    let bytes = if cache < 0 { cache.unsigned_abs() as f64 * 1024.0 } else { cache as f64 * 4096.0 };
    let pages = if cache < 0 { "" } else { " (with pages of 4096 bytes)" };
    format!("{}{pages}", figures::figure(bytes, "bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(settings: &[&str]) -> (Risk, String) {
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        (risk(&settings), gives_up(&settings).join("; "))
    }

    #[test]
    fn the_default_settings_have_no_risk() {
        assert_eq!(of(&[]), (Risk::Nothing, String::new()));
        assert_eq!(of(&["journal_mode=DELETE", "synchronous=FULL"]), (Risk::Nothing, String::new()));
        assert_eq!(of(&["synchronous=EXTRA", "page_size=8192"]), (Risk::Nothing, String::new()));
    }

    #[test]
    fn wal_with_synchronous_normal_may_lose_the_last_transactions_without_damage() {
        let (risk, words) = of(&["PRAGMA journal_mode = WAL;", "pragma main.synchronous=1"]);
        assert_eq!(risk, Risk::LosesLast);
        assert!(
            words.contains("roll back the transactions that were committed last, but damages nothing"),
            "{words}"
        );
        assert_eq!(of(&["journal_mode=WAL"]).0, Risk::Nothing);
    }

    #[test]
    fn without_a_journal_a_crash_of_the_program_may_damage_the_database() {
        for journal in ["journal_mode=OFF", "journal_mode=memory"] {
            let (risk, words) = of(&[journal, "synchronous=FULL"]);
            assert_eq!(risk, Risk::DamageByCrash);
            assert!(words.contains("a crash of the program within a transaction"), "{words}");
        }
    }

    #[test]
    fn without_syncs_a_power_failure_may_damage_the_database_but_a_crash_of_the_program_can_not() {
        for journal in ["journal_mode=DELETE", "journal_mode=WAL"] {
            let (risk, words) = of(&[journal, "synchronous=0"]);
            assert_eq!(risk, Risk::DamageByPower);
            assert!(words.contains("a crash of the program alone loses nothing"), "{words}");
        }
    }

    #[test]
    fn a_cache_size_in_pages_or_kib_is_reported_in_bytes() {
        assert!(of(&["cache_size=2000"]).1.contains("8.19\u{a0}MB"));
        assert!(of(&["cache_size=-2000"]).1.contains("2.05\u{a0}MB"));
    }
}
