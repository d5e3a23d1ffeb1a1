//! Recognises the format of a file from its first bytes: the delimiter, the quote and the escape, the lines around the table, and the
//! header.
//!
//! ```text
//!  sample ──> sep=; ──> read with each delimiter, ──> which explains most? ──> comments, header? ──> Sniffed
//!                       quote " ' and escape \
//! ```
//!
//! * **Delimiter.** The delimiter with the best score wins. The score grows with the share of records that have the usual number of
//!   fields, with the share of fields that look like values (a tab, `;`, `|`, a quote, or a comma without a space in a field counts
//!   against that), and with the number of fields. An odd record (with another number of fields, or malformed) counts once, whatever its
//!   fault: a quote that never closes spoils only its line. A delimiter for which the first line is no part of the table must score far
//!   better than a delimiter that gives all lines the same number of fields.
//! * **Around the table.** A line `sep=;`, front matter, titles and comments may precede the table, and a footer may follow. The lines
//!   before the table are skipped, with a note. A footer stays a record, whose error mentions the footer.
//! * **One column.** If no delimiter splits most records into the same number of fields, the file has one column. If a delimiter is
//!   frequent all the same, the file may have several columns: [`Sniffed::candidates`] then lists the possible delimiters, and the file is
//!   not loaded until the user names the delimiter. Commas in sentences don't count: they vary in number, and a space follows.
//! * **Quote and escape.** The quote is `"`. No quote is recognised if `"` makes records malformed, all records are regular without a
//!   quote, and `"` stands around no field. The quote is `'` if `'` stands around fields and clearly explains more, or stands around
//!   nearly all fields of a column: apostrophes in text must not be lost. `\` is the escape if more records are regular with this
//!   escape. The escape works outside of quotes, too, if only this makes nearly all records regular.
//! * **Header.** All columns vote (module `header`). A note tells the user if the decision is close.
//!
//! Settings that the user gave are not guessed. Empty lines are no records, and a record that the sample cuts off does not count.
//!
//! Invariant: [`Sniffed::words`] and [`Sniffed::notes`] tell each guess. The parser then reads the file by these guesses or reports an
//! error.

mod cell;
mod field;
mod header;
mod reading;
mod sniffed;

pub(super) use self::cell::is_number_or_missing;
pub(super) use self::field::{Field, split};
use self::reading::{Around, Reading};
pub use self::sniffed::{Preamble, Sniffed};
use super::TrailingDelimiter;
use super::delimiter::Delimiter;
use super::dialect::{Dialect, LineEnd};
use super::padding::padding;

/// The delimiters to try, the likeliest first, with a factor for the score.
const DELIMITERS: [(&str, f64); 12] = [
    (",", 1.0),
    ("\t", 1.0),
    (";", 1.0),
    ("|", 1.0),
    ("||", 1.0),
    ("¦", 1.0),
    ("\u{1f}", 1.0),
    ("\u{1}", 1.0),
    ("^", 0.9),
    ("~", 0.9),
    ("::", 0.9),
    ("whitespace", 0.5),
];

/// The number of bytes at the start of a sample that are sniffed first. If these bytes have too few records, the whole sample is sniffed.
const READ_BYTES: usize = 64 << 10;

/// The largest number of lines at the start of a sample that are sniffed first.
const READ_LINES: usize = 400;

/// The smallest number of records for which the start of a sample is enough.
const READ_RECORDS_MIN: usize = 8;

/// The factor by which a delimiter for which the first line is no part of the table must beat a delimiter that fits all lines.
const LOST_LINE: f64 = 8.0;

/// The properties of a file that are known before it is sniffed, mostly from the user's settings.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Given<'a> {
    /// The delimiter; `None` if unknown.
    pub delimiter: Option<Delimiter>,
    /// The quote; `Some(None)`: no quote.
    pub quote: Option<Option<u8>>,
    /// The escape; `Some(None)`: no escape.
    pub escape: Option<Option<u8>>,
    /// The comment character; `Some(None)`: no comments.
    pub comment: Option<Option<u8>>,
    /// `Some(true)` if the file has a header, `Some(false)` if not; `None` if unknown.
    pub header: Option<bool>,
    /// The number of lines before the first record, whatever they contain.
    pub skip_lines: Option<usize>,
    /// The end of a record; `None` if unknown.
    pub line_end: Option<LineEnd>,
    /// `true` if records with fewer fields than others are not odd.
    pub pad: bool,
    /// The delimiter that the file's name suggests, as `.tsv` does.
    pub preferred: Option<Delimiter>,
    /// The columns of the target table; empty if unknown.
    pub columns: &'a [&'a str],
}

