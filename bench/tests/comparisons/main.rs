//! Runs each comparison with few rows, and with scripts in place of sqluice whose results are wrong.

mod billion;
mod check;
mod comparison;
mod databases;
mod existing;
mod generate;
mod index;
mod load;
mod search;
mod stores;
mod support;
