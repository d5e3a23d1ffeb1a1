//! Decodes the names of the members of archives, and turns the names into paths.

use super::Refusal;

/// The characters of the bytes from 0x80 on in code page 437, the default encoding of names in ZIP files.
const CODE_PAGE_437: [char; 128] = [
    'Ç', 'ü', 'é', 'â', 'ä', 'à', 'å', 'ç', 'ê', 'ë', 'è', 'ï', 'î', 'ì', 'Ä', 'Å', 'É', 'æ', 'Æ', 'ô', 'ö',
    'ò', 'û', 'ù', 'ÿ', 'Ö', 'Ü', '¢', '£', '¥', '₧', 'ƒ', 'á', 'í', 'ó', 'ú', 'ñ', 'Ñ', 'ª', 'º', '¿', '⌐',
    '¬', '½', '¼', '¡', '«', '»', '░', '▒', '▓', '│', '┤', '╡', '╢', '╖', '╕', '╣', '║', '╗', '╝', '╜', '╛',
    '┐', '└', '┴', '┬', '├', '─', '┼', '╞', '╟', '╚', '╔', '╩', '╦', '╠', '═', '╬', '╧', '╨', '╤', '╥', '╙',
    '╘', '╒', '╓', '╫', '╪', '┘', '┌', '█', '▄', '▌', '▐', '▀', 'α', 'ß', 'Γ', 'π', 'Σ', 'σ', 'µ', 'τ', 'Φ',
    'Θ', 'Ω', 'δ', '∞', 'φ', 'ε', '∩', '≡', '±', '≥', '≤', '⌠', '⌡', '÷', '≈', '°', '∙', '·', '√', 'ⁿ', '²',
    '■', '\u{a0}',
];

/// Decodes a name in code page 437. Control characters stay as they are.
pub(super) fn of_code_page_437(name: &[u8]) -> String {
    let decode = |byte: &u8| match byte {
        0x80.. => CODE_PAGE_437[usize::from(byte - 0x80)],
        _ => char::from(*byte),
    };
    name.iter().map(decode).collect()
}

/// The path of a member.
pub(super) struct Path {
    pub(super) path: String,
    /// `true` if the name ends like the name of a folder.
    pub(super) is_folder: bool,
    pub(super) refusal: Option<Refusal>,
}

impl Path {
    /// Returns the path for a name. A path that would lead out of the archive is refused. Empty and `.` components are removed: tar writes `./`
    /// before each name if it packs the current folder.
    pub(super) fn new(name: String) -> Path {
        let is_folder = name.ends_with('/') || name == "." || name.ends_with("/.");
        let refused = |path, refusal| Path { path, is_folder, refusal: Some(refusal) };
        if name.contains('\0') {
            return refused(name, Refusal::Name);
        }
        let components: Vec<&str> = name.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let path = components.join("/");
        // A name such as `./C:\a` is absolute when its empty components and dots are gone.
        if is_absolute(&name) || is_absolute(&path) {
            return refused(name, Refusal::Absolute);
        }
        if name.split(['/', '\\']).any(|component| component == "..") {
            return refused(name, Refusal::Parent);
        }
        if path.is_empty() {
            return refused(name, Refusal::NoName);
        }
        Path { path, is_folder, refusal: None }
    }
}

/// Returns `true` if a path begins at the root of the file system or of a drive, as `/a`, `\a` and `C:\a` do.
fn is_absolute(path: &str) -> bool {
    let after_drive = match path.as_bytes() {
        [letter, b':', ..] if letter.is_ascii_alphabetic() => &path[2..],
        _ => path,
    };
    after_drive.starts_with(['/', '\\'])
}
