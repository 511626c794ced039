//! Lists of flows, of which each flow is on one at most: `list_head` of the kernel, with indices for pointers.

/// So many lists over so many members.
#[derive(Clone, Debug)]
pub(super) struct Chains {
    /// Of each member, then of each list's head; itself if it is on no list, or empty.
    next: Vec<u32>,
    previous: Vec<u32>,
    members: usize,
}

impl Chains {
    pub fn new(members: usize, lists: usize) -> Chains {
        let alone: Vec<u32> = (0..(members + lists) as u32).collect();
        Chains { next: alone.clone(), previous: alone, members }
    }

    /// The first of a list.
    #[inline]
    pub fn front(&self, list: usize) -> Option<usize> {
        let first = self.next[self.members + list] as usize;
        (first < self.members).then_some(first)
    }

    #[inline]
    pub fn is_empty(&self, list: usize) -> bool {
        self.front(list).is_none()
    }

    /// Is it on any list?
    #[inline]
    pub fn contains(&self, member: usize) -> bool {
        self.next[member] as usize != member
    }

    /// Takes it off the list that it is on, if any.
    #[inline]
    pub fn remove(&mut self, member: usize) {
        let (before, behind) = (self.previous[member], self.next[member]);
        self.next[before as usize] = behind;
        self.previous[behind as usize] = before;
        self.next[member] = member as u32;
        self.previous[member] = member as u32;
    }

    /// Puts it at the end of a list, off the one that it was on.
    #[inline]
    pub fn move_to_back(&mut self, list: usize, member: usize) {
        self.remove(member);
        let head = self.members + list;
        let last = self.previous[head];
        self.next[last as usize] = member as u32;
        self.previous[member] = last;
        self.next[member] = head as u32;
        self.previous[head] = member as u32;
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
        /// Against vectors.
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
