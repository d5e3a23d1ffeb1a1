//! Tests that members of tar archives are read as they were packed.

use proptest::prelude::*;
use proptest::sample::select;

use super::written_tars::{GNU, USTAR, V7, blocks, file, header, pax, size, sum, tar};
use super::{MEMORY_BYTES, input, noise, open, open_tar, paths, refusals, whole};
use crate::input::InputOptions;
use crate::input::archive::{ArchiveKind, Refusal, kind_of};
use crate::input::tests::{PACKERS, piped};

#[test]
fn members_of_each_tar_format_are_listed_and_read() {
    for magic in [USTAR, GNU, V7] {
        for type_of_file in [b'0', 0, b'7'] {
            let data = noise(700, 1);
            let member = |name: &[u8]| [header(name, 700, type_of_file, magic), blocks(&data)].concat();
            let packed = tar(&[member(b"a.csv"), member(b"d/b.csv")]);
            assert_eq!(kind_of(&mut input(&packed, "x")).unwrap(), Some(ArchiveKind::Tar));
            let archive = open_tar(&packed).unwrap();
            assert_eq!(paths(&archive), ["a.csv", "d/b.csv"]);
            assert_eq!(archive.members()[1].bytes, 700);
            assert!(whole(&archive, 0) == data && whole(&archive, 1) == data);
        }
    }
}

#[test]
fn a_tar_archive_is_read_whatever_its_compression_and_from_a_pipe() {
    let packed = tar(&[file("a.csv", &noise(300_000, 1)), file("b.csv", b"a\n1\n")]);
    let mut all = vec![packed.clone()];
    all.extend(PACKERS.iter().map(|packer| (packer.pack)(&packed)));
    for bytes in all {
        for mut input in [input(&bytes, "x"), piped(&bytes, InputOptions::new())] {
            assert_eq!(kind_of(&mut input).unwrap(), Some(ArchiveKind::Tar));
            let archive = open(input, ArchiveKind::Tar, MEMORY_BYTES).unwrap();
            assert!(whole(&archive, 0) == noise(300_000, 1));
            assert_eq!(whole(&archive, 1), b"a\n1\n");
        }
    }
}

#[test]
fn an_uncompressed_archive_is_not_copied() {
    let packed = tar(&[file("a.csv", b"a\n1\n")]);
    let limits = crate::input::archive::ArchiveLimits {
        memory_bytes: MEMORY_BYTES,
        temp_folder: &|| panic!("no copy is needed"),
    };
    let context = sqluice_core::progress::Context::default();
    let archive =
        crate::input::archive::Archive::open(input(&packed, "x"), ArchiveKind::Tar, &limits, &context)
            .unwrap();
    assert_eq!(archive.input(0, InputOptions::new()).unwrap().file().unwrap().1, 512);
}

#[test]
fn a_long_name_is_read_from_the_header_before_its_member() {
    let long = format!("{}/a.csv", "folder".repeat(40));
    let gnu = [header(b"././@LongLink", long.len() as u64 + 1, b'L', GNU), blocks(long.as_bytes())].concat();
    let mut prefixed = header(b"a.csv", 3, b'0', USTAR);
    prefixed[345..351].copy_from_slice(b"folder");
    sum(&mut prefixed);
    // GNU tar has times in the field that is a prefix of the name in POSIX, so the field must not become part of the name.
    let mut timed = header(b"b.csv", 3, b'0', GNU);
    timed[345..351].copy_from_slice(b"123456");
    sum(&mut timed);
    let packed = tar(&[
        gnu,
        file("cut", b"one"),
        pax(b'g', &[("comment", b"x")]),
        pax(b'x', &[("mtime", b"1.5"), ("path", long.replace('a', "é").as_bytes())]),
        file("cut", b"two"),
        [prefixed, blocks(b"333")].concat(),
        [timed, blocks(b"444")].concat(),
    ]);
    let archive = open_tar(&packed).unwrap();
    let pax_path = long.replace('a', "é");
    assert_eq!(paths(&archive), [&*long, &*pax_path, "folder/a.csv", "b.csv"]);
    let data: Vec<Vec<u8>> = (0..4).map(|index| whole(&archive, index)).collect();
    assert_eq!(data, [b"one", b"two", b"333", b"444"]);
}

#[test]
fn the_size_of_a_tar_member_is_read_from_each_form_of_its_header() {
    let data = noise(1000, 1);
    let mut small = header(b"a", 3, b'0', USTAR);
    let mut wide = header(b"b", 3, b'0', GNU);
    wide[124..136].copy_from_slice(&[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x03, 0xe8]);
    sum(&mut wide);
    let mut blank = header(b"c", 3, b'0', V7);
    blank[124..136].copy_from_slice(b"       1750 ");
    sum(&mut blank);
    sum(&mut small);
    let packed = tar(&[
        pax(b'x', &[("size", b"1000")]),
        small,
        blocks(&data),
        wide,
        blocks(&data),
        blank,
        blocks(&data),
    ]);
    let archive = open_tar(&packed).unwrap();
    assert_eq!(paths(&archive), ["a", "b", "c"]);
    assert!((0..3).all(|index| whole(&archive, index) == data));
    assert_eq!(size(1 << 40)[0], 0x80);
}

