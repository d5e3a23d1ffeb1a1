//! Signatures: the first bytes of formats, which no file of another format has.

use sqluice_format::database::MAGIC;

use super::{ARCHIVE, Foreign, SHEET};

pub(super) const ZLIB: Foreign = Foreign::certain("zlib data", "decompress it first");
pub(super) const SNAPPY: Foreign = Foreign::certain("Snappy data", "decompress it first");
pub(super) const R: Foreign =
    Foreign::certain("data of R", "write its tables as CSV or Parquet in R, and load these");
pub(super) const PICKLE: Foreign =
    Foreign::certain("a pickle of Python", "write its rows as CSV or Parquet in Python, and load that");
pub(super) const PROGRAM: Foreign = Foreign::certain("a program", "name the file with the rows instead");
pub(super) const PICTURE: &str = "a picture has no rows: is it the right file?";
pub(super) const UTF_32: Foreign = Foreign::certain(
    "text in UTF-32",
    "convert it, and load that: iconv -f UTF-32 -t UTF-8 FILE > CONVERTED",
);
pub(super) const PG_DUMP: Foreign =
    Foreign::certain("an archive of pg_dump", "make SQL of it, and load that: pg_restore -f dump.sql FILE");
pub(super) const STATA: Foreign =
    Foreign::certain("a Stata dataset", "write it as CSV in Stata, R or Python, and load that");
const SPSS: Foreign = Foreign::certain("an SPSS file", "write it as CSV in SPSS, R or Python, and load that");
const SAS: Foreign = Foreign::certain("a SAS dataset", "write it as CSV in SAS, R or Python, and load that");
const MATLAB: Foreign = Foreign::certain("a MATLAB file", "write its tables as CSV, and load these");
const ARRAYS: Foreign = Foreign::certain(
    "a file of arrays (netCDF, HDF4 or FITS)",
    "write its tables as CSV or Parquet, and load these",
);
const LOG_OF_SQLITE: Foreign = Foreign::certain(
    "a journal of a SQLite database",
    "name the database instead, whose name has neither -wal nor -journal",
);
pub(super) const PACKETS: Foreign =
    Foreign::certain("a recording of network packets", "export its packets as CSV, and load that");
/// The signature of compound files, as Excel, Word and PowerPoint wrote before 2007.
pub(super) const COMPOUND: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
const RECORDING: Foreign = Foreign::certain("a recording", "it has no rows: is it the right file?");

