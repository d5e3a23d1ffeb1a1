//! Workers: threads that take parts of sources or trees and turn them into chunks of finished pages.
//!
//! ```text
//!  dispenser (a lock) ──> worker ── message: a sealed chunk, bad rows, the end of a part ──> writer
//!                            ^                                                                 │
//!                            └────────────────────────── empty chunks ─────────────────────────┘
//! ```

pub(crate) mod dispenser;
pub(crate) mod message;
pub(crate) mod part_ends;
pub(crate) mod worker;