impl<'a> Given<'a> {
    /// Returns a value in which no property is known.
    pub fn new() -> Given<'a> {
        Given::default()
    }
}

impl Given<'_> {
    /// Returns `true` if `byte` is not given as a quote, an escape or a comment character.
    fn is_free(&self, byte: u8) -> bool {
        ![self.quote.flatten(), self.escape.flatten(), self.comment.flatten()].contains(&Some(byte))
    }
}

/// Recognises the format of a file from `sample`, the decoded beginning of the file. `whole` is `true` if the sample is the whole file.
pub fn sniff(sample: &[u8], whole: bool, given: &Given<'_>) -> Sniffed {
    // The reader skips all byte order marks, too.
    let mut text = sample;
    while let Some(rest) = text.strip_prefix(b"\xef\xbb\xbf") {
        text = rest;
    }
    let marks = (sample.len() - text.len()) / 3;
    let end = padding(text).filter(|_| whole).unwrap_or(text.len());
    Sniffed { marks, ..sniff_text(&text[..end], whole, given) }
}

/// Recognises the format from a sample without byte order marks and padding.
fn sniff_text(sample: &[u8], whole: bool, given: &Given<'_>) -> Sniffed {
    let lines = READ_LINES.saturating_add(given.skip_lines.unwrap_or(0));
    let part = lines_bytes(&sample[..sample.len().min(READ_BYTES)], lines);
    let sniffed = Sniffer::new(&sample[..part], whole && part == sample.len(), given).sniff();
    let enough = sniffed.records >= READ_RECORDS_MIN as u64 && sniffed.records > sniffed.skip_lines;
    if part == sample.len() || enough {
        return sniffed;
    }
    Sniffer::new(sample, whole, given).sniff()
}

/// A sample without the lines that are skipped before the format is recognised.
struct Sniffer<'s> {
    text: &'s [u8],
    /// The number of lines of front matter before `text`.
    front_matter: usize,
    /// The number of all lines before `text`.
    skipped: u64,
    whole: bool,
    given: &'s Given<'s>,
    /// The delimiter that a line `sep=;` names.
    named: Option<Delimiter>,
}

