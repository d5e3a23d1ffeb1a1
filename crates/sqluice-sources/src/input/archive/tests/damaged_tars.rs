//! Tests of tar archives that are damaged, cut short or malicious. Cut or malformed archives are refused. A changed bit in a header is an
//! error, or the member keeps its bytes. If other bytes are changed, each member is an error or has as many bytes as the archive states.

use proptest::prelude::*;

use super::written_tars::{GNU, USTAR, blocks, file, header, pax, sum, tar};
use super::{MEMORY_BYTES, input, noise, open, open_tar, places, read, whole};
use crate::input::archive::ArchiveKind;
use crate::input::tests::gzip;

fn error(bytes: &[u8]) -> String {
    let error = open_tar(bytes).unwrap_err();
    let message = error.without_hint();
    assert!(message.starts_with("d.tar: "), "{message}");
    assert!(error.remedy().is_some(), "{message}");
    message
}

#[test]
fn an_archive_that_is_cut_off_anywhere_is_an_error() {
    let packed = tar(&[
        file("a.csv", &noise(700, 1)),
        pax(b'x', &[("path", &[b'x'; 600])]),
        file("cut", &noise(512, 1)),
        file("b.csv", b""),
    ]);
    assert_eq!(open_tar(&packed).unwrap().members().len(), 3);
    // A tar archive ends with two blocks of zeros, but one block is accepted, so only archives that are cut before its end are errors.
    let end = packed.len() - 1024;
    for end in places(end + 512) {
        error(&packed[..end]);
    }
    for end in end + 512..packed.len() {
        open_tar(&packed[..end]).unwrap();
    }
    let compressed = gzip(&packed);
    for end in places(compressed.len()).filter(|end| *end >= 2) {
        error(&compressed[..end]);
    }
}

#[test]
fn a_changed_bit_in_a_tar_header_is_an_error_or_the_member_keeps_its_bytes() {
    let packed = tar(&[file("a.csv", &noise(700, 1)), file("b.csv", &noise(300, 2))]);
    let mut errors = 0;
    for bit in places(512 * 8) {
        let mut damaged = packed.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        match open_tar(&damaged) {
            Err(_) => errors += 1,
            // The wrong bit may be in a byte that has no meaning, such as the last byte of the checksum.
            Ok(archive) => assert!(whole(&archive, 0) == noise(700, 1), "bit {bit}"),
        }
    }
    assert!(errors > 100);
}

#[test]
fn sizes_in_tar_headers_that_reach_beyond_the_archive_are_errors() {
    for bytes in [1025, 1 << 20, (1 << 33) - 1, 1 << 40, (1 << 63) - 1, u64::MAX] {
        let packed = tar(&[file("a", b"1"), header(b"b.csv", bytes, b'0', USTAR)]);
        let message = error(&packed);
        assert!(message.contains("the header at byte 1024"), "{message}");
        let property = bytes.to_string();
        error(&tar(&[pax(b'x', &[("size", property.as_bytes())]), header(b"b.csv", 0, b'0', USTAR)]));
        error(&tar(&[header(b"x", bytes, b'x', USTAR)]));
        error(&tar(&[header(b"x", bytes, b'L', GNU)]));
    }
    for field in [&b"9"[..], b"-1", b"1x", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"] {
        let mut wrong = header(b"a", 0, b'0', USTAR);
        wrong[124..136].fill(0);
        wrong[124..124 + field.len()].copy_from_slice(field);
        sum(&mut wrong);
        assert!(error(&tar(&[wrong])).contains("has no size"));
    }
}

#[test]
fn malformed_pax_properties_of_tar_members_are_errors() {
    for data in [
        &b"x"[..],
        b"10 path=abc",
        b"11 path=abc",
        b"12 path=ab\n ",
        b"0 path=abc\n",
        b"2 \n",
        b"99999999999999999999 path=a\n",
        b"9 path:a\n",
        b"9 size=x\n",
        b"10 size=-1\n",
    ] {
        let packed = tar(&[header(b"x", data.len() as u64, b'x', USTAR), blocks(data), file("a", b"1")]);
        assert!(error(&packed).contains("has a malformed pax header"), "{data:?}");
    }
}

