//! The settings of all verbs: each is declared once, and every front end follows the declaration.
//!
//! ```text
//!  `declared`, one list of      ──> the command: flags, their help, the reference page
//!  (setting, declaration)       ──> Python: the arguments that are handed over; a test compares the signatures
//!                               ──> messages: settings as data, which each front end names in its own terms
//! ```
//!
//! Modules, from the bottom up: `kind`: the kinds of values; `declaration`: the type [`Declaration`]; `declared`: the list of all
//! settings; `numbers`: parsers of counts, sizes and durations.

mod declaration;
mod declared;
mod kind;
pub mod numbers;

pub use declaration::{Declaration, Taker};
pub use declared::{Setting, SettingValue, Verb};
pub use kind::{Choice, Kind};
