//! Sorts random items with various memory sizes, threads and forms of keys, and compares the results with a sort by comparison.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use sqluice_format::key::{Collation, KeyColumn, KeyOrder, PAIRED_NULL, paired_int};
use sqluice_format::record;
use sqluice_format::value::Value;
use sqluice_testkit::cases;

use super::*;

/// An item that owns the bytes of its record.
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

/// The parameters of a sort, none of which may change the result.
#[derive(Clone, Copy, Debug)]
struct Course {
    buffer_bytes: usize,
    memory_bytes: usize,
    threads: usize,
    ranges_at_once: usize,
    /// `true` if records are pushed as their values, by `push_pair_of`, `push_pairs`, `push_ints` and `push_text`, where possible.
    values: bool,
}

const PLAIN: Course =
    Course { buffer_bytes: 64 << 20, memory_bytes: 64 << 20, threads: 1, ranges_at_once: 1, values: false };

/// Returns the values of a record that has only integers and NULLs, or `None` for any other record.
fn ints(record: &[u8]) -> Option<Vec<Option<i64>>> {
    let values = record::decode(record).unwrap();
    let int = |value: &Value<'_>| match value {
        Value::Null => Some(None),
        Value::Int(int) => Some(Some(*int)),
        _ => None,
    };
    values.iter().map(int).collect()
}

fn spill() -> (tempfile::TempDir, Arc<Spill>) {
    let folder = tempfile::tempdir().unwrap();
    // The first 8 pieces go through the page cache, the others past it, so that both are tested.
    let spill = Arc::new(Spill::with_cached(folder.path().to_owned(), 8 * spill::PIECE_BYTES));
    (folder, spill)
}

/// Sorts items with the parameters of `course`. Returns the sorted items of each range.
fn sort(
    layout: &Layout,
    ranges: Ranges,
    course: Course,
    items: &[Owned],
    spill: &Arc<Spill>,
) -> Result<Vec<Vec<Owned>>> {
    let sorter = Sorter::with_ranges(layout.clone(), course.buffer_bytes, spill, ranges);
    // In the order by bytes, items are no records of values.
    let has_values = course.values && !matches!(layout.order, Order::Bytes);
    // Thread `t` of `n` pushes the items `t`, `t + n`, `t + 2n` and so on, so that the keys of different threads interleave.
    std::thread::scope(|scope| {
        let push = |thread: usize| {
            let mut buffer = sorter.buffer();
            for item in items.iter().skip(thread).step_by(course.threads) {
                let ints = has_values.then(|| ints(&item.record)).flatten();
                let is_pushed = match ints.as_deref() {
                    Some(&[first, second]) if item.record.len() % 2 == 0 => {
                        buffer.push_pair_of([first, second])?
                    }
                    Some(&[first, second])
                        if buffer.takes_pairs() && ![first, second].contains(&Some(i64::MIN)) =>
                    {
                        let half = |int: Option<i64>| int.map_or(PAIRED_NULL, paired_int);
                        buffer.push_pairs(&[half(first)], &[half(second)])?;
                        true
                    }
                    Some(ints) if buffer.takes_ints() => buffer.push_ints(ints)?,
                    _ if has_values => match record::decode(&item.record).unwrap()[..] {
                        [Value::Text(text), Value::Int(int)] => {
                            buffer.push_text(text, (0, text.len()), int)?
                        }
                        _ => false,
                    },
                    _ => false,
                };
                if !is_pushed {
                    buffer.push(item.item())?;
                }
            }
            buffer.flush()
        };
        let pushing: Vec<_> = (0..course.threads).map(|thread| scope.spawn(move || push(thread))).collect();
        pushing.into_iter().try_for_each(|thread| thread.join().unwrap())
    })?;
    let prefetch = Arc::new(Prefetch::new(course.ranges_at_once)?);
    let sorted = sorter.sorted(course.memory_bytes, course.ranges_at_once, &prefetch, &Cancel::new())?;
    assert_eq!(sorted.items(), items.len() as u64);
    let merge = |range: usize| {
        let merge = sorted.range(range)?;
        let mut items: Vec<Owned> = Vec::new();
        let mut before = None;
        merge.try_for_each(|item, prefix| {
            let item = Owned::of(&item);
            if let Some((prefix_before, last)) = before.replace((prefix, item.clone())) {
                assert!(prefix_before <= prefix);
                let unequal = prefix_before != prefix;
                assert!(!unequal || layout.order.compare(&last.item(), &item.item()).is_lt());
            }
            items.push(item);
            Ok(())
        })?;
        Ok(items)
    };
    std::thread::scope(|scope| {
        let merge = |merger: usize| {
            let mine = (0..sorted.ranges()).filter(move |range| range % course.ranges_at_once == merger);
            mine.map(|range| Ok((range, merge(range)?))).collect::<Result<Vec<_>>>()
        };
        let merging: Vec<_> =
            (0..course.ranges_at_once).map(|merger| scope.spawn(move || merge(merger))).collect();
        let mut found = Vec::new();
        for thread in merging {
            found.extend(thread.join().unwrap()?);
        }
        found.sort_by_key(|(range, _)| *range);
        Ok(found.into_iter().map(|(_, items)| items).collect())
    })
}

