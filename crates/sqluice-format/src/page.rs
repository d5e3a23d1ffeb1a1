//! Pages: sizes, numbers, and the header of B-tree pages
//! ([§1.3](https://www.sqlite.org/fileformat2.html#the_database_header),
//! [§1.6](https://www.sqlite.org/fileformat2.html#b_tree_pages)).
//!
//! ```text
//!  0          8 or 12                                            usable   page size
//!  +----------+---------------+------------------+----------------+--------+
//!  | header   | cell pointers | unallocated      | cells          | reserv.|
//!  +----------+---------------+------------------+----------------+--------+
//!              2 bytes each    (zeros)            last ... first
//!
//!  header: OFFSET SIZE
//!           0      1    kind: 2, 5 interior (index, table), 10, 13 leaf (index, table)
//!           1      2    first freeblock, 0 here
//!           3      2    number of cells
//!           5      2    where the cells start; 65536 is stored as 0
//!           7      1    fragmented free bytes, 0 here
//!           8      4    right-most child (interior pages only)
//! ```
//!
//! On page 1, the page header begins at byte 100, after the database header, while cell pointers still count from byte 0 of the page.

use std::num::NonZeroU32;

/// The number of a page: 1 is the first page of the file.
pub type PageNumber = NonZeroU32;

/// The largest page number that SQLite accepts.
pub const PAGE_NUMBER_MAX: u32 = 0xffff_fffe;

/// The size of the database header at the start of page 1.
pub const DATABASE_HEADER_BYTES: usize = 100;

/// The offset of SQLite's file locks: the page with this byte is never used.
pub const PENDING_BYTE: u32 = 0x4000_0000;

/// A page size: a power of two from 512 to 65,536 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageSize(u32);

impl PageSize {
    /// SQLite's default page size.
    pub const DEFAULT: PageSize = PageSize(4096);

    /// Returns the page size of `bytes` bytes, if it is one of the eight valid sizes.
    pub const fn new(bytes: u32) -> Option<PageSize> {
        if bytes.is_power_of_two() && bytes >= 512 && bytes <= 65536 { Some(PageSize(bytes)) } else { None }
    }

    /// Parses the two bytes at offset 16 of the database header: 65,536 is stored as 1. Returns `None` if they are no valid page size.
    pub const fn from_header(stored: u16) -> Option<PageSize> {
        PageSize::new(if stored == 1 { 65536 } else { stored as u32 })
    }

    /// Returns the two bytes at offset 16 of the database header.
    pub const fn to_header(self) -> u16 {
        if self.0 == 65536 { 1 } else { self.0 as u16 }
    }

    /// Returns the size in bytes.
    #[inline]
    pub const fn bytes(self) -> usize {
        self.0 as usize
    }
}

/// The properties of a file that determine the layout of its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    page_size: PageSize,
    reserved: u8,
    lock_page: u32,
}

impl Geometry {
    /// Creates the geometry of pages of `page_size` whose last `reserved` bytes belong to an extension, with the lock byte at its usual
    /// offset. Returns `None` if this leaves fewer than the 480 usable bytes that the format requires.
    pub const fn new(page_size: PageSize, reserved: u8) -> Option<Geometry> {
        if page_size.bytes() - (reserved as usize) < 480 {
            return None;
        }
        Some(Geometry { page_size, reserved, lock_page: PENDING_BYTE / page_size.0 + 1 })
    }

    /// Returns the geometry with SQLite's pending byte at another offset, like `SQLITE_TESTCTRL_PENDING_BYTE`. For tests.
    pub const fn with_pending_byte(self, pending_byte: u32) -> Geometry {
        Geometry { lock_page: pending_byte / self.page_size.0 + 1, ..self }
    }

    /// Returns the page size.
    #[inline]
    pub const fn page_size(self) -> PageSize {
        self.page_size
    }

