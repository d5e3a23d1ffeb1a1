//! Describes how many rows refer to each row of another table, as `rows(n: weight, ...)`.

use super::sketch::Counts;

/// The maximum number of classes into which the numbers of rows per parent are divided.
const CLASSES_MAX: usize = 40;

/// Returns the distribution of the numbers of rows per parent, as an expression. `parents` is the number of rows of the parent table.
/// Parents without a referring row count with 0 rows.
pub(super) fn row_counts(counts: &Counts, parents: u64) -> String {
    let sorted = counts.counts();
    let without = (parents as f64 - counts.different()).max(0.0) / counts.each_stands_for();
    let mut classes: Vec<(f64, f64)> = Vec::new();
    if without.round() > 0.0 {
        classes.push((0.0, without.round()));
    }
    classes.extend(classes_of(&sorted, CLASSES_MAX));
    let class = |(rows, weight): &(f64, f64)| format!("{}: {weight}", (rows * 1000.0).round() / 1000.0);
    format!("rows({})", classes.iter().map(class).collect::<Vec<_>>().join(", "))
}

/// Formats the share of `rows` in `all` as a number.
pub(super) fn share(rows: u64, all: u64) -> String {
    let text = format!("{:.9}", rows as f64 / all as f64);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns pairs: a number of rows, and how many parents have this number. If there are more than `classes_max` different numbers,
/// neighbouring numbers are merged, few of the large ones and more of the small ones, since parents with large numbers have many rows
/// each.
pub(super) fn classes_of(sorted: &[u64], classes_max: usize) -> Vec<(f64, f64)> {
    let mut exact: Vec<(f64, f64)> = Vec::new();
    for count in sorted {
        match exact.last_mut() {
            Some((rows, weight)) if *rows == *count as f64 => *weight += 1.0,
            _ => exact.push((*count as f64, 1.0)),
        }
    }
    if exact.len() <= classes_max {
        return exact;
    }
    let all = sorted.len() as f64;
    let mut classes: Vec<(f64, f64)> = Vec::new();
    let mut behind = 0.0;
    let mut taken = (0.0, 0.0);
    for (rows, weight) in exact.into_iter().rev() {
        taken = (taken.0 + rows * weight, taken.1 + weight);
        let enough = (behind / 4.0_f64).clamp(1.0, (all / classes_max as f64).max(1.0));
        if taken.1 >= enough {
            classes.push((taken.0 / taken.1, taken.1));
            behind += taken.1;
            taken = (0.0, 0.0);
        }
    }
    if taken.1 > 0.0 {
        classes.push((taken.0 / taken.1, taken.1));
    }
    classes.reverse();
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sketch::hash_int;

    #[test]
    fn parents_without_children_are_counted_as_having_0_rows() {
        let mut counts = Counts::new();
        for parent in 0..10 {
            (0..=parent % 3).for_each(|_| counts.add(hash_int(parent)));
        }
        assert_eq!(row_counts(&counts, 12), "rows(0: 2, 1: 4, 2: 3, 3: 3)");
        assert_eq!(row_counts(&counts, 10), "rows(1: 4, 2: 3, 3: 3)");
    }

    #[test]
    fn classes_of_child_counts_keep_the_sum_of_the_counts() {
        let counts: Vec<u64> = (1..5000).map(|rank| 100_000 / (5000 - rank)).collect();
        let classes = classes_of(&counts, CLASSES_MAX);
        assert!(classes.len() < 120, "{}", classes.len());
        let sum: f64 = classes.iter().map(|(rows, weight)| rows * weight).sum();
        assert!((sum - counts.iter().sum::<u64>() as f64).abs() < 1e-6 * sum);
    }
}