impl<'s> Sniffer<'s> {
    fn new(sample: &'s [u8], whole: bool, given: &'s Given<'s>) -> Sniffer<'s> {
        let mut skipped = given.skip_lines.unwrap_or(0);
        let mut text = &sample[lines_bytes(sample, skipped)..];
        let front_matter = if given.skip_lines.is_none() { front_matter_lines(text) } else { 0 };
        text = &text[lines_bytes(text, front_matter)..];
        skipped += front_matter;
        let named = if given.skip_lines.is_none() { named_delimiter(text) } else { None };
        if named.is_some() {
            text = &text[lines_bytes(text, 1)..];
            skipped += 1;
        }
        Sniffer { text, front_matter, skipped: skipped as u64, whole, given, named }
    }

    fn sniff(&self) -> Sniffed {
        let chosen = self.choose();
        let reading = chosen.reading;
        let before = &reading.rows[..reading.body.start];
        let from = reading.rows.get(reading.body.start).map_or(self.skipped + 1, |row| row.line);
        let lines_before = from - 1 - self.skipped;
        // Empty lines are skipped anyway.
        let has_lines = !before.is_empty()
            || reading.commented_header.is_some() && !first_line(self.text, lines_before).is_empty();
        let preamble_lines = if has_lines { lines_before } else { 0 };
        let rows = &reading.rows[reading.body.start..];
        let values = reading.values(reading.body.start + 1);
        let decided = rows.first().map(|first| header::decide(&first.fields, &values, self.given.columns));
        let header = self.given.header.unwrap_or(decided.is_none_or(|decided| decided.header));
        let trailing_delimiter = reading.trailing_delimiter(reading.body.start).filter(|_| header);
        let width = match trailing_delimiter {
            Some(TrailingDelimiter::Rows) => reading.width - 1,
            _ => reading.width,
        };
        // Malformed records have no fields.
        let is_usual = |fields: usize| {
            fields == width
                || trailing_delimiter.is_some() && fields == width + 1
                || self.given.pad && (1..width).contains(&fields)
        };
        let usual = rows.iter().filter(|row| is_usual(row.fields.len())).count();
        let lines = preamble_lines + u64::from(self.named.is_some()) + self.front_matter as u64;
        let preamble = (lines > 0).then(|| Preamble {
            lines,
            names_delimiter: self.named.is_some(),
            first: match self.front_matter {
                0 => first_line(self.text, preamble_lines),
                _ => FRONT_MATTER.to_owned(),
            },
        });
        let footer = reading.rows.get(reading.body.end).map(|row| row.line);
        Sniffed {
            dialect: reading.dialect,
            header,
            header_is_close: self.given.header.is_none()
                && reading.commented_header.is_none()
                && decided.is_some_and(|decided| decided.close),
            certain: usual == rows.len(),
            fields: rows.first().map_or(0, |_| width),
            trailing_delimiter,
            marks: 0,
            units: reading.units(reading.body.start).filter(|_| header),
            record_separators: has_record_separators(self.text),
            skip_lines: self.skipped + preamble_lines,
            preamble,
            comments: chosen.comments,
            commented_header: reading.commented_header.filter(|_| header).map(|row| reading.rows[row].line),
            footer,
            table_below: if usual == rows.len() { None } else { self.table_below(&reading) },
            records: rows.len() as u64,
            odd_records: (rows.len() - usual) as u64,
            numbers: reading.numbers(reading.body.start + usize::from(header)),
            has_quoted_fields: reading.has_quoted_fields(),
            recognised_escape: reading.dialect.unquoted_escape().filter(|_| {
                self.given.escape.is_none() || reading.dialect.quote.is_some() && self.given.quote.is_some()
            }),
            recognised_crlf: self.given.line_end.is_none() && reading.dialect.line_end == LineEnd::Crlf,
            stray_quote: if self.given.quote.is_none() && reading.dialect.quote.is_none() {
                reading.line_of_quote(b'"')
            } else {
                None
            },
            candidates: chosen.candidates,
        }
    }

    /// Returns the line of the header of a table below other records, if this table has more records than precede it, and loads if the
    /// lines before it are skipped.
    fn table_below(&self, reading: &Reading<'s>) -> Option<u64> {
        if self.given.skip_lines.is_some() || self.given.header == Some(false) {
            return None;
        }
        let start = reading.last_table();
        let line = reading.rows[..reading.body.end].get(start)?.line;
        if start <= reading.body.start || reading.body.end - start <= start - reading.body.start {
            return None;
        }
        let text = &self.text[lines_bytes(self.text, (line - 1 - self.skipped) as usize)..];
        let given = Given { skip_lines: Some(0), ..*self.given };
        let below = Sniffer::new(text, self.whole, &given).sniff();
        let is_sure = below.header && !below.header_is_close && below.candidates.is_empty();
        let is_sound = below.odd_records == (reading.rows.len() - reading.body.end) as u64;
        (is_sure && is_sound && below.fields >= 2).then_some(line)
    }

    /// Chooses the reading with the best score.
    fn choose(&self) -> Chosen<'s> {
        let fixed = self.given.delimiter.or(self.named);
        if let Some(delimiter) = fixed {
            return self.finish(self.with_delimiter(delimiter), Vec::new());
        }
        let mut readings: Vec<(Reading<'s>, f64)> = Vec::new();
        for (delimiter, prior) in self.candidates() {
            let reading = self.with_delimiter(delimiter);
            let reading = self.with_touching(delimiter, &reading).unwrap_or(reading);
            // The delimiter that the file's name suggests needs a lower score.
            let prior = if self.given.preferred == Some(delimiter) { 4.0 * prior } else { prior };
            let score = if self.is_plausible(&reading) { reading.score() * prior } else { 0.0 };
            readings.push((reading, score));
        }
        // A delimiter that makes the first line a title loses this line, so it must explain far more.
        let regular = |(reading, score): &(Reading<'s>, f64)| {
            let is_one = reading.is_regular() && !reading.dialect.delimiter.is_whitespace();
            if is_one { *score } else { 0.0 }
        };
        let regular = readings.iter().map(regular).fold(0.0, f64::max);
        for (reading, score) in &mut readings {
            if reading.loses_first_line() && *score < LOST_LINE * regular {
                *score = 0.0;
            }
        }
        let best = (0..readings.len()).rev().max_by(|&a, &b| readings[a].1.total_cmp(&readings[b].1));
        match best {
            Some(best) if readings[best].1 > 0.0 => {
                let best = readings.swap_remove(best).0;
                self.finish(best, Vec::new())
            }
            _ => match self.by_colons() {
                Some(reading) => self.finish(reading, Vec::new()),
                None => self.one_column(readings.into_iter().map(|(reading, _)| reading).collect()),
            },
        }
    }

    /// Reads the sample with a delimiter and the blanks that nearly always touch the delimiter, such as `, ` or ` | `. Returns a reading
    /// that explains at least as many records as `plain`, the reading with the delimiter alone; `None` if there is none, or for another
    /// delimiter than comma, semicolon, pipe and tab.
    fn with_touching(&self, delimiter: Delimiter, plain: &Reading<'s>) -> Option<Reading<'s>> {
        if !matches!(delimiter, Delimiter::COMMA | Delimiter::SEMICOLON | Delimiter::PIPE | Delimiter::TAB) {
            return None;
        }
        let count = |of: &Delimiter| memchr::memmem::find_iter(self.text, of.as_bytes()).count();
        let all = count(&delimiter);
        let pairs: [(&[u8], &[u8]); 4] = [(b" ", b" "), (b"", b" "), (b"", b"\t"), (b" ", b"")];
        let touching = pairs.into_iter().filter_map(|(before, after)| delimiter.within(before, after));
        let always = touching.filter(|wide| wide.as_bytes() != b"\t " && count(wide) * 10 >= all * 9);
        let free = |wide: &Delimiter| wide.as_bytes().iter().all(|&byte| self.given.is_free(byte));
        let mut readings = always.filter(free).map(|wide| self.with_delimiter(wide));
        readings.find(|reading| self.is_plausible(reading) && reading.usual() >= plain.usual())
    }

    /// Reads the sample with `:` as the delimiter, for a file that no other delimiter explains. Returns a reading if all records have the
    /// same number of fields, at least three, and few look like times or hexadecimal bytes.
    fn by_colons(&self) -> Option<Reading<'s>> {
        if !self.given.is_free(b':') {
            return None;
        }
        let reading = self.with_delimiter(Delimiter::COLON);
        let is_pair =
            |field: &Field<'_>| field.value.len() <= 2 && field.value.iter().all(u8::is_ascii_hexdigit);
        let values = reading.values(reading.body.start);
        let of_pairs = values.iter().filter(|row| row.iter().skip(1).all(is_pair)).count();
        (reading.width >= 3 && reading.is_regular() && of_pairs * 2 < values.len()).then_some(reading)
    }

    /// Returns the delimiters that the first line or at least a fifth of all lines of the sample have, and the delimiter that the file's
    /// name suggests, with the factors for their scores.
    fn candidates(&self) -> Vec<(Delimiter, f64)> {
        let lines = || self.text.split(|&byte| is_line_end(byte)).filter(|line| !line.is_empty());
        let all = lines().count();
        let frequent = |(text, prior): &(&str, f64)| {
            let delimiter: Delimiter = text.parse().ok()?;
            let free = delimiter.as_bytes().iter().all(|&byte| self.given.is_free(byte));
            let has = |line: &&[u8]| match delimiter.is_whitespace() {
                true => line.contains(&b' ') || line.contains(&b'\t'),
                false => memchr::memmem::find(line, delimiter.as_bytes()).is_some(),
            };
            let preferred = self.given.preferred == Some(delimiter);
            let has_any =
                delimiter.is_whitespace() || memchr::memmem::find(self.text, delimiter.as_bytes()).is_some();
            // A record may have many lines, of which only one has the delimiter.
            let early = || !delimiter.is_whitespace() && lines().next().is_some_and(|line| has(&line));
            let found =
                preferred || has_any && all > 0 && (early() || lines().filter(has).count() * 5 >= all);
            (free && found).then_some((delimiter, *prior))
        };
        let mut candidates: Vec<(Delimiter, f64)> = DELIMITERS.iter().filter_map(frequent).collect();
        // Pipes that are nearly always doubled are the delimiter `||`.
        let count = |of: Delimiter| memchr::memmem::find_iter(self.text, of.as_bytes()).count();
        let doubled = count(Delimiter::PIPES) * 2 * 10 >= count(Delimiter::PIPE) * 9;
        let wrong = if doubled { Delimiter::PIPE } else { Delimiter::PIPES };
        candidates.retain(|(delimiter, _)| *delimiter != wrong);
        candidates
    }

    /// Returns `true` if a reading clearly has several columns. The test depends on the delimiter.
    fn is_plausible(&self, reading: &Reading<'s>) -> bool {
        if !reading.is_strong() {
            return false;
        }
        let all_alike = reading.explained() >= 0.95;
        match reading.dialect.delimiter {
            Delimiter::WHITESPACE => {
                all_alike
                    && reading.width >= 2
                    && (self.aligned() >= 0.8 || reading.width >= 3 && reading.typed() >= 0.6)
            }
            Delimiter::COLONS => all_alike,
            _ if is_comma(reading) => !self.is_prose(reading),
            _ => true,
        }
    }

    /// Returns `true` if the commas belong to sentences: a space follows most commas, few fields are numbers and the like, and the number
    /// of commas varies or the first record has none.
    fn is_prose(&self, reading: &Reading<'s>) -> bool {
        let commas = memchr::memchr_iter(b',', self.text).count();
        let spaced = memchr::memmem::find_iter(self.text, b", ").count();
        let first_has_none = self.given.header != Some(false)
            && reading.rows.first().is_some_and(|row| row.fields.len() == 1 && !row.fields[0].quoted);
        spaced * 10 >= commas * 6 && reading.typed() < 0.15 && (first_has_none || reading.explained() < 0.9)
    }

    /// Returns the share of lines that have two spaces in a row between other characters.
    fn aligned(&self) -> f64 {
        let lines =
            || self.text.split(|&byte| is_line_end(byte)).filter(|line| !line.trim_ascii().is_empty());
        let aligned = lines().filter(|line| line.trim_ascii().windows(2).any(|pair| pair == b"  ")).count();
        aligned as f64 / lines().count().max(1) as f64
    }

    /// Reads a file that no delimiter explains as one column, and lists the possible delimiters if the file may have several columns.
    fn one_column(&self, readings: Vec<Reading<'s>>) -> Chosen<'s> {
        let records = |reading: &Reading<'_>| reading.sound();
        // With `pad` most records may be short: the first record shows the number of fields.
        let parted = |reading: &Reading<'_>| {
            let first = reading.rows.get(reading.body.start);
            reading.parted() >= 0.5 || self.given.pad && first.is_some_and(|row| row.fields.len() >= 2)
        };
        let several = |reading: &&Reading<'_>| match reading.dialect.delimiter {
            _ if is_comma(reading) => parted(reading) && records(reading) >= 2 && !self.is_prose(reading),
            Delimiter::WHITESPACE => self.aligned() >= 0.8 && reading.parted() >= 0.8,
            Delimiter::COLONS => false,
            // The first record may be the only sound one.
            _ => {
                parted(reading) && records(reading) >= 2
                    || reading.rows.first().is_some_and(|row| row.fields.len() >= 3)
            }
        };
        let candidates: Vec<Delimiter> =
            readings.iter().filter(several).map(|reading| reading.dialect.delimiter).collect();
        if let ([only], true) = (&candidates[..], self.given.pad) {
            return self.finish(self.with_delimiter(*only), Vec::new());
        }
        let prose = readings.iter().any(|reading| is_comma(reading) && self.is_prose(reading));
        let delimiter =
            self.given.preferred.unwrap_or(if prose { Delimiter::NONE } else { Delimiter::COMMA });
        let delimiter = if self.given.is_free(delimiter.first()) { delimiter } else { Delimiter::NONE };
        let mut reading = self.with_delimiter(delimiter);
        if reading.parted() < 0.5 && reading.width >= 2 {
            reading.width = 1;
            reading.body = 0..reading.rows.len();
        }
        self.finish(reading, candidates)
    }

