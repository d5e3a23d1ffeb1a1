//! Each comparison on a few rows, and with stand-ins whose results are wrong.

mod billion;
mod check;
mod comparison;
mod existing;
mod generate;
mod index;
mod load;
mod search;
mod stores;
mod support;
