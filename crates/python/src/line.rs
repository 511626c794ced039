//! Both ends of a measured line, for `unbloat serve` and `unbloat line`.

use crate::errors::{input_error, run_error};
use line::client::{self, Phase, Progress, ServerName};
use line::limits::Limits;
use line::{Config, Identity, Server};
use measure::{Codec, opinion_score, rating};
use model::units::Nanos;
use pyo3::prelude::*;
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A far end that listens until it is stopped.
#[pyclass(frozen)]
pub struct LineServer(Mutex<Option<Server>>);

#[pymethods]
impl LineServer {
    /// Starts to listen; port 0 takes a free one.
    #[new]
    #[pyo3(signature = (
        address, port, *, client_bytes, all_bytes, client_connections, all_connections, seconds, controls, names,
        certificate = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is an option of the command line")]
    fn new(
        py: Python<'_>,
        address: IpAddr,
        port: u16,
        client_bytes: u64,
        all_bytes: u64,
        client_connections: u32,
        all_connections: u32,
        seconds: u64,
        controls: Vec<String>,
        names: Vec<String>,
        certificate: Option<(PathBuf, PathBuf)>,
    ) -> PyResult<Self> {
        let config = Config {
            address: SocketAddr::new(address, port),
            limits: Limits {
                client_bytes,
                all_bytes,
                client_connections,
                all_connections,
                duration: Duration::from_secs(seconds),
            },
            controls,
            identity: certificate.map_or(Identity::SelfSigned(names), |(chain, key)| Identity::Files(chain, key)),
        };
        let server = py.detach(|| Server::start(config)).map_err(input_error)?;
        Ok(Self(Mutex::new(Some(server))))
    }

    /// The port of TCP and UDP; None once the server is stopped.
    #[getter]
    fn port(&self) -> Option<u16> {
        let server = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(server.as_ref()?.address().port())
    }

    /// Closes all connections and frees the ports.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

/// Measures a line against a far end; returns what was measured as JSON, and whether Ctrl-C ended it early.
///
/// `far_cc` is the congestion control of downloads that the far end is asked for.
/// `observe` gets the phase, seconds, Mbit/s down and up, the latest round-trip time in ms, and bytes, several times a
/// second.
#[pyfunction]
#[pyo3(signature = (server, *, budget, seconds, phases, far_cc = None, observe = None))]
pub fn measure_line(
    py: Python<'_>,
    server: &str,
    budget: u64,
    seconds: f64,
    phases: Vec<String>,
    far_cc: Option<String>,
    observe: Option<Py<PyAny>>,
) -> PyResult<(String, bool)> {
    let server: ServerName = server.parse().map_err(|error| input_error(format!("{server:?}: {error}")))?;
    let named = |name: String| {
        Phase::ALL
            .into_iter()
            .find(|phase| phase.name() == name)
            .ok_or_else(|| input_error(format!("unknown phase {name:?}")))
    };
    let phases = phases.into_iter().map(named).collect::<PyResult<_>>()?;
    let config = client::Config { server, budget, duration: Duration::from_secs_f64(seconds), phases, far_cc };
    let (mut is_interrupted, mut failure) = (false, None);
    let mut watch = |now: Progress| {
        Python::attach(|py| {
            is_interrupted |= py.check_signals().is_err();
            let seen = (now.phase.name(), now.elapsed_s, now.down_mbps, now.up_mbps, now.rtt_ms, now.bytes);
            failure = observe.as_ref().and_then(|observe| observe.call1(py, seen).err());
        });
        if is_interrupted || failure.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let measured = py.detach(|| client::measure(&config, &mut watch));
    if let Some(failure) = failure {
        return Err(failure);
    }
    let json = serde_json::to_string(&measured.map_err(run_error)?).map_err(run_error)?;
    Ok((json, is_interrupted))
}

/// Rates a telephone call over G.711 by the E-model: its mean opinion score, from 1 to 4.5.
///
/// `delay_ms` is the time from mouth to ear, `loss` the share of packets that are lost or late.
#[pyfunction]
pub fn call_rating(delay_ms: f64, loss: f64) -> f64 {
    let delay = Nanos((delay_ms.max(0.0) * 1e6) as u64);
    opinion_score(rating(Codec::G711, delay, loss))
}
