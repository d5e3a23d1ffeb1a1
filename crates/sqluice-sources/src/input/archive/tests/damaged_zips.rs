//! Tests of ZIP archives that are damaged, cut short or malicious: opening or reading them fails, or gives exactly the bytes that were
//! packed.

use proptest::prelude::*;

use super::written_zips::{File, Written, Zip, zip};
use super::{input, noise, open_zip, places, read, refusals, whole};
use crate::input::archive::{ArchiveKind, Refusal, kind_of};

/// Returns an archive with a member for each compression method, and a further member that is itself an archive and is not compressed.
fn mixed() -> (Vec<File>, Written) {
    let inner = zip(&[File::new("inner.csv", b"x\n9\n", 0)]).bytes;
    let mut files = vec![
        File::new("a.csv", &b"id,name\n1,ann\n".repeat(40), 8),
        File::new("folder/b.csv", &noise(300, 1), 0),
        File::new("c.csv", &noise(300, 2), 8),
        File::new("d.csv", &b"id,name\n1,ann\n".repeat(40), 93),
        File::new("e.csv", b"", 0),
        File::new("f.zip", &inner, 0),
    ];
    #[cfg(feature = "bzip2-xz")]
    files.extend(
        [12, 95].map(|method| File::new(&format!("{method}"), &b"id,name\n1,ann\n".repeat(40), method)),
    );
    files[1].has_descriptor = true;
    files[2].is_wide = true;
    let written = zip(&files);
    (files, written)
}

/// Opens an archive that may be damaged, and asserts that members which are read without an error have the packed bytes. Returns the number
/// of errors: of members that can't be read, or 1 if the archive can't be opened.
#[track_caller]
fn no_other_bytes(bytes: &[u8], files: &[File], what: &str) -> usize {
    let archive = match open_zip(bytes) {
        Ok(archive) => archive,
        Err(error) => {
            assert!(error.without_hint().starts_with("d.zip"), "{what}: {error}");
            return 1;
        }
    };
    assert_eq!(archive.members().len(), files.len(), "{what}");
    let mut errors = 0;
    for (index, file) in files.iter().enumerate() {
        match read(&archive, index, u64::MAX) {
            (read, None) => assert!(read == file.data, "{what}: {}", archive.members()[index].path),
            (read, Some(error)) => {
                errors += 1;
                assert!(read.len() <= archive.members()[index].bytes as usize, "{what}");
                assert!(error.without_hint().starts_with("d.zip"), "{what}: {error}");
            }
        }
    }
    errors
}

#[test]
fn a_changed_bit_in_a_zip_archive_is_an_error_or_makes_no_difference() {
    let (files, written) = mixed();
    assert_eq!(no_other_bytes(&written.bytes, &files, "sound"), 0);
    let mut errors = 0;
    for at in places(written.bytes.len() * 8) {
        let mut damaged = written.bytes.clone();
        damaged[at / 8] ^= 1 << (at % 8);
        errors += no_other_bytes(&damaged, &files, &format!("bit {at}"));
    }
    assert!(errors > 0);
}

#[test]
fn an_archive_that_is_cut_off_anywhere_is_an_error() {
    let (_, written) = mixed();
    let with_comment = Zip { files: mixed().0, comment: vec![b'c'; 100], ..Zip::default() }.write();
    for bytes in [&written.bytes, &with_comment.bytes] {
        for end in places(bytes.len()) {
            let error = open_zip(&bytes[..end]).unwrap_err();
            assert!(error.without_hint().starts_with("d.zip: "), "{error}");
            assert!(error.remedy().is_some(), "{error}");
        }
    }
}

