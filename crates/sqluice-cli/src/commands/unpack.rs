//! `sqluice unpack`: extracts the files of a SQLite archive, lists them, or prints one to standard output.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use sqluice::archive::{self, Kind, Listed, UnpackReport};
use sqluice::error::{Error, Setting, message};
use sqluice::progress::Cancel;

use crate::Exit;
use crate::args::Unpack;
use crate::printer::Printer;
use crate::quantities::{counted, elapsed, grouped, listed, size};

/// The maximum number of refused rows that are named.
const REFUSALS_MAX: usize = 50;

pub(super) fn run(args: &Unpack, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    let folder = args.dir.clone().unwrap_or_default();
    let mut unpack = archive::Unpack::new(&args.db, folder);
    args.flags.hand_over(&mut [&mut unpack])?;
    if args.flags.has(Setting::List) {
        return list(&unpack, printer, cancel);
    }
    if let Some(name) = args.flags.get::<PathBuf>(Setting::Stdout) {
        return stdout(&unpack, &name);
    }
    let report = printer.watched(cancel, |context| unpack.run_with(context))?;
    if printer.is_json() {
        printer.json(&report)?;
    } else {
        summarize(&report, printer);
    }
    if report.refused == 0 {
        return Ok(Exit::SUCCESS);
    }
    let message = format!("{} of the archive could not be restored", counted(report.refused, "row"));
    let error = Error::input(message);
    Err(match report.existing {
        0 => error.hint("the other rows were restored; the refused rows are listed above"),
        _ => error.hint(message![
            "the other rows were restored; the refused rows are listed above; ",
            Setting::Overwrite,
            " replaces existing files and links"
        ]),
    }
    .into())
}

fn summarize(report: &UnpackReport, printer: &Printer) {
    for refusal in report.refusals.iter().take(REFUSALS_MAX) {
        printer.warn(&format!("refused: {}: {}", refusal.name, refusal.why));
    }
    let named = report.refusals.len().min(REFUSALS_MAX) as u64;
    if report.refused > named {
        printer.warn(&format!("refused: {} more", grouped(report.refused - named)));
    }
    let folder = report.folder.as_ref().map_or(String::new(), |folder| folder.display().to_string());
    let UnpackReport { files, folders, links, seconds, .. } = *report;
    let mut what = vec![counted(files, "file")];
    what.extend((folders > 0).then(|| counted(folders, "folder")));
    what.extend((links > 0).then(|| counted(links, "link")));
    let (what, bytes, time) = (listed(&what), size(report.file_bytes), elapsed(seconds));
    printer.done("Unpacked", &format!("{what} into {folder}: {bytes} in {time}"));
}

/// Prints the names of the files, and with `--verbose` or `--json` their metadata. Names of refused rows are printed as warnings.
fn list(unpack: &archive::Unpack, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    if printer.is_json() {
        return list_json(unpack, cancel);
    }
    let mut out = Out::new();
    let terminal = io::stdout().is_terminal();
    let mut refused = 0;
    archive::list(&unpack.database, unpack.layout, &unpack.selection, cancel, |row| {
        match row {
            Ok(listed) => {
                let mut line = if printer.is_verbose() { details(&listed).into_bytes() } else { Vec::new() };
                // A name may contain control sequences of the terminal.
                match terminal {
                    true => line.extend(archive::shown(&listed.name).into_bytes()),
                    false => line.extend(&listed.name),
                }
                line.push(b'\n');
                out.write_all(&line).map_err(cannot_write)?;
            }
            Err(refusal) => {
                refused += 1;
                printer.warn(&format!("refused: {}: {}", refusal.name, refusal.why));
            }
        }
        Ok(())
    })?;
    out.flush().map_err(cannot_write)?;
    Ok(if refused == 0 { Exit::SUCCESS } else { Exit::FAILURE })
}