    /// Reads the sample with a delimiter, and with the quote and the escape that fit best.
    fn with_delimiter(&self, delimiter: Delimiter) -> Reading<'s> {
        let reading = self.with_quotes(delimiter);
        let reading = self.with_unquoted_escape(&reading).unwrap_or(reading);
        self.with_crlf(&reading).unwrap_or(reading)
    }

    /// Reads the sample with LF and CR as text, if the first line ends with CRLF. Returns the reading if all records are regular in it, but
    /// not in `plain`.
    fn with_crlf(&self, plain: &Reading<'s>) -> Option<Reading<'s>> {
        let bare = |(at, &byte): (usize, &u8)| byte == b'\n' && (at == 0 || self.text[at - 1] != b'\r');
        let is_certain = plain.is_regular() || self.given.line_end.is_some();
        if is_certain || !first_line_ends_with_crlf(self.text) || !self.text.iter().enumerate().any(bare) {
            return None;
        }
        let reading = self.read(Dialect { line_end: LineEnd::Crlf, ..plain.dialect });
        (reading.is_regular() && reading.width >= 2 && reading.rows.len() >= 2).then_some(reading)
    }

    /// Reads the sample with an escape that works outside of quotes, too, as in files of MySQL and PostgreSQL. Returns the reading if more
    /// records are regular than in `plain`, and nearly all are. If the user gave the escape, it is enough that more records are regular, or
    /// that no field is quoted: an escape that works only within quotes would then have no effect.
    fn with_unquoted_escape(&self, plain: &Reading<'s>) -> Option<Reading<'s>> {
        let Dialect { delimiter, quote, .. } = plain.dialect;
        let escape = match self.given.escape {
            Some(given) => given?,
            None => Some(b'\\').filter(|&byte| self.given.is_free(byte))?,
        };
        if delimiter.as_bytes().contains(&escape) || plain.dialect.unquoted_escape().is_some() {
            return None;
        }
        let is_given = self.given.escape.is_some();
        let idle = is_given && self.given.quote.is_none() && !plain.has_quoted_fields();
        let has = |next: u8| memchr::memmem::find(self.text, &[escape, next]).is_some();
        let matters = [delimiter.first(), b'\n', b'\r', b'"'].into_iter().any(has)
            || idle && self.text.contains(&escape);
        if !matters {
            return None;
        }
        let quotes = [Some(quote), Some(None).filter(|_| self.given.quote.is_none())].into_iter().flatten();
        let readings = quotes.map(|quote| {
            self.read(Dialect { quote, escape: Some(escape), escapes_unquoted: true, ..plain.dialect })
        });
        let best = readings.max_by_key(|reading| (reading.usual(), reading.dialect.quote.is_some()))?;
        // The number of records that do not have the usual width, those of a footer included.
        let odd = |reading: &Reading<'_>| reading.rows.len() - reading.usual();
        let explains_more = best.usual() > plain.usual() && odd(&best) < odd(plain);
        let is_idle = idle && best.usual() >= plain.usual();
        (is_idle || explains_more && (is_given || best.explained() >= 0.95)).then_some(best)
    }

    /// Reads the sample with a delimiter, and with the quote and the escape within quotes that fit best.
    fn with_quotes(&self, delimiter: Delimiter) -> Reading<'s> {
        let given = self.given;
        let comment = given.comment.flatten();
        let line_end = given.line_end.unwrap_or_default();
        let read = |quote, escape| {
            self.read(Dialect { delimiter, quote, escape, comment, line_end, ..Dialect::default() })
        };
        let free = |byte: u8| {
            !delimiter.as_bytes().contains(&byte) && (given.is_free(byte) || given.quote == Some(Some(byte)))
        };
        let with_quote = |quote: Option<u8>| {
            let plain = read(quote, given.escape.flatten());
            let escapes = match quote {
                Some(quote) if given.escape.is_none() && free(b'\\') => {
                    memchr::memmem::find(self.text, &[b'\\', quote]).is_some()
                }
                _ => false,
            };
            if !escapes {
                return plain;
            }
            let escaped = read(quote, Some(b'\\'));
            if escaped.usual() > plain.usual() && escaped.sound() >= plain.sound() { escaped } else { plain }
        };
        if let Some(quote) = given.quote {
            return with_quote(quote);
        }
        let double = with_quote(Some(b'"').filter(|&quote| free(quote)));
        if free(b'\'') && self.text.contains(&b'\'') {
            let single = with_quote(Some(b'\''));
            if single.has_clear_quotes(&double) {
                return single;
            }
        }
        if double.has_faults() && given.escape.flatten().is_none() {
            let text = read(None, None);
            if text.width >= 2 && text.is_regular() && !text.has_field_in(b'"') {
                return text;
            }
        }
        double
    }

    fn read(&self, dialect: Dialect) -> Reading<'s> {
        let around = Around {
            comments: self.given.comment.is_none() && self.given.skip_lines.is_none(),
            header: self.given.header != Some(false),
            titles: self.given.skip_lines.is_none() && self.given.header != Some(false),
            footer: self.whole,
            columns: self.given.columns,
        };
        Reading::of(self.text, self.skipped + 1, self.whole, dialect, around)
    }

    /// Recognises comments between the records, as the last step.
    fn finish(&self, reading: Reading<'s>, candidates: Vec<Delimiter>) -> Chosen<'s> {
        if self.given.comment.is_some() || !self.given.is_free(b'#') || !reading.has_comments() {
            return Chosen { reading, candidates, comments: 0 };
        }
        let dialect = Dialect { comment: Some(b'#'), ..reading.dialect };
        if dialect.check().is_err() {
            return Chosen { reading, candidates, comments: 0 };
        }
        let header = reading.commented_header.map(|header| reading.rows[header].clone());
        let skipped = header.as_ref().map_or(0, |header| header.line - self.skipped);
        let text = &self.text[lines_bytes(self.text, skipped as usize)..];
        let comments =
            text.split(|&byte| is_line_end(byte)).filter(|line| line.starts_with(b"#")).count() as u64;
        let reading = self.read(dialect);
        let reading = match header {
            Some(header) => reading.with_commented_header(header),
            None => reading,
        };
        Chosen { reading, candidates, comments }
    }
}

