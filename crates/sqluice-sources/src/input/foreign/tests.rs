//! Tests that files which are not tables are refused with the name of their format, and that similar tables are not refused.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::select;
use sqluice_core::error::Result;
use tempfile::TempDir;

use super::super::{InputFile, InputOptions};
use crate::csv::Delimiter;
use crate::formats::{CSV, FileFormat, FormatOptions, recognise};

/// Recognises the format of a file with this name and content.
fn recognised(
    folder: &Path,
    name: &str,
    content: &[u8],
    options: &FormatOptions,
) -> Result<&'static FileFormat> {
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    recognise(&mut InputFile::new(&path, InputOptions::new())?, &path, options, 1 << 20)
}

/// Returns the name of the unsupported format that the error for a file states; `None` if the file is not refused.
fn refused(folder: &Path, name: &str, content: &[u8]) -> Option<String> {
    // `recognised` refuses binary data when it takes the sample, and text after that, with the same form of message.
    let error = recognised(folder, name, content, &FormatOptions::new()).err()?;
    let message = error.message().to_string();
    let kind =
        message.strip_prefix("this is ").and_then(|rest| rest.strip_suffix(", which is not read here"));
    assert!(error.remedy().is_some(), "{message}");
    Some(kind.unwrap_or(&message).to_owned())
}

