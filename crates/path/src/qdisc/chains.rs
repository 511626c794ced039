//! Linked lists of flows, each flow on at most one list: `list_head` of the kernel, with indices
//! for pointers.

/// Both neighbours of a member or of a list's head. If it is on no list, or its list is empty, both
/// are itself.
#[derive(Clone, Copy, Debug)]
struct Link {
    next: u32,
    previous: u32,
}

/// Several linked lists over one set of members.
#[derive(Clone, Debug)]
pub(super) struct Chains {
    /// Links of each member, then of each list's head.
    links: Vec<Link>,
    members: usize,
}

impl Chains {
    pub fn new(members: usize, lists: usize) -> Chains {
        let alone = |n| Link { next: n, previous: n };
        Chains { links: (0..(members + lists) as u32).map(alone).collect(), members }
    }

    /// Returns the first member of a list; none if it is empty.
    #[inline]
    pub fn front(&self, list: usize) -> Option<usize> {
        let first = self.links[self.members + list].next as usize;
        (first < self.members).then_some(first)
    }

    #[inline]
    pub fn is_empty(&self, list: usize) -> bool {
        self.front(list).is_none()
    }

    /// Reports whether a member is on any list.
    #[inline]
    pub fn contains(&self, member: usize) -> bool {
        self.links[member].next as usize != member
    }

    /// Links the neighbours of a member to each other.
    #[inline]
    fn bypass(&mut self, member: usize) {
        let Link { next, previous } = self.links[member];
        self.links[previous as usize].next = next;
        self.links[next as usize].previous = previous;
    }

    /// Takes a member off its list, if it is on one.
    #[inline]
    pub fn remove(&mut self, member: usize) {
        self.bypass(member);
        self.links[member] = Link { next: member as u32, previous: member as u32 };
    }

    /// Moves a member to the end of a list.
    #[inline]
    pub fn move_to_back(&mut self, list: usize, member: usize) {
        self.bypass(member);
        let head = self.members + list;
        let last = std::mem::replace(&mut self.links[head].previous, member as u32);
        self.links[last as usize].next = member as u32;
        self.links[member] = Link { next: head as u32, previous: last };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MEMBERS: usize = 6;
    const LISTS: usize = 2;

    fn members(chains: &mut Chains, list: usize) -> Vec<usize> {
        std::iter::from_fn(|| {
            let first = chains.front(list)?;
            chains.remove(first);
            Some(first)
        })
        .collect()
    }

    proptest! {
        /// Compares the lists with vectors.
        #[test]
        fn behave_as_lists(moves in prop::collection::vec((0..MEMBERS, 0..LISTS + 1), 0..60)) {
            let mut chains = Chains::new(MEMBERS, LISTS);
            let mut model = vec![vec![]; LISTS];
            for (member, list) in moves {
                model.iter_mut().for_each(|list: &mut Vec<usize>| list.retain(|other| *other != member));
                if list < LISTS {
                    chains.move_to_back(list, member);
                    model[list].push(member);
                } else {
                    chains.remove(member);
                }
                for (list, expected) in model.iter().enumerate() {
                    prop_assert_eq!(chains.front(list), expected.first().copied());
                    prop_assert_eq!(chains.is_empty(list), expected.is_empty());
                }
                prop_assert_eq!(chains.contains(member), list < LISTS);
            }
            for (list, expected) in model.into_iter().enumerate() {
                prop_assert_eq!(members(&mut chains, list), expected);
            }
        }
    }
}
