//! Which zone a new member goes to.

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
