//! Tests that members of ZIP archives are read as they were packed.

use proptest::prelude::*;
use proptest::sample::select;

use super::written_zips::{File, Zip, zip};
use super::{MEMORY_BYTES, input, noise, open, open_zip, paths, read, refusals, whole};
use crate::input::archive::{ArchiveKind, Refusal, kind_of};

/// The numbers of the methods that this build supports.
const METHODS: &[u16] = if cfg!(feature = "bzip2-xz") { &[0, 8, 12, 20, 93, 95] } else { &[0, 8, 20, 93] };

#[test]
fn zip_members_of_each_compression_method_are_listed_and_read() {
    let text = "id,name\n1,ann\n".repeat(5000);
    let files: Vec<File> = METHODS
        .iter()
        .map(|method| File::new(&format!("d/{method}.csv"), text.as_bytes(), *method))
        .collect();
    let archive = open_zip(&zip(&files).bytes).unwrap();
    assert_eq!(archive.members().len(), METHODS.len());
    for (index, method) in METHODS.iter().enumerate() {
        let member = &archive.members()[index];
        assert_eq!((&*member.path, member.bytes), (&*format!("d/{method}.csv"), text.len() as u64));
        assert!(!member.is_folder && member.refusal.is_none());
        assert_eq!(archive.member_name(index).to_str(), Some(&*format!("d.zip/d/{method}.csv")));
        assert!(whole(&archive, index) == text.as_bytes(), "method {method}");
    }
}

#[test]
fn folders_and_an_archive_without_members_are_listed() {
    let mut by_attribute = File::new("b", b"", 0);
    (by_attribute.made_by, by_attribute.attributes) = (0, 0x10);
    let mut by_mode = File::new("c", b"", 0);
    by_mode.attributes = 0o040_755 << 16;
    let archive = open_zip(&zip(&[File::new("a/", b"", 0), by_attribute, by_mode]).bytes).unwrap();
    assert_eq!(paths(&archive), ["a", "b", "c"]);
    for (index, member) in archive.members().iter().enumerate() {
        assert!(member.is_folder && member.refusal.is_none());
        assert!(read(&archive, index, 1).1.unwrap().without_hint().contains("this is a folder"));
    }
    let empty = zip(&[]);
    assert_eq!(kind_of(&mut input(&empty.bytes, "x")).unwrap(), Some(ArchiveKind::Zip));
    assert!(open_zip(&empty.bytes).unwrap().members().is_empty());
}

#[test]
fn more_than_65535_files_are_read_without_a_64_bit_end_record() {
    let files: Vec<File> = (0..65_540).map(|index| File::new(&format!("{index}"), b"", 0)).collect();
    let archive = open_zip(&zip(&files).bytes).unwrap();
    assert_eq!(archive.members().len(), 65_540);
    assert_eq!(archive.members()[65_539].path, "65539");
}

#[test]
fn an_archive_after_other_bytes_is_found_by_its_directory() {
    for counts_prefix in [false, true] {
        for is_wide in [false, true] {
            let files = vec![File::new("a.csv", b"a\n1\n", 8), File::new("b.csv", b"b\n2\n", 0)];
            let prefix = [b"#!/bin/sh\nexit\n", &noise(70_000, 1)[..]].concat();
            let written = Zip { files, prefix, counts_prefix, is_wide, ..Zip::default() }.write();
            // Only a file with the extension .zip is searched for an end record.
            assert_eq!(kind_of(&mut input(&written.bytes, "x.ZIP")).unwrap(), Some(ArchiveKind::Zip));
            assert_eq!(kind_of(&mut input(&written.bytes, "x.sh")).unwrap(), None);
            let archive = open_zip(&written.bytes).unwrap();
            assert_eq!(whole(&archive, 0), b"a\n1\n");
            assert_eq!(whole(&archive, 1), b"b\n2\n");
        }
    }
    assert_eq!(kind_of(&mut input(b"#!/bin/sh\n", "x.zip")).unwrap(), None);
}

