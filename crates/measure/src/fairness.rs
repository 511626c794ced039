//! Fairness between flows.

use model::records;

/// Returns Jain's index of the flows' goodputs; none if nothing was delivered.
pub fn jain_index(flows: &[records::Flow]) -> Option<f64> {
    let sum: f64 = flows.iter().map(|f| f.goodput_mbps).sum();
    let squares: f64 = flows.iter().map(|f| f.goodput_mbps * f.goodput_mbps).sum();
    (squares > 0.0).then(|| sum * sum / (flows.len() as f64 * squares))
}
