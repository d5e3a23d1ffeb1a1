//! The results, saved as JSON and printed as a table.

use std::fmt::Write;

use serde::Serialize;

use crate::lap::{Lap, mib};
use crate::machine::Machine;
use crate::stats::Spread;

/// The laps of one round.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Round {
    pub(crate) raw: Lap,
    pub(crate) generate: Lap,
    pub(crate) insert: Lap,
    pub(crate) attach: Lap,
    pub(crate) discard: Lap,
}

/// The ratios of the comparison, each computed within a round.
#[derive(Debug, Serialize)]
struct Ratios {
    /// The ratio of times.
    generate_to_raw: Spread,
    /// The ratio of rates, like the following ratios.
    generate_to_attach: Spread,
    generate_to_insert: Spread,
    discard_to_generate: Spread,
}

/// The record of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    pub(crate) benchmark: &'static str,
    pub(crate) taken: String,
    pub(crate) sqluice: String,
    pub(crate) machine: Machine,
    pub(crate) checksum: String,
    pub(crate) rounds: Vec<Round>,
    ratios: Ratios,
}

impl Record {
    /// Summarizes the rounds, of which there must be at least one.
    pub(crate) fn new(
        taken: String,
        sqluice: String,
        machine: Machine,
        checksum: String,
        rounds: Vec<Round>,
    ) -> Record {
        let spread = |ratio: &dyn Fn(&Round) -> f64| Spread::of(rounds.iter().map(ratio));
        let ratios = Ratios {
            generate_to_raw: spread(&|round| round.generate.seconds / round.raw.seconds),
            generate_to_attach: spread(&|round| round.generate.rate() / round.attach.rate()),
            generate_to_insert: spread(&|round| round.generate.rate() / round.insert.rate()),
            discard_to_generate: spread(&|round| round.discard.rate() / round.generate.rate()),
        };
        Record { benchmark: "billion", taken, sqluice, machine, checksum, rounds, ratios }
    }

    /// Formats the table: median, minimum and maximum of all rounds.
    pub(crate) fn table(&self) -> String {
        type Pick = fn(&Round) -> &Lap;
        let laps: [(&str, Pick); 5] = [
            ("raw write", |round| &round.raw),
            ("sqluice generate", |round| &round.generate),
            ("50-row INSERT, unsafe PRAGMAs", |round| &round.insert),
            ("ATTACH copy, unsafe PRAGMAs", |round| &round.attach),
            ("sqluice generate --discard", |round| &round.discard),
        ];
        let mut text = format!("machine: {}\nprogram: {}\n\n", self.machine, self.sqluice);
        let heads = ["median (min..max)", "rows", "seconds", "M rows/s", "GB/s", "peak"];
        let [name, rows, seconds, rate, bytes, peak] = heads;
        let _ = writeln!(text, "{name:29} {rows:>13} {seconds:>20} {rate:>22} {bytes:>17} {peak:>9}");
        for (name, lap) in laps {
            let spread =
                |value: &dyn Fn(&Lap) -> f64| Spread::of(self.rounds.iter().map(|round| value(lap(round))));
            let rows = lap(&self.rounds[0]).rows;
            let seconds = format!("{:.2}", spread(&|lap| lap.seconds));
            let rate = match rows {
                0 => String::new(),
                _ => format!("{:.1}", spread(&|lap| lap.rate() / 1e6)),
            };
            let bytes = format!("{:.2}", spread(&|lap| lap.bytes as f64 / lap.seconds / 1e9));
            let peak = format!("{:.0} MiB", mib(spread(&|lap| lap.memory_bytes as f64).max));
            let rows = if rows == 0 { String::new() } else { crate::grouped(rows) };
            let _ = writeln!(text, "{name:29} {rows:>13} {seconds:>20} {rate:>22} {bytes:>17} {peak:>9}");
        }
        let _ = writeln!(text, "\nratios within a round");
        let Ratios { generate_to_raw, generate_to_attach, generate_to_insert, discard_to_generate } =
            &self.ratios;
        let _ = writeln!(text, "generate / raw write, time    {generate_to_raw:.2}");
        let _ = writeln!(text, "generate / ATTACH copy, rate  {generate_to_attach:.1}");
        let _ = writeln!(text, "generate / INSERT, rate       {generate_to_insert:.1}");
        let _ = writeln!(text, "discard / generate, rate      {discard_to_generate:.2}");
        text
    }
}
