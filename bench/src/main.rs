//! The program that runs the comparisons: its first argument names one.
//!
//! All comparisons are one program, since each program is linked with all of sqluice and SQLite.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use sqluice_bench::{
    billion, check, databases, entities, existing, generate, index, load, lookalike, search, stores,
};

#[derive(Debug, Parser)]
#[command(name = "sqluice-bench", about = "Side-by-side runs of sqluice, SQLite and the bare disk")]
struct Arguments {
    #[command(subcommand)]
    comparison: Comparison,
}

/// A comparison. `Runner` starts the program for a lap by the name that clap makes of the variant.
#[derive(Debug, Subcommand)]
enum Comparison {
    Billion(billion::Arguments),
    Check(check::Arguments),
    Databases(databases::Arguments),
    Entities(entities::Arguments),
    Existing(existing::Arguments),
    Generate(generate::Arguments),
    Index(index::Arguments),
    Load(load::Arguments),
    Lookalike(lookalike::Arguments),
    Search(search::Arguments),
    Stores(stores::Arguments),
}

fn main() -> ExitCode {
    match &Arguments::parse().comparison {
        Comparison::Billion(arguments) => billion::main(arguments),
        Comparison::Check(arguments) => check::main(arguments),
        Comparison::Databases(arguments) => databases::main(arguments),
        Comparison::Entities(arguments) => entities::main(arguments),
        Comparison::Existing(arguments) => existing::main(arguments),
        Comparison::Generate(arguments) => generate::main(arguments),
        Comparison::Index(arguments) => index::main(arguments),
        Comparison::Load(arguments) => load::main(arguments),
        Comparison::Lookalike(arguments) => lookalike::main(arguments),
        Comparison::Search(arguments) => search::main(arguments),
        Comparison::Stores(arguments) => stores::main(arguments),
    }
}