/// Signatures, and the formats that begin with them.
pub(super) const SIGNATURES: &[(&[u8], Foreign)] = &[
    (COMPOUND, Foreign::certain("an old Microsoft Office file, such as .xls", SHEET)),
    (
        b"%PDF-",
        Foreign::certain("a PDF file", "export its tables as CSV with another program, and load that"),
    ),
    (
        MAGIC,
        Foreign::certain(
            super::DATABASE_IN_STREAM,
            "save it as a file that is not compressed, and load that",
        ),
    ),
    (b"7z\xbc\xaf\x27\x1c", Foreign::certain("a 7z archive", ARCHIVE)),
    (b"Rar!\x1a\x07", Foreign::certain("a RAR archive", ARCHIVE)),
    (b"\x04\x22\x4d\x18", Foreign::certain("LZ4 data", "decompress it first, for example with lz4 -dk")),
    (
        b"\x1f\x9d",
        Foreign::certain("data of compress (.Z)", "decompress it first, for example with gzip -dk"),
    ),
    (b"\xff\x06\0\0sNaPpY", SNAPPY),
    (
        b"FEA1",
        Foreign::certain(
            "a Feather file of version 1",
            "write it as version 2, which is Arrow IPC, or as Parquet",
        ),
    ),
    (
        b"\x89HDF\r\n\x1a\n",
        Foreign::certain("an HDF5 file", "write its tables as Parquet or CSV, and load these"),
    ),
    (b"\x93NUMPY", Foreign::certain("a NumPy array", "write it as CSV or Parquet, and load that")),
    (
        b"\0\x01\0\0Standard ",
        Foreign::certain("a Microsoft Access database", "export its tables as CSV, and load these"),
    ),
    (b"\xff\xfe\0\0", UTF_32),
    (b"\0\0\xfe\xff", UTF_32),
    (b"\x89PNG\r\n\x1a\n", Foreign::certain("a PNG picture", PICTURE)),
    (b"\xff\xd8\xff", Foreign::certain("a JPEG picture", PICTURE)),
    (b"GIF87a", Foreign::certain("a GIF picture", PICTURE)),
    (b"GIF89a", Foreign::certain("a GIF picture", PICTURE)),
    (b"\x7fELF", Foreign::certain("a program", "name the file with the rows instead")),
    (b"PGDMP", PG_DUMP),
    (b"$FL2", SPSS),
    (b"$FL3", SPSS),
    (b"ASCII SPSS PORT FILE", SPSS),
    // Portable files of SPSS begin with "ASCII SPSS PORT FILE" in EBCDIC.
    (b"\xc1\xe2\xc3\xc9\xc9\x40\xe2\xd7\xe2\xe2\x40\xd7\xd6\xd9\xe3\x40", SPSS),
    (b"<stata_dta>", STATA),
    (b"HEADER RECORD*******LIB", SAS),
    (b"\0\0\0\0\0\0\0\0\0\0\0\0\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\0\x09\xc7\x31\x8c", SAS),
    (b"RDX2\n", R),
    (b"RDX3\n", R),
    (b"RDA2\n", R),
    (b"RDA3\n", R),
    (b"RDB2\n", R),
    (b"RDB3\n", R),
    (b"(dp0\n", PICKLE),
    (b"(lp0\n", PICKLE),
    (b"ccopy_reg\n_reconstructor\n", PICKLE),
    (b"MATLAB 5.0 MAT-file", MATLAB),
    (b"MATLAB 7.3 MAT-file", MATLAB),
    (b"CDF\x01", ARRAYS),
    (b"CDF\x02", ARRAYS),
    (b"CDF\x05", ARRAYS),
    (b"\x0e\x03\x13\x01", ARRAYS),
    (b"SIMPLE  =                    T", ARRAYS),
    (
        b"fgb\x03fgb",
        Foreign::certain("a FlatGeobuf file", "convert its shapes to GeoJSON or CSV, and load that"),
    ),
    (b"\0\0\x02\0\x06\x04\x06\0", Foreign::certain("a Lotus 1-2-3 worksheet", SHEET)),
    (b"\0\0\x1a\0\0\x10\x04\0", Foreign::certain("a Lotus 1-2-3 worksheet", SHEET)),
    (b"\x09\0\x04\0", Foreign::certain("an old Excel sheet", SHEET)),
    (b"\x09\x02\x06\0", Foreign::certain("an old Excel sheet", SHEET)),
    (b"\x09\x04\x06\0", Foreign::certain("an old Excel sheet", SHEET)),
    (b"{\\rtf", Foreign::certain("a document in RTF", "save its tables as CSV, and load these")),
    (
        b"%!PS-",
        Foreign::certain("a PostScript file", "export its tables as CSV with another program, and load that"),
    ),
    (b"!<arch>\n", Foreign::certain("an ar archive", ARCHIVE)),
    (b"MSCF\0\0\0\0", Foreign::certain("a cabinet archive", ARCHIVE)),
    (b"LZIP\x01", Foreign::certain("lzip data", "decompress it first")),
    (b"\x89LZO\0\r\n\x1a\n", Foreign::certain("lzop data", "decompress it first")),
    (b"\x5d\0\0\x80\0", Foreign::certain("LZMA data", "decompress it first: xz -dc FILE")),
    (b"\x5d\0\0\0\x04", Foreign::certain("LZMA data", "decompress it first: xz -dc FILE")),
    (b"\x37\x7f\x06\x82", LOG_OF_SQLITE),
    (b"\x37\x7f\x06\x83", LOG_OF_SQLITE),
    (b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", LOG_OF_SQLITE),
    (b"REDIS00", Foreign::certain("a dump of Redis", "export its values as CSV or NDJSON, and load these")),
    (
        b"SEQ\x06",
        Foreign::certain("a SequenceFile of Hadoop", "write its rows as Parquet or Avro, and load that"),
    ),
    (b"RCF\x01", Foreign::certain("an RCFile of Hive", "write its rows as Parquet or Avro, and load that")),
    (b"\xd4\xc3\xb2\xa1", PACKETS),
    (b"\xa1\xb2\xc3\xd4", PACKETS),
    (b"ElfFile\0", Foreign::certain("an event log of Windows", "export its events as CSV, and load that")),
    (b"II*\0", Foreign::certain("a TIFF picture", PICTURE)),
    (b"MM\0*", Foreign::certain("a TIFF picture", PICTURE)),
    (b"ID3\x03", RECORDING),
    (b"ID3\x04", RECORDING),
    (b"OggS\0", RECORDING),
    (b"fLaC\0", RECORDING),
    (b"\xca\xfe\xba\xbe", PROGRAM),
    (b"\xcf\xfa\xed\xfe", PROGRAM),
    (b"\0asm", PROGRAM),
];
