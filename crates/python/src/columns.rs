//! Series for Python: tables of columns, each a numpy type and little-endian bytes.

use model::Scenario;
use model::series::{Column, FlowSeries, LinkSeries, Series};
use model::units::Nanos;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// Returns the meaning of each column of the tables of flows and links, in order.
#[pyfunction]
pub fn series_columns() -> [(&'static str, &'static [(&'static str, &'static str)]); 2] {
    [("flows", FlowSeries::MEANINGS), ("links", LinkSeries::MEANINGS)]
}

/// Converts a series to `{table: {column: (dtype, bytes)}}`.
pub fn tables<'py>(py: Python<'py>, series: &Series, scenario: &Scenario) -> PyResult<Bound<'py, PyDict>> {
    let capacities = capacities(&series.links, scenario);
    let links = [series.links.columns(), vec![("capacity_mbps", (&capacities).into())]].concat();
    let tables = PyDict::new(py);
    tables.set_item("flows", table(py, series.flows.columns())?)?;
    tables.set_item("links", table(py, links)?)?;
    tables.set_item("rtt", table(py, series.rtt.columns())?)?;
    tables.set_item("queue_delay", table(py, series.queue_delay.columns())?)?;
    Ok(tables)
}

fn table<'py>(py: Python<'py>, columns: Vec<(&str, Column)>) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    for (name, column) in columns {
        let (dtype, bytes) = numpy(column);
        table.set_item(name, (dtype, PyBytes::new(py, &bytes)))?;
    }
    Ok(table)
}

/// Returns the numpy type and the bytes of a column; a missing number becomes not-a-number.
fn numpy(column: Column) -> (&'static str, Vec<u8>) {
    let reals = |values: &mut dyn Iterator<Item = Option<f64>>| {
        ("<f8", values.flat_map(|value| value.unwrap_or(f64::NAN).to_le_bytes()).collect())
    };
    match column {
        Column::F64(values) => reals(&mut values.iter().map(|value| Some(*value))),
        Column::OptionF64(values) => reals(&mut values.iter().copied()),
        Column::OptionU32(values) => reals(&mut values.iter().map(|value| value.map(f64::from))),
        Column::OptionU64(values) => reals(&mut values.iter().map(|value| value.map(|value| value as f64))),
        Column::U32(values) => ("<u4", values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Column::U64(values) => ("<u8", values.iter().flat_map(|value| value.to_le_bytes()).collect()),
    }
}

/// Returns the capacity of each link in the step that ends at each sample, in Mbit/s; none for an
/// access link.
fn capacities(rows: &LinkSeries, scenario: &Scenario) -> Vec<Option<f64>> {
    let links: Vec<_> = scenario.directions().collect();
    let mut before = vec![Nanos::ZERO; links.len()];
    let capacity = |(time_s, link): (&f64, &u32)| {
        let model = links.get(*link as usize)?;
        let now = Nanos((time_s * 1e9).round() as u64);
        let from = std::mem::replace(&mut before[*link as usize], now);
        let seconds = now.since(from).as_secs_f64();
        (seconds > 0.0).then(|| model.capacity_bits(from, now) / seconds / 1e6)
    };
    rows.time_s.iter().zip(&rows.link).map(capacity).collect()
}