/// A row in the list of `--json`.
#[derive(Serialize)]
struct ListedRow<'l> {
    /// The name. Bytes that are not UTF-8 are replaced; `name_bytes` then has the original bytes.
    name: &'l str,
    /// The bytes of the name in hexadecimal; `None` if the name is UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    name_bytes: Option<String>,
    kind: Kind,
    /// The mode as `st_mode`.
    mode: Option<u32>,
    /// The modification time in seconds since 1970.
    mtime: Option<i64>,
    bytes: u64,
}

/// Prints the rows as one JSON object, while the rows are read: an archive may have millions of rows.
fn list_json(unpack: &archive::Unpack, cancel: &Cancel) -> anyhow::Result<Exit> {
    let mut out = Out::new();
    let mut refusals = Vec::new();
    let mut first = true;
    out.write_all(b"{\"entries\":[").map_err(cannot_write)?;
    archive::list(&unpack.database, unpack.layout, &unpack.selection, cancel, |row| {
        let listed = match row {
            Ok(listed) => listed,
            Err(refusal) => {
                refusals.push(refusal);
                return Ok(());
            }
        };
        let name = String::from_utf8_lossy(&listed.name);
        let is_text = matches!(name, Cow::Borrowed(_));
        let entry = ListedRow {
            name: &name,
            name_bytes: (!is_text).then(|| listed.name.iter().map(|byte| format!("{byte:02x}")).collect()),
            kind: listed.kind,
            mode: listed.mode,
            mtime: listed.mtime,
            bytes: listed.bytes,
        };
        let separator: &[u8] = if std::mem::take(&mut first) { b"\n" } else { b",\n" };
        let written = out.write_all(separator).and_then(|()| Ok(serde_json::to_writer(&mut out, &entry)?));
        written.map_err(cannot_write)
    })?;
    let refused = refusals.len();
    let refusals = serde_json::to_string(&refusals)?;
    let end = format!("\n],\"refused\":{refused},\"refusals\":{refusals}}}\n");
    out.write_all(end.as_bytes()).and_then(|()| out.flush()).map_err(cannot_write)?;
    Ok(if refused == 0 { Exit::SUCCESS } else { Exit::FAILURE })
}

/// Formats mode, size and time of a file as `sqlite3 -Atv` prints them before its name.
fn details(listed: &Listed) -> String {
    let mut text = String::new();
    text.push(match listed.kind {
        Kind::File => '-',
        Kind::Folder => 'd',
        Kind::Link => 'l',
    });
    let mode = listed.mode.unwrap_or(0);
    for bit in (0..9).rev() {
        let letter = ['x', 'w', 'r'][bit % 3];
        text.push(if mode >> bit & 1 == 1 { letter } else { '-' });
    }
    let sz = if listed.kind == Kind::Link { -1 } else { listed.bytes as i64 };
    let time = listed.mtime.map_or("-".to_owned(), archive::utc);
    let _ = write!(text, " {sz:>10}  {time:19}  ");
    text
}

/// Writes one file to standard output.
fn stdout(unpack: &archive::Unpack, name: &Path) -> anyhow::Result<Exit> {
    let mut out = Out::new();
    let written = archive::write_file(
        &unpack.database,
        unpack.layout,
        &sqluice_platform::paths::bytes(name.as_os_str()),
        &mut out,
    )
    .and_then(|_| out.flush().map_err(cannot_write));
    written.map(|()| Exit::SUCCESS).map_err(Into::into)
}

fn cannot_write(error: io::Error) -> Error {
    Error::target("cannot write to standard output").because(error)
}

/// A writer to standard output that ignores a closed pipe.
struct Out(Option<BufWriter<io::StdoutLock<'static>>>);

impl Out {
    fn new() -> Out {
        Out(Some(BufWriter::with_capacity(64 << 10, io::stdout().lock())))
    }

    fn forgive<T>(&mut self, done: io::Result<T>, nothing: T) -> io::Result<T> {
        match done {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                if let Some(out) = self.0.take() {
                    let _ = out.into_parts();
                }
                Ok(nothing)
            }
            done => done,
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(out) = &mut self.0 else { return Ok(bytes.len()) };
        let done = out.write(bytes);
        self.forgive(done, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(out) = &mut self.0 else { return Ok(()) };
        let done = out.flush();
        self.forgive(done, ())
    }
}
