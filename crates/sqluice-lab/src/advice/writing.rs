//! Advice on inserts: the method, PRAGMAs, WAL, and the number of rows in a transaction and in a statement.

use crate::figures;
use crate::record::{Provenance, Run};

use super::durability::{Risk, gives_up};
use super::{Advice, NEARLY, Way, Ways, ids, number_in};

/// The experiments that compare methods to insert the same rows. The first of them in the run is the basis of the advice.
const METHODS: &[&str] = &["insert-method", "mixed-user", "billion-variants"];

/// Advises on the method to insert rows.
pub(super) fn method(run: &Run) -> Option<Advice> {
    let ways = METHODS.iter().find_map(|id| Ways::of(run, id))?;
    // Copying a table is a lower bound on the time, not a method to insert rows.
    let is_way = |way: &Way<'_>| !way.variant.name.starts_with("ATTACH") && way.risk == Risk::Nothing;
    let sql = ways.best(|way| is_way(way) && way.variant.provenance != Provenance::Sqluice);
    let ours = ways.best_of_sqluice();
    let (say, chosen) = match (&ours, &sql) {
        (Some(ours), Some(sql)) if ways.is_clearly_better(ours, sql) => {
            let say = format!(
                "Use {}: {} as fast as {}, the fastest safe way with SQLite alone.",
                ours.variant.name,
                figures::ratio(ways.times(ours, sql)),
                sql.variant.name
            );
            (say, ours)
        }
        (_, Some(way)) | (Some(way), None) => {
            (format!("Use {}: {}.", way.variant.name, ways.figure(way)), way)
        }
        (None, None) => return None,
    };
    let mut because = Vec::new();
    let slowest = ways.all.iter().filter(|way| is_way(way)).copied();
    let slowest = slowest.reduce(|a, b| if ways.is_better(&a, &b) { b } else { a });
    if let (Some(ours), Some(sql)) = (&ours, &sql) {
        because.push(ways.against(ours, sql));
    }
    if let Some((sql, slowest)) = sql.zip(slowest).filter(|(sql, slow)| sql.variant.name != slow.variant.name)
    {
        because.push(ways.against(&sql, &slowest));
    }
    let others = METHODS.iter().filter(|id| **id != ways.experiment.id).filter_map(|id| Ways::of(run, id));
    let mut experiments = vec![ways.experiment.id.clone()];
    for other in others {
        let best =
            other.best(|way| way.variant.provenance != Provenance::Sqluice && way.risk < Risk::NotKept);
        if let Some((ours, best)) = other.best_of_sqluice().zip(best) {
            because.push(format!("{}: {}", other.experiment.id, other.against(&ours, &best)));
            experiments.push(other.experiment.id.clone());
        }
    }
    let mut gives_up = gives_up(&chosen.variant.settings);
    if chosen.variant.name.contains("pages") {
        gives_up.push(
            "pages are for whole tables and many rows: they can't be part of a transaction of your own"
                .to_owned(),
        );
    }
    Some(Advice { about: "method", question: "Which way to insert?", say, because, gives_up, experiments })
}

/// Advises on unsafe PRAGMAs, from pairs of variants that differ only in these PRAGMAs.
pub(super) fn pragmas(run: &Run) -> Option<Advice> {
    let mut pairs = Vec::new();
    let mut experiments = Vec::new();
    for id in ["unsafe-pragmas", "insert-method", "booleans", "mixed-user"] {
        let Some(ways) = Ways::of(run, id) else { continue };
        for risky in ways.all.iter().filter(|way| way.variant.name.contains("unsafe")) {
            let name = risky
                .variant
                .name
                .trim_end_matches(" PRAGMAs")
                .trim_end_matches("unsafe")
                .trim_end_matches([',', ' ']);
            let safe = ways.named(name).or_else(|| ways.named(&format!("{name}, safe")));
            if let Some(safe) = safe {
                let (fast, slow) = (ways.figure(risky), ways.figure(&safe));
                let times = ways.times(risky, &safe);
                let line = format!("{name}: {fast} instead of {slow}, {}", ways.how_much(risky, &safe));
                pairs.push((times, ways.is_clearly_better(risky, &safe), line));
                experiments.push(id.to_owned());
            }
        }
    }
    experiments.dedup();
    let best = pairs.iter().filter(|(_, clearly, _)| *clearly).map(|(times, ..)| *times).reduce(f64::max);
    let say = match best.filter(|times| *times > NEARLY) {
        _ if pairs.is_empty() => return None,
        None => "Leave journal_mode and synchronous as they are: to switch both off brings nothing here."
            .to_owned(),
        Some(times) => format!(
            "journal_mode=OFF with synchronous=OFF makes a load up to {} as fast here. Take it for a new file that can be made \
             again if the load fails, and never for one that holds anything else.",
            figures::ratio(times)
        ),
    };
    let because = pairs.into_iter().map(|(.., line)| line).collect();
    let settings = ["journal_mode=OFF".to_owned(), "synchronous=OFF".to_owned()];
    let gives_up = if best.is_some_and(|times| times > NEARLY) { gives_up(&settings) } else { Vec::new() };
    let question = "Are unsafe PRAGMAs worth it?";
    Some(Advice { about: "pragmas", question, say, because, gives_up, experiments })
}

