//! Tests with random cells: written in each format, they are read back as expected, and as calamine reads them.

use std::io::Cursor;

use calamine::{Data, Reader as _};
use proptest::prelude::*;

use super::written::{Given, Grid, MOMENTS, as_ods, as_xls, as_xlsb, as_xlsx};
use super::*;

fn given() -> impl Strategy<Value = Given> {
    let text = prop_oneof![
        "[ -^`-~éß€😀]{1,12}".prop_filter("a text that is not blank", |text| !text.trim().is_empty()),
        Just("007".to_owned()),
        Just("1.5".to_owned()),
        Just("two\nlines".to_owned()),
        "x{80,120}",
    ];
    prop_oneof![
        any::<i32>().prop_map(Given::Int),
        (-9i32..99).prop_map(Given::Int),
        (-1e9..1e9f64).prop_map(Given::Real),
        any::<bool>().prop_map(Given::Bool),
        text.prop_map(Given::Text),
        (0..MOMENTS.len()).prop_map(Given::Moment),
        Just(Given::Error),
    ]
}

/// Returns a header of words, and rows of cells, some of them repeated.
fn grid() -> impl Strategy<Value = Grid> {
    let cell = prop::option::weighted(0.6, given());
    let rows = prop::collection::vec((prop::collection::vec(cell, 4), 1..3usize), 0..14);
    rows.prop_map(|rows| {
        let header = ["a", "b", "c", "d"].map(|name| Some(Given::Text(name.to_owned())));
        let rows = rows.into_iter().flat_map(|(row, repeat)| vec![row; repeat]);
        std::iter::once(header.to_vec()).chain(rows).collect()
    })
}

/// Returns the value that is loaded for a cell, as error messages print values.
fn expected(cell: &Option<Given>) -> String {
    let text = |text: &str| sqluice_core::batch::describe(&sqluice_core::batch::Value::Text(text.as_bytes()));
    match cell {
        None | Some(Given::Error) => "NULL".to_owned(),
        Some(Given::Int(int)) => int.to_string(),
        Some(Given::Real(real)) if real.trunc() == *real => format!("{real:.0}"),
        Some(Given::Real(real)) => format!("{real:?}"),
        Some(Given::Bool(bool)) => u8::from(*bool).to_string(),
        Some(Given::Text(given)) => text(given),
        Some(Given::Moment(index)) => text(MOMENTS[*index].3),
    }
}

/// Returns `true` if calamine reads a cell as it was written.
fn is_same(cell: &Option<Given>, read: Option<&Data>) -> bool {
    match (cell, read) {
        (None, None | Some(Data::Empty)) => true,
        (Some(Given::Int(int)), Some(Data::Int(read))) => i64::from(*int) == *read,
        (Some(Given::Int(int)), Some(Data::Float(read))) => f64::from(*int) == *read,
        (Some(Given::Real(real)), Some(Data::Float(read))) => real == read,
        (Some(Given::Bool(bool)), Some(Data::Bool(read))) => bool == read,
        // If the halves of a surrogate pair are in two records of XLS, calamine reads them as two characters.
        (Some(Given::Text(text)), Some(Data::String(read))) => {
            *text == read.replace("\u{fffd}\u{fffd}", "😀")
        }
        (Some(Given::Error), Some(Data::Error(_))) => true,
        // An ODS file has an error as text, as LibreOffice writes it, so calamine returns text.
        (Some(Given::Error), Some(Data::String(text))) => text.is_empty() || text == "#N/A",
        (Some(Given::Moment(index)), Some(Data::DateTime(read))) => MOMENTS[*index].0 == read.as_f64(),
        (Some(Given::Moment(_)), Some(Data::DateTimeIso(_) | Data::DurationIso(_))) => true,
        _ => false,
    }
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(128))]

    #[test]
    fn cells_of_every_format_are_read_as_expected(grid in grid()) {
        let options = FormatOptions::new().header(true);
        // Rows without a cell are not loaded.
        let rows = grid[1..].iter().filter(|row| row.iter().any(Option::is_some));
        let rows: Vec<Vec<String>> = rows.map(|row| row.iter().map(expected).collect()).collect();
        for (name, file) in
            [("xlsx", as_xlsx(&grid)), ("ods", as_ods(&grid)), ("xlsb", as_xlsb(&grid)), ("xls", as_xls(&grid))]
        {
            let taken = read(&file, MEMORY, &options).unwrap_or_else(|error| panic!("{name}: {error}")).remove(0);
            prop_assert_eq!((&taken.bad, &taken.error), (&Vec::new(), &None), "{}", name);
            prop_assert_eq!(&taken.names, &["a", "b", "c", "d"], "{}", name);
            prop_assert_eq!(&taken.rows, &rows, "{}", name);
        }
    }

    #[test]
    fn calamine_reads_the_written_files_as_they_are_meant(grid in grid()) {
        for (name, file) in
            [("xlsx", as_xlsx(&grid)), ("ods", as_ods(&grid)), ("xlsb", as_xlsb(&grid)), ("xls", as_xls(&grid))]
        {
            let mut book = calamine::open_workbook_auto_from_rs(Cursor::new(file))
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let range = book.worksheet_range("S").unwrap_or_else(|error| panic!("{name}: {error}"));
            for (number, row) in grid.iter().enumerate() {
                for (column, cell) in row.iter().enumerate() {
                    let read = range.get_value((number as u32, column as u32));
                    prop_assert!(is_same(cell, read), "{}: {:?} is read as {:?}", name, cell, read);
                }
            }
        }
    }
}

#[test]
fn surrogate_pairs_are_read_wherever_a_record_of_xls_ends() {
    for units in 0..40 {
        let text = "€".repeat(units) + "😀é";
        let grid: Grid = vec![vec![Some(Given::Text("a".to_owned()))], vec![Some(Given::Text(text))]];
        let options = FormatOptions::new().header(true);
        let taken = read(&as_xls(&grid), MEMORY, &options).unwrap().remove(0);
        assert_eq!(taken.rows, [[expected(&grid[1][0])]]);
    }
}

#[test]
fn damaged_binary_workbooks_are_refused_or_read() {
    let row = vec![
        Some(Given::Text("x".to_owned())),
        Some(Given::Int(5)),
        Some(Given::Real(1.5)),
        Some(Given::Bool(true)),
    ];
    let grid: Grid = vec![row; 6];
    let mut random = fastrand::Rng::with_seed(3);
    for file in [as_xlsb(&grid), as_xls(&grid)] {
        for _ in 0..sqluice_testkit::effort::tries(1000, 4000, 200_000) {
            let mut damaged = file.clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(0..damaged.len());
                damaged[at] = random.u8(..);
            }
            damaged.truncate(damaged.len() - if random.bool() { 0 } else { random.usize(0..damaged.len()) });
            _ = read(&damaged, MEMORY, &FormatOptions::new());
        }
    }
}
