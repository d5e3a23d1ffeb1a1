//! Sorts random items in every way and compares them with a plain sort.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::Config;
use sqluice_format::key::{Collation, KeyColumn, KeyOrder};
use sqluice_format::record;
use sqluice_format::value::Value;

use super::*;

/// As many cases as a test needs by default; `PROPTEST_CASES` multiplies them, 256 being once.
fn cases(by_default: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse::<u64>().ok());
    let cases = (u64::from(by_default) * asked.unwrap_or(256) / 256).max(1);
    Config { cases: cases as u32, failure_persistence: None, max_shrink_iters: 400, ..Config::default() }
}

/// An item that has its own bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Owned {
    rowid: i64,
    number: u64,
    record: Vec<u8>,
}

impl Owned {
    fn of(item: &Item<'_>) -> Owned {
        Owned { rowid: item.rowid, number: item.number, record: item.record.to_vec() }
    }

    fn item(&self) -> Item<'_> {
        Item { rowid: self.rowid, number: self.number, record: &self.record }
    }
}

/// How a sort is run: what must make no difference.
#[derive(Clone, Copy, Debug)]
struct Road {
    buffer_bytes: usize,
    memory_bytes: usize,
    threads: usize,
    mergers: usize,
}

const PLAIN: Road = Road { buffer_bytes: 64 << 20, memory_bytes: 64 << 20, threads: 1, mergers: 1 };

fn spill() -> (tempfile::TempDir, Arc<Spill>) {
    let folder = tempfile::tempdir().unwrap();
    let spill = Arc::new(Spill::new(folder.path().to_owned()));
    (folder, spill)
}

/// Sorts items on a road; gives them by range.
fn sort(
    layout: &Layout,
    ranges: Ranges,
    road: Road,
    items: &[Owned],
    spill: &Arc<Spill>,
) -> Result<Vec<Vec<Owned>>> {
    let sorter = Sorter::with_ranges(layout.clone(), road.buffer_bytes, spill, ranges);
    // Each thread takes every so manyth, so that what one has lies between what another has.
    std::thread::scope(|scope| {
        let push = |thread: usize| {
            let mut buffer = sorter.buffer();
            for item in items.iter().skip(thread).step_by(road.threads) {
                buffer.push(item.item())?;
            }
            buffer.flush()
        };
        let pushing: Vec<_> = (0..road.threads).map(|thread| scope.spawn(move || push(thread))).collect();
        pushing.into_iter().try_for_each(|thread| thread.join().unwrap())
    })?;
    let sorted = sorter.sorted(road.memory_bytes, road.mergers)?;
    assert_eq!(sorted.items(), items.len() as u64);
    let merge = |range: usize| {
        let mut merge = sorted.range(range)?;
        let mut items: Vec<Owned> = Vec::new();
        let mut before = None;
        while let Some(item) = merge.next()?.map(|item| Owned::of(&item)) {
            if let Some((prefix, last)) = before.replace((merge.prefix(), item.clone())) {
                assert!(prefix <= merge.prefix());
                let unequal = prefix != merge.prefix();
                assert!(!unequal || layout.order.compare(&last.item(), &item.item()).is_lt());
            }
            items.push(item);
        }
        assert!(merge.next()?.is_none(), "once at its end it stays there");
        Ok(items)
    };
    std::thread::scope(|scope| {
        let merge = |merger: usize| {
            let mine = (0..sorted.ranges()).filter(move |range| range % road.mergers == merger);
            mine.map(|range| Ok((range, merge(range)?))).collect::<Result<Vec<_>>>()
        };
        let merging: Vec<_> = (0..road.mergers).map(|merger| scope.spawn(move || merge(merger))).collect();
        let mut found = Vec::new();
        for thread in merging {
            found.extend(thread.join().unwrap()?);
        }
        found.sort_by_key(|(range, _)| *range);
        Ok(found.into_iter().map(|(_, items)| items).collect())
    })
}

/// The slow twin.
fn plainly_sorted(layout: &Layout, items: &[Owned]) -> Vec<Owned> {
    let mut items: Vec<Owned> = items.iter().map(|item| Owned::of(&layout.kept(item.item()))).collect();
    items.sort_by(|a, b| layout.order.compare(&a.item(), &b.item()));
    items
}