#[test]
fn a_member_with_more_or_fewer_bytes_than_stated_ends_with_an_error_there() {
    let data = noise(200_000, 1);
    for method in [8, 93] {
        let written = zip(&[File::new("a.csv", &data, method)]);
        for (stated, words) in
            [(150_000_u32, "which has more"), (0, "which has more"), (200_001, "ends after 200000")]
        {
            let mut written = written.clone();
            let field = written.entries[0] + 24;
            written.set(field, &stated.to_le_bytes());
            let (bytes, error) = read(&open_zip(&written.bytes).unwrap(), 0, u64::MAX);
            let error = error.unwrap();
            assert!(bytes == data[..data.len().min(stated as usize)]);
            assert!(error.without_hint().starts_with("d.zip/a.csv: the archive states "), "{error}");
            assert!(stated == 150_000 || error.without_hint().contains(words), "{error}");
            assert!(error.remedy().is_some());
        }
    }
}

#[test]
fn damaged_bytes_of_a_stored_member_are_found_by_their_checksum() {
    let mut written = zip(&[File::new("a.csv", &noise(200_000, 1), 0)]);
    written.bytes[100_000] ^= 1;
    let (bytes, error) = read(&open_zip(&written.bytes).unwrap(), 0, u64::MAX);
    assert_eq!(bytes.len(), 200_000);
    assert!(error.unwrap().without_hint().contains("d.zip/a.csv: the bytes of this file are damaged"));
}

#[test]
fn members_that_share_bytes_are_refused_and_others_are_read() {
    let files: Vec<File> = ["a", "b", "c", "d"].map(|name| File::new(name, &noise(100, 1), 0)).to_vec();
    let overlapping = Some(Refusal::Overlapping);
    // The entry of `c` in the directory points to the data of `b`.
    let mut same = zip(&files);
    let to = (same.headers[1] as u32).to_le_bytes();
    let field = same.entries[2] + 42;
    let archive = open_zip(&same.set(field, &to).bytes).unwrap();
    assert_eq!(refusals(&archive), [None, overlapping, overlapping, None]);
    assert_eq!(whole(&archive, 3), files[3].data);
    // `c` begins within `b`.
    let mut within = zip(&files);
    let to = (within.headers[1] as u32 + 10).to_le_bytes();
    let archive = open_zip(&within.set(field, &to).bytes).unwrap();
    assert_eq!(refusals(&archive), [None, overlapping, overlapping, None]);
    // `a` extends into `d`, over all members between.
    let mut long = zip(&files);
    let bytes = (long.headers[3] as u32).to_le_bytes();
    let field = long.entries[0] + 20;
    long.set(field, &bytes).set(field + 4, &bytes);
    assert_eq!(refusals(&open_zip(&long.bytes).unwrap()), [overlapping; 4]);
}

#[test]
fn a_member_that_is_not_at_its_stated_offset_is_an_error() {
    let mut files = ["a", "b"].map(|name| File::new(name, &noise(100, 1), 0));
    let close = zip(&files);
    files[0].has_descriptor = true;
    let written = zip(&files);
    for (offset, is_refused) in [(1, false), (u32::MAX - 1, true), (written.bytes.len() as u32, true)] {
        let mut written = written.clone();
        let field = written.entries[0] + 42;
        written.set(field, &offset.to_le_bytes());
        let archive = open_zip(&written.bytes).unwrap();
        assert_eq!(archive.members()[0].refusal.is_some(), is_refused, "{offset}");
        assert!(read(&archive, 0, 1).1.is_some());
        assert!(whole(&archive, 1) == files[1].data);
    }
    // The local header is changed so that its name is longer than in the directory. So the data seem to begin in the next member.
    let mut written = close;
    let field = written.headers[0] + 28;
    written.set(field, &[1, 0]);
    let error = read(&open_zip(&written.bytes).unwrap(), 0, 1).1.unwrap();
    assert!(error.without_hint().contains("d.zip/a: this file is not where"), "{error}");
}