/// The reading of the sample that explains it best.
struct Chosen<'s> {
    reading: Reading<'s>,
    candidates: Vec<Delimiter>,
    comments: u64,
}

/// Returns `true` if the delimiter is a comma, or a comma with a blank after it.
fn is_comma(reading: &Reading<'_>) -> bool {
    reading.dialect.delimiter.as_bytes().starts_with(b",")
}

/// The first and the last line of front matter.
const FRONT_MATTER: &str = "---";

/// The most lines of front matter.
const FRONT_MATTER_LINES_MAX: usize = 200;

/// Returns the number of lines of front matter at the start of `text`: `---`, lines such as `key: value`, and `---`.
fn front_matter_lines(text: &[u8]) -> usize {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
    let is_mark = |line: &[u8]| line == FRONT_MATTER.as_bytes();
    let belongs = |line: &[u8]| {
        line.is_empty()
            || line.starts_with(b"#")
            || line.starts_with(b" ")
            || line.starts_with(b"- ")
            || line.ends_with(b":")
            || memchr::memmem::find(line, b": ").is_some()
    };
    if !lines.next().is_some_and(is_mark) {
        return 0;
    }
    let between =
        lines.clone().take(FRONT_MATTER_LINES_MAX).take_while(|line| !is_mark(line) && belongs(line));
    let between = between.count();
    if lines.nth(between).is_some_and(is_mark) { between + 2 } else { 0 }
}

