//! Tests of `recover`: single kinds of damage, unusual files, columns of lost rows, indexes as witnesses, and random damage.

mod attests;
mod cases;
mod damage;
mod edges;
mod places;
mod properties;
mod support;
mod witnesses;
