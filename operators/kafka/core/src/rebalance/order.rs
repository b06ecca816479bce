//! Ties are broken by what things are called, so that the same cluster always gets the same plan, and equal brokers
//! still each get their part.

use super::snapshot::{BrokerId, Snapshot, Topic};

/// A number for each topic, from its name alone.
pub(super) fn seeds(snapshot: &Snapshot) -> Vec<u64> {
    snapshot.topics().iter().map(seed).collect()
}

/// FNV-1a of a name.
fn seed(topic: &Topic) -> u64 {
    topic.as_str().bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A number for a replica.
pub(super) fn of(seed: u64, partition: i32, broker: BrokerId) -> u64 {
    let replica = u64::from(partition.cast_unsigned()) << 32 | u64::from(broker.cast_unsigned());
    mix(seed ^ mix(replica))
}

/// The finaliser of `SplitMix64` (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}
