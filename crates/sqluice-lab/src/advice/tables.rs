//! Advice on tables: when to create indexes, the order of rows, the page cache, kinds of tables, and blobs in the database or in files.

use std::collections::BTreeMap;

use crate::figures;
use crate::record::{Outcome, Provenance, Run};

use super::durability::gives_up;
use super::{Advice, NEARLY, Way, Ways, ids, number_in};

/// Advises whether to create an index before or after the rows are inserted.
pub(super) fn index(run: &Run) -> Option<Advice> {
    let ways = Ways::of(run, "index-order")?;
    let (before, after) = (ways.named("index before")?, ways.named("index after")?);
    let sorted = ways.named("index before, rows sorted by the application");
    let ours = ways.best_of_sqluice();
    let (say, chosen) =
        match (ways.is_clearly_better(&after, &before), ways.is_clearly_better(&before, &after)) {
            (true, _) => (
                format!(
                    "Load first, make the index afterwards: {} as fast.",
                    figures::ratio(ways.times(&after, &before))
                ),
                after,
            ),
            (_, true) => (
                format!(
                    "Make the index first: {} as fast as making it afterwards, with these rows.",
                    figures::ratio(ways.times(&before, &after))
                ),
                before,
            ),
            _ => (
                "It makes no difference here whether the index is made before or after the rows.".to_owned(),
                after,
            ),
        };
    let mut say = say;
    if let Some(sorted) = sorted.filter(|sorted| ways.is_clearly_better(sorted, &chosen)) {
        say += &format!(
            " Rows that come in the order of the index are better still: {} as fast as that.",
            figures::ratio(ways.times(&sorted, &chosen))
        );
    }
    if let Some(ours) = ours.filter(|ours| ways.is_clearly_better(ours, &chosen)) {
        say += &format!(" {}: {} as fast.", ours.variant.name, figures::ratio(ways.times(&ours, &chosen)));
    }
    let mut because = vec![ways.against(&after, &before)];
    because.extend(sorted.map(|sorted| ways.against(&sorted, &before)));
    because.extend(ours.map(|ours| ways.against(&ours, &before)));
    let gives_up = vec![
        "an index that is created afterwards reports duplicate keys only at the end, not at their row; until then queries have no index"
            .to_owned(),
    ];
    Some(Advice {
        about: "index",
        question: "Index before or after the rows?",
        say,
        because,
        gives_up: if std::ptr::eq(chosen.variant, after.variant) { gives_up } else { Vec::new() },
        experiments: ids(&["index-order"]),
    })
}

/// Advises whether to sort rows by the key before they are inserted.
pub(super) fn order(run: &Run) -> Option<Advice> {
    let ways = Ways::of(run, "key-sequence")?;
    let sequential = ways.named("sequential (1,2,3,4,5)")?;
    let shuffled = ways.named("shuffled")?;
    let say = if ways.is_clearly_better(&sequential, &shuffled) && ways.times(&sequential, &shuffled) > NEARLY
    {
        format!(
            "Insert in the order of the key: {} as fast as in random order. Sort before, or let sqluice sort.",
            figures::ratio(ways.times(&sequential, &shuffled))
        )
    } else {
        "The order of keys makes no difference at this size.".to_owned()
    };
    let mut because = vec![ways.against(&sequential, &shuffled)];
    because.extend(ways.best_of_sqluice().map(|ours| ways.against(&ours, &shuffled)));
    Some(Advice {
        about: "order",
        question: "In which order?",
        say,
        because,
        gives_up: Vec::new(),
        experiments: ids(&["key-sequence"]),
    })
}

