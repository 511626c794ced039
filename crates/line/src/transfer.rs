//! Plain TCP transfers: one direction, with a congestion control that the client asks for among those allowed.
//!
//! A client sends one line: `unbloat1 TOKEN download|upload CONTROL`, where `TOKEN` is in hexadecimal and `CONTROL` may
//! be `default`. The server answers with a line, `ok CONTROL` or `no REASON`. Then it sends zeros, or reads and discards,
//! until the client closes the connection or a limit ends it.

use crate::limits::Refusal;
use crate::server::Shared;
use crate::token::{self, Token};
use nix::sys::socket::{getsockopt, sockopt::TcpCongestion};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Bytes of the longest request.
pub const MOST_SIZE: usize = 128;

/// How long a client may take to send its request.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes that are written or read at a time.
const CHUNK: usize = 65_536;

/// Which way the data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the server to the client.
    Download,
    /// From the client to the server.
    Upload,
}

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The client's token.
    pub token: Token,
    /// Which way the data goes.
    pub direction: Direction,
    /// The congestion control of the server's socket; `None` is the system's default.
    pub control: Option<String>,
}

/// Why a text is not a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

impl FromStr for Request {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let mut words = text.split(' ');
        let mut next = || words.next().ok_or(Malformed);
        if next()? != "unbloat1" {
            return Err(Malformed);
        }
        let token = from_hex(next()?).ok_or(Malformed)?;
        let direction = match next()? {
            "download" => Direction::Download,
            "upload" => Direction::Upload,
            _ => return Err(Malformed),
        };
        let control = Some(next()?).filter(|name| *name != "default").map(str::to_owned);
        if words.next().is_some() {
            return Err(Malformed);
        }
        Ok(Self { token, direction, control })
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = match self.direction {
            Direction::Download => "download",
            Direction::Upload => "upload",
        };
        let control = self.control.as_deref().unwrap_or("default");
        write!(f, "unbloat1 {} {direction} {control}", to_hex(&self.token))
    }
}

/// Writes a token in hexadecimal.
pub fn to_hex(token: &Token) -> String {
    token.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a token from hexadecimal digits.
pub fn from_hex(text: &str) -> Option<Token> {
    let digits = text.as_bytes();
    if digits.len() != 2 * token::SIZE {
        return None;
    }
    let digit = |at: usize| (digits[at] as char).to_digit(16).map(|digit| digit as u8);
    let mut token = [0; token::SIZE];
    for (at, byte) in token.iter_mut().enumerate() {
        *byte = digit(2 * at)? << 4 | digit(2 * at + 1)?;
    }
    Some(token)
}

/// Serves one connection.
pub(crate) async fn serve(mut stream: TcpStream, from: SocketAddr, shared: &Arc<Shared>) -> io::Result<()> {
    let request = match tokio::time::timeout(PATIENCE, read_line(&mut stream)).await {
        Ok(line) => line?.parse::<Request>(),
        Err(_) => return Ok(()),
    };
    let (direction, answer) = match admit(request, &stream, from, shared) {
        Ok((direction, control)) => (Some(direction), format!("ok {control}\n")),
        Err(reason) => (None, format!("no {reason}\n")),
    };
    stream.write_all(answer.as_bytes()).await?;
    match direction {
        Some(Direction::Download) => send(&mut stream, from, shared).await,
        Some(Direction::Upload) => receive(&mut stream, from, shared).await,
        None => Ok(()),
    }
}

/// Checks a request and sets the socket's congestion control; gives its name, or why the client gets nothing.
fn admit(
    request: Result<Request, Malformed>,
    stream: &TcpStream,
    from: SocketAddr,
    shared: &Shared,
) -> Result<(Direction, String), String> {
    let request = request.map_err(|Malformed| "valid request".to_owned())?;
    if !shared.key.accepts(&request.token, from.ip(), shared.now()) {
        return Err("valid token".into());
    }
    if let Some(control) = request.control {
        shared.control(stream, &control)?;
    }
    let control = getsockopt(stream, TcpCongestion).map_err(|error| error.to_string())?;
    let name = control.to_string_lossy().trim_end_matches('\0').to_owned();
    Ok((request.direction, name))
}

async fn read_line(stream: &mut TcpStream) -> io::Result<String> {
    let mut line = Vec::with_capacity(MOST_SIZE);
    loop {
        match stream.read_u8().await? {
            b'\n' => break,
            _ if line.len() == MOST_SIZE => break,
            byte => line.push(byte),
        }
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

async fn send(stream: &mut TcpStream, from: SocketAddr, shared: &Shared) -> io::Result<()> {
    let zeros = [0; CHUNK];
    while shared.spend(from.ip(), CHUNK as u64).is_ok() {
        stream.write_all(&zeros).await?;
    }
    stream.shutdown().await
}

async fn receive(stream: &mut TcpStream, from: SocketAddr, shared: &Shared) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let length = stream.read(&mut buffer).await?;
        if length == 0 || shared.spend(from.ip(), length as u64).is_err() {
            return Ok(());
        }
    }
}

/// Answers a client that may not connect.
pub(crate) async fn refuse(mut stream: TcpStream, refusal: Refusal) -> io::Result<()> {
    // A request that nobody read would reset the connection and take the answer along.
    let _ = tokio::time::timeout(PATIENCE, read_line(&mut stream)).await;
    stream.write_all(format!("no connection: {refusal}\n").as_bytes()).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_has_four_words() {
        let token = [0xab; token::SIZE];
        let text = format!("unbloat1 {} upload bbr", to_hex(&token));
        let expected = Request { token, direction: Direction::Upload, control: Some("bbr".into()) };
        assert_eq!(expected.to_string(), text);
        assert_eq!(text.parse(), Ok(expected));
        for wrong in ["", "unbloat1", "unbloat1 00 upload bbr", &text[..text.len() - 4], &format!("{text} x")] {
            assert_eq!(wrong.parse::<Request>(), Err(Malformed), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*") {
            let _ = text.parse::<Request>();
        }
    }
}
