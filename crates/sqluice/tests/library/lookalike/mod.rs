//! Look-alikes: databases that are generated from the profile of another database. SQL queries compare the two.

mod canaries;
mod compare;
mod constraints;
mod forms;
mod full_text;
mod presets;
mod random;
mod schemas;