#[test]
fn a_split_archive_that_was_joined_is_recognised_by_its_first_bytes() {
    for mark in [b"PK\x07\x08", b"PK00"] {
        let files = vec![File::new("a.csv", b"a\n1\n", 8)];
        let written = Zip { files, prefix: mark.to_vec(), counts_prefix: true, ..Zip::default() }.write();
        assert_eq!(kind_of(&mut input(&written.bytes, "x")).unwrap(), Some(ArchiveKind::Zip));
        assert_eq!(whole(&open_zip(&written.bytes).unwrap(), 0), b"a\n1\n");
    }
}

#[test]
fn bytes_after_the_end_and_end_records_in_comments_make_no_difference() {
    let files = vec![File::new("a.csv", b"a\n1\n", 8)];
    let mut written = Zip { files: files.clone(), ..Zip::default() }.write();
    written.bytes.extend(b"\r\n\r\n");
    assert_eq!(whole(&open_zip(&written.bytes).unwrap(), 0), b"a\n1\n");
    let fake = [&b"PK\x05\x06"[..], &[0; 18]].concat();
    for comment in [fake[..4].to_vec(), [&fake[..], b"more"].concat(), fake.repeat(7), vec![b'P'; 65_535]] {
        let written = Zip { files: files.clone(), comment: comment.clone(), ..Zip::default() }.write();
        // A comment may end with an end record. Other programs also take it for the end of the archive, so the members are not compared
        // then.
        let archive = open_zip(&written.bytes).unwrap();
        if !comment.ends_with(&fake) {
            assert_eq!(whole(&archive, 0), b"a\n1\n");
        }
    }
}

#[test]
fn members_that_cannot_be_read_are_refused_with_a_remedy() {
    let file = |name: &str, change: &dyn Fn(&mut File)| {
        let mut file = File::new(name, b"a\n1\n", 0);
        change(&mut file);
        file
    };
    let cases: Vec<(File, Refusal, &str)> = vec![
        (file("a", &|file| file.flags |= 1), Refusal::Encrypted, "unzip d.zip"),
        (file("b", &|file| (file.flags, file.method) = (1, 99)), Refusal::StronglyEncrypted, "AES"),
        (file("c", &|file| file.flags |= 1 << 6), Refusal::StronglyEncrypted, "AES"),
        (file("d", &|file| file.method = 9), Refusal::Method(9), "unzip d.zip"),
        (file("e", &|file| file.method = 14), Refusal::Method(14), "the program that made"),
        (file("f", &|file| file.method = 4711), Refusal::Method(4711), "the program that made"),
        (file("g", &|file| file.flags |= 1 << 5), Refusal::Patch, "the program that made"),
        (file("/h", &|_| {}), Refusal::Absolute, "another name"),
        (file("C:\\h", &|_| {}), Refusal::Absolute, "another name"),
        (file("i/../../x", &|_| {}), Refusal::Parent, "another name"),
        (file("j\0k", &|_| {}), Refusal::Name, "another name"),
        (file("", &|_| {}), Refusal::NoName, "another name"),
        (file("l", &|file| file.attributes = 0o120_777 << 16), Refusal::Link, "zip without -y"),
        (file("m", &|file| file.attributes = 0o010_644 << 16), Refusal::Special, ""),
    ];
    let mut files: Vec<File> = cases.iter().map(|(file, ..)| file.clone()).collect();
    files.push(File::new("ok", b"sound", 8));
    let archive = open_zip(&zip(&files).bytes).unwrap();
    assert!(archive.refused(files.len() - 1).is_none());
    assert_eq!(whole(&archive, files.len() - 1), b"sound");
    for (index, (file, refusal, remedy)) in cases.iter().enumerate() {
        assert_eq!(archive.members()[index].refusal, Some(*refusal), "{file:?}");
        let error = read(&archive, index, 1).1.unwrap();
        assert_eq!(error.place().unwrap().file, archive.member_name(index));
        assert!(error.remedy().map(ToString::to_string).unwrap_or_default().contains(remedy), "{error}");
        assert_eq!(error.to_string(), archive.refused(index).unwrap().to_string());
    }
    #[cfg(not(feature = "bzip2-xz"))]
    for method in [12, 95] {
        let mut file = File::new("x", b"a", 0);
        file.method = method;
        assert_eq!(refusals(&open_zip(&zip(&[file]).bytes).unwrap()), [Some(Refusal::Feature("bzip2-xz"))]);
    }
}