/// Advises on WAL for small transactions, and on related settings.
pub(super) fn wal(run: &Run) -> Option<Advice> {
    let ids_of_mix = ["pragma-mix", "wal-normal"];
    let ways = ids_of_mix.iter().find_map(|id| {
        let ways = Ways::of(run, id)?;
        let defaults = ways.all.iter().find(|way| is_default(way)).copied()?;
        let wal = ways.best(|way| is_wal(way) && way.risk == Risk::Nothing);
        let normal = ways.best(|way| is_wal(way) && way.risk == Risk::LosesLast);
        (wal.is_some() || normal.is_some()).then_some((ways, defaults, wal, normal))
    });
    let (ways, defaults, wal, normal) = ways?;
    let pays = |way: &Way<'_>| ways.is_clearly_better(way, &defaults) && ways.times(way, &defaults) > NEARLY;
    let times = |way: &Way<'_>| figures::ratio(ways.times(way, &defaults));
    let (say, chosen) = match (wal.filter(|way| pays(way)), normal.filter(|way| pays(way))) {
        (Some(wal), Some(normal)) if ways.is_clearly_better(&normal, &wal) => (
            format!(
                "Use journal_mode=WAL for small transactions: {} as fast as the defaults, and {} with synchronous=NORMAL if the \
                 last moments before a power failure may be lost.",
                times(&wal),
                times(&normal)
            ),
            Some(normal),
        ),
        (Some(wal), _) => {
            (format!("Use journal_mode=WAL for small transactions: {} as fast as the defaults.", times(&wal)), Some(wal))
        }
        (None, Some(normal)) => (
            format!(
                "Use journal_mode=WAL with synchronous=NORMAL for small transactions: {} as fast as the defaults.",
                times(&normal)
            ),
            Some(normal),
        ),
        (None, None) => ("WAL makes small transactions no faster than the defaults here: choose it so that readers do not wait.".to_owned(), None),
    };
    let named = [
        wal,
        normal,
        ways.best(|way| way.risk == Risk::DamageByPower),
        ways.best(|way| way.risk == Risk::DamageByCrash),
    ];
    let because = named.into_iter().flatten().map(|way| ways.against(&way, &defaults)).collect();
    let gives_up = chosen.map_or_else(Vec::new, |way| gives_up(&way.variant.settings));
    let experiments = vec![ways.experiment.id.clone()];
    Some(Advice { about: "wal", question: "WAL or not?", say, because, gives_up, experiments })
}

fn is_default(way: &Way<'_>) -> bool {
    way.variant.name == "defaults" || way.variant.name.starts_with("defaults,")
}

/// Returns `true` if a variant uses WAL with a transaction for each operation and the default checkpoints.
fn is_wal(way: &Way<'_>) -> bool {
    let setting = |text: &str| {
        way.variant
            .settings
            .iter()
            .any(|setting| setting.to_ascii_lowercase().replace(' ', "").contains(text))
    };
    let grouped = way.variant.name.contains("per transaction") || setting("pertransaction");
    setting("journal_mode=wal") && !setting("wal_autocheckpoint") && !setting("exclusive") && !grouped
}

