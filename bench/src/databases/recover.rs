//! Recovering a damaged database: `sqluice recover` compared with `.recover` of SQLite's shell, and with `sqluice copy` of the sound database.
//! The rows are those of the preset `user`.
//!
//! ```text
//!  lap             source
//!  copy            the sound database
//!  recover-sound   the sound database
//!  recover         the database with damaged pages
//!  dot-recover     the database with damaged pages       `.recover`, and a second shell that runs its statements
//! ```
//!
//! The damaged pages are leaves of the table, spread over the file and filled with random bytes. The first two laps must write all rows.
//! The laps of the damaged database must write each row that is not on a damaged page, and no row that is not in the sound database.
//! `.recover` needs a shell that was built with `sqlite_dbpage`. With another shell, such as Debian's, the comparison says so and runs
//! without this lap.
//!
//! Every second round runs in reverse order. Before each lap the source is read into the page cache. sqluice syncs its files, the shell runs
//! without a journal and syncs nothing.

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::json;

use crate::db::{numbers, open};
use crate::house::{House, Start};
use crate::lap::{Column, Lap, cores, memory, rows as row_counts, seconds};
use crate::options::{Options, say};
use crate::process::{Runner, Took};
use crate::random::mixed;
use crate::ratio::{self, Compared};
use crate::rounds::{Way, rounds, table, way};
use crate::{copy, count, grouped, size, warm, words};

/// The size of a row in the database, in bytes.
const ROW_BYTES: u64 = 20;

/// The exit status of a recovery that found damage.
const DAMAGED: i32 = 3;

#[derive(Debug, Args)]
pub struct Settings {
    /// Rows of the table
    #[arg(long, default_value = "1M", value_name = "N", value_parser = count)]
    rows: u64,
    /// Damaged pages
    #[arg(long, default_value = "60", value_name = "N", value_parser = count)]
    pages: u64,
    #[command(flatten)]
    options: Options,
}

fn ways<'a>() -> Vec<Way<Track<'a>, anyhow::Result<Took>>> {
    vec![
        way("", "copy", "`sqluice copy` of the sound file, durable", |track| {
            track.house.sqluice.run(&words!["copy", track.sound, track.target])
        }),
        way("", "recover-sound", "`sqluice recover` of the sound file, durable", |track| {
            track.house.sqluice.run(&words!["recover", track.sound, track.target])
        }),
        way("", "recover", "`sqluice recover`, durable", |track| {
            track.house.sqluice.run_to(DAMAGED, &words!["recover", track.damaged, track.target])
        }),
        way("", "dot-recover", "`.recover` into a second shell", |track| {
            let shell = &track.house.options.programs;
            let pipe = "(echo 'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;'; \"$1\" -batch -init /dev/null \"$2\" .recover) |
                \"$1\" -batch -init /dev/null \"$3\"";
            let mut command = Command::new("sh");
            command.args(["-c", pipe, "sh"]).arg(&shell.sqlite3).arg(&track.damaged).arg(&track.target);
            track.house.runner.run(&mut command)
        }),
    ]
}

const COLUMNS: [Column<'static>; 4] = [
    ("rows", &row_counts),
    ("seconds: median (min..max)", &seconds),
    ("seconds on cores", &cores),
    ("peak memory", &memory),
];

const RATIOS: &[Compared] = &[
    (
        "processor time of `.recover` to that of `recover`",
        |round| ratio::processors(round, "dot-recover", "recover"),
        "at least 20",
    ),
    (
        "time of `recover` of the sound file to that of `copy`",
        |round| ratio::time(round, "recover-sound", "copy"),
        "at most 2",
    ),
    (
        "time of `recover` of the damaged file to that of `copy` of the sound file",
        |round| ratio::time(round, "recover", "copy"),
        "",
    ),
];

/// The query for the number of rows, and for the number of these rows that are also in the sound database.
const COUNTS: &str =
    "SELECT count(*), total(s.id IS u.id AND (s.area, s.age, s.active) IS (u.area, u.age, u.active))
    FROM user u LEFT JOIN sound.user s ON s.id = u.id";

