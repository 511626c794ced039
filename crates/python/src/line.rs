//! The far end of a measured line, for `unbloat serve`.

use crate::errors::input_error;
use line::limits::Limits;
use line::{Config, Identity, Server};
use pyo3::prelude::*;
use std::net::{IpAddr, SocketAddr};
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

    /// The ports of HTTPS and of plain TCP transfers; None once the server is stopped.
    #[getter]
    fn ports(&self) -> Option<(u16, u16)> {
        let server = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let addresses = server.as_ref()?.addresses();
        Some((addresses.https.port(), addresses.transfer.port()))
    }

    /// Closes all connections and frees the ports.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}