/// Returns the items that the layout keeps, sorted by comparison: the expected result of the sorter.
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

/// Generates a UUID as text: one of nine UUIDs, so that equal UUIDs occur, or any.
fn any_uuid() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![(0..9_u128).boxed(), any::<u128>().boxed()];
    number.prop_map(|number| {
        let hex = format!("{number:032x}");
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-").into_bytes()
    })
}

/// Generates a record of one value of any type. Most values are drawn from a few, so that equal values are common.
fn any_value() -> impl Strategy<Value = Vec<u8>> {
    let int = prop_oneof![
        (-3..3_i64).boxed(),
        any::<i64>().boxed(),
        select(vec![i64::MIN, i64::MAX, (1 << 53) + 1, 1 << 53, -(1 << 53) - 1]).boxed(),
        select(vec![i64::from(u32::MAX) - 1, i64::from(u32::MAX)]).boxed(),
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
    let text = prop_oneof![9 => text, 1 => any_uuid()].boxed();
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
    // The generated items are repeated up to 7 times, to have many duplicates. In some cases they are sorted by rowid before, so that the
    // items ascend in stretches.
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
    // Values of records that are key-only, such as integers and short text. One record that is not key-only may later be put among them.
    let short = prop_oneof![
        4 => (-70_000..70_000_i64).prop_map(|int| encoded(&[Value::Int(int)])),
        2 => any::<i64>().prop_map(|int| encoded(&[Value::Int(int)])),
        1 => Just(encoded(&[Value::Null])),
        2 => vec(select(b"aAb \0\x01\xff".to_vec()), 0..4).prop_map(|text| encoded(&[Value::Text(&text)])),
        2 => vec(select(b"ab\x01".to_vec()), 6..24).prop_map(|text| encoded(&[Value::Text(&text)])),
        1 => vec(any::<u8>(), 0..3).prop_map(|blob| encoded(&[Value::Blob(&blob)])),
    ];
    // Values that fit into 32 bits, so that a record of two of them has a key of the form `Short`.
    let small = prop_oneof![
        4 => (0..70_000_i64).prop_map(|int| encoded(&[Value::Int(int)])),
        1 => select(vec![-1, 0, 1, i64::from(u32::MAX) - 1]).prop_map(|int| encoded(&[Value::Int(int)])),
        1 => Just(encoded(&[Value::Null])),
    ];
    let uuid = any_uuid().prop_map(|text| encoded(&[Value::Text(&text)]));
    let by_uuid =
        (uuid, short.clone(), small.clone()).prop_map(|(uuid, short, small)| match short.len() % 8 {
            0 => vec![uuid, short],
            _ => vec![uuid, small],
        });
    let records = prop_oneof![vec(vec(short, 3), 0..400), vec(vec(small, 3), 0..400), vec(by_uuid, 0..400)];
    let decodable = (vec(any::<bool>(), 1..4), any_record(1), any::<prop::sample::Index>(), any::<bool>());
    let by_decodable = (decodable, records).prop_map(|((columns, other, place, mixed), records)| {
        let of = |values: &[Vec<u8>]| {
            let values: Vec<_> = values.iter().flat_map(|value| record::decode(value).unwrap()).collect();
            Owned { rowid: 0, number: 0, record: encoded(&values) }
        };
        // The key has 1 to 3 columns, but no more than the records. `taken` is the number of columns of the records. They have only the
        // columns of the key, or two columns of which one or both are the key.
        let columns_max = records.first().map_or(3, Vec::len);
        let columns = columns[..columns.len().min(columns_max)].to_vec();
        let taken = if mixed && columns_max == 2 { 2 } else { columns.len() };
        let mut items: Vec<Owned> = records.iter().map(|record| of(&record[..taken])).collect();
        if mixed && !items.is_empty() {
            let place = place.index(2 * items.len());
            if let Some(item) = items.get_mut(place) {
                *item = of(&vec![other; taken]);
            }
        }
        let column = |descending| KeyColumn { descending, ..KeyColumn::default() };
        let order = KeyOrder::new(columns.into_iter().map(column).collect::<Vec<_>>());
        (Layout { order: Order::Record(order), rowid: false, number: false }, items)
    });
    let by_rowid = (any::<bool>(), any_items(1))
        .prop_map(|(number, items)| (Layout { order: Order::Rowid, rowid: true, number }, items));
    // Few different keys, some of which begin with others, with long parts that are equal.
    let key = (vec(select(vec![0, b'a', 0xff]), 0..4), select(vec![0, 13, 14, 40, 90]));
    let by_bytes = (any_items(1), vec(key, 1..9)).prop_map(|(mut items, keys)| {
        for (number, item) in items.iter_mut().enumerate() {
            let (end, start) = &keys[number % keys.len()];
            let key = [&vec![b'a'; *start][..], end].concat();
            item.record = [&[key.len() as u8], &key[..], &item.record].concat();
        }
        (Layout { order: Order::Bytes, rowid: true, number: false }, items)
    });
    prop_oneof![4 => by_record.boxed(), 2 => by_decodable.boxed(), 1 => by_rowid.boxed(), 1 => by_bytes.boxed()]
}

fn any_course() -> impl Strategy<Value = Course> {
    let bytes = |log2: std::ops::Range<u32>| log2.prop_flat_map(|log2| (1_usize << log2)..(2 << log2));
    (bytes(8..20), bytes(8..20), 1..5_usize, 1..4_usize, any::<bool>()).prop_map(
        |(buffer_bytes, memory_bytes, threads, ranges_at_once, values)| Course {
            buffer_bytes,
            memory_bytes,
            threads,
            ranges_at_once,
            values,
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
    #![proptest_config(cases(32))]

    #[test]
    fn a_sort_gives_the_same_order_and_ranges_for_any_threads_memory_and_order_of_items(
        (layout, items) in any_case(),
        ranges in any_ranges(),
        courses in vec(any_course(), 3),
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
        for mut course in courses {
            backwards.reverse();
            // At most about 30 runs are spilled: more are slow to write, and test nothing else.
            course.buffer_bytes = course.buffer_bytes.max(bytes / 30);
            let found = sort(&layout, ranges, course, &backwards, &spill).unwrap();
            prop_assert!(found == expected, "{:?}: cut into {:?} or {:?}", course,
                found.iter().map(Vec::len).collect::<Vec<_>>(), expected.iter().map(Vec::len).collect::<Vec<_>>());
        }
    }
}

fn by_number() -> Layout {
    Layout { order: Order::Record(KeyOrder::new([KeyColumn::default()])), rowid: true, number: true }
}

/// Returns `count` items: the record of item `n` is the text `key(n)`.
fn items_with(count: u64, key: impl Fn(u64) -> Vec<u8>) -> Vec<Owned> {
    (0..count)
        .map(|number| Owned {
            rowid: -(number as i64),
            number,
            record: encoded(&[Value::Text(&key(number))]),
        })
        .collect()
}

/// Returns a pseudo-random number that depends only on `number`.
fn scrambled(number: u64) -> u64 {
    let product = u128::from(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    (product >> 50) as u64
}

#[test]
fn many_items_are_sorted_whatever_their_keys_have_in_common() {
    let (_folder, spill) = spill();
    let small =
        Course { buffer_bytes: 1 << 20, memory_bytes: 1 << 20, threads: 2, ranges_at_once: 2, ..PLAIN };
    let keys: [&dyn Fn(u64) -> Vec<u8>; 5] = [
        &|number| format!("{:06}", scrambled(number) % 1_000_000).into_bytes(),
        &|number| format!("https://www.example.com/{:x}", scrambled(number)).into_bytes(),
        &|number| scrambled(number % 50).to_be_bytes().to_vec(),
        &|number| number.to_be_bytes().to_vec(),
        &|_| b"always the same, and too long for one prefix".to_vec(),
    ];
    for key in keys {
        let items = items_with(150_000, key);
        let sorted = plainly_sorted(&by_number(), &items);
        for course in [PLAIN, small] {
            let found = sort(&by_number(), Ranges::default(), course, &items, &spill).unwrap().concat();
            assert!(found == sorted);
        }
    }
}

#[test]
fn many_key_only_items_are_sorted() {
    let (_folder, spill) = spill();
    let small =
        Course { buffer_bytes: 1 << 20, memory_bytes: 1 << 20, threads: 2, ranges_at_once: 2, ..PLAIN };
    let courses = [PLAIN, small, Course { values: true, ..small }];
    let ranges = Ranges { range_bytes: 256 << 10, sample_bytes: 1 << 10, samples_max: 10_000 };
    let two = |a: i64, b: u64| encoded(&[Value::Int(a), Value::Int(b as i64)]);
    let text = |text: String, n: u64| encoded(&[Value::Text(text.as_bytes()), Value::Int(n as i64)]);
    let moment = |n: u64| {
        let (minute, day) = (scrambled(n) % 1440, scrambled(n) / 1440 % 60);
        format!("2024-{:02}-{:02} {:02}:{:02}:07", 1 + day / 30, 1 + day % 30, minute / 60, minute % 60)
    };
    // Each function makes records of two values.
    let records: [&dyn Fn(u64) -> Vec<u8>; 8] = [
        // A reference and a rowid.
        &|n| two(scrambled(n) as i64 % 1000, n),
        // A rowid and a reference, so the records are in order already.
        &|n| two(n as i64, scrambled(n) % 1000),
        // Integers of 64 bits, so that the keys differ in more than 64 bits.
        &|n| two((scrambled(n) as i64).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64.cast_signed()), n),
        // Text whose key has two words.
        &|n| text(moment(n), n),
        // Integers, and one text in 7000 records.
        &|n| if n % 7000 == 6999 { text(moment(n), n) } else { two(scrambled(n) as i64, n) },
        // Text of any length whose key has at most two words.
        &|n| text(moment(n)[..scrambled(n) as usize % 19].to_owned(), n),
        // Powers of two, whose keys end with zero bytes, and at the end text whose key has one word.
        &|n| match 1_i64 << (n / 63 % 63) {
            _ if n >= 149_000 => text("short".to_owned(), n),
            power if n % 2 == 0 => two(1 << (n % 63), power as u64),
            power => two(1 << (n % 63), -power as u64),
        },
        // UUIDs.
        &|n| text(format!("{:08x}-9a3b-4c5d-8e6f-{:012x}", scrambled(n) as u32, n % 7), n),
    ];
    // `other` is the REAL of a last record. A REAL can't be restored from its key, so all keys of its buffer become full items.
    for ((record, descending), other) in records
        .into_iter()
        .zip([
            [false; 2],
            [true, false],
            [true; 2],
            [false, true],
            [true; 2],
            [false, true],
            [true; 2],
            [false, true],
        ])
        .zip([None, Some(0.5), None, None, None, Some(0.5), None, None])
    {
        let columns = descending.map(|descending| KeyColumn { descending, ..KeyColumn::default() });
        let layout = Layout { order: Order::Record(KeyOrder::new(columns)), rowid: false, number: false };
        let other = other.map(|real| encoded(&[Value::Real(real), Value::Int(0)]));
        let items: Vec<Owned> = (0..150_000)
            .map(record)
            .chain(other)
            .map(|record| Owned { rowid: 0, number: 0, record })
            .collect();
        let sorted = plainly_sorted(&layout, &items);
        let expected = sort(&layout, ranges, PLAIN, &items, &spill).unwrap();
        assert!(expected.len() > 2 && expected.concat() == sorted);
        for course in courses {
            assert!(sort(&layout, ranges, course, &items, &spill).unwrap() == expected, "{course:?}");
        }
    }
}

#[test]
fn keys_that_share_most_of_their_bits_are_spilled_in_half_their_bytes() {
    let (_folder, spill) = spill();
    let order = KeyOrder::new([KeyColumn::default(); 2]);
    let layout = Layout { order: Order::Record(order), rowid: false, number: false };
    let record = |n: u64| {
        let text = format!("{:06}", scrambled(n) % 1_000_000);
        encoded(&[Value::Text(text.as_bytes()), Value::Int(n as i64)])
    };
    let items: Vec<Owned> = (0..100_000).map(|n| Owned { rowid: 0, number: 0, record: record(n) }).collect();
    let course = Course { buffer_bytes: 1 << 20, memory_bytes: 128 << 10, threads: 2, ..PLAIN };
    let found = sort(&layout, Ranges::default(), course, &items, &spill).unwrap().concat();
    assert!(found == plainly_sorted(&layout, &items));
    let spilled = spill.end() as usize / items.len();
    assert!((8..12).contains(&spilled), "{spilled} bytes a key");
}

#[test]
fn the_ranges_that_a_sort_returns_have_about_the_requested_size() {
    let (_folder, spill) = spill();
    let ranges = Ranges { range_bytes: 32 << 10, sample_bytes: 1 << 10, samples_max: 1000 };
    let items = items_with(40_000, |number| format!("{:08x}", scrambled(number)).into_bytes());
    let bytes: u64 = items.iter().map(|item| by_number().item_bytes(&item.item())).sum();
    let found = sort(&by_number(), ranges, PLAIN, &items, &spill).unwrap();
    let asked = (bytes / ranges.range_bytes) as usize;
    assert!((asked / 2..2 * asked).contains(&found.len()), "{} instead of {asked}", found.len());
    // If the sample may have only 64 items, there are fewer ranges, because each range needs a minimum of sampled items.
    let ranges = Ranges { samples_max: 64, ..ranges };
    let found = sort(&by_number(), ranges, PLAIN, &items, &spill).unwrap();
    assert!((2..5).contains(&found.len()), "{}", found.len());
}

#[test]
fn items_with_equal_keys_are_in_the_same_range_of_a_sort() {
    let (_folder, spill) = spill();
    let ranges = Ranges { range_bytes: 1 << 10, sample_bytes: 16, samples_max: 10_000 };
    let items = items_with(5_000, |number| (scrambled(number) % 40).to_string().into_bytes());
    let found = sort(&by_number(), ranges, PLAIN, &items, &spill).unwrap();
    assert!(found.len() > 20);
    for neighbours in found.windows(2) {
        assert_ne!(neighbours[0].last().unwrap().record, neighbours[1][0].record);
    }
}

#[test]
fn a_cancelled_sort_ends_before_runs_are_merged() {
    let (_folder, spill) = spill();
    let sorter = Sorter::new(by_number(), 20_000, &spill);
    let mut buffer = sorter.buffer();
    for item in items_with(20_000, |number| scrambled(number).to_be_bytes().to_vec()) {
        buffer.push(item.item()).unwrap();
    }
    buffer.flush().unwrap();
    let (prefetch, cancel) = (Arc::new(Prefetch::new(1).unwrap()), Cancel::new());
    cancel.cancel();
    let error = sorter.sorted(20_000, 1, &prefetch, &cancel).err().expect("it is not sorted");
    assert_eq!(error.kind(), sqluice_core::error::ErrorKind::Interrupted);
}

#[test]
fn a_sort_creates_no_file_if_all_items_fit_in_memory() {
    let spill = Arc::new(Spill::new("/nonexistent".into()));
    let items = items_with(1000, |number| scrambled(number).to_be_bytes().to_vec());
    let course = Course { threads: 3, ..PLAIN };
    let found = sort(&by_number(), Ranges::default(), course, &items, &spill).unwrap().concat();
    assert_eq!(found, plainly_sorted(&by_number(), &items));
}

#[test]
fn an_unusable_temporary_folder_is_named_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let items = items_with(1000, |number| scrambled(number).to_be_bytes().to_vec());
    let missing = folder.path().join("missing");
    for wrong in [&missing, &file, &file.join("below")] {
        let spill = Arc::new(Spill::new(wrong.clone()));
        for (buffer_bytes, memory_bytes) in [(10_000, 1 << 20), (1 << 20, 10_000)] {
            let course = Course { buffer_bytes, memory_bytes, ..PLAIN };
            let error = sort(&by_number(), Ranges::default(), course, &items, &spill).unwrap_err();
            assert_eq!(error.kind(), sqluice_core::error::ErrorKind::Target);
            let expected = format!("cannot create a temporary file for sorting in {}", wrong.display());
            assert_eq!(error.message(), expected);
            assert!(error.hint_text().unwrap().contains("`temp_dir`"), "{error:?}");
        }
    }
}

#[test]
fn the_temporary_file_of_a_sort_has_no_name_and_the_sort_reuses_its_space() {
    let (folder, spill) = spill();
    let items = items_with(20_000, |number| scrambled(number).to_be_bytes().to_vec());
    let course =
        Course { buffer_bytes: 100_000, memory_bytes: 100_000, threads: 2, ranges_at_once: 2, ..PLAIN };
    let mut ends = Vec::new();
    for _ in 0..3 {
        sort(&by_number(), Ranges::default(), course, &items, &spill).unwrap();
        if cfg!(unix) {
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
        ends.push(spill.end());
    }
    // On systems where a temporary file must have a name, the file is removed when it is closed.
    drop(spill);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(ends[0] > 0);
    // Two threads take pieces in any order, so the space is not exactly the same each time. Without reuse, it would be three times as
    // large.
    assert!(ends[2] < 2 * ends[0], "{ends:?}");
}

#[test]
fn records_larger_than_all_buffers_are_spilled_and_sorted() {
    let (_folder, spill) = spill();
    let course =
        Course { buffer_bytes: 8 << 10, memory_bytes: 64 << 10, threads: 2, ranges_at_once: 2, ..PLAIN };
    let items = items_with(20, |number| vec![b'a' + (scrambled(number) % 26) as u8; 300_000]);
    let found = sort(&by_number(), Ranges::default(), course, &items, &spill).unwrap().concat();
    assert!(found == plainly_sorted(&by_number(), &items));
}
