//! The choice of the users that a base station serves in a subframe.

use model::lte::Scheduling;

/// Subframes over which proportional fair averages the bytes of each user: 100 ms (Jalali, Padovani
/// and Pankaj, Data throughput of CDMA-HDR, VTC 2000).
const AVERAGED_OVER: f64 = 100.0;

/// Lower bound of an average. A user without service for long comes first, and of two such users
/// the one with the better channel.
const LEAST_AVERAGE: f64 = 1e-3;

/// The demand and the rate of a user in a subframe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// Resource blocks that all of the user's data takes; 0 without data.
    pub blocks: u32,
    /// Bytes that the user can send in all resource blocks.
    pub rate: u32,
}

/// The resource blocks of one direction, subframe by subframe.
pub struct Scheduler {
    scheduling: Scheduling,
    /// Bytes per subframe of each user, averaged.
    averages: Vec<f64>,
    /// The subframe up to which the averages are computed.
    averaged: u64,
    /// The user served last.
    last: usize,
}

impl Scheduler {
    /// Creates the scheduler of `users` users.
    pub fn new(scheduling: Scheduling, users: usize) -> Scheduler {
        let last = users.saturating_sub(1);
        Scheduler { scheduling, averages: vec![0.0; users], averaged: 0, last }
    }

    /// Advances the averages to a subframe, which is later than those before it.
    pub fn advance(&mut self, subframe: u64) {
        let kept = libm::pow(1.0 - 1.0 / AVERAGED_OVER, (subframe - self.averaged) as f64);
        self.averages.iter_mut().for_each(|average| *average *= kept);
        self.averaged = subframe;
    }

    /// Chooses the next user among those with data. A channel is equally good in all resource
    /// blocks, so a user may get all it wants before the next one.
    pub fn choose(&self, wants: &[Want]) -> Option<usize> {
        let with_data = (0..wants.len()).filter(|user| wants[*user].blocks > 0);
        match self.scheduling {
            Scheduling::ProportionalFair => {
                let metric = |user: &usize| f64::from(wants[*user].rate) / self.averages[*user].max(LEAST_AVERAGE);
                // The first of equals.
                with_data.rev().max_by(|a, b| metric(a).total_cmp(&metric(b)))
            }
            Scheduling::RoundRobin => {
                let users = wants.len();
                with_data.min_by_key(|user| (user + users - self.last - 1) % users)
            }
        }
    }

    /// Counts `bytes` that a user gets.
    pub fn give(&mut self, user: usize, bytes: u32) {
        self.averages[user] += f64::from(bytes) / AVERAGED_OVER;
        self.last = user;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the subframes, of 10 000, that users with endless data and these rates get.
    fn subframes(scheduling: Scheduling, rates: &[u32]) -> Vec<u32> {
        let mut scheduler = Scheduler::new(scheduling, rates.len());
        let wants: Vec<_> = rates.iter().map(|rate| Want { blocks: 100, rate: *rate }).collect();
        let mut served = vec![0; rates.len()];
        for subframe in 0..10_000 {
            scheduler.advance(subframe);
            let user = scheduler.choose(&wants).expect("all have data");
            scheduler.give(user, rates[user]);
            served[user] += 1;
        }
        served
    }

    /// On constant channels proportional fair gives each user as many subframes as any other, so
    /// throughput is proportional to the rates.
    #[test]
    fn proportional_fair_gives_equal_time() {
        for rates in [[5000, 5000, 5000, 5000], [8000, 4000, 1000, 500]] {
            let served = subframes(Scheduling::ProportionalFair, &rates);
            assert!(served.iter().all(|count| (2490..=2510).contains(count)), "{served:?}");
        }
    }

    #[test]
    fn round_robin_gives_turns() {
        assert_eq!(subframes(Scheduling::RoundRobin, &[5000, 10, 300, 20]), [2500; 4]);
    }

    /// A user that has been idle is served first, whatever data the others have.
    #[test]
    fn who_was_given_less_comes_first() {
        let mut scheduler = Scheduler::new(Scheduling::ProportionalFair, 2);
        let both = [Want { blocks: 100, rate: 5000 }, Want { blocks: 1, rate: 600 }];
        for subframe in 0..500 {
            scheduler.advance(subframe);
            scheduler.give(0, 5000);
        }
        scheduler.advance(500);
        assert_eq!(scheduler.choose(&both), Some(1));
        assert_eq!(scheduler.choose(&[both[0], Want { blocks: 0, ..both[1] }]), Some(0));
        assert_eq!(scheduler.choose(&[Want { blocks: 0, rate: 1 }; 2]), None);
    }
}