fn encoded(values: &[Value<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    record::encode(values, &mut bytes);
    bytes
}

/// A value as text of one of many kinds, drawn from few, so that equal ones are common.
fn any_value() -> impl Strategy<Value = Vec<u8>> {
    let int = prop_oneof![
        (-3..3_i64).boxed(),
        any::<i64>().boxed(),
        select(vec![i64::MIN, i64::MAX, (1 << 53) + 1, 1 << 53, -(1 << 53) - 1]).boxed(),
    ];
    let real = prop_oneof![
        (-3..3_i32).prop_map(f64::from).boxed(),
        select(vec![0.5, -0.5, 9_007_199_254_740_992.0, 1e300, -1e300, 5e-324, f64::INFINITY]).boxed(),
        select(vec![9_223_372_036_854_775_808.0, -9_223_372_036_854_775_808.0]).boxed(),
    ];
    let letters = select(b"aAbB \0\x1f\xffz".to_vec());
    let text = prop_oneof![
        4 => vec(letters.clone(), 0..6),
        1 => vec(letters.clone(), 0..200),
        1 => vec(letters.clone(), 0..4).prop_map(|tail| [&[b'/'; 90], &tail[..]].concat()),
        1 => (0..9000_usize, vec(letters, 0..3)).prop_map(|(len, tail)| [&vec![b'x'; len], &tail[..]].concat()),
    ];
    let text = text.boxed();
    prop_oneof![
        1 => Just(encoded(&[Value::Null])),
        3 => int.prop_map(|int| encoded(&[Value::Int(int)])),
        2 => real.prop_map(|real| encoded(&[Value::Real(real)])),
        4 => text.clone().prop_map(|text| encoded(&[Value::Text(&text)])),
        2 => text.prop_map(|blob| encoded(&[Value::Blob(&blob)])),
    ]
}

fn any_record(columns: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(any_value(), columns).prop_map(|values| {
        let values: Vec<_> = values.iter().flat_map(|value| record::decode(value).unwrap()).collect();
        encoded(&values)
    })
}

fn any_items(columns: usize) -> impl Strategy<Value = Vec<Owned>> {
    let rowid = prop_oneof![(-20..20_i64).boxed(), any::<i64>().boxed()];
    let number = prop_oneof![(0..20_u64).boxed(), any::<u64>().boxed()];
    let item = (rowid, number, any_record(columns));
    let item = item.prop_map(|(rowid, number, record)| Owned { rowid, number, record });
    let some = vec(item, 0..200);
    // Many of few, in ascending stretches or not.
    (some, 1..8_usize, any::<bool>()).prop_map(|(mut items, times, ascending): (Vec<Owned>, _, _)| {
        if ascending {
            items.sort_by_key(|item| item.rowid);
        }
        std::iter::repeat_n(items, times).flatten().collect()
    })
}

fn any_column() -> impl Strategy<Value = KeyColumn> {
    (select(vec![Collation::Binary, Collation::NoCase, Collation::RTrim]), any::<bool>())
        .prop_map(|(collation, descending)| KeyColumn { collation, descending })
}

fn any_case() -> impl Strategy<Value = (Layout, Vec<Owned>)> {
    let by_record = (vec(any_column(), 1..4), any::<bool>(), any::<bool>(), 0..2_usize).prop_flat_map(
        |(columns, rowid, number, more)| {
            let items = any_items(columns.len() + more);
            let layout = Layout { order: Order::Record(KeyOrder::new(columns)), rowid, number };
            (Just(layout), items)
        },
    );
    let by_rowid = (any::<bool>(), any_items(1))
        .prop_map(|(number, items)| (Layout { order: Order::Rowid, rowid: true, number }, items));
    prop_oneof![4 => by_record.boxed(), 1 => by_rowid.boxed()]
}

fn any_road() -> impl Strategy<Value = Road> {
    let bytes = |log2: std::ops::Range<u32>| log2.prop_flat_map(|log2| (1_usize << log2)..(2 << log2));
    (bytes(8..20), bytes(8..20), 1..5_usize, 1..4_usize).prop_map(
        |(buffer_bytes, memory_bytes, threads, mergers)| Road {
            buffer_bytes,
            memory_bytes,
            threads,
            mergers,
        },
    )
}

fn any_ranges() -> impl Strategy<Value = Ranges> {
    (8..18_u32, 4..10_u32, select(vec![20, 100, 10_000])).prop_map(|(range, sample, samples_max)| Ranges {
        range_bytes: 1 << range,
        sample_bytes: 1 << sample,
        samples_max,
    })
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn items_come_in_order_and_are_cut_in_the_same_way_on_every_road(
        (layout, items) in any_case(),
        ranges in any_ranges(),
        roads in vec(any_road(), 3),
    ) {
        let (_folder, spill) = spill();
        let expected = sort(&layout, ranges, PLAIN, &items, &spill).unwrap();
        prop_assert_eq!(expected.concat(), plainly_sorted(&layout, &items));
        prop_assert_eq!(expected.is_empty(), items.is_empty());
        for (i, range) in expected.iter().enumerate() {
            let least = if i + 1 < expected.len() { 2 } else { 1 };
            prop_assert!(range.len() >= least);
        }
        let mut backwards = items;
        let bytes: usize = backwards.iter().map(|item| item.record.len() + 50).sum();
        for mut road in roads {
            backwards.reverse();
            // Many runs are slow to write, each on its own, and tell no more than some do.
            road.buffer_bytes = road.buffer_bytes.max(bytes / 30);
            let found = sort(&layout, ranges, road, &backwards, &spill).unwrap();
            prop_assert!(found == expected, "{:?}: cut into {:?} or {:?}", road,
                found.iter().map(Vec::len).collect::<Vec<_>>(), expected.iter().map(Vec::len).collect::<Vec<_>>());
        }
    }
}
