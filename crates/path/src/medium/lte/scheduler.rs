//! Which users a base station serves in a subframe.

use model::lte::Scheduling;

/// Subframes over which proportional fair averages what a user was given (Jalali, Padovani and Pankaj, Data throughput
/// of CDMA-HDR, VTC 2000): 100 ms.
const AVERAGED_OVER: f64 = 100.0;

/// Less than anybody was given on average: who was given nothing for long comes first, and the better channel of two
/// such.
const LEAST_AVERAGE: f64 = 1e-3;

/// What a user could do with a subframe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// Resource blocks that all its data takes; none if it has no data.
    pub blocks: u32,
    /// Bytes that it can send in all resource blocks.
    pub rate: u32,
}

/// The resource blocks of one direction, subframe by subframe.
pub struct Scheduler {
    scheduling: Scheduling,
    /// Bytes that each user was given in a subframe, averaged.
    averages: Vec<f64>,
    /// The subframe that the averages are of.
    averaged: u64,
    /// The user served last.
    last: usize,
}

impl Scheduler {
    /// That of so many users.
    pub fn new(scheduling: Scheduling, users: usize) -> Scheduler {
        let last = users.saturating_sub(1);
        Scheduler { scheduling, averages: vec![0.0; users], averaged: 0, last }
    }

    /// Time passes until a subframe, which is later than those before it.
    pub fn advance(&mut self, subframe: u64) {
        let kept = libm::pow(1.0 - 1.0 / AVERAGED_OVER, (subframe - self.averaged) as f64);
        self.averages.iter_mut().for_each(|average| *average *= kept);
        self.averaged = subframe;
    }

    /// The user who is served next, of those with data. All channels are as good in each resource block as in any
    /// other, so that he may have all he wants before the next one comes.
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

    /// A user is given so many bytes.
    pub fn give(&mut self, user: usize, bytes: u32) {
        self.averages[user] += f64::from(bytes) / AVERAGED_OVER;
        self.last = user;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of 10 000 subframes users have whose data never ends, at such rates.
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

    /// On channels that do not vary proportional fair gives all users as many subframes, so that what they carry is
    /// proportional to their rates.
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

    /// Who has been idle is served first, whatever the others have.
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
