//! Which zone a new member goes to.

use crate::{invalid::Invalid, label};

/// What is wrong with a list of zones in `field`: each is a label's value, and is listed once.
pub fn faults(zones: &[String], field: &str) -> Vec<Invalid> {
    let mut faults = vec![];
    for (index, zone) in zones.iter().enumerate() {
        let field = format!("{field}[{index}]");
        if zone.is_empty() {
            faults.push(Invalid::new(field, "must not be empty"));
        } else if zones[..index].contains(zone) {
            faults.push(Invalid::new(field, format!("{zone} is listed twice")));
        } else if let Err(message) = label::check_value(zone) {
            faults.push(Invalid::new(field, message));
        }
    }
    faults
}

/// The zone of `zones` with the fewest members; of several the first one. `None` when there are no zones.
///
/// `taken` has one entry per existing member: its zone, or `None` if it has none.
pub fn least_crowded(zones: &[String], taken: &[Option<&str>]) -> Option<String> {
    zones.iter().min_by_key(|zone| crowd(Some(zone), taken)).cloned()
}

/// How many members are in this zone (`None`: in no zone); the higher, the sooner one of them should go.
pub fn crowd(zone: Option<&str>, taken: &[Option<&str>]) -> usize {
    taken.iter().filter(|&&taken| taken == zone).count()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&[], &[], None)]
    #[case(&["a", "b", "c"], &[], Some("a"))]
    #[case(&["a", "b", "c"], &[Some("a")], Some("b"))]
    #[case(&["a", "b", "c"], &[Some("a"), Some("b"), Some("c")], Some("a"))]
    #[case(&["a", "b", "c"], &[Some("a"), Some("c"), None, None], Some("b"))]
    #[case(&["c", "b"], &[Some("gone"), Some("gone")], Some("c"))]
    #[case(&["a", "b"], &[Some("a"), Some("a"), Some("b")], Some("b"))]
    fn the_fewest_members(
        #[case] zones: &[&str],
        #[case] taken: &[Option<&str>],
        #[case] expected: Option<&str>,
    ) {
        let zones: Vec<String> = zones.iter().map(|zone| (*zone).to_owned()).collect();
        assert_eq!(least_crowded(&zones, taken).as_deref(), expected);
    }

    #[test]
    fn crowds() {
        let taken = [Some("a"), None, Some("a")];
        assert_eq!([crowd(Some("a"), &taken), crowd(Some("b"), &taken), crowd(None, &taken)], [2, 0, 1]);
    }
}