/// Advises on the size of the page cache.
pub(super) fn cache(run: &Run) -> Option<Advice> {
    let ways = Ways::of(run, "page-cache")?;
    let of = |order: &str| {
        let mut sized: Vec<(u64, Way<'_>)> = ways
            .all
            .iter()
            .filter(|way| {
                way.variant.provenance == Provenance::Published && way.variant.name.starts_with(order)
            })
            .filter_map(|way| Some((number_in(&way.variant.name)?, *way)))
            .collect();
        sized.sort_by_key(|(pages, _)| *pages);
        sized
    };
    let random = of("random,");
    let in_order: Vec<Way<'_>> = random.iter().map(|(_, way)| *way).collect();
    let least = *in_order.first()?;
    // Each cache size is compared with the smallest, as in the lines of `because`.
    let better: Vec<Way<'_>> =
        in_order.iter().copied().filter(|way| ways.is_clearly_better(way, &least)).collect();
    let enough = ways.first_as_good_as_the_best(&better).or((random.len() > 1).then_some(least))?;
    let pages = random.iter().find(|(_, way)| way.variant.name == enough.variant.name)?.0;
    let cache = [format!("cache_size={pages}")];
    let helps = !better.is_empty();
    // Sorted rows need no cache. An effect of the cache on them is noise.
    let sequential = of("sequential,");
    let is_noise = match sequential[..] {
        [(_, small), .., (_, large)] => !helps && ways.is_clearly_better(&large, &small),
        _ => false,
    };
    let say = if helps {
        format!(
            "For keys in random order: PRAGMA {}, {} as fast as {}.",
            cache[0],
            figures::ratio(ways.times(&enough, &least)),
            figures::grouped(random.first()?.0)
        )
    } else if is_noise {
        "Too few rows to tell: a larger cache_size seems to help only rows in the order of the key, which need no cache. \
         Measure at a larger scale."
            .to_owned()
    } else {
        "A larger cache_size makes no clear difference at this size.".to_owned()
    };
    let mut because: Vec<String> = in_order.iter().skip(1).map(|way| ways.against(way, &least)).collect();
    if let [(_, small), .., (_, large)] = sequential[..] {
        because.push(ways.against(&large, &small));
    }
    Some(Advice {
        about: "cache",
        question: "How large a page cache?",
        say,
        because,
        gives_up: if helps { gives_up(&cache) } else { Vec::new() },
        experiments: ids(&["page-cache"]),
    })
}

/// Advises on the kind of table for rows that bring their keys.
pub(super) fn table_type(run: &Run) -> Option<Advice> {
    let ways = Ways::of(run, "table-type")?;
    let (alias, without) = (ways.named("INTEGER PRIMARY KEY")?, ways.named("INT PRIMARY KEY WITHOUT ROWID")?);
    let (best, other) = if ways.is_better(&alias, &without) { (alias, without) } else { (without, alias) };
    let say = if ways.is_clearly_better(&best, &other) {
        format!(
            "For integer keys that the rows bring: {}, {} as fast as {}.",
            best.variant.name,
            figures::ratio(ways.times(&best, &other)),
            other.variant.name
        )
    } else {
        "INTEGER PRIMARY KEY and WITHOUT ROWID are equally fast here.".to_owned()
    };
    let mut because = vec![ways.against(&best, &other)];
    because.extend(ways.named("default rowid").map(|plain| ways.against(&plain, &alias)));
    Some(Advice {
        about: "table-type",
        question: "Which kind of table?",
        say,
        because,
        gives_up: Vec::new(),
        experiments: ids(&["table-type"]),
    })
}

/// Advises on the size up to which blobs belong in SQLite.
pub(super) fn blobs(run: &Run) -> Option<Advice> {
    let ways = Ways::of(run, "blob-break-even")?;
    let mut sizes: BTreeMap<u64, Vec<Way<'_>>> = BTreeMap::new();
    for way in ways.all.iter().filter(|way| is_plain(&way.variant.name)) {
        if let Some(bytes) = blob_bytes(way) {
            sizes.entry(bytes).or_default().push(*way);
        }
    }
    let is_ratio = ways.experiment.unit == "times";
    // Returns the speed of the database divided by that of files: above 1, the database is faster.
    let times = |of_size: &[Way<'_>]| {
        let best = |files: bool| {
            let wanted = of_size.iter().filter(|way| is_file(&way.variant.name) == files);
            wanted.copied().reduce(|a, b| if ways.is_better(&b, &a) { b } else { a })
        };
        if is_ratio {
            Some(best(false)?.spread.median)
        } else {
            Some(ways.times(&best(false)?, &best(true)?))
        }
    };
    let measured: Vec<(u64, f64)> =
        sizes.iter().filter_map(|(bytes, of_size)| Some((*bytes, times(of_size)?))).collect();
    let bytes = |bytes: u64| figures::figure(bytes as f64, "bytes");
    let last_won = measured.iter().rposition(|(_, times)| *times > 1.0);
    let (smallest, largest) = (measured.first()?.0, measured.last()?.0);
    let say = match last_won {
        None => format!("Leave blobs in files: from {} on, files were read faster here.", bytes(smallest)),
        Some(at) if at + 1 == measured.len() => format!(
            "Pack blobs into SQLite: up to {}, the largest that was measured, the database was read faster than files.",
            bytes(largest)
        ),
        Some(at) => format!(
            "Pack blobs of up to {} into SQLite; files of {} and more were read faster here.",
            bytes(measured[at].0),
            bytes(measured[at + 1].0)
        ),
    };
    let because = measured.iter().map(|(size, times)| {
        format!("blobs of {}: the database {} files", bytes(*size), figures::compared(*times))
    });
    Some(Advice {
        about: "blobs",
        question: "Blobs in the database or in files?",
        say,
        because: because.collect(),
        gives_up: vec![
            "packed blobs are not files: other programs read them through SQLite, or after `sqluice unpack`"
                .to_owned(),
        ],
        experiments: ids(&["blob-break-even"]),
    })
}

/// Returns `true` if a variant reads files.
fn is_file(name: &str) -> bool {
    name.to_ascii_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .any(|word| matches!(word, "file" | "files"))
}

/// Returns `true` if a variant differs from others only in the size of its blobs. Some variants also have cold caches or other settings.
fn is_plain(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !["cold", "transaction", "nosync", "name kept", "names in", "direct"]
        .iter()
        .any(|word| name.contains(word))
}

/// Returns the size of a variant's blobs, from its figures or from its name: `100 kB blobs, files`.
fn blob_bytes(way: &Way<'_>) -> Option<u64> {
    if let Outcome::Measured { also, .. } = &way.variant.outcome
        && let Some(bytes) = also.get("blob_bytes")
    {
        return Some(*bytes as u64);
    }
    let name = &way.variant.name;
    let number = number_in(name)?;
    let after = name[name.find(|c: char| c.is_ascii_digit())?..]
        .trim_start_matches(|c: char| c.is_ascii_digit() || c == ',' || c == '_');
    let unit: String = after.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    let factor = match unit.to_ascii_lowercase().as_str() {
        "b" | "byte" | "bytes" => 1,
        "kb" => 1_000,
        "kib" | "k" => 1 << 10,
        "mb" => 1_000_000,
        "mib" | "m" => 1 << 20,
        _ => return None,
    };
    number.checked_mul(factor)
}
