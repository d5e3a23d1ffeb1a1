//! The order of the ways in a round. Every second round is in reverse, so that no way always follows the same other one, and a machine that
//! becomes faster or slower affects all ways equally.

/// Returns the indexes of `count` ways in the order in which a round runs them. Rounds count from 1.
pub fn turn(round: u32, count: usize) -> impl Iterator<Item = usize> {
    let backwards = round.is_multiple_of(2);
    (0..count).map(move |at| if backwards { count - 1 - at } else { at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_round_runs_the_cases_in_reverse_order() {
        assert!(turn(1, 3).eq([0, 1, 2]) && turn(2, 3).eq([2, 1, 0]) && turn(3, 3).eq([0, 1, 2]));
        assert_eq!(turn(2, 0).count(), 0);
    }
}
