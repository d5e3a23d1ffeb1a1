//! Transcripts of `load` about the format of text files: dialects, headers, NULL, encodings, compression.

use std::io::Write;

use crate::transcript::{Transcript, fails, sqluice};

/// Returns a load of `t.csv` with this content.
fn load(flags: &str, content: impl AsRef<[u8]>) -> Transcript {
    sqluice(&format!("load x.db t.csv {flags}")).file("t.csv", content)
}

#[track_caller]
fn holds(flags: &str, content: impl AsRef<[u8]>, expected: &str) {
    load(flags, content).succeeds().holds("SELECT * FROM t", expected);
}

fn refused(flags: &str, content: &str, stderr: &str) {
    load(flags, content).fails(2, stderr);
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(content: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn xz(content: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn zstd(content: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(content, 0).unwrap()
}

#[test]
fn delimiters_are_recognised_or_given_by_a_flag() {
    for delimiter in [",", "\t", ";", "|"] {
        holds("", format!("a{delimiter}b\n1{delimiter}x\n2{delimiter}y\n"), "1|'x'\n2|'y'");
    }
    holds("-d ,", "a,b;c\n1,2;3\n", "1|'2;3'");
    holds("-d ';'", "a,b;c\n1,2;3\n", "'1,2'|3");
    for flags in ["-d \\t", "-d tab", "--delimiter=\\t", "-f tsv", "--format tsv"] {
        holds(flags, "a,b\tc\n1,2\t3\n", "'1,2'|3");
    }
    holds("-f csv", "a;b\n1;2\n", "1|2");
    holds("-d ^", "a^b\n1^2\n", "1|2");
    for (given, between) in [("||", "||"), ("¦", "¦"), ("whitespace", "  ")] {
        holds(&format!("-d {given}"), format!("a{between}b\n1{between}x\n"), "1|'x'");
        holds("", format!("a{between}b\n1{between}x\n"), "1|'x'");
    }
    holds("-d none", "a,b\n1,x\n", "'1,x'");
    refused(
        "-f pdf",
        "",
        "error: invalid value 'pdf' for '--format <FORMAT>'\n  [possible values: csv, tsv, ndjson, json, parquet, arrow, avro, xlsx, xlsb, ods, xls, sqlite, sql]\n\n\
         For more information, try '--help'.",
    );
}

#[test]
fn quotes_are_recognised_or_given_by_a_flag() {
    holds("", "a,b\n\"1,\"\"x\"\"\",2\n", "'1,\"x\"'|2");
    holds("--quote '\"'", "a,b\n'1',\"2\"\n", "''1''|2");
    sqluice("load x.db t.csv --quote ~")
        .file("t.csv", "a,b\n~1,x~,\"2\n")
        .succeeds()
        .holds("SELECT * FROM t", "'1,x'|'\"2'");
    for none in ["none", "''"] {
        holds(&format!("--quote {none}"), "a,b\n\"1,\"2\n", "'\"1'|'\"2'");
    }
}

#[test]
fn an_escape_character_makes_the_next_character_text() {
    holds("--escape \\", "a,b\n\"1\\\"x\\\\\",2\n", "'1\"x\\'|2");
    let outfile = "id\tname\tnote\n1\tann\\\tb\t\\N\n2\tb\\\\ob\tx\\\ny\n3\t\"q\t\\n\n";
    let rows = "1|'ann\tb'|NULL\n2|'b\\ob'|'x\ny'\n3|'\"q'|'\n'";
    holds("--escape \\ --quote none", outfile, rows);
    holds("--escape \\ --quote '\"'", "a,b\n1,\"x\\\"\"\n2,\\N\n3,y\\,z\n", "1|'x\"'\n2|NULL\n3|'y,z'");
    load("", "id\tplace\n1\tOslo\\\tNorway\n2\tRome\\\tItaly\n3\t\\N\n").succeeds().says(
        "note: t.csv: \\ makes the next character text, outside of quotes, too, and \\N is NULL; --escape none reads it as text\n\
         Loaded 3 rows into [..]\nt: id INTEGER, place TEXT",
    );
}

#[test]
fn trailing_delimiters_and_a_repeated_header_are_skipped_and_reported() {
    load("", "id,name\n1,Ann,\n2,Bob,\n")
        .succeeds()
        .says(
            "note: t.csv: the rows end with a delimiter that the header does not have; it separates nothing\n\
             Loaded 2 rows into [..]\nt: id INTEGER, name TEXT",
        )
        .holds("SELECT * FROM t", "1|'Ann'\n2|'Bob'");
    holds("--reject bad.csv", "id,name\n1,Ann,\n2,Bob,x\n3,Cid,\n", "1|'Ann'\n3|'Cid'");
    holds("", "id,name\n1,Ann\n\u{1a}", "1|'Ann'");
    let members = [gzip(b"name,city\nann,oslo\n"), gzip(b"name,city\nbob,rome\n")].concat();
    load("--header", members)
        .succeeds()
        .says(
            "Loaded 2 rows into [..]\nt: name TEXT, city TEXT\nt.csv: line 3 repeats the header and is skipped",
        )
        .holds("SELECT * FROM t", "'ann'|'oslo'\n'bob'|'rome'");
}

#[test]
fn the_first_record_is_recognised_or_declared_as_header_or_row() {
    holds("", "a,b\n1,2\n", "1|2");
    holds("--header", "1,2\n3,4\n", "3|4");
    holds("--no-header", "a,b\n1,2\n", "'a'|'b'\n'1'|'2'");
    load("--no-header", "1,2\n")
        .succeeds()
        .says("Loaded 1 row into [..]\nt: column1 INTEGER, column2 INTEGER")
        .holds("SELECT column1, column2 FROM t", "1|2");
    load("", "1,2\n3,4\n")
        .succeeds()
        .says("note: t.csv: the first record is taken for a row; if it names the columns: --header\nLoaded 2 rows into [..]\nt: column1 INTEGER, column2 INTEGER")
        .holds("SELECT * FROM t", "1|2\n3|4");
    refused(
        "--header --no-header",
        "",
        "error: the argument '--header' cannot be used with '--no-header'\n\nUsage: [..]\n\nFor more information, try '--help'.",
    );
}

#[test]
fn the_flag_skip_lines_and_the_flag_comment_leave_lines_out() {
    holds("--skip-lines 2", "a report\n\"of 2024\na,b\n1,2\n", "1|2");
    holds("--comment #", "# a,b,c\na,b\n1,2\n#3\n\"#4\",5\n", "'1'|2\n'#4'|5");
    holds("", "a,b\n#3,4\n", "'#3'|4");
    load("--skip-lines 3", "a,b\n1,2\n").fails(
        1,
        "error: t.csv: the file is empty after the 3 lines that are skipped\n\n\
         hint: its first line should name the columns",
    );
}

#[test]
fn empty_fields_and_the_tokens_of_null_are_read_as_null() {
    let content = "a,b,c\n1,,NA\n2,\"\",\\N\n3,\"NA\",x\n";
    holds("", content, "1|NULL|'NA'\n2|''|'\\N'\n3|'NA'|'x'");
    holds("--null NA", content, "1|NULL|NULL\n2|''|'\\N'\n3|'NA'|'x'");
    holds("--null NA --null \\N", content, "1|NULL|NULL\n2|''|NULL\n3|'NA'|'x'");
    holds("--empty-as-text", content, "1|''|'NA'\n2|''|'\\N'\n3|'NA'|'x'");
    holds("--empty-as-text --null ''", content, "1|NULL|'NA'\n2|''|'\\N'\n3|'NA'|'x'");
}

#[test]
fn the_flag_pad_fills_missing_fields_with_null() {
    let content = "a,b,c\n1\n2,3\n4,5,6\n";
    load("", content).fails(
        1,
        "error: t.csv:2:2: the record ends after field 1: the header has 3\n\n\
         hint: --pad fills missing fields with NULL; --reject FILE writes such rows to a file and goes on",
    );
    load("--pad", content)
        .succeeds()
        .says("Loaded 3 rows into [..]\n2 rows filled with NULL where fields are missing\nt: a INTEGER, b INTEGER, c INTEGER")
        .holds("SELECT * FROM t", "1|NULL|NULL\n2|3|NULL\n4|5|6");
    load("--pad", "a,b\n1,2\n").succeeds().says("Loaded 1 row into [..]\nt: a INTEGER, b INTEGER");
    let report = load("--pad --json", content).succeeds().ran.stdout;
    assert_eq!(report.matches("\"padded\": 2").count(), 2, "{report}");
    load("--pad", "a,b\n1\n2,3\n4,5\n6,7,8\n").fails(
        1,
        "error: t.csv:5:5: field 3 of this record: the header has only 2\n\n\
         hint: --reject FILE writes such rows to a file and goes on",
    );
    sqluice("load x.db t.csv u.csv --pad")
        .file("t.csv", content)
        .file("u.csv", "a,b\n1\n2,3\n")
        .succeeds()
        .says("Loaded 5 rows into [..]\n3 rows filled with NULL where fields are missing: t.csv 2, u.csv 1\nt: [..]\nu: [..]");
    fails(
        &[("t.json", "{}")],
        "load x.db t.json --pad",
        2,
        "error: --pad is for CSV, but t.json is NDJSON\n\nhint: leave it out, or say what the file is: --format",
    );
}

#[test]
fn a_quote_inside_an_unquoted_field_is_an_error_with_strict_quotes() {
    let content = "a,b\n1,x\"y\n2,\"x\"\"y\"\n";
    holds("", content, "1|'x\"y'\n2|'x\"y'");
    load("--strict-quotes", content).fails(
        1,
        "error: t.csv:2:4: a quote inside a field that is not quoted\n\n\
         hint: a field with quotes is written \"...\"\"...\"; without --strict-quotes such a quote is a character of the field",
    );
    load("--strict-quotes --reject bad.csv", content)
        .succeeds()
        .says("Loaded 1 row into [..]\n1 row rejected, see bad.csv\nt: a INTEGER, b TEXT")
        .holds("SELECT * FROM t", "2|'x\"y'");
    refused(
        "--strict-quotes --quote none",
        content,
        "error: --strict-quotes is about quotes, and the files have none\n\n\
         hint: leave one of the two out: --strict-quotes or --quote none",
    );
}

#[test]
fn the_delimiter_must_differ_from_the_quote_and_the_comment_character() {
    for (flags, stderr) in [
        (
            "-d , --quote ,",
            "error: ',' can't be the delimiter and the quote character at once\n\nhint: name another quote character",
        ),
        (
            "-d ; --comment ;",
            "error: ';' can't be the delimiter and the comment character at once\n\nhint: name another comment character",
        ),
    ] {
        refused(flags, "a,b\n1,2\n", stderr);
    }
}

#[test]
fn a_byte_order_mark_determines_the_encoding() {
    let text = "a,b\n1,€\n";
    let utf16 = |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(bytes).collect()
    };
    for content in [format!("\u{feff}{text}").into_bytes(), utf16(u16::to_le_bytes), utf16(u16::to_be_bytes)]
    {
        for flags in ["", "-E utf-16"] {
            if content[0] == 0xef && !flags.is_empty() {
                continue;
            }
            load(flags, &content).succeeds().holds("SELECT a, b FROM t", "1|'€'");
        }
    }
}

#[test]
fn a_flag_names_the_encoding_and_an_unknown_name_is_refused() {
    holds("-E windows-1252", b"a,b\n1,\x80\xe4\n", "1|'€ä'");
    holds("--encoding latin1", b"a,b\n1,\xe4\n", "1|'ä'");
    let utf16: Vec<u8> = "a,b\n1,ä\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    holds("-E utf-16le", utf16, "1|'ä'");
    load("-E klingon", "a\n1\n").fails(
        2,
        "error: unknown encoding \"klingon\"\n\n\
         hint: known encodings include utf-8, utf-16, utf-16le, utf-16be, windows-1252, latin1, iso-8859-15, macintosh, \
         koi8-r, shift_jis, euc-jp, gb18030, big5, euc-kr",
    );
}

#[test]
fn valid_utf8_text_that_is_read_in_another_encoding_is_noted() {
    let content = "a,b\n1,x\n2,café\n";
    let note = "note: t.csv: the text is read as [..], but it is also valid UTF-8, where \"[..]\" is \"é\"; --encoding utf-8 reads it so\nLoaded [..]\nt: [..]";
    for encoding in ["windows-1252", "iso-8859-15", "koi8-r", "macintosh"] {
        load(&format!("--encoding {encoding}"), content).succeeds().says(note);
    }
    load("--encoding utf-8", content)
        .succeeds()
        .says("Loaded [..]\nt: [..]")
        .holds("SELECT b FROM t", "'x'\n'café'");
    // ASCII text, and text that is not valid UTF-8, have no note.
    load("-E windows-1252", "a,b\n1,x\n").succeeds().says("Loaded [..]\nt: [..]");
    load("-E windows-1252", b"a,b\n1,caf\xe9\n2,\xc3\xa9\n").succeeds().says("Loaded [..]\nt: [..]");
}

#[test]
fn an_encoding_error_is_printed_without_a_note_about_the_header() {
    for content in [&b"Jos\xe9,1\nAnn,2\n"[..], b"Ann,1\nJos\xe9,2\n", b"nam\xe9,n\nAnn,2\nBob,3\n"] {
        load("", content).fails(1, "error: t.csv:[..]: this is not UTF-8: byte 0xe9\n\nhint: [..]\n[..]");
    }
    load("--reject bad.csv", b"Ann,1\nJos\xe9,2\n")
        .succeeds()
        .says("note: t.csv: the first record is taken for a row; if it names the columns: --header\nLoaded [..]\n[..]\nt: [..]");
}

#[test]
fn the_last_comment_before_the_rows_names_the_columns() {
    let content = "# zones\n#codes\tTZ\nAD\tEurope/Andorra\nAE\tAsia/Dubai\n# more\nAF\tAsia/Kabul\n";
    let rows = "'AD'|'Europe/Andorra'\n'AE'|'Asia/Dubai'\n'AF'|'Asia/Kabul'";
    load("", content)
        .succeeds()
        .says(
            "note: t.csv: the first line is skipped, as \"# zones\" is not part of the table; --skip-lines 0 keeps all lines\n\
             note: t.csv: the comment in line 2 names the columns; --comment '#' skips it\n\
             note: t.csv: lines that begin with # are skipped as comments (1 in the sample); --comment none keeps them\n\
             Loaded 3 rows into [..]\nt: codes TEXT, TZ TEXT",
        )
        .holds("SELECT codes, TZ FROM t", rows);
    holds("--comment # --no-header", content, rows);
    // If a setting names the column with the # of the comment, the column keeps the #.
    load("--type #codes=BLOB", content).succeeds().holds("SELECT \"#codes\", TZ FROM t", rows);
    load("", "# x y z\n1.5 2 7\n3.5 4 8\n").succeeds().holds("SELECT x, y, z FROM t", "1.5|2|7\n3.5|4|8");
}

#[test]
fn an_error_in_lines_above_the_table_suggests_how_many_lines_to_skip() {
    let hours: String = (10..60).map(|hour| format!("{hour}:10,{hour}.5,3.0\n")).collect();
    let content =
        format!("Latitude: 45.0,\nmonth,year,\n1,2005,\n2,2006,\n\n3,2007,1,1\ntime,T2m,RH\n{hours}");
    let (above, below) = (content.replace(",\n", "\n"), "SELECT count(*), sum(T2m) FROM t");
    load("", &above).fails(
        1,
        "error: t.csv:2:7: field 2 of this record: the header has only 1\n\n\
         hint: line 7 looks like the header of the table; to begin there: --skip-lines 6\n\
         sqluice load x.db t.csv --skip-lines 6",
    );
    load("--skip-lines 6", &above).succeeds().holds(below, "50|1750.0");
    // A single row with too few fields at the end of the file does not suggest that there are lines above the table. So the hint is --pad.
    let odd = format!("time,T2m,RH\n{hours}1,2\n");
    load("", &odd).fails(1, "error: t.csv:52:4: [..]\n\nhint: --pad [..]");
}

#[test]
fn bytes_that_are_invalid_in_the_encoding_are_reported_at_their_place() {
    load("", b"a,b\n1,x\n2,caf\xe9\n").fails(
        1,
        "error: t.csv:3:6: this is not UTF-8: byte 0xe9\n\n\
         hint: if the file is in another encoding, name it, for example: --encoding windows-1252\n\
         sqluice load x.db t.csv --encoding windows-1252",
    );
    load("-E shift_jis", b"a,b\n1,x\n2,\xff\n").fails(
        1,
        "error: t.csv:3:3: no character of Shift_JIS: byte 0xff\n\n\
         hint: if the text has another encoding: --encoding NAME",
    );
    load("-E utf-16le", b"a\0\n\x001\0\n\x002").fails(
        1,
        "error: t.csv:3:1: the text ends in the middle of a character of UTF-16LE: byte 0x32\n\n\
         hint: the file seems to be incomplete: copy or write it again",
    );
}

#[test]
fn compressed_files_are_recognised_under_any_name() {
    let text: String = (0..2000).fold("n,text\n".to_owned(), |text, n| text + &format!("{n},row {n}\n"));
    for content in [gzip, zstd, bzip2, xz].map(|pack| pack(text.as_bytes())) {
        for name in ["t.csv", "t.csv.gz", "t.csv.zst", "t.csv.bz2", "t.csv.xz", "t"] {
            sqluice(&format!("load x.db {name}"))
                .file(name, &content)
                .succeeds()
                .holds("SELECT count(*), sum(n), max(text) FROM t", "2000|1999000|'row 999'");
        }
        sqluice("load x.db - -t t").stdin(&content).succeeds().holds("SELECT count(*) FROM t", "2000");
    }
}

#[test]
fn a_compressed_file_that_ends_early_or_is_damaged_is_refused() {
    // The text compresses badly, so the compressed file is long enough to be cut in its middle.
    let text: String = (0..5000_u64).fold("n\n".to_owned(), |text, n| {
        text + &format!("{}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20)
    });
    let packers = [("gzip", gzip as fn(&[u8]) -> Vec<u8>), ("zstd", zstd), ("bzip2", bzip2), ("xz", xz)];
    for (what, content) in packers.map(|(what, pack)| (what, pack(text.as_bytes()))) {
        load("", &content[..content.len() / 2]).fails(
            1,
            &format!(
                "error: t.csv: the {what} data ends too early\n  caused by: [..]\n\n\
                 hint: the file seems to be incomplete: copy or write it again"
            ),
        );
    }
    let mut damaged = gzip(text.as_bytes());
    let sum_at = damaged.len() - 8;
    damaged[sum_at] ^= 0x55;
    load("", damaged).fails(1, "error: t.csv: the gzip data is damaged\n  caused by: [..]");
}

#[test]
fn the_error_about_an_unsupported_compression_says_how_to_decompress_the_file() {
    for (head, format, remedy) in [
        (&b"\x04\x22\x4d\x18........"[..], "LZ4 data", "decompress it first, for example with lz4 -dk"),
        (b"7z\xbc\xaf\x27\x1c........", "a 7z archive", "extract it, and load the files in it"),
    ] {
        load("", head).fails(
            1,
            &format!(
                "error: t.csv: this is {format}, which is not read here\n\n\
                 hint: {remedy}"
            ),
        );
    }
}

#[test]
fn a_file_with_a_header_alone_makes_an_empty_table_and_an_empty_file_is_an_error() {
    load("", "a,b\n")
        .succeeds()
        .says("Loaded 0 rows into x.db: 8.2 kB in [..] (0 rows/s)\nt: a TEXT, b TEXT")
        .holds("SELECT sql FROM sqlite_schema", "'CREATE TABLE \"t\" (\n  \"a\" TEXT,\n  \"b\" TEXT\n)'");
    let hint = "hint: its first line should name the columns";
    for content in ["", "\n\n", "\u{feff}"] {
        load("", content).fails(1, &format!("error: t.csv: the file is empty\n\n{hint}"));
    }
    fails(
        &[("t.csv", "")],
        "load x.db t.csv --no-header",
        1,
        "error: t.csv: the file is empty\n\nhint: it needs a first record, whose fields become the columns",
    );
}

#[test]
fn the_format_tsv_cannot_be_combined_with_a_delimiter() {
    sqluice("load x.db t.csv -f tsv -d ,")
        .file("t.csv", "a,b\n1,2\n")
        .fails(2, "error: --format tsv does not take --delimiter\n\nhint: leave one of the two out");
}

#[test]
fn json_is_recognised_by_its_name_or_first_bytes_or_declared_by_the_flag_format() {
    let lines = "{\"a\":1,\"b\":\"x\"}\n{\"b\":\"y\",\"c\":[1]}\n";
    let expected = "1|'x'|NULL\nNULL|'y'|'[1]'";
    for (name, content) in [
        ("t.ndjson", lines.as_bytes().to_vec()),
        ("t.jsonl", lines.as_bytes().to_vec()),
        ("t.json.gz", gzip(lines.as_bytes())),
        ("t.dat", zstd(lines.as_bytes())),
        ("t.json", b"[{\"a\":1,\"b\":\"x\"},\n {\"b\":\"y\",\"c\":[1]}]".to_vec()),
    ] {
        sqluice(&format!("load x.db {name}"))
            .file(name, content)
            .succeeds()
            .holds("SELECT * FROM t", expected);
    }
    holds("--format ndjson", lines, expected);
    holds("--format json", lines, expected);
    sqluice("load x.db t.json --delimiter ;").file("t.json", lines).fails(
        2,
        "error: --delimiter is for CSV, but t.json is NDJSON\n\n\
         hint: leave it out, or say what the file is: --format",
    );
    sqluice("load x.db t.json").file("t.json", "{\"a\":1}\n{\"a\":}\n").fails(
        1,
        "error: t.json:2:6: expected a value, found '}'\n\nhint: --reject FILE writes such rows to a file and goes on",
    );
}

#[test]
fn a_stray_quote_that_hides_rows_causes_a_warning() {
    let doubt = "id,name,city\n1,Ann,Oslo\n2,\"Bob,Rome\n3,Cid,Bern\n4,Dan,Paris\n5,Eve\",Wien\n6,Fay,Prag\n";
    load("", doubt).succeeds().says(
        "Loaded 3 rows into [..]\nread t.csv: comma, header\nt: id INTEGER, name TEXT, city TEXT\n\
         warning: t.csv:3:3: the quoted field that begins here has 4 lines, and each of them could be a row. It is loaded as one value; \
         if the quote is text: --quote none",
    );
    holds(
        "--quote none",
        doubt,
        "1|'Ann'|'Oslo'\n2|'\"Bob'|'Rome'\n3|'Cid'|'Bern'\n4|'Dan'|'Paris'\n5|'Eve\"'|'Wien'\n6|'Fay'|'Prag'",
    );
    load("--strict-quotes", doubt).fails(
        1,
        "error: t.csv:3:3: the quoted field that begins here has 4 lines, and each of them could be a row\n\n\
         hint: --quote none reads quotes as ordinary characters; without --strict-quotes such a field is loaded, with a warning",
    );
    // The stray quote is far after the sample, and a quoted field is before it.
    let rows: String = (0..200_000).map(|row| format!("{row},name {row}\n")).collect();
    let late = format!("id,name\n0,\"a, b\"\n{rows}7,\"lost\n{rows}");
    load("--reject bad.csv", &late)
        .succeeds()
        .says("Loaded 400,001 rows into [..]\nread t.csv: comma, header\n1 row rejected, see bad.csv\nt: id INTEGER, name TEXT")
        .file_is("bad.csv", "file,line,column,reason,record\nt.csv,200003,3,the quoted field that begins here never ends,\"7,\"\"lost\"\n");
}

#[test]
fn quotes_that_do_not_enclose_a_field_are_text() {
    load("", "size,n\n3\" pipe,1\n\"big\" one,2\n\"tiny,3\n")
        .succeeds()
        .says("note: t.csv: quote characters are read as text, because the one in line 3 does not enclose a field; --quote '\"' reads them as quotes\nLoaded 3 rows into [..]\nread t.csv: comma, header, no quote\nt: size TEXT, n INTEGER")
        .holds("SELECT size FROM t", "'3\" pipe'\n'\"big\" one'\n'\"tiny'");
}

#[test]
fn empty_rows_at_the_end_of_a_file_are_left_out_of_new_tables() {
    let file = "a,b\n1,x\n,\n2,y\n,\n,\n";
    load("", file)
        .succeeds()
        .says(
            "Loaded 3 rows into [..]\nread t.csv: comma, header\nt: a INTEGER, b TEXT\n\
             t.csv: the last 2 rows are empty and are left out; --keep-empty-rows loads such rows",
        )
        .holds("SELECT * FROM t", "1|'x'\nNULL|NULL\n2|'y'");
    holds("--keep-empty-rows", file, "1|'x'\nNULL|NULL\n2|'y'\nNULL|NULL\nNULL|NULL");
    sqluice("load x.db t.csv --schema s.sql")
        .file("t.csv", file)
        .file("s.sql", "CREATE TABLE t (a INTEGER, b TEXT)")
        .succeeds()
        .holds("SELECT count(*) FROM t", "5");
}

#[test]
fn blanks_around_column_names_are_removed_and_around_values_only_on_request() {
    let file = "id, full name ,n\n1,  ann , 5\n2,\" bob \",7\n";
    load("", file)
        .succeeds()
        .says("note: t.csv: blanks around names are left out: \" full name \" is called \"full name\"\nLoaded 2 rows into [..]\nread t.csv: comma, header\nt: id INTEGER, full name TEXT, n TEXT")
        .holds("SELECT \"full name\" FROM t", "'  ann '\n' bob '");
    holds("--trim", file, "1|'ann'|5\n2|' bob '|7");
    // If a setting names the column with its blanks, the column keeps them.
    load("--columns '\" full name \"'", file)
        .succeeds()
        .holds("SELECT \" full name \" FROM t LIMIT 1", "'  ann '");
}

#[test]
fn values_of_flags_may_begin_with_a_dash_or_contain_commas() {
    holds("--null -999", "a,b\n1,-999\n2,3\n", "1|NULL\n2|3");
    load("--columns '\"a,b\",c' --primary-key '\"a,b\"'", "\"a,b\",c\n1,2\n")
        .succeeds()
        .holds("SELECT \"a,b\" FROM t", "1");
}

#[test]
fn a_line_that_repeats_the_header_is_skipped_in_a_file_with_a_column_of_numbers() {
    load("", "id,name\n1,x\nid,name\n2,y\n")
        .succeeds()
        .says("Loaded 2 rows into [..]\nread t.csv: comma, header\nt: id INTEGER, name TEXT\nt.csv: line 3 repeats the header and is skipped")
        .holds("SELECT * FROM t", "1|'x'\n2|'y'");
}

#[test]
fn bad_rows_that_outnumber_the_good_ones_end_the_load() {
    let file = format!("a,b\n{}{}", "1,2\n".repeat(140), "3\n".repeat(150));
    load("--reject bad.csv", &file).exits(1).says(
        "error: t.csv:142:2: 150 of 290 rows of this file are bad; the first: the record ends after field 1: the header has 2\n\n\
         hint: all bad rows are in bad.csv; --max-rejects N accepts up to N",
    );
    load("--reject bad.csv --max-rejects 150", &file).succeeds();
    load("--reject bad.csv", format!("a,b\n{}{}", "1,2\n".repeat(140), "3\n".repeat(130))).succeeds();
}
