//! Look-alikes: a database, its profile, and a database that is made of that. SQLite compares the two.

mod canaries;
mod compare;
mod constraints;
mod forms;
mod full_text;
mod presets;
mod random;
mod schemas;