#[test]
fn a_pax_name_or_size_for_all_members_of_a_tar_archive_is_an_error() {
    for property in ["path", "size", "GNU.sparse.major"] {
        let packed = tar(&[pax(b'g', &[("comment", b"1"), (property, b"1")]), file("a", b"1")]);
        assert!(
            error(&packed).contains("give all files one name or one size, or make all files sparse"),
            "{property}"
        );
    }
}

#[test]
fn pax_properties_of_more_than_one_mib_are_an_error_and_long_chains_are_not() {
    let chain = pax(b'x', &[("path", b"y")]).repeat(2000);
    let archive = open_tar(&tar(&[chain.clone(), file("a", b"1")])).unwrap();
    assert_eq!(archive.members()[0].path, "y");
    assert!(open_tar(&tar(&[chain])).unwrap().members().is_empty());
    let long = [header(b"x", 2 << 20, b'x', USTAR), vec![b'1'; 2 << 20]].concat();
    assert!(error(&tar(&[long])).contains("more than 1 MiB"));
}

#[test]
fn bytes_after_the_end_of_the_archive_are_an_error() {
    let one = tar(&[file("a", b"1")]);
    let message = error(&[&one[..], &one].concat());
    assert!(message.contains("something follows the end"), "{message}");
    assert!(error(&[&one[..], b"x"].concat()).contains("something follows the end"));
    open_tar(&[&one[..], &[0; 9000]].concat()).unwrap();
}

#[test]
fn names_in_tar_archives_that_need_more_memory_than_the_load_has_are_an_error() {
    let packed = tar(&vec![file("a", b""); 2000]);
    let error = open(input(&packed, "d.tar"), ArchiveKind::Tar, 100_000).unwrap_err();
    assert!(error.without_hint().starts_with("d.tar: the names of more than "), "{error}");
    open(input(&packed, "d.tar"), ArchiveKind::Tar, MEMORY_BYTES).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn an_archive_that_unpacks_to_more_than_its_disk_holds_is_an_error_before_the_disk_is_full() {
    use std::path::PathBuf;

    use crate::input::archive::{Archive, ArchiveLimits};
    use sqluice_core::error::Result;
    use sqluice_core::progress::Context;
    use sqluice_testkit::disk::Disk;

    let Some(disk) = Disk::in_memory(24 << 10) else { return };
    let packed = gzip(&tar(&[file("a.csv", &vec![b'1'; 40 << 20])]));
    let temp_folder: &dyn Fn() -> Result<PathBuf> = &|| Ok(disk.root());
    let limits = ArchiveLimits { memory_bytes: MEMORY_BYTES, temp_folder };
    let error = Archive::open(input(&packed, "d.tar.gz"), ArchiveKind::Tar, &limits, &Context::default());
    let error = error.unwrap_err();
    assert!(error.without_hint().contains("d.tar.gz: this archive has more bytes than"), "{error}");
    assert!(!error.to_string().contains("No space left"), "{error}");
    assert!(disk.free_bytes() > 20 << 20, "the copy is gone");
    let fits = gzip(&tar(&[file("a.csv", &vec![b'1'; 20 << 20])]));
    let archive = Archive::open(input(&fits, "d.tar.gz"), ArchiveKind::Tar, &limits, &Context::default());
    assert_eq!(whole(&archive.unwrap(), 0).len(), 20 << 20);
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(2000))]

    #[test]
    fn a_member_of_a_damaged_tar_archive_has_all_its_bytes_or_is_an_error(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), sums: bool,
    ) {
        let mut packed = tar(&[
            pax(b'x', &[("path", b"long/name"), ("size", b"700")]),
            file("cut", &noise(700, 1)),
            header(b"././@LongLink", 5, b'L', GNU), blocks(b"other"), file("b.csv", &noise(300, 2)),
        ]);
        let bytes = packed.len();
        for (at, byte) in places {
            packed[at.index(bytes)] = byte;
        }
        // The checksums are corrected, so that the fields after them are parsed.
        for block in packed.chunks_exact_mut(512).filter(|block| sums && &block[257..262] == b"ustar") {
            sum(block);
        }
        if let Ok(archive) = open_tar(&packed) {
            for (index, member) in archive.members().iter().enumerate() {
                let (bytes, error) = read(&archive, index, 1 << 20);
                prop_assert!(error.is_some() || bytes.len() as u64 == member.bytes);
            }
        }
    }

    #[test]
    fn random_bytes_are_refused_as_a_tar_archive(bytes: Vec<u8>) {
        prop_assert!(open_tar(&bytes).is_err());
    }
}
