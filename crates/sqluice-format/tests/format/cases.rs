//! Layouts of pages, cells, records and headers, byte by byte as SQLite's documentation describes them.

use crate::support::*;
use sqluice_format::aligned::ALIGNMENT;
use sqluice_format::cell::{self, Split};
use sqluice_format::chunk::{Chunk, Leaf, Link, Run};
use sqluice_format::database::{Header, HeaderError, SchemaEntry, write_schema};
use sqluice_format::page::{self, Geometry, PageKind, PageSize};
use sqluice_format::record::{self, RecordError};
use sqluice_format::tree::{self, Child, TableTree};
use sqluice_format::value::{Class, SerialType, Value};
use sqluice_format::varint;

fn pushed(value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    varint::push(&mut out, value);
    out
}

fn encoded(values: &[Value<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    record::encode(values, &mut out);
    out
}

#[test]
fn the_varint_examples_of_sqlites_source_are_read_and_written() {
    let examples: [(&[u8], u64); 7] = [
        (&[0x00], 0),
        (&[0x7f], 127),
        (&[0x81, 0x00], 128),
        (&[0x82, 0x00], 256),
        (&[0x80, 0x7f], 127),
        (&[0x81, 0x91, 0xd1, 0xac, 0x78], 0x1234_5678),
        (&[0x81, 0x81, 0x81, 0x81, 0x01], 0x1020_4081),
    ];
    for (bytes, value) in examples {
        assert_eq!(varint::read(bytes), Some((value, bytes.len())));
        if bytes[0] != 0x80 {
            assert_eq!(pushed(value), bytes);
        }
    }
}

#[test]
fn each_byte_of_a_varint_has_seven_bits_and_the_ninth_has_eight() {
    for n in 1..=8u32 {
        let largest = (1u64 << (7 * n)) - 1;
        for (value, len) in [(largest, n as usize), (largest + 1, n as usize + 1)] {
            assert_eq!((varint::len(value), pushed(value).len()), (len, len), "{value}");
            assert_eq!(varint::read(&pushed(value)), Some((value, len)));
        }
    }
    assert_eq!(pushed(u64::MAX), [0xff; 9]);
    assert_eq!(pushed(i64::MIN as u64), [0xc0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00]);
    assert_eq!(varint::len(0), 1);
}

#[test]
fn a_varint_that_is_cut_off_is_none() {
    for value in [1u64 << 7, 1 << 40, u64::MAX] {
        let bytes = pushed(value);
        for n in 0..bytes.len() {
            assert_eq!(varint::read(&bytes[..n]), None);
        }
    }
}

#[test]
fn a_serial_type_gives_the_class_and_size_of_its_value() {
    let fixed = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0].map(Some);
    for (serial, bytes) in fixed.into_iter().enumerate() {
        assert_eq!(SerialType(serial as u64).content_bytes(), bytes, "{serial}");
    }
    let classes = |types: &[u64]| types.iter().map(|&t| SerialType(t).class()).collect::<Vec<_>>();
    assert_eq!(classes(&[0, 7, 10, 11]), [Some(Class::Null), Some(Class::Real), None, None]);
    assert!(classes(&[1, 2, 3, 4, 5, 6, 8, 9]).iter().all(|&class| class == Some(Class::Int)));
    assert_eq!(classes(&[12, 13, 14, 15]), [Class::Blob, Class::Text, Class::Blob, Class::Text].map(Some));
    for bytes in [0, 1, 57, 1000] {
        assert_eq!(SerialType::of_text(bytes), SerialType(bytes as u64 * 2 + 13));
        assert_eq!(SerialType::of_blob(bytes), SerialType(bytes as u64 * 2 + 12));
        assert_eq!(SerialType::of_text(bytes).content_bytes(), Some(bytes as u64));
        assert_eq!(SerialType::of_blob(bytes).content_bytes(), Some(bytes as u64));
    }
    assert_eq!(SerialType(10).content_bytes(), None);
    assert_eq!(SerialType(11).content_bytes(), None);
}

