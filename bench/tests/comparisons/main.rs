//! Each program of comparisons on a few rows, and with stand-ins whose results are wrong.

mod billion;
mod check;
mod existing;
mod generate;
mod index;
mod load;
mod stores;
mod support;