/// Advises on the number of rows in a transaction.
pub(super) fn transaction(run: &Run) -> Option<Advice> {
    let mut because = Vec::new();
    let mut experiments = Vec::new();
    let mut say = None;
    for id in ["batch-size", "pragma-mix"] {
        let Some(ways) = Ways::of(run, id) else { continue };
        let mut sized: Vec<(u64, Way<'_>)> = ways
            .all
            .iter()
            .filter(|way| {
                way.risk == Risk::Nothing
                    && (id == "batch-size" || way.variant.name.ends_with("operations per transaction"))
            })
            .filter_map(|way| Some((number_in(&way.variant.name)?, *way)))
            .collect();
        sized.sort_by_key(|(size, _)| *size);
        let in_order: Vec<Way<'_>> = sized.iter().map(|(_, way)| *way).collect();
        let Some(enough) = ways.first_as_good_as_the_best(&in_order).filter(|_| sized.len() > 1) else {
            continue;
        };
        let size = sized
            .iter()
            .find(|(_, way)| way.variant.name == enough.variant.name)
            .map_or(0, |(size, _)| *size);
        because.extend(
            in_order
                .first()
                .filter(|one| one.variant.name != enough.variant.name)
                .map(|least| ways.against(&enough, least)),
        );
        because.extend(
            in_order
                .last()
                .filter(|one| one.variant.name != enough.variant.name)
                .map(|most| ways.against(&enough, most)),
        );
        let what = if id == "batch-size" { "rows" } else { "operations" };
        say.get_or_insert_with(|| {
            format!("Put {} {what} into a transaction: more bring less than 5% here.", figures::grouped(size))
        });
        experiments.push(id.to_owned());
    }
    if let Some(ways) = Ways::of(run, "transaction") {
        let alone = ways.named("separate transaction per row");
        let together = ways.named("one transaction, reused statement");
        if let Some((alone, together)) = alone.zip(together) {
            because.insert(0, ways.against(&together, &alone));
            say.get_or_insert_with(|| {
                format!("Put many rows into a transaction, with one prepared statement: {} as fast as one by one.", figures::ratio(ways.times(&together, &alone)))
            });
            experiments.push("transaction".to_owned());
        }
    }
    let gives_up = vec![
        "if a transaction fails, all of its rows are rolled back, and other writers wait until it ends"
            .to_owned(),
    ];
    Some(Advice {
        about: "transaction",
        question: "How large should a transaction be?",
        say: say?,
        because,
        gives_up,
        experiments,
    })
}

/// Advises on the number of rows in an INSERT.
pub(super) fn statement(run: &Run) -> Option<Advice> {
    let ways = Ways::of(run, "unroll-degree")?;
    let mut sized: Vec<(u64, Way<'_>)> = ways
        .all
        .iter()
        .filter(|way| way.variant.provenance != Provenance::Sqluice)
        .filter_map(|way| Some((number_in(&way.variant.name)?, *way)))
        .collect();
    sized.sort_by_key(|(size, _)| *size);
    let in_order: Vec<Way<'_>> = sized.iter().map(|(_, way)| *way).collect();
    let (first, enough) =
        (in_order.first()?, ways.first_as_good_as_the_best(&in_order).filter(|_| sized.len() > 1)?);
    let rows = sized.iter().find(|(_, way)| way.variant.name == enough.variant.name)?.0;
    let times = figures::ratio(ways.times(&enough, first));
    let say = match rows {
        0 | 1 => "One row an INSERT is enough here: more rows a statement bring less than 5%.".to_owned(),
        _ => format!(
            "If SQLite inserts the rows, put {rows} rows into each prepared INSERT: {times} as fast as one row each."
        ),
    };
    let line = |way: &Way<'_>| format!("{}: {}", way.variant.name, figures::ratio(ways.times(way, first)));
    let because = vec![format!(
        "speed by rows per statement: {}",
        in_order.iter().map(line).collect::<Vec<_>>().join(", ")
    )];
    Some(Advice {
        about: "statement",
        question: "How many rows an INSERT?",
        say,
        because,
        gives_up: Vec::new(),
        experiments: ids(&["unroll-degree"]),
    })
}