/// Runs the comparison, prints the results and saves the record.
pub(crate) fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let Settings { rows, pages, options } = settings;
    let start = Start::new(options, runner)?.with_shell()?;
    start.introduce()?;
    let house = start.house(4 * rows * ROW_BYTES)?;
    let (sound, damaged) = (house.file("sound.db"), house.file("damaged.db"));
    house.preset("user", *rows, &sound)?;
    copy(&sound, &damaged)?;
    let left = damage(&sound, &damaged, *pages)?;
    say(&format!("input: {} rows, {} of them on sound pages\n", grouped(*rows), grouped(left)))?;
    let mut ways = ways();
    if !has_dot_recover(&house)? {
        ways.retain(|way| way.name != "dot-recover");
        let sqlite = &house.machine.facts.sqlite;
        say(&format!(
            "left out: `.recover`, which saves no row of a sound database in the shell of SQLite {sqlite}\n"
        ))?;
    }
    let target = house.file("new.db");
    let mut track = Track { house: &house, sound: sound.clone(), damaged, target: target.clone() };
    let rounds = rounds(options.rounds, &ways, |way, _| {
        let is_damaged = way.name.ends_with("recover");
        warm(if is_damaged { &track.damaged } else { &track.sound })?;
        let took = (way.run)(&mut track)?;
        let (found, right) = rows_of(&target, &sound)?;
        let lap = Lap::new(&took, found, size(&target)?, None).verified(way.name, || {
            let wanted = if is_damaged { left } else { *rows };
            ensure!(found == right, "{} of {found} rows are not in the sound database", found - right);
            ensure!(found == wanted, "{found} rows instead of {wanted}");
            house.remove("new.db")
        });
        lap.map(Some)
    })?;
    let facts = json!({ "rows": rows, "damaged_pages": pages, "rows_on_sound_pages": left });
    let text = table("", &COLUMNS, &ways, &rounds);
    house.finish("databases-recover", facts, &ways, &rounds, RATIOS, &text)
}

/// The state of a run of this comparison, which all of its laps share.
struct Track<'a> {
    house: &'a House<'a>,
    sound: PathBuf,
    damaged: PathBuf,
    target: PathBuf,
}

/// Returns `true` if the shell can recover a sound database.
fn has_dot_recover(house: &House<'_>) -> anyhow::Result<bool> {
    let sample = house.file("sample.db");
    open(&sample, "CREATE TABLE t (a); INSERT INTO t VALUES ('kept')")?;
    let mut shell = house.options.programs.shell(&sample);
    let said = shell.arg(".recover").output().context("cannot start the shell")?;
    house.remove("sample.db")?;
    Ok(said.status.success() && String::from_utf8_lossy(&said.stdout).contains("kept"))
}

/// Fills `count` leaves of the table with random bytes, at equal distances. Returns the number of rows on the other leaves.
fn damage(sound: &Path, damaged: &Path, count: u64) -> anyhow::Result<u64> {
    let connection = open(sound, "")?;
    let mut leaves = connection.prepare(
        "SELECT pageno, ncell, pgsize FROM dbstat WHERE name = 'user' AND pagetype = 'leaf' ORDER BY pageno",
    )?;
    let leaves = leaves.query_map([], |row| {
        let number = |column| row.get::<_, u32>(column).map(u64::from);
        Ok((number(0)?, number(1)?, number(2)?))
    })?;
    let leaves: Vec<(u64, u64, u64)> = leaves.collect::<Result<_, _>>()?;
    let of_table = leaves.len() as u64;
    ensure!(count <= of_table / 2, "{count} of {of_table} pages can't be damaged: at most every second one");
    let mut file = OpenOptions::new().write(true).open(damaged)?;
    let mut left: u64 = leaves.iter().map(|(_, rows, _)| rows).sum();
    for number in 0..count {
        let (page, rows, bytes) = leaves[((2 * number + 1) * of_table / (2 * count)) as usize];
        let random = (0..bytes).map(|at| mixed(number * bytes + at) as u8);
        // No page of a B-tree begins with 0xff, so the page is recognized as damaged.
        let random: Vec<u8> = std::iter::once(0xff).chain(random.skip(1)).collect();
        file.seek(SeekFrom::Start((page - 1) * bytes))?;
        file.write_all(&random)?;
        left -= rows;
    }
    file.sync_all()?;
    Ok(left)
}

/// Returns the number of rows of `target`, and the number of these rows that are also in the sound database.
fn rows_of(target: &Path, sound: &Path) -> anyhow::Result<(u64, u64)> {
    let connection = open(target, "")?;
    connection.execute("ATTACH ?1 AS sound", [sound.to_str().context("a path is UTF-8")?])?;
    let counts = numbers(&connection, COUNTS)?;
    Ok((counts[0] as u64, counts[1] as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratio::lines;

    #[test]
    fn claims_are_met_or_short_by_the_ratios_of_a_round() {
        let laps = [("copy", 1.0), ("recover-sound", 2.5), ("recover", 1.5), ("dot-recover", 31.0)];
        let lines = lines(RATIOS, laps);
        assert!(lines[0].ends_with("20.67 (20.67..20.67) | at least 20 | met |"), "{lines:?}");
        assert!(lines[1].ends_with("2.50 (2.50..2.50) | at most 2 | short |"), "{lines:?}");
        assert_eq!(lines.len(), 3);
    }
}
