//! Recoveries of damaged databases.

mod cases;
mod damage;
mod edges;
mod properties;
mod support;