#[test]
fn an_integer_takes_the_narrowest_serial_type() {
    assert_eq!([0, 1, 2, -1].map(SerialType::of_int), [8, 9, 1, 1].map(SerialType));
    for (bits, narrow, wide) in [(7, 1, 2), (15, 2, 3), (23, 3, 4), (31, 4, 5), (47, 5, 6)] {
        let limit = 1i64 << bits;
        assert_eq!([limit - 1, -limit].map(SerialType::of_int), [SerialType(narrow); 2]);
        assert_eq!([limit, -limit - 1].map(SerialType::of_int), [SerialType(wide); 2]);
    }
    assert_eq!([i64::MIN, i64::MAX].map(SerialType::of_int), [SerialType(6); 2]);
}

#[test]
fn a_record_is_a_header_of_serial_types_and_then_the_values() {
    let values =
        [Value::Null, Value::Int(1), Value::Int(-2), Value::Real(1.5), Value::Text(b"ab"), Value::Blob(b"c")];
    let bytes = [&[7, 0, 9, 1, 7, 17, 14, 0xfe, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0][..], b"abc"].concat();
    assert_eq!(encoded(&values), bytes);
    assert_eq!(record::decode(&bytes), Ok(values.to_vec()));
}

#[test]
fn the_header_size_of_a_record_includes_its_own_bytes() {
    for (types, header) in [(0, 1), (1, 2), (126, 127), (127, 129), (16381, 16383), (16382, 16385)] {
        assert_eq!(record::header_bytes(types), header, "{types}");
        let bytes = encoded(&vec![Value::Null; types]);
        assert_eq!(varint::read(&bytes), Some((header as u64, header - types)));
        assert_eq!(record::decode(&bytes).unwrap().len(), types);
    }
}

#[test]
fn bytes_that_are_no_record_are_refused() {
    let refused: [(&[u8], RecordError); 10] = [
        (&[], RecordError::Header),
        (&[0x81], RecordError::Header),
        (&[3, 0], RecordError::Header),
        (&[2, 0x81, 0x00], RecordError::Header),
        (&[2, 10], RecordError::ReservedType),
        (&[2, 11], RecordError::ReservedType),
        (&[2, 1], RecordError::Body),
        (&[2, 1, 0, 0], RecordError::Body),
        (&[2, 0, 0], RecordError::Body),
        // The varint with the size of the header is longer than the header.
        (&[0x80, 0x01], RecordError::Header),
    ];
    for (bytes, error) in refused {
        assert_eq!(record::decode(bytes), Err(error), "{bytes:?}");
    }
}

#[test]
#[should_panic(expected = "NaN")]
fn encoding_a_nan_panics() {
    encoded(&[Value::Real(f64::NAN)]);
}

#[test]
fn page_sizes_are_the_powers_of_two_from_512_to_65536() {
    let legal: Vec<u32> = (0..200_000).filter(|&bytes| PageSize::new(bytes).is_some()).collect();
    assert_eq!(legal, PAGE_SIZES);
    for bytes in PAGE_SIZES {
        let size = PageSize::new(bytes).unwrap();
        assert_eq!(size.bytes(), bytes as usize);
        assert_eq!(u32::from(size.to_header()), if bytes == 65536 { 1 } else { bytes });
        assert_eq!(PageSize::from_header(size.to_header()), Some(size));
    }
    assert_eq!(PageSize::from_header(0), None);
    assert_eq!(PageSize::DEFAULT.bytes(), 4096);
}

#[test]
fn at_least_480_bytes_of_a_page_are_usable() {
    let size = PageSize::new(512).unwrap();
    assert_eq!(Geometry::new(size, 33), None);
    let geometry = Geometry::new(size, 32).unwrap();
    assert_eq!((geometry.usable_bytes(), geometry.page_bytes(), geometry.reserved_bytes()), (480, 512, 32));
    assert_eq!(geometry.page_size(), size);
    assert!(Geometry::new(PageSize::new(1024).unwrap(), 255).is_some());
}

