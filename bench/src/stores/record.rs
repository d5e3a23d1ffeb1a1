//! The results, saved as JSON and printed as tables in Markdown for a README.

use std::collections::BTreeMap;
use std::fmt::Write;

use clap::ValueEnum;
use serde::Serialize;

use super::Section;
use crate::grouped;
use crate::lap::{Lap, mib};
use crate::machine::Machine;
use crate::ratio::{self, Compared, Ratio};
use crate::stats::Spread;

/// A method to copy, read or write many files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    Copy,
    CopySync,
    Archive,
    Pack,
    Deflate,
    Extract,
    Unpack,
    Files,
    ReadFiles,
    KvtestFiles,
    GetInto,
    Get,
    GetMapped,
    GetShared,
    Select,
    RangeFiles,
    Range,
    PutFiles,
    PutMany,
}

impl Way {
    /// All ways, in the order of a round.
    pub(crate) const ALL: [Way; 19] = [
        Way::Copy,
        Way::CopySync,
        Way::Archive,
        Way::Pack,
        Way::Deflate,
        Way::Extract,
        Way::Unpack,
        Way::Files,
        Way::GetInto,
        Way::GetMapped,
        Way::ReadFiles,
        Way::KvtestFiles,
        Way::Get,
        Way::GetShared,
        Way::Select,
        Way::RangeFiles,
        Way::Range,
        Way::PutFiles,
        Way::PutMany,
    ];

    pub(crate) fn part(self) -> Section {
        match self {
            Way::Copy | Way::CopySync | Way::Archive | Way::Pack | Way::Deflate => Section::Folder,
            Way::Extract | Way::Unpack => Section::Folder,
            Way::PutFiles | Way::PutMany => Section::Write,
            _ => Section::Read,
        }
    }

    /// Returns `true` if the way reads or writes files, and `false` if it uses the database.
    pub(crate) fn is_of_files(self) -> bool {
        matches!(self, Way::Files | Way::ReadFiles | Way::KvtestFiles | Way::RangeFiles | Way::PutFiles)
    }

    /// Returns the name that is printed during the run, and the title in the table.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Way::Copy => ("copy", "`cp -r`"),
            Way::CopySync => ("copy+sync", "`cp -r`, then `sync -f`"),
            Way::Archive => ("archive", "`sqlite3 -Ac`"),
            Way::Pack => ("pack", "`sqluice pack`"),
            Way::Deflate => ("deflate", "`sqluice pack --compress deflate`"),
            Way::Extract => ("extract", "`sqlite3 -Ax`"),
            Way::Unpack => ("unpack", "`sqluice unpack`"),
            Way::Files => ("files", "random reads: files, `openat`, `fstat`, `read`, `close`"),
            Way::ReadFiles => ("fs::read", "`std::fs::read` of the path"),
            Way::KvtestFiles => {
                ("kvtest", "`stat`, `fopen`, `fread`, `fclose`, as SQLite's kvtest reads them")
            }
            Way::GetInto => ("get_into", "`BlobStore::get_into`"),
            Way::Get => ("get", "`BlobStore::get`"),
            Way::GetMapped => ("mapped", "`BlobStore::get_into`, mmap"),
            Way::GetShared => ("shared", "`BlobStore::get_into`, shared with writers"),
            Way::Select => ("select", "prepared `SELECT`, one transaction"),
            Way::RangeFiles => ("range f.", "100 bytes each: files, `openat`, `pread`, `close`"),
            Way::Range => ("range", "`BlobStore::range`"),
            Way::PutFiles => ("put files", "files overwritten, synced at the end"),
            Way::PutMany => ("put_many", "`BlobStore::put_many`"),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        self.names().0
    }
}

/// The laps of one round. `bytes` of a lap is the disk space of its result, or the number of bytes that it read or wrote.
pub(crate) type Round = BTreeMap<Way, Lap>;

/// Returns the ratio of the time of `of` to that of `to`.
fn times(round: &Round, of: Way, to: Way) -> Option<f64> {
    Some(round.get(&of)?.seconds / round.get(&to)?.seconds)
}

