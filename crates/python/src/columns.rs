//! Series as Python gets them: tables of columns, each a numpy type and little-endian bytes.

use model::Scenario;
use model::records::{Distribution, FlowSeries, LinkSeries, Series};
use model::units::Nanos;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// A number that stands in a column; a missing one is not-a-number.
trait Number: Copy {
    const DTYPE: &'static str;
    fn put(self, bytes: &mut Vec<u8>);
}

macro_rules! number {
    ($type:ty, $dtype:literal, |$value:ident| $stored:expr) => {
        impl Number for $type {
            const DTYPE: &'static str = $dtype;
            fn put(self, bytes: &mut Vec<u8>) {
                let $value = self;
                bytes.extend($stored.to_le_bytes());
            }
        }
    };
}

number!(f64, "<f8", |value| value);
number!(u32, "<u4", |value| value);
number!(u64, "<u8", |value| value);
number!(Option<f64>, "<f8", |value| value.unwrap_or(f64::NAN));
number!(Option<u32>, "<f8", |value| value.map_or(f64::NAN, f64::from));
number!(Option<u64>, "<f8", |value| value.map_or(f64::NAN, |value| value as f64));

/// `{table: {column: (dtype, bytes)}}`.
pub fn tables<'py>(py: Python<'py>, series: &Series, scenario: &Scenario) -> PyResult<Bound<'py, PyDict>> {
    let tables = PyDict::new(py);
    tables.set_item("flows", flows(py, &series.flows)?)?;
    tables.set_item("links", links(py, &series.links, scenario)?)?;
    tables.set_item("rtt", distribution(py, &series.rtt)?)?;
    tables.set_item("queue_delay", distribution(py, &series.queue_delay)?)?;
    Ok(tables)
}

macro_rules! table {
    ($py:expr, $rows:expr, [$($column:ident),*]) => {{
        let table = PyDict::new($py);
        $(put(&table, stringify!($column), &$rows.$column)?;)*
        PyResult::Ok(table)
    }};
}

fn flows<'py>(py: Python<'py>, rows: &FlowSeries) -> PyResult<Bound<'py, PyDict>> {
    table!(
        py,
        rows,
        [
            time_s,
            flow,
            cwnd_packets,
            ssthresh_packets,
            in_flight_packets,
            rtt_ms,
            srtt_ms,
            goodput_mbps,
            retransmitted_packets,
            wmem_queued_bytes,
            sndbuf_bytes
        ]
    )
}

fn links<'py>(py: Python<'py>, rows: &LinkSeries, scenario: &Scenario) -> PyResult<Bound<'py, PyDict>> {
    let table = table!(
        py,
        rows,
        [time_s, link, queue_bytes, queue_packets, ring_bytes, bql_limit_bytes, drops, throughput_mbps]
    )?;
    put(&table, "capacity_mbps", &capacities(rows, scenario))?;
    Ok(table)
}

/// What each link could have sent in the step that ends at each sample; none of an access link.
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

fn distribution<'py>(py: Python<'py>, rows: &Distribution) -> PyResult<Bound<'py, PyDict>> {
    table!(py, rows, [subject, upper_ms, count])
}

fn put<T: Number>(table: &Bound<'_, PyDict>, name: &str, values: &[T]) -> PyResult<()> {
    let mut bytes = Vec::with_capacity(values.len() * 8);
    values.iter().for_each(|value| value.put(&mut bytes));
    table.set_item(name, (T::DTYPE, PyBytes::new(table.py(), &bytes)))
}
