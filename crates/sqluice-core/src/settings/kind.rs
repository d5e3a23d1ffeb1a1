//! The kinds of values that settings have, such as a number of bytes or a list of names. Front ends parse and convert values by their
//! kinds.

/// A word that a setting accepts, and the sentence of the help about this word.
pub type Choice = (&'static str, &'static str);

/// The kind of a setting's value. The command parses text by the kind of a setting, and Python converts objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A setting that is on or off.
    Switch,
    /// A setting that is yes or no. If it is not given, the run decides. The flag of the command takes no value and means yes.
    YesOrNo,
    /// A number of rows, lines or the like: `10M`.
    Count,
    /// An integer from the first number to the second, both included.
    Integer(i64, i64),
    /// An integer of 64 bits without a sign.
    Unsigned,
    /// A number with a fraction.
    Real,
    /// A number of bytes, with an optional unit: `512MiB`.
    Bytes,
    /// The page size in bytes: a power of two from 512 to 65536.
    PageSize,
    /// A time: `500ms`. In Python a number of seconds.
    Duration,
    /// A text.
    Text,
    /// A name that is not empty.
    Name,
    /// The path of a file or a folder.
    Path,
    /// The path of a file with SQL statements. In Python also the statements themselves.
    Statements,
    /// A character of ASCII, or `none`.
    Character,
    /// The text between fields.
    Delimiter,
    /// Texts. The flag is given once for each.
    Texts,
    /// Names that are not empty. The flag is given once for each.
    Names,
    /// Names of columns with commas between them.
    Columns,
    /// Indexes, each as its columns with commas between them.
    Indexes,
    /// Columns with their types: `zip=TEXT`.
    Types,
    /// Columns with the expressions of their values: `email=lower(email)`.
    Expressions,
    /// Tables, each with a text: `orders=1%`.
    TableTexts,
    /// Columns with their new names: `e-mail=email`.
    Renames,
    /// Columns with the formats of their dates: `placed=%d.%m.%Y`.
    Dates,
    /// Columns of booleans, optionally with the words for true and false: `paid=ja/nein`.
    Booleans,
    /// Columns with the character between groups of three digits: `price=.`.
    Separators,
    /// Row counts: `1M`, `orders=1M` or `orders=3x`.
    RowCounts,
    /// One of several equal parts of the work: `2/4` is the second of four.
    Share,
    /// One of several words.
    Choice(&'static [Choice]),
    /// The name of a format that sqluice reads.
    InputFormat,
    /// The name of a format that sqluice writes.
    OutputFormat,
}