#[test]
fn a_wrong_number_of_files_in_the_end_record_is_an_error() {
    let written = zip(&[File::new("a", b"1", 0)]);
    for count in [0_u16, 2, 0xffff] {
        let mut written = written.clone();
        let at = written.end;
        written.set(at + 8, &count.to_le_bytes()).set(at + 10, &count.to_le_bytes());
        let error = open_zip(&written.bytes).unwrap_err();
        assert!(error.without_hint().contains(&format!("states {count} files")), "{error}");
    }
    let wide = Zip { files: vec![File::new("a", b"1", 0)], is_wide: true, ..Zip::default() }.write();
    let end = wide.end - 76;
    for (field, values) in [
        (4, vec![0, 1, 45, 1 << 40, u64::MAX, u64::MAX - 11]),
        (32, vec![0, 10_000_000, u64::MAX]),
        (40, vec![0, 1 << 40, u64::MAX]),
        (48, vec![1, 1 << 40, u64::MAX]),
    ] {
        for value in values {
            let mut wide = wide.clone();
            wide.set(end + field, &value.to_le_bytes());
            let error = open_zip(&wide.bytes).unwrap_err();
            assert!(error.without_hint().starts_with("d.zip: "), "{error}");
        }
    }
}

#[test]
fn the_error_about_a_part_of_a_split_archive_says_how_to_join_it() {
    let mut last = zip(&[File::new("a", b"1", 0)]);
    let at = last.end;
    last.set(at + 4, &[1, 0]);
    let first = [b"PK\x07\x08", &last.bytes[..at]].concat();
    for bytes in [&last.bytes, &first] {
        assert_eq!(kind_of(&mut input(bytes, "x")).unwrap(), Some(ArchiveKind::Zip));
        let error = open_zip(bytes).unwrap_err();
        assert!(error.without_hint().contains("several files"), "{error}");
        assert!(error.remedy().unwrap().to_string().contains("zip -s 0 d.zip"), "{error}");
    }
    // The last part may begin in the middle of a member.
    let last = &last.bytes[10..];
    assert_eq!(kind_of(&mut input(last, "x.zip")).unwrap(), Some(ArchiveKind::Zip));
}

#[test]
fn names_and_comments_of_65535_bytes_are_read() {
    let mut file = File::new(&"n".repeat(0xffff), b"1", 8);
    file.comment = vec![b'c'; 0xffff];
    file.extra = [&[0xfe, 0xca, 0xfb, 0xff][..], &[0; 0xfffb]].concat();
    let archive = open_zip(&zip(&[file.clone(), file]).bytes).unwrap();
    assert_eq!(archive.members()[1].path.len(), 0xffff);
    assert_eq!(whole(&archive, 1), b"1");
}

#[test]
fn a_comment_full_of_end_records_takes_little_time() {
    // The comment has many end records, each valid except for its directory, which is far away.
    let mut bytes = zip(&[File::new("a", &noise(3 << 20, 1), 0)]).bytes;
    let end = |left: u16| {
        [
            &b"PK\x05\x06\0\0\0\0\x09\0\x09\0"[..],
            &46_u32.to_le_bytes(),
            &7_u32.to_le_bytes(),
            &left.to_le_bytes(),
        ]
        .concat()
    };
    for index in 0..2900 {
        bytes.extend(end((2899 - index) * 22));
    }
    let started = std::time::Instant::now();
    assert!(open_zip(&bytes).is_err());
    assert!(started.elapsed().as_secs() < 20);
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(2000))]

    #[test]
    fn damaged_bytes_are_errors_or_make_no_difference(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), is_directory: bool,
    ) {
        let (files, written) = mixed();
        let mut damaged = written.bytes.clone();
        let from = if is_directory { written.entries[0] } else { 0 };
        for (at, byte) in places {
            let at = from + at.index(damaged.len() - from);
            damaged[at] = byte;
        }
        if let Ok(archive) = open_zip(&damaged) {
            for (index, file) in files.iter().enumerate().take(archive.members().len()) {
                let (bytes, error) = read(&archive, index, 1 << 20);
                prop_assert!(error.is_some() || bytes == file.data, "{}", index);
            }
        }
    }

    #[test]
    fn random_bytes_are_refused_as_a_zip_archive(bytes: Vec<u8>) {
        prop_assert!(open_zip(&bytes).is_err());
        let with_end = [&bytes[..], b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &bytes[..], &[0; 30]].concat();
        let _ = open_zip(&with_end);
    }
}
