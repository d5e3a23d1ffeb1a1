//! Tests of `recover`: single kinds of damage, unusual files, columns of lost rows, and random damage.

mod cases;
mod damage;
mod edges;
mod places;
mod properties;
mod support;
mod witnesses;