/// Returns `true` if records end with the ASCII record separator, 0x1e, and not with line ends.
fn has_record_separators(text: &[u8]) -> bool {
    let separators = memchr::memchr_iter(0x1e, text).count();
    separators >= 2 && separators > memchr::memchr2_iter(b'\n', b'\r', text).count()
}

/// Returns the delimiter that a first line such as `sep=;` names.
fn named_delimiter(text: &[u8]) -> Option<Delimiter> {
    let line = text.split(|&byte| is_line_end(byte)).next()?;
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    let (key, named) = line.split_at_checked(4)?;
    let named = str::from_utf8(named).ok()?;
    let is_name = key.eq_ignore_ascii_case(b"sep=") && named.chars().count() == 1;
    if is_name { named.parse().ok() } else { None }
}

/// Returns the first of `lines` lines that has text, shortened.
fn first_line(text: &[u8], lines: u64) -> String {
    let text = &text[..lines_bytes(text, lines as usize)];
    let line = text.split(|&byte| is_line_end(byte)).find(|line| !line.trim_ascii().is_empty());
    String::from_utf8_lossy(line.unwrap_or_default()).chars().take(60).collect()
}

/// Returns the number of bytes of the first `lines` lines.
fn lines_bytes(sample: &[u8], lines: usize) -> usize {
    let mut at = 0;
    for _ in 0..lines {
        let line = sample[at..].iter().position(|&byte| is_line_end(byte)).unwrap_or(sample.len() - at);
        let end_bytes = if sample[at + line..].starts_with(b"\r\n") { 2 } else { 1 };
        at = sample.len().min(at + line + end_bytes);
        if at == sample.len() {
            break;
        }
    }
    at
}

fn first_line_ends_with_crlf(text: &[u8]) -> bool {
    memchr::memchr2(b'\n', b'\r', text).is_some_and(|end| text[end..].starts_with(b"\r\n"))
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}