const COMPARED: [Compared<Round>; 16] = [
    Compared {
        what: "time of `cp -r` to `pack`",
        ratio: |round| times(round, Way::Copy, Way::Pack),
        claim: Some(("at least 3", 3.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `cp -r` and `sync -f` to `pack`",
        ratio: |round| times(round, Way::CopySync, Way::Pack),
        claim: None,
    },
    Compared {
        what: "time of `sqlite3 -Ac` to `pack`",
        ratio: |round| times(round, Way::Archive, Way::Pack),
        claim: Some(("at least 8", 8.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `sqlite3 -Ac` to `pack --compress deflate`",
        ratio: |round| times(round, Way::Archive, Way::Deflate),
        claim: Some(("at least 1.8", 1.8..=f64::INFINITY)),
    },
    Compared {
        what: "time of `cp -r` to `unpack`",
        ratio: |round| times(round, Way::Copy, Way::Unpack),
        claim: Some(("at least 1", 1.0..=f64::INFINITY)),
    },
    Compared {
        what: "time of `sqlite3 -Ax` to `unpack`",
        ratio: |round| times(round, Way::Extract, Way::Unpack),
        claim: None,
    },
    Compared {
        what: "space of `pack` to that of the folder, by `du`",
        ratio: |round| Some(round.get(&Way::Pack)?.bytes as f64 / round.get(&Way::Copy)?.bytes as f64),
        claim: Some(("at most 0.90, aim 0.85", 0.0..=0.9)),
    },
    Compared {
        what: "time of `std::fs::read` to `get`",
        ratio: |round| times(round, Way::ReadFiles, Way::Get),
        claim: Some(("at least 1.35", 1.35..=f64::INFINITY)),
    },
    Compared {
        what: "time of files as kvtest reads them to `get_into`",
        ratio: |round| times(round, Way::KvtestFiles, Way::GetInto),
        claim: Some(("at least 1.35", 1.35..=f64::INFINITY)),
    },
    Compared {
        what: "time of files as kvtest reads them to `get_into`, mmap",
        ratio: |round| times(round, Way::KvtestFiles, Way::GetMapped),
        claim: Some(("at least 1.8", 1.8..=f64::INFINITY)),
    },
    Compared {
        what: "time of files with the fewest calls to `get_into`",
        ratio: |round| times(round, Way::Files, Way::GetInto),
        claim: None,
    },
    Compared {
        what: "time of files with the fewest calls to `get_into`, mmap",
        ratio: |round| times(round, Way::Files, Way::GetMapped),
        claim: None,
    },
    Compared {
        what: "time of files with the fewest calls to `get_into`, shared",
        ratio: |round| times(round, Way::Files, Way::GetShared),
        claim: None,
    },
    Compared {
        what: "time of `SELECT` to `get_into`",
        ratio: |round| times(round, Way::Select, Way::GetInto),
        claim: None,
    },
    Compared {
        what: "time of 100 bytes of files to `range`",
        ratio: |round| times(round, Way::RangeFiles, Way::Range),
        claim: None,
    },
    Compared {
        what: "time of files overwritten to `put_many`",
        ratio: |round| times(round, Way::PutFiles, Way::PutMany),
        claim: None,
    },
];

/// The record of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    pub(crate) benchmark: &'static str,
    pub(crate) taken: String,
    sqluice: String,
    machine: Machine,
    files: u64,
    /// The disk space in bytes of the folder and of the database that are read and written.
    folder_bytes: u64,
    base_bytes: Option<u64>,
    rounds: Vec<Round>,
    ratios: Vec<Ratio>,
}

/// The data of a record without the rounds.
pub(crate) struct Taken {
    pub(crate) taken: String,
    pub(crate) sqluice: String,
    pub(crate) machine: Machine,
    pub(crate) files: u64,
    pub(crate) folder_bytes: u64,
    pub(crate) base_bytes: Option<u64>,
}

impl Record {
    /// Summarizes the rounds, of which there must be at least one.
    pub(crate) fn new(with: Taken, rounds: Vec<Round>) -> Record {
        let ratios = Ratio::all(&COMPARED, &rounds);
        let Taken { taken, sqluice, machine, files, folder_bytes, base_bytes } = with;
        Record {
            benchmark: "stores",
            taken,
            sqluice,
            machine,
            files,
            folder_bytes,
            base_bytes,
            rounds,
            ratios,
        }
    }

    /// Formats the tables: median, minimum and maximum of all rounds.
    pub(crate) fn table(&self) -> String {
        let mut text =
            "| | files | seconds: median (min..max) | us/file | MB | peak memory |\n|---|---|---|---|---|---|\n".to_owned();
        for way in Way::ALL {
            let laps: Option<Vec<&Lap>> = self.rounds.iter().map(|round| round.get(&way)).collect();
            if let Some(laps) = laps {
                let _ = writeln!(text, "{}", row(way.names().1, &laps));
            }
        }
        let _ = write!(text, "\n{}", ratio::table(&self.ratios));
        let _ = write!(text, "\nfolder: {:.0} MB by du", self.folder_bytes as f64 / 1e6);
        if let Some(base) = self.base_bytes {
            let part = base as f64 / self.folder_bytes as f64;
            let _ = write!(text, "; the database that is read: {:.0} MB, {part:.3} of it", base as f64 / 1e6);
        }
        let _ = writeln!(text, "\n\nmachine: {}\nprogram: {}", self.machine, self.sqluice);
        text
    }
}

fn row(title: &str, laps: &[&Lap]) -> String {
    let spread = |value: &dyn Fn(&Lap) -> f64| Spread::of(laps.iter().map(|lap| value(lap)));
    let seconds = spread(&|lap| lap.seconds);
    format!(
        "| {title} | {} | {seconds:.2} | {:.2} | {:.0} | {:.0} MiB |",
        grouped(laps[0].rows),
        seconds.median / laps[0].rows as f64 * 1e6,
        spread(&|lap| lap.bytes as f64 / 1e6).median,
        mib(spread(&|lap| lap.memory_bytes as f64).max)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_its_ratios() {
        let of = |part| {
            let ways = Way::ALL.into_iter().filter(|way| way.part() == part);
            let lap =
                Lap { rows: 1, bytes: 1, seconds: 1.0, cpu_seconds: 1.0, memory_bytes: 1, output: None };
            let round: Round = ways.map(|way| (way, lap.clone())).collect();
            Ratio::all(&COMPARED, &[round]).len()
        };
        assert_eq!(Section::ALL.map(of), [7, 8, 1]);
    }
}