/// Binary data, and the names of their formats.
const BINARY: &[(&str, &[u8])] = &[
    ("an Excel workbook (.xlsx)", b"PK\x03\x04\x14\0\x06\0[Content_Types].xml...xl/workbook.xml"),
    ("an OpenDocument spreadsheet (.ods)", b"PK\x03\x04\x14\0mimetypeapplication/vnd.oasis.opendocument.spreadsheet"),
    ("a document of a word processor", b"PK\x03\x04\x14\0\x06\0[Content_Types].xml...word/document.xml"),
    ("a document of Numbers, Pages or Keynote", b"PK\x03\x04\x14\0Index/Document.iwa"),
    ("a KMZ archive", b"PK\x03\x04\x14\0doc.kml"),
    ("an archive of NumPy arrays (.npz)", b"PK\x03\x04\x14\0arr_0.npy"),
    ("a ZIP archive", b"PK\x03\x04\x14\0data.csv"),
    ("a ZIP archive", b"PK\x05\x06\0\0"),
    ("an old Microsoft Office file, such as .xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0\0\0"),
    ("a PDF file", b"%PDF-1.7\n"),
    ("an ORC file", b"ORC\x0a\x0b\x01\0"),
    ("zlib data", b"\x78\x9c\x4b\x04\0"),
    ("zlib data", b"\x78\x5e\x4b\x04\0"),
    ("a dBase table (.dbf)", b"\x03\x7c\x05\x1f\x02\0\0\0\x61\0\x20\0"),
    ("a dBase table (.dbf)", b"\x30\x7c\x05\x1f\x02\0\0\0\x68\x01\x20\0"),
    ("a dBase table (.dbf)", b"\x03\0\0\0\x02\0\0\0\x61\0\x20\0"),
    ("a dBase table (.dbf)", b"\x04\x7c\x05\x1f\x02\0\0\0\xa5\0\x20\0"),
    ("text in UTF-32", b"\xff\xfe\0\0a\0\0\0"),
    ("text in UTF-32", b"a\0\0\0,\0\0\0b\0\0\0"),
    ("text in UTF-32", b"\0\0\0a\0\0\0,\0\0\0b"),
    // The rows `id,name` and `1,ann` in EBCDIC.
    ("text in EBCDIC", b"\x89\x84\x6b\x95\x81\x94\x85\x25\xf1\x6b\x81\x95\x95\x25"),
    ("Snappy data", b"\xff\x06\0\0sNaPpY\x01"),
    ("LZMA data", b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0\x18"),
    ("a DuckDB database", b"\xb8\xa1\x8e\xc3\xe6\x1a\x96\x9cDUCK\x40\0\0\0\0\0\0\0"),
    ("a DuckDB database", b"abcdefghDUCK\x40\0\0\0\0\0\0\0"),
    ("an archive of pg_dump", b"PGDMP\x01\x10\0\x04\x08\x01\x01"),
    ("data of R", b"X\n\0\0\0\x03\0\x04\x03\x01\0\x03\x05\0"),
    ("data of R", b"RDX3\nX\n\0\0\0\x03"),
    ("data of R", b"RDA2\nA\n2\n197124\n131840\n"),
    ("data of R", b"A\n3\n262914\n197888\n5\nUTF-8\n"),
    ("a pickle of Python", b"\x80\x04\x95\x1f\0\0\0\0\0\0\0]\x94(K\x01"),
    ("a pickle of Python", b"\x80\x03]q\0(K\x01K\x02e."),
    ("a pickle of Python", b"(dp0\nVa\np1\nI1\ns."),
    ("an SPSS file", b"$FL2@(#) SPSS DATA FILE - pyreadstat"),
    ("an SPSS file", b"$FL3@(#) SPSS DATA FILE"),
    ("a Stata dataset", b"<stata_dta><header><release>118</release>"),
    ("a Stata dataset", b"\x73\x02\x01\0\x02\0\x03\0\0\0"),
    ("a SAS dataset", b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!0000000000"),
    (
        "a SAS dataset",
        b"\0\0\0\0\0\0\0\0\0\0\0\0\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\0\x09\xc7\x31\x8c\x18\x1f\x10\x11",
    ),
    ("a MATLAB file", b"MATLAB 5.0 MAT-file Platform: posix, Created on: Thu Jan"),
    ("a file of arrays (netCDF, HDF4 or FITS)", b"CDF\x01\0\0\0\0\0\0\0\x0a"),
    ("an HDF5 file", b"\x89HDF\r\n\x1a\n\0\0"),
    ("a NumPy array", b"\x93NUMPY\x01\0v\0"),
    ("a Lotus 1-2-3 worksheet", b"\0\0\x02\0\x06\x04\x06\0\x08\0"),
    ("a BSON file", b"\x31\0\0\0\x07_id\0\x65\x01"),
    ("a cpio archive", b"070701000000010000000200000003000000040000000500000006000000070000000800000009000000010000000200000003000000040000000500000006"),
    ("an ar archive", b"!<arch>\ndebian-binary   1700000000"),
    ("a journal of a SQLite database", b"\x37\x7f\x06\x82\0\x2d\xe2\x18"),
    ("a TIFF picture", b"II*\0\x08\0\0\0"),
    ("a document in RTF", b"{\\rtf1\\ansi"),
    ("a program", b"MZ\x90\0\x03\0\0\0"),
];

/// Text that is not a table, and the names of the formats.
const TEXTS: &[(&str, &str)] = &[
    ("an HTML page", "\n <!DOCTYPE html><html>"),
    ("an HTML page", "<!-- saved -->\n<HTML>\n<body>"),
    ("an HTML page", "<?xml version=\"1.0\"?>\n<!DOCTYPE html PUBLIC><html xmlns=\"\">"),
    ("an HTML page", "<div class=\"a\">\n<p>one, two</p>\n</div>\n"),
    ("an XML file", "<?xml version=\"1.0\"?><rows/>"),
    ("an XML file", "<rows>\n  <row id=\"1\"><a>x, y</a></row>\n  <row id=\"2\"/>\n</rows>\n"),
    ("an XML file", "<!-- data -->\n<feed xmlns=\"http://x\"><entry><id>1</id></entry></feed>"),
    (
        "a KML file",
        "<kml xmlns=\"http://www.opengis.net/kml/2.2\">\n<Placemark><name>a</name></Placemark>\n</kml>\n",
    ),
    ("a YAML file", "name: shop\nitems:\n  - id: 1\n    price: 2.5\n  - id: 2\n    price: 3\n"),
    ("a YAML file", "---\nhost: a\nport: 1\n"),
    ("a YAML file", "- name: ann\n  age: 3\n- name: bob\n  age: 4\n"),
    (
        "a YAML file",
        "# a comment\nversion: '3'\nservices:\n  web:\n    image: nginx\n    ports:\n    - 80:80\ntext: |\n  some, text\n  and more\n",
    ),
    ("a YAML file", "openapi: 3.0.0\ninfo:\n  title: x\n  tags: [a, b]\npaths:\n  /a:\n    get: {}\n"),
    (
        "a TOML file",
        "[package]\nname = \"x\"\nversion = \"1\"\n\n[dependencies]\nserde = { version = \"1\", features = [\"a\", \"b\"] }\n",
    ),
    ("a TOML file", "title = \"x\"\n[[rows]]\nid = 1\n[[rows]]\nid = 2\n"),
    ("an INI file", "; settings\n[server]\nhost=localhost\nport=80\n\n[client]\nuser=ann\n"),
    (
        "an INI file",
        "[mysqld]\nskip-networking\nport = 3306\ndatadir = /var/lib/mysql\nuser = mysql\nsocket = /a\n",
    ),
    (
        "an INI file",
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n[remote origin]\n\turl = x ; y\n; end\n",
    ),
    (
        "a mail message",
        "Return-Path: <a@b.org>\nReceived: from x by y;\n\tThu, 1 Jan 2015 00:00:00 +0000\nFrom: Ann <ann@b.org>\nTo: bob@b.org\nSubject: rows, and more\nDate: Thu, 1 Jan 2015 00:00:00 +0000\n\nHello,\n",
    ),
    (
        "a mailbox of messages",
        "From ann@b.org Thu Jan  1 00:00:00 2015\nFrom: ann@b.org\nSubject: x\n\nHello\n",
    ),
    (
        "a saved web page (MHTML)",
        "From: <Saved by Blink>\nSnapshot-Content-Location: https://x\nSubject: x\nDate: Thu, 1 Jan 2015 00:00:00\nMIME-Version: 1.0\nContent-Type: multipart/related;\n\ttype=\"text/html\";\n\tboundary=\"b\"\n\n\n",
    ),
    (
        "the response of a web server with its header",
        "HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nDate: x\r\n\r\na,b\r\n1,2\r\n",
    ),
    (
        "a log",
        "127.0.0.1 - ann [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.0\" 200 2326\n127.0.0.1 - - [10/Oct/2000:13:55:37 -0700] \"GET /b HTTP/1.0\" 404 12\n",
    ),
    (
        "a log",
        "1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.1\" 200 1 \"https://x\" \"Mozilla/4.08 [en] (Win98; I)\"\n::1 - - [10/Oct/2000:13:55:37 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"curl, 1\"\n",
    ),
    ("a log", "Oct 11 22:14:15 host sshd[123]: accepted, from 1.2.3.4\nOct  1 02:14:15 host kernel: up\n"),
    (
        "a log",
        "<34>1 2003-10-11T22:14:15.003Z host su - ID47 - failed for ann\n<35>1 2003-10-11T22:14:16.003Z host su - ID48 - ok\n",
    ),
    (
        "a log",
        "2024-01-01T12:00:00.123456+01:00 host cron[7]: job, done\n2024-01-01T12:00:01.123456+01:00 host cron[8]: job\n",
    ),
    (
        "a log",
        "-- Journal begins at Mon 2024-01-01. --\nJan 01 12:00:00 host systemd[1]: Started x.\nJan 01 12:00:01 host systemd[1]: Started y, z.\n",
    ),
    (
        "a log",
        "2024-01-01 12:00:00,123 INFO [main] c.a.Main - started\n2024-01-01 12:00:01,456 ERROR [main] c.a.Main - failed\njava.lang.Error: x\n\tat c.a.Main(Main.java:1)\n\tat c.a.Main(Main.java:2)\n",
    ),
    (
        "a log",
        "2024-01-01 12:00:00,123 - root - INFO - one\n2024-01-01 12:00:01,456 - root - WARNING - two words\n",
    ),
    ("a log", "[2024-01-01T12:00:00Z INFO  app] one\n[2024-01-01T12:00:01Z ERROR app] two, three\n"),
    ("a log", "2024/01/01 12:00:00 [error] 12#0: *1 open() failed\n2024/01/01 12:00:01 [warn] 12#0: x\n"),
    (
        "a log",
        "[Wed Oct 11 14:32:52 2000] [error] [client 1.2.3.4] denied\n[Wed Oct 11 14:32:53 2000] [notice] up\n",
    ),
    ("a log", "[    0.000000] Linux version 6\n[    0.123456] Command line: a=b, c\n"),
    (
        "a log",
        "I0102 12:00:00.123456       1 main.go:12] started\nE0102 12:00:01.123456       1 main.go:13] failed, x\n",
    ),
    (
        "a log",
        "time=2024-01-01T12:00:00Z level=info msg=\"one\"\ntime=2024-01-01T12:00:01Z level=warn msg=\"two, three\"\n",
    ),
    ("a vCard file of contacts", "BEGIN:VCARD\r\nVERSION:3.0\r\nN:Ann;B\r\nEND:VCARD\r\n"),
    ("an iCalendar file", "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\nEND:VEVENT\n"),
    ("a document in LaTeX", "% a paper\n\\documentclass{article}\n\\begin{document}\n"),
    (
        "a key, a certificate or a signed message",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
    ),
    ("a patch", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a,b\n+a,c\n"),
    ("a script", "#!/bin/sh\necho a,b\n"),
    (
        "a pointer of Git LFS, which stands for the file itself",
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    ),
    ("an export of the Windows registry", "REGEDIT4\n\n[HKEY_CURRENT_USER\\x]\n\"a\"=\"b\"\n"),
    ("a GEDCOM family tree", "0 HEAD\n1 SOUR x\n0 @I1@ INDI\n1 NAME Ann /B/\n"),
    ("an LDIF file", "dn: cn=ann,dc=b\nobjectClass: person\ncn: ann\n"),
    ("a program in PHP", "<?php\necho 1;\n"),
];

#[test]
fn files_that_are_not_tables_are_refused_whatever_their_names_are() {
    let folder = TempDir::new().unwrap();
    let texts = TEXTS.iter().map(|(kind, text)| (*kind, text.as_bytes()));
    let mut wrong = Vec::new();
    for (kind, content) in BINARY.iter().copied().chain(texts) {
        for name in ["x.csv", "x.txt", "x.tsv", "x"] {
            let found = refused(folder.path(), name, content);
            if found.as_deref() != Some(kind) {
                wrong.push((kind, found, name, String::from_utf8_lossy(content)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn tar_archives_are_recognised_by_their_first_entry() {
    let folder = TempDir::new().unwrap();
    let entry = |name: &[u8], is_new: bool| {
        let mut header = vec![0; 1024];
        header[..name.len()].copy_from_slice(name);
        header[148..156].fill(b' ');
        if is_new {
            header[257..262].copy_from_slice(b"ustar");
        }
        let sum: u32 = header[..512].iter().map(|&byte| u32::from(byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        header
    };
    for is_new in [true, false] {
        let found = refused(folder.path(), "x.csv", &entry(b"a.csv", is_new));
        assert_eq!(found.as_deref(), Some("a tar archive"));
        let found = refused(folder.path(), "x.csv", &entry(b"toc.dat", is_new));
        assert_eq!(found.as_deref(), Some("an archive of pg_dump"));
    }
}

#[test]
fn text_of_any_kind_is_read_as_csv_if_a_setting_of_csv_is_given() {
    let folder = TempDir::new().unwrap();
    let settings = [FormatOptions::new().delimiter(Delimiter::NONE), FormatOptions::new().format(&CSV)];
    let mut forced = 0;
    for (kind, text) in TEXTS {
        let error =
            recognised(folder.path(), "x.csv", text.as_bytes(), &FormatOptions::new()).expect_err(kind);
        if error.remedy().unwrap().to_string().contains("`delimiter = none`") {
            forced += 1;
            for options in &settings {
                let format = recognised(folder.path(), "x.csv", text.as_bytes(), options);
                assert_eq!(format.unwrap(), &CSV, "{kind}");
            }
        }
    }
    assert!(forced >= 30, "{forced}");
}

#[test]
fn a_short_text_is_recognised_if_the_file_has_the_extension_of_its_format() {
    let folder = TempDir::new().unwrap();
    for (name, text, kind) in [
        ("x.yaml", "a: 1\nb: 2\n", "a YAML file"),
        ("x.yml", "- a\n- b\n", "a YAML file"),
        ("x.toml", "a = 1\nb = 2\n", "a TOML file"),
        ("x.ini", "a = 1\nb = 2\n", "an INI file"),
        ("x.env", "A=1\nB=2\n", "a file of settings"),
        ("x.eml", "From: a\nSubject: b\n\nc\n", "a mail message"),
        ("x.log", "2024-01-01 12:00:00 INFO one\n", "a log"),
        ("x.md", "# Title\n\nText, with commas.\n\n- a\n- b\n", "a Markdown document"),
    ] {
        assert_eq!(refused(folder.path(), name, text.as_bytes()).as_deref(), Some(kind), "{name}");
        assert_eq!(refused(folder.path(), "x.csv", text.as_bytes()), None, "{name}");
    }
    for name in ["x.yaml", "x.ini", "x.log", "x.md", "x.eml", "x.toml"] {
        assert_eq!(refused(folder.path(), name, b"a,b\n1,2\n3,4\n"), None, "{name}");
    }
}

#[test]
fn any_beginning_of_a_file_that_is_not_a_table_is_refused_or_read_as_csv() {
    let folder = TempDir::new().unwrap();
    let texts = TEXTS.iter().map(|(_, text)| text.as_bytes());
    for content in texts.chain(BINARY.iter().map(|(_, bytes)| *bytes)) {
        for end in 0..content.len() {
            for name in ["x.csv", "x.yaml"] {
                let found = recognised(folder.path(), name, &content[..end], &FormatOptions::new());
                assert!(found.is_err() || found.is_ok_and(|format| *format == CSV), "{end} of {content:?}");
            }
        }
    }
}

#[test]
fn text_that_may_be_rows_of_a_table_is_read_as_csv() {
    let folder = TempDir::new().unwrap();
    for text in [
        "",
        "a,b\n1,2\n",
        "PK,name\n1,2\n",
        "<tag>,b\n",
        "<htmlish>,1\n",
        "<id>,<name>\n1,ann\n2,bob\n",
        "<b>a</b>\n<b>c</b>\n",
        "<p>a</p>,1\n<p>b</p>,2\n",
        "BZh,x\n",
        "%PDF,x\n",
        "Obj,1\n",
        "ORC,1\n",
        "GIF,1\n",
        "<xml>,1\n",
        "A\n2\n3\n",
        "A\n3\n4\n5\n",
        "070701,1\n070702,2\n",
        "MZ,1\n",
        "BM\n1\n",
        "# a comment\na,b\n1,2\n",
        "---\ntitle: x\ntags:\n  - a\n---\na,b\n1,2\n3,4\n",
        "[a],b\n[c],d\n",
        "[section]\n[other]\n",
        "k: v\nl: w\n",
        "a=b\nc=d\n",
        "- a\n- b\n",
        "From\tTo\tSubject\na\tb\tc\n",
        "BEGIN:VCARD\na\nb\n",
        "line\n2024-01-01 12:00:00 INFO one\n2024-01-01 12:00:01 INFO two, three\n",
        "time,level,text\n2024-01-01 12:00:00,INFO,one\n",
        "2024-01-01 12:00:00,INFO,one\n2024-01-01 12:00:01,WARN,two\n",
        "2024-01-01 12:00:00\tINFO\tone\n2024-01-01 12:00:01\tWARN\ttwo\n",
        "2024-01-01 12:00:00 | INFO | one\n2024-01-01 12:00:01 | WARN | two\n",
        "2024-01-01 12:00:00,123,INFO\n2024-01-01 12:00:01,456,WARN\n",
    ] {
        let found = recognised(folder.path(), "x.csv", text.as_bytes(), &FormatOptions::new());
        assert_eq!(found.unwrap(), &CSV, "{text:?}");
    }
}

/// Cells of a table that look like parts of other formats.
fn cell() -> impl Strategy<Value = String> {
    let odd = select(vec![
        "[section]",
        "k: v",
        "a=b",
        "---",
        "- item",
        "<b>x</b>",
        "<row/>",
        "# note",
        "key:",
        "From: ann@b.org",
        "INFO",
        "[error]",
        "2024-01-01 12:00:00",
        "2024-01-01T12:00:00Z ERROR x",
        "10/Oct/2000:13:55:36 -0700",
        "127.0.0.1",
        "SELECT 1;",
        "INSERT INTO t VALUES (1)",
        "BEGIN:VEVENT",
        "\\section{x}",
        "name = \"x\"",
        "http://x.org/?a=b",
        "%d",
        "Subject",
        "12:30",
        "a/b",
        "PGDMP",
        "(x)",
        "HTTP/1.1 200 OK",
        "ann@b.org",
    ]);
    prop_oneof![odd.prop_map(str::to_owned), "[a-z]{1,8}", "[0-9]{1,6}", "[A-Z][a-z]{2,6} [a-z]{2,6}"]
}

/// Tables with a header and several columns, and lists with one column that have one sign of another format.
fn table() -> impl Strategy<Value = String> {
    let delimiter = select(vec![",", "\t", ";", "|"]);
    let wide = (delimiter, 2..6usize, 2..30usize, any::<bool>(), any::<bool>()).prop_flat_map(
        |(delimiter, width, rows, has_comment, has_crlf)| {
            prop::collection::vec(prop::collection::vec(cell(), width), rows).prop_map(move |rows| {
                let end = if has_crlf { "\r\n" } else { "\n" };
                let header = (0..width).map(|at| format!("name {at}")).collect::<Vec<_>>().join(delimiter);
                let comment = if has_comment { format!("# made by hand{end}") } else { String::new() };
                let rows = rows.iter().map(|row| row.join(delimiter) + end).collect::<String>();
                format!("{comment}{header}{end}{rows}")
            })
        },
    );
    let word = "[a-z]{1,9}";
    let lists = prop_oneof![
        prop::collection::vec(word, 1..40).prop_map(|words| words.join("\n")),
        prop::collection::vec((word, word), 1..40)
            .prop_map(|pairs| pairs.iter().map(|(key, value)| format!("{key}: {value}\n")).collect()),
        prop::collection::vec((word, word), 1..40)
            .prop_map(|pairs| pairs.iter().map(|(key, value)| format!("{key}={value}\n")).collect()),
        prop::collection::vec(word, 1..40)
            .prop_map(|words| words.iter().map(|word| format!("[{word}]\n")).collect()),
        prop::collection::vec((word, word), 1..40).prop_map(|pairs| pairs
            .iter()
            .map(|(first, second)| format!("The {first}, as {second}, is here.\n"))
            .collect()),
        prop::collection::vec(word, 1..40)
            .prop_map(|names| names.iter().map(|name| format!("{name}@b.org\n")).collect()),
        prop::collection::vec(word, 1..40).prop_map(|words| format!(
            "line\n{}",
            words.iter().map(|word| format!("2024-01-01 12:00:00 INFO {word}\n")).collect::<String>()
        )),
        prop::collection::vec(word, 1..40).prop_map(|words| format!("---\n{}", words.join("\n"))),
        prop::collection::vec((word, word, word), 2..40)
            .prop_map(|rows| rows.iter().map(|(one, two, three)| format!("{one}:{two}:{three}\n")).collect()),
    ];
    prop_oneof![2 => wide, 1 => lists]
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(2000))]

    #[test]
    fn tables_with_cells_that_look_like_other_formats_are_not_refused(
        text in table(), name in select(vec!["x.csv", "x.tsv", "x.txt", "x", "x.dat"]),
    ) {
        let folder = TempDir::new().unwrap();
        let found = recognised(folder.path(), name, text.as_bytes(), &FormatOptions::new());
        prop_assert_eq!(found.unwrap(), &CSV);
    }
}
