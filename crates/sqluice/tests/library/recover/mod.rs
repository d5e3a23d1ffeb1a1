//! Recoveries of damaged databases.

mod cases;
mod damage;
mod edges;
mod places;
mod properties;
mod support;