#[test]
fn the_last_of_several_members_with_the_same_path_is_read() {
    let files = [("a/b", "1"), ("c", "2"), ("a//b", "3"), ("./a/b", "4")];
    let files = files.map(|(name, data)| File::new(name, data.as_bytes(), 0));
    let archive = open_zip(&zip(&files).bytes).unwrap();
    let replaced = Some(Refusal::Replaced);
    assert_eq!(refusals(&archive), [replaced, None, replaced, None]);
    assert_eq!(whole(&archive, 3), b"4");
}

#[test]
fn names_in_zip_archives_that_need_more_memory_than_the_load_has_are_an_error() {
    let files: Vec<File> = (0..1000).map(|index| File::new(&format!("{index}.csv"), b"", 0)).collect();
    let written = zip(&files);
    let memory = 100_000;
    let error = open(input(&written.bytes, "d.zip"), ArchiveKind::Zip, memory).unwrap_err();
    assert!(error.without_hint().starts_with("d.zip: the names of more than "), "{error}");
    assert!(error.remedy().unwrap().to_string().contains("memory"), "{error}");
    open(input(&written.bytes, "d.zip"), ArchiveKind::Zip, MEMORY_BYTES).unwrap();
}

/// A random member. Its name contains its number, so that no two members have the same name.
fn member() -> impl Strategy<Value = File> {
    let size = prop_oneof![Just(0_usize), 1..200_usize, 60_000..70_000_usize, Just(200_000)];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let extras = prop::collection::vec(any::<u8>(), 0..40);
    ("[a-zé/ .]{0,12}", size, any::<bool>(), any::<u64>(), select(METHODS), flags, extras).prop_map(
        |(name, size, is_text, seed, method, (has_descriptor, is_wide, has_comment), extra)| {
            let data = match is_text {
                true => b"id,name\n1,ann\n".repeat(size / 14),
                false => noise(size, seed),
            };
            let mut file = File::new(&name, &data, method);
            (file.has_descriptor, file.is_wide) = (has_descriptor, is_wide);
            let field = [&[0xfe, 0xca][..], &(extra.len() as u16).to_le_bytes(), &extra].concat();
            (file.extra, file.local_extra) = (field.clone(), field.repeat(2));
            file.comment = if has_comment { extra } else { Vec::new() };
            file
        },
    )
}

fn archive() -> impl Strategy<Value = Zip> {
    let prefix = prop_oneof![2 => Just(0_usize), 1 => 1..300_usize, 1 => Just(100_000)];
    let members = prop::collection::vec(member(), 0..8);
    (members, prefix, any::<bool>(), 0..300_usize, any::<bool>()).prop_map(
        |(mut files, prefix, counts_prefix, comment, is_wide)| {
            for (index, file) in files.iter_mut().enumerate() {
                let name = String::from_utf8(file.name.clone()).unwrap();
                file.name =
                    format!("{index}{}", name.replace("..", "_").trim_end_matches(['/', '.'])).into_bytes();
            }
            let (prefix, comment) = (noise(prefix, 3), vec![b'c'; comment]);
            Zip { files, prefix, counts_prefix, comment, is_wide }
        },
    )
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(300))]

    #[test]
    fn members_of_zip_archives_are_read_back(zip in archive()) {
        let archive = open_zip(&zip.write().bytes).unwrap();
        prop_assert_eq!(archive.members().len(), zip.files.len());
        for (index, file) in zip.files.iter().enumerate() {
            let member = &archive.members()[index];
            prop_assert_eq!(member.refusal, None);
            let name = String::from_utf8(file.name.clone()).unwrap();
            let path: Vec<&str> = name.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
            prop_assert_eq!(&member.path, &path.join("/"));
            prop_assert_eq!(member.bytes, file.data.len() as u64);
            prop_assert!(whole(&archive, index) == file.data);
        }
    }
}
