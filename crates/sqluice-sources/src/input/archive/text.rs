//! The names of members as text, and the paths that they are.

use super::Refusal;

/// The characters of the bytes from 0x80 on in code page 437, the encoding of names in a ZIP file that declare no other.
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
    /// `true` if the name ends as that of a folder.
    pub(super) is_folder: bool,
    pub(super) refusal: Option<Refusal>,
}

impl Path {
    /// Creates the path that a name states. A path leads to nothing outside of the archive. Components that say nothing, such as `.`, are
    /// left out: tar writes them before each name if it packs the current folder.
    pub(super) fn new(name: String) -> Path {
        let is_folder = name.ends_with('/') || name == "." || name.ends_with("/.");
        let refused = |path, refusal| Path { path, is_folder, refusal: Some(refusal) };
        let is_drive = matches!(name.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
        if name.contains('\0') {
            return refused(name, Refusal::Name);
        }
        if name.starts_with(['/', '\\']) || is_drive && has_drive_path(&name) {
            return refused(name, Refusal::Absolute);
        }
        if name.split(['/', '\\']).any(|component| component == "..") {
            return refused(name, Refusal::Parent);
        }
        let components: Vec<&str> = name.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if components.is_empty() {
            return refused(name, Refusal::NoName);
        }
        Path { path: components.join("/"), is_folder, refusal: None }
    }
}

/// Returns `true` if the name of a drive is followed by a path from its root.
fn has_drive_path(name: &str) -> bool {
    name[2..].starts_with(['/', '\\'])
}
