//! CAKE's set-associative hash (`cake_hash` in sch_cake.c). A flow takes any free queue of the
//! eight in its set, so even among a few hundred flows hardly any two share one.

/// Number of queues of a tin.
pub(super) const QUEUES: usize = 1024;
/// Number of queues of a set.
const WAYS: usize = 8;

/// Lists the places of a hash's set, its own first.
fn places(hash: u32) -> impl Iterator<Item = usize> {
    let own = hash as usize % QUEUES;
    let (set, way) = (own - own % WAYS, own % WAYS);
    (0..WAYS).map(move |n| set + (way + n) % WAYS)
}

/// The place of a hash, and how it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// The place has the tag of the hash.
    Known(usize),
    /// The place is free.
    Free(usize),
    /// All places of the set are taken: the hash shares its own.
    Shared(usize),
}

/// Looks a hash up. `has_tag` says whether a place has its tag, and `is_free` whether a place is
/// free.
#[inline]
pub(super) fn find(hash: u32, has_tag: impl Fn(usize) -> bool, is_free: impl Fn(usize) -> bool) -> Lookup {
    if let Some(place) = places(hash).find(|place| has_tag(*place)) {
        return Lookup::Known(place);
    }
    match places(hash).find(|place| is_free(*place)) {
        Some(place) => Lookup::Free(place),
        None => Lookup::Shared(hash as usize % QUEUES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_eight_places_and_the_own_is_first() {
        assert_eq!(places(1024 + 13).collect::<Vec<_>>(), [13, 14, 15, 8, 9, 10, 11, 12]);
    }

    #[test]
    fn a_ninth_flow_shares_a_place() {
        let mut tags = vec![0; QUEUES];
        // All fall to place 13.
        for flow in 1..=8 {
            let hash = 1024 * flow + 13;
            let Lookup::Free(place) = find(hash, |n| tags[n] == hash, |n| tags[n] == 0) else {
                panic!("there is room")
            };
            tags[place] = hash;
        }
        let found = |hash| find(hash, |n| tags[n] == hash, |n| tags[n] == 0);
        assert_eq!(found(1024 * 3 + 13), Lookup::Known(15));
        assert_eq!(found(1024 * 9 + 13), Lookup::Shared(13));
    }
}