#[test]
fn folders_links_and_devices_are_not_read_as_files() {
    let special = |name: &str, type_of_file: u8| header(name.as_bytes(), 0, type_of_file, USTAR);
    let mut hard = header(b"hard", 700, b'1', USTAR);
    hard[157..160].copy_from_slice(b"ok1");
    sum(&mut hard);
    let packed = tar(&[
        special("./", b'5'),
        special("./folder/", b'5'),
        file("./folder/ok1", b"1"),
        hard,
        special("soft", b'2'),
        special("fifo", b'6'),
        special("device", b'3'),
        special("old folder/", 0),
        special("unknown", b'Q'),
        file("/etc/passwd", b"1"),
        file("../x", b"1"),
        pax(
            b'x',
            &[("GNU.sparse.major", b"1"), ("GNU.sparse.name", b"sparse"), ("path", b"GNUSparseFile.0/x")],
        ),
        file("cut", b"1"),
        header(b"old sparse", 0, b'S', GNU),
        file("more", b"1"),
        header(b"more", 0, b'M', GNU),
    ]);
    let archive = open_tar(&packed).unwrap();
    let [link, special] = [Some(Refusal::Link), Some(Refusal::Special)];
    assert_eq!(
        paths(&archive).into_iter().zip(refusals(&archive)).collect::<Vec<_>>(),
        [
            ("folder", None),
            ("folder/ok1", None),
            ("hard", link),
            ("soft", link),
            ("fifo", special),
            ("device", special),
            ("old folder", None),
            ("unknown", special),
            ("/etc/passwd", Some(Refusal::Absolute)),
            ("../x", Some(Refusal::Parent)),
            ("sparse", Some(Refusal::Sparse)),
            ("old sparse", Some(Refusal::Sparse)),
            ("more", Some(Refusal::Replaced)),
            ("more", Some(Refusal::OtherVolume)),
        ]
    );
    let folders: Vec<bool> = archive.members().iter().map(|member| member.is_folder).collect();
    assert_eq!(folders.iter().filter(|is_folder| **is_folder).count(), 2);
    assert!(folders[0] && folders[6]);
    let error = archive.refused(10).unwrap();
    assert!(error.remedy().unwrap().to_string().ends_with("tar -xf d.tar"), "{error}");
}

#[test]
fn an_archive_of_pg_dump_is_refused() {
    assert_eq!(kind_of(&mut input(&tar(&[file("toc.dat", b"PGDMP")]), "x")).unwrap(), None);
}

/// The place of a member's name and size: its header, or properties before it.
#[derive(Clone, Copy, Debug)]
enum Form {
    Ustar,
    Gnu,
    Pax,
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(300))]

    #[test]
    fn members_of_tar_archives_are_read_back(
        members in prop::collection::vec(
            ("[a-zé ]{1,60}(/[a-z]{60}){0,4}", prop_oneof![Just(0_usize), 1..2000_usize, Just(70_000)],
             select(vec![Form::Ustar, Form::Gnu, Form::Pax]), any::<u64>()), 0..8),
        zeros in 2..30_usize, packer in 0..PACKERS.len() + 1,
    ) {
        let (mut packed, mut expected) = (Vec::new(), Vec::new());
        for (index, (name, bytes, form, seed)) in members.into_iter().enumerate() {
            let name = format!("{index}{name}");
            let form = if name.len() > 100 && matches!(form, Form::Ustar) { Form::Pax } else { form };
            let data = noise(bytes, seed);
            match form {
                Form::Ustar => packed.extend(file(&name, &data)),
                Form::Gnu => {
                    packed.extend(header(b"././@LongLink", name.len() as u64, b'L', GNU));
                    packed.extend(blocks(name.as_bytes()));
                    packed.extend(header(b"cut", bytes as u64, b'0', GNU));
                    packed.extend(blocks(&data));
                }
                Form::Pax => {
                    let size = bytes.to_string();
                    packed.extend(pax(b'x', &[("path", name.as_bytes()), ("size", size.as_bytes())]));
                    packed.extend(header(b"cut", 0, b'0', USTAR));
                    packed.extend(blocks(&data));
                }
            }
            expected.push((name, data));
        }
        packed.resize(packed.len() + zeros * 512, 0);
        let packed = PACKERS.get(packer).map_or(packed.clone(), |packer| (packer.pack)(&packed));
        let archive = open_tar(&packed).unwrap();
        prop_assert_eq!(archive.members().len(), expected.len());
        for (index, (name, data)) in expected.iter().enumerate() {
            prop_assert_eq!(&archive.members()[index].path, name);
            prop_assert!(whole(&archive, index) == *data);
        }
    }
}