    /// Returns the size of a page, including the reserved bytes.
    #[inline]
    pub const fn page_bytes(self) -> usize {
        self.page_size.bytes()
    }

    /// Returns the number of bytes at the end of each page that the format does not use.
    pub const fn reserved_bytes(self) -> u8 {
        self.reserved
    }

    /// Returns the number of bytes of a page that the format may use: 480 to 65,536.
    #[inline]
    pub const fn usable_bytes(self) -> usize {
        self.page_size.bytes() - self.reserved as usize
    }

    /// Returns the number of the page that holds the lock byte and therefore nothing else.
    #[inline]
    pub const fn lock_page(self) -> u32 {
        self.lock_page
    }

    /// Returns `number`, or the next number if `number` is the lock-byte page.
    #[inline]
    pub const fn skip_lock_page(self, number: u32) -> u32 {
        if number == self.lock_page { number + 1 } else { number }
    }

    /// Returns the number of the page that is `index` pages after `first`, not counting the lock-byte page. If `first` is the lock-byte
    /// page, counting begins at the page after it.
    #[inline]
    pub const fn nth_page(self, first: u32, index: u32) -> u32 {
        let number = first + index;
        if first <= self.lock_page && number >= self.lock_page { number + 1 } else { number }
    }

    /// Returns the offset of a page in the file, in bytes.
    #[inline]
    pub const fn offset(self, number: u32) -> u64 {
        (number as u64 - 1) * self.page_size.0 as u64
    }
}

/// The four kinds of B-tree page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// An interior page of an index.
    InteriorIndex = 2,
    /// An interior page of a table.
    InteriorTable = 5,
    /// A leaf page of an index.
    LeafIndex = 10,
    /// A leaf page of a table.
    LeafTable = 13,
}

impl PageKind {
    /// Returns the kind for the first byte of a page header, or `None` if no kind has this number.
    pub const fn from_byte(byte: u8) -> Option<PageKind> {
        match byte {
            2 => Some(PageKind::InteriorIndex),
            5 => Some(PageKind::InteriorTable),
            10 => Some(PageKind::LeafIndex),
            13 => Some(PageKind::LeafTable),
            _ => None,
        }
    }

    /// Returns `true` if pages of this kind have no children.
    pub const fn is_leaf(self) -> bool {
        matches!(self, PageKind::LeafIndex | PageKind::LeafTable)
    }

    /// Returns `true` if pages of this kind belong to an index or a WITHOUT ROWID table.
    pub const fn is_index(self) -> bool {
        matches!(self, PageKind::LeafIndex | PageKind::InteriorIndex)
    }

    /// Returns the size of the page header: 8 bytes, or 12 with the right-most child.
    #[inline]
    pub const fn header_bytes(self) -> usize {
        if self.is_leaf() { 8 } else { 12 }
    }
}

/// The size of a cell pointer.
pub const CELL_POINTER_BYTES: usize = 2;

/// Returns `true` if a leaf with `used` bytes of cells and `free` free bytes is about as full as leaves become: an average cell no longer
/// fits, or at most a twentieth is free.
pub const fn is_full(free: usize, used: usize, cells: usize) -> bool {
    cells > 0 && (free < used / cells + CELL_POINTER_BYTES || free <= (used + free) / 20)
}

/// Writes the header of a B-tree page to `page`, which begins where the header begins (at byte 100 of page 1).
///
/// `content_start` counts from the start of the page itself, like cell pointers.
#[inline]
pub fn write_header(page: &mut [u8], kind: PageKind, cells: usize, content_start: usize) {
    debug_assert!(cells <= u16::MAX as usize && content_start <= 65536);
    page[0] = kind as u8;
    page[1..3].copy_from_slice(&[0; 2]);
    page[3..5].copy_from_slice(&(cells as u16).to_be_bytes());
    // The cast stores 65536 as 0, as the format requires.
    page[5..7].copy_from_slice(&(content_start as u16).to_be_bytes());
    page[7] = 0;
}