#[test]
fn the_page_of_the_lock_byte_is_left_out() {
    for bytes in PAGE_SIZES {
        let lock = geometry(bytes, 0).lock_page();
        assert_eq!(u64::from(lock - 1) * u64::from(bytes), 1 << 30);
    }
    let geometry = geometry(512, 0).with_pending_byte(512 * 9 + 3);
    assert_eq!(geometry.lock_page(), 10);
    assert_eq!([9, 10, 11].map(|n| geometry.skip_lock_page(n)), [9, 11, 11]);
    assert_eq!([0, 1, 2, 3].map(|i| geometry.nth_page(8, i)), [8, 9, 11, 12]);
    assert_eq!([0, 1].map(|i| geometry.nth_page(11, i)), [11, 12]);
    assert_eq!([0, 1].map(|i| geometry.nth_page(10, i)), [11, 12]);
    assert_eq!([1, 2, 11].map(|n| geometry.offset(n)), [0, 512, 5120]);
}

#[test]
fn page_kinds_are_the_bytes_2_5_10_and_13() {
    let kinds: Vec<(u8, PageKind)> =
        (0..=255).filter_map(|byte| PageKind::from_byte(byte).map(|kind| (byte, kind))).collect();
    use PageKind::{InteriorIndex, InteriorTable, LeafIndex, LeafTable};
    assert_eq!(kinds, [(2, InteriorIndex), (5, InteriorTable), (10, LeafIndex), (13, LeafTable)]);
    let headers = kinds.iter().map(|(_, kind)| (kind.is_leaf(), kind.header_bytes()));
    assert_eq!(headers.collect::<Vec<_>>(), [(false, 12), (false, 12), (true, 8), (true, 8)]);
}

