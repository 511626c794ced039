//! Draws the flows of a run: when each one opens, and how much it writes. All backends use this module, so they open
//! the same flows.
//!
//! Times and sizes have their own random stream for each group. So a higher arrival rate does not change the sizes, and
//! other groups or losses change neither.

use super::{FlowGroup, Scenario};
use crate::rng::{exponential, rng, stream, up_to};
use crate::units::Nanos;
use crate::workload::{Arrivals, FlowArrival, Poisson};

impl Scenario {
    /// Returns the flows of the run, group by group; flows have numbers in this order.
    pub fn flow_arrivals(&self) -> Vec<Vec<FlowArrival>> {
        self.flows.iter().zip(0..).map(|(group, number)| self.flow_arrivals_of(group, number)).collect()
    }

    fn flow_arrivals_of(&self, group: &FlowGroup, number: u64) -> Vec<FlowArrival> {
        let mut rng = rng(self.seed, stream::SIZE + number);
        let mut draw = group.sizes.map(|sizes| sizes.sampler());
        let mut size = || draw.as_mut().map_or(group.size, |draw| Some(draw(&mut rng).min(group.largest_size())));
        let of_one = group.flows_of_one() as usize;
        let times = self.times(group, number).into_iter().flat_map(|at| std::iter::repeat_n(at, of_one));
        times.map(|at| FlowArrival { at, size: size() }).collect()
    }

    fn times(&self, group: &FlowGroup, number: u64) -> Vec<Nanos> {
        let Some(Arrivals::Poisson(Poisson { rate })) = group.arrivals else {
            let mut rng = rng(self.seed, stream::START + number);
            let mut later = || Nanos(up_to(group.start_spread.0, &mut rng));
            return (0..group.count as u64).map(|n| group.start + Nanos(group.stagger.0 * n) + later()).collect();
        };
        let mut rng = rng(self.seed, stream::ARRIVAL + number);
        let next = |at: &Nanos| Some(*at + rate.interval(exponential(&mut rng)));
        let end = group.stop.unwrap_or(self.duration).min(self.duration);
        std::iter::successors(Some(group.start), next).skip(1).take_while(|at| *at < end).collect()
    }

    /// Returns the number of flows of all groups.
    pub fn flow_count(&self) -> usize {
        self.flow_arrivals().iter().map(Vec::len).sum()
    }
}
