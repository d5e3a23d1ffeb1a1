//! A plain-text table: headings, a rule below them, and aligned columns.
//!
//! ```text
//! name   rows
//! ─────  ─────
//! user   1,000
//! order     12
//! ```

/// The space between columns.
const GAP: &str = "  ";

/// The alignment of a column's texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A plain-text table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table without rows.
    pub(crate) fn new(columns: impl IntoIterator<Item = (String, Align)>) -> Table {
        Table { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row, which has a text for each column.
    pub(crate) fn row(&mut self, texts: Vec<String>) {
        assert_eq!(texts.len(), self.columns.len(), "a text for each column");
        self.rows.push(texts);
    }

    /// Returns the lines of the table. `heading` styles the first line.
    pub(crate) fn render(&self, heading: impl Fn(&str) -> String) -> String {
        let headings: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let width = |column: usize| {
            let texts = self.rows.iter().map(|row| &row[column]).chain([&headings[column]]);
            texts.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..headings.len()).map(width).collect();
        let rules: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
        let mut lines = vec![heading(&self.line(&headings, &widths)), self.line(&rules, &widths)];
        lines.extend(self.rows.iter().map(|row| self.line(row, &widths)));
        lines.join("\n") + "\n"
    }

    fn line(&self, texts: &[String], widths: &[usize]) -> String {
        let cells =
            texts.iter().zip(widths).zip(&self.columns).map(|((text, &width), (_, align))| match align {
                Align::Left => format!("{text:width$}"),
                Align::Right => format!("{text:>width$}"),
            });
        cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_their_widest_text_and_numbers_are_aligned_to_the_right() {
        let mut table = Table::new([("name".to_owned(), Align::Left), ("n".to_owned(), Align::Right)]);
        table.row(vec!["a".to_owned(), "1,000".to_owned()]);
        table.row(vec!["größer".to_owned(), "7".to_owned()]);
        let expected = "name        n\n──────  ─────\na       1,000\ngrößer      7\n";
        assert_eq!(table.render(str::to_owned), expected);
    }

    #[test]
    fn only_the_headings_of_a_table_are_styled() {
        let mut table = Table::new([("a".to_owned(), Align::Left)]);
        table.row(vec![String::new()]);
        assert_eq!(table.render(|line| format!("<{line}>")), "<a>\n─\n\n");
    }
}