#[test]
fn a_page_header_has_kind_freeblock_cell_count_content_start_and_fragments() {
    let mut page = [0xff; 12];
    page::write_header(&mut page, PageKind::LeafTable, 0x102, 0x304);
    assert_eq!(page, [13, 0, 0, 1, 2, 3, 4, 0, 0xff, 0xff, 0xff, 0xff]);
    page::write_header(&mut page, PageKind::LeafTable, 0, 65536);
    assert_eq!(page[..8], [13, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn payloads_overflow_where_the_format_says() {
    // 4096 bytes: X = 4061, M = (4084 * 32 / 255) - 23 = 489, pages of 4092.
    let geometry = geometry(4096, 0);
    assert_eq!((cell::table_leaf_local_max(geometry), cell::overflow_page_payload(geometry)), (4061, 4092));
    assert_eq!(cell::index_local_max(geometry), 4084 * 64 / 255 - 23);
    let split = |payload| {
        let Split { local, overflow_pages } = cell::table_leaf_split(payload, geometry);
        (local, overflow_pages)
    };
    assert_eq!(split(4061), (4061, 0));
    assert_eq!(split(4062), (489, 1));
    assert_eq!(split(489 + 4092), (489, 1));
    assert_eq!(split(490 + 4092), (490, 1));
    assert_eq!(split(4061 + 4092), (4061, 1));
    assert_eq!(split(4062 + 4092), (489, 2));
    let split = |payload| {
        let Split { local, overflow_pages } = cell::index_split(payload, geometry);
        (local, overflow_pages)
    };
    assert_eq!(split(1002), (1002, 0));
    assert_eq!(split(1003), (489, 1));
    assert_eq!(split(1002 + 4092), (1002, 1));
    assert_eq!(split(1003 + 4092), (489, 2));
}

#[test]
fn cell_sizes_count_varints_payloads_and_child_numbers() {
    assert_eq!(cell::table_leaf_bytes(100, 1), 1 + 1 + 100);
    assert_eq!(cell::table_leaf_bytes(200, -1), 2 + 9 + 200);
    assert_eq!(cell::table_interior_bytes(127), 5);
    assert_eq!(cell::table_interior_bytes(-1), 13);
}

#[test]
fn a_chunk_of_pages_lists_leaves_and_links_to_overflow_pages() {
    let geometry = geometry(512, 0);
    let mut chunk = Chunk::new(geometry, 8);
    assert!(chunk.is_empty());
    assert!(chunk.push(17, &record_of(1100, 1)));
    assert_eq!(chunk.finished_pages(), 0);
    assert!(chunk.push(240, &record_of(450, 2)));
    assert_eq!((chunk.page_count(), chunk.finished_pages(), chunk.rows()), (4, 3, 2));
    chunk.finish();
    assert_eq!((chunk.finished_pages(), chunk.is_empty()), (4, false));
    assert_eq!(chunk.leaves(), [Leaf { page: 0, last_rowid: 17 }, Leaf { page: 3, last_rowid: 240 }]);
    assert_eq!(chunk.links(), [Link { at: 508, to: 1 }, Link { at: 512, to: 2 }]);
    assert_eq!(chunk.bytes().as_ptr().align_offset(ALIGNMENT), 0);
    chunk.relocate(70_000);
    assert_eq!(chunk.bytes()[508..512], 70_001u32.to_be_bytes());
    assert_eq!(chunk.bytes()[512..516], 70_002u32.to_be_bytes());
    assert_eq!(chunk.bytes()[1024..1028], [0; 4]);
    // Leaf 0: one cell, which ends at the end of the page.
    let local = cell::table_leaf_split(1100, geometry).local;
    let content = 512 - (2 + 1 + local + 4);
    let start = [13, 0, 0, 0, 1, (content >> 8) as u8, content as u8, 0, (content >> 8) as u8, content as u8];
    assert_eq!(chunk.bytes()[..10], start);
    assert!(chunk.bytes()[10..content].iter().all(|&byte| byte == 0));
    assert_eq!(chunk.bytes()[content..content + 3], [0x88, 0x4c, 17]);
    // The chunk can be placed a second time.
    chunk.relocate(5);
    assert_eq!(chunk.bytes()[508..512], 6u32.to_be_bytes());
}

#[test]
fn a_full_chunk_of_pages_refuses_cells_that_need_a_further_page() {
    let geometry = geometry(512, 0);
    // 12 cells of 40 bytes fill a leaf: 8 + 12 * 42 = 512.
    let mut chunk = Chunk::new(geometry, 2);
    for rowid in 1..=24 {
        assert!(chunk.place(40, rowid).is_some());
    }
    assert_eq!((chunk.place(40, 25), chunk.page_count(), chunk.rows()), (None, 2, 24));
    assert!(!chunk.push(25, &record_of(38, 0)));
    chunk.clear();
    let mut runs = Vec::new();
    assert_eq!(chunk.place_run(40, 1, 30, &mut runs), 24);
    assert_eq!(runs, [Run { start: 32, rows: 12 }, Run { start: 544, rows: 12 }]);
    assert_eq!((chunk.place_run(40, 25, 6, &mut runs), chunk.rows(), runs.len()), (0, 24, 2));
    chunk.clear();
    let mut places = [0; 30];
    assert_eq!(chunk.place_each(&[40; 30], |row| row as i64, &mut places), 24);
    assert_eq!((places[0], places[11], places[12], places[23]), (472, 32, 984, 544));
    assert_eq!((chunk.place_each(&[40; 30], |row| row as i64, &mut places), chunk.rows()), (0, 24));
    // Pages of an overflow chain count too.
    chunk.clear();
    assert!(chunk.push(1, &record_of(500, 0)));
    assert!(!chunk.push(2, &record_of(500, 0)));
    assert!(chunk.push(2, &record_of(50, 0)));
    // A record of 500 bytes takes a cell of 46 bytes, a cell pointer, and an overflow page. It fits on this leaf, or needs one page too
    // many.
    for (taken, fits) in [(454, true), (455, false)] {
        chunk.clear();
        assert!(chunk.place(taken, 1).is_some());
        assert_eq!(chunk.push(2, &record_of(500, 0)), fits);
    }
}

#[test]
fn an_empty_chunk_of_pages_takes_a_row_of_any_size() {
    let mut chunk = Chunk::new(geometry(512, 0), 2);
    assert!(chunk.push(1, &record_of(100_000, 7)));
    assert_eq!(chunk.page_count(), 1 + 196);
    // A chunk over its capacity takes a record that needs no further page. `push` and `place` refuse every other record.
    assert!(chunk.push(2, &record_of(2, 7)) && chunk.place(4, 3).is_some());
    assert!(!chunk.push(4, &record_of(470, 7)) && !chunk.push(4, &record_of(600, 7)));
    assert!(chunk.place(470, 4).is_none());
    chunk.finish();
    chunk.clear();
    assert_eq!((chunk.page_count(), chunk.rows(), chunk.leaves(), chunk.links()), (0, 0, &[][..], &[][..]));
    assert!(chunk.bytes_mut().is_empty());
    assert!(chunk.push(1, &record_of(10, 7)));
    assert_eq!(chunk.bytes().as_ptr().align_offset(ALIGNMENT), 0);
}

#[test]
#[should_panic(expected = "fits no leaf")]
fn a_cell_larger_than_a_leaf_is_refused() {
    let mut chunk = Chunk::new(geometry(512, 0), 2);
    assert!(chunk.place(512 - 8 - 2, 1).is_some());
    chunk.place(512 - 8 - 1, 2);
}

#[test]
#[should_panic(expected = "fits no leaf")]
fn a_run_of_cells_larger_than_a_leaf_is_refused() {
    Chunk::new(geometry(512, 0), 2).place_run(503, 1, 2, &mut Vec::new());
}

#[test]
#[should_panic(expected = "room for a page")]
fn a_chunk_of_no_pages_is_refused() {
    Chunk::new(geometry(512, 0), 0);
}

#[test]
fn a_run_may_end_at_the_largest_rowid() {
    let mut chunk = Chunk::new(geometry(512, 0), 2);
    assert_eq!(chunk.place_run(40, i64::MAX - 1, 2, &mut Vec::new()), 2);
    chunk.finish();
    assert_eq!(chunk.leaves(), [Leaf { page: 0, last_rowid: i64::MAX }]);
}

#[test]
fn an_interior_page_has_its_children_and_their_last_rowids() {
    let geometry = geometry(512, 2);
    let children = [(7, 100), (8, 300), (9, i64::MAX)].map(|(page, last_rowid)| Child { page, last_rowid });
    let mut page = vec![0xff; 512];
    tree::write_interior(&mut page, 0, geometry, &children);
    assert_eq!(page[..16], [5, 0, 0, 0, 2, 1, 243, 0, 0, 0, 0, 9, 1, 249, 1, 243]);
    assert!(page[16..499].iter().all(|&byte| byte == 0));
    assert_eq!(page[499..], [0, 0, 0, 8, 0x82, 0x2c, 0, 0, 0, 7, 100, 0, 0]);
    // Page 1 may have a single child, and its first 100 bytes are not changed.
    let mut page = vec![0xff; 512];
    tree::write_interior(&mut page, 100, geometry, &children[2..]);
    assert_eq!(page[98..112], [0xff, 0xff, 5, 0, 0, 0, 0, 1, 254, 0, 0, 0, 0, 9]);
}

#[test]
#[should_panic(expected = "needs two children")]
fn an_interior_page_with_one_child_is_refused() {
    tree::write_interior(&mut [0; 512], 0, geometry(512, 0), &[Child { page: 2, last_rowid: 1 }]);
}

#[test]
fn an_interior_page_can_be_filled_to_the_last_byte() {
    // (512 - 12) / 10 = 50 cells, and the right-most child: a rowid of 4 bytes.
    let children: Vec<Child> =
        (0..52).map(|i| Child { page: i + 2, last_rowid: i64::from(i) + (1 << 21) }).collect();
    let mut page = vec![0; 512];
    tree::write_interior(&mut page, 0, geometry(512, 0), &children[..51]);
    assert_eq!(page[3..7], [0, 50, 0, 112]);
    let too_many = std::panic::catch_unwind(move || {
        tree::write_interior(&mut page, 0, geometry(512, 0), &children);
    });
    assert!(too_many.is_err());
}

#[test]
#[should_panic(expected = "at least one leaf")]
fn a_tree_without_leaves_is_refused() {
    TableTree::new(geometry(512, 0)).finish(&mut Pages::new(geometry(512, 0)));
}

#[test]
fn the_file_header_has_the_fields_where_the_format_says() {
    let header = Header {
        geometry: geometry(65536, 7),
        write_version: 2,
        read_version: 3,
        change_counter: 0x0102_0304,
        page_count: 5,
        freelist_trunk: 6,
        freelist_pages: 7,
        schema_cookie: 8,
        schema_format: 9,
        default_cache_size: 17,
        largest_root: 10,
        text_encoding: 11,
        user_version: 12,
        incremental_vacuum: 13,
        application_id: 14,
        valid_for: 15,
        sqlite_version: 16,
    };
    let bytes = header.to_bytes();
    assert_eq!(&bytes[..16], b"SQLite format 3\0");
    assert_eq!(bytes[16..28], [0, 1, 2, 3, 7, 64, 32, 32, 1, 2, 3, 4]);
    for (at, last) in [
        (28, 5),
        (32, 6),
        (36, 7),
        (40, 8),
        (44, 9),
        (48, 17),
        (52, 10),
        (56, 11),
        (60, 12),
        (64, 13),
        (68, 14),
        (92, 15),
        (96, 16),
    ] {
        assert_eq!(bytes[at..at + 4], [0, 0, 0, last], "{at}");
    }
    assert_eq!(bytes[72..92], [0; 20]);
    assert_eq!(Header::from_bytes(&bytes), Ok(header));
    // A changed byte of these fields changes the header that is read.
    for at in (24..72).chain(92..100) {
        let mut other = bytes;
        other[at] ^= 0x55;
        let read = Header::from_bytes(&other).unwrap();
        assert_ne!(read, header, "{at}");
        assert_eq!(read.to_bytes(), other);
    }
}

#[test]
fn a_new_header_has_schema_format_4_and_a_valid_page_count() {
    let header = Header::new(geometry(4096, 0), 3, 3_054_001);
    assert_eq!((header.page_count, header.sqlite_version, header.schema_format), (3, 3_054_001, 4));
    assert_eq!(header.change_counter, header.valid_for);
}

#[test]
fn bytes_that_are_no_file_header_are_refused_with_the_reason() {
    let good = Header::new(geometry(512, 32), 1, 1).to_bytes();
    let with = |at: usize, byte: u8| {
        let mut bytes = good;
        bytes[at] = byte;
        Header::from_bytes(&bytes).map(drop)
    };
    assert_eq!(Header::from_bytes(&good[..99]), Err(HeaderError::Short));
    assert_eq!(with(15, b' '), Err(HeaderError::Magic));
    assert_eq!(with(16, 3), Err(HeaderError::PageSize));
    assert_eq!(with(20, 33), Err(HeaderError::PageSize));
    for at in 21..24 {
        assert_eq!(with(at, 33), Err(HeaderError::PayloadFractions));
    }
}

#[test]
fn an_empty_schema_is_an_empty_leaf_on_page_1() {
    for bytes in PAGE_SIZES {
        let mut pages = Pages::new(geometry(bytes, 0));
        let page = write_schema(&[], geometry(bytes, 0), &mut pages);
        let content = (bytes as u16).to_be_bytes();
        assert_eq!(page[100..108], [13, 0, 0, 0, 0, content[0], content[1], 0]);
        assert_eq!(pages.bytes.len(), bytes as usize);
    }
}

#[test]
fn the_schema_takes_no_page_more_than_it_needs() {
    // Cells of 48 bytes (size, rowid, record of 46) and a pointer each: a header of 6, 5 + 1 + 1 + 1 bytes, a statement.
    let entry_of = |cell_bytes: usize| entry("t", 100, &"x".repeat(cell_bytes - 16));
    assert_eq!(pages_of(&[entry_of(48)]), 0);
    // 512 - 100 - 8 = 8 * 50 + 4.
    assert_eq!(pages_of(&[&vec![entry_of(48); 7][..], &[entry_of(52)]].concat()), 0);
    assert_eq!(pages_of(&[&vec![entry_of(48); 7][..], &[entry_of(53)]].concat()), 1);
    // 512 - 8 = 10 * 50 + 4.
    assert_eq!(pages_of(&[&vec![entry_of(48); 9][..], &[entry_of(52)]].concat()), 1);
    assert_eq!(pages_of(&[&vec![entry_of(48); 9][..], &[entry_of(53)]].concat()), 2);
}

/// Returns the number of pages that a schema takes besides page 1.
fn pages_of(entries: &[SchemaEntry]) -> usize {
    let mut pages = Pages::new(geometry(512, 0));
    let page_1 = write_schema(entries, pages.geometry, &mut pages);
    assert_eq!(page_1.len(), 512);
    pages.bytes.len() / 512 - 1
}
