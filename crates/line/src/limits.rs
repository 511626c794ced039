//! Limits of what clients may use: bytes, connections and seconds, for each client and for all of them together.
//!
//! Bytes refill: a client that used up its allowance gets it back over [`PERIOD`]. Nothing here reads a clock; callers
//! pass the time, as the time since the server's start.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// The time over which an allowance of bytes refills.
pub const PERIOD: Duration = Duration::from_secs(3600);

/// How many clients an account is remembered for; beyond it, those that are idle the longest are forgotten.
const MOST_CLIENTS: usize = 65_536;

/// What an operator allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes an hour for one client, both directions together.
    pub client_bytes: u64,
    /// Bytes an hour for all clients, both directions together.
    pub all_bytes: u64,
    /// Connections that one client may have open at a time.
    pub client_connections: u32,
    /// Connections that all clients may have open at a time.
    pub all_connections: u32,
    /// How long a connection may stay open.
    pub duration: Duration,
}

impl Limits {
    /// Hardly any limits, for a far end that only its starter reaches. `unbloat serve` has defaults of its own.
    pub const WIDE: Self = Self {
        client_bytes: 1 << 50,
        all_bytes: 1 << 50,
        client_connections: 1 << 16,
        all_connections: 1 << 16,
        duration: PERIOD,
    };
}

/// A client, as accounts know it: an IPv4 address, or the 64-bit network of an IPv6 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Client(IpAddr);

impl From<IpAddr> for Client {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from(u128::from(v6) >> 64 << 64)),
            v4 => v4,
        })
    }
}

/// Why a client may not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The client has used up its bytes of this hour.
    ClientBytes,
    /// All clients together have used up their bytes of this hour.
    AllBytes,
    /// The client has too many connections open.
    ClientConnections,
    /// All clients together have too many connections open.
    AllConnections,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClientBytes => "your limit of bytes an hour is reached",
            Self::AllBytes => "this server's limit of bytes an hour is reached",
            Self::ClientConnections => "your limit of open connections is reached",
            Self::AllConnections => "this server's limit of open connections is reached",
        })
    }
}

impl std::error::Error for Refusal {}

/// Bytes that may still be spent, refilled at a constant rate.
#[derive(Debug, Clone, Copy)]
struct Allowance {
    left: u64,
    /// When `left` was last brought up to date.
    at: Duration,
}

impl Allowance {
    fn refill(&mut self, most: u64, now: Duration) {
        let gained = (u128::from(most) * now.saturating_sub(self.at).as_nanos() / PERIOD.as_nanos()) as u64;
        // Fractions of a byte stay in the time that is not counted yet.
        if gained > 0 || self.left == most {
            self.left = self.left.saturating_add(gained).min(most);
            self.at = now;
        }
    }
}

#[derive(Debug)]
struct Account {
    bytes: Allowance,
    connections: u32,
}

/// The accounts of all clients.
#[derive(Debug)]
pub struct Accounts {
    limits: Limits,
    all: Account,
    clients: HashMap<Client, Account>,
}

impl Accounts {
    /// Opens accounts with full allowances.
    pub fn new(limits: Limits) -> Self {
        let all = Account { bytes: Allowance { left: limits.all_bytes, at: Duration::ZERO }, connections: 0 };
        Self { limits, all, clients: HashMap::new() }
    }

    /// Counts a connection that a client opens.
    ///
    /// # Errors
    ///
    /// The client or all clients have as many connections as they may.
    pub fn connect(&mut self, client: Client, now: Duration) -> Result<(), Refusal> {
        let limits = self.limits;
        if self.all.connections >= limits.all_connections {
            return Err(Refusal::AllConnections);
        }
        let account = self.account(client, now);
        if account.connections >= limits.client_connections {
            return Err(Refusal::ClientConnections);
        }
        account.connections += 1;
        self.all.connections += 1;
        Ok(())
    }

    /// Counts a connection of a client as closed; each follows a [`connect`](Self::connect) that succeeded.
    pub fn disconnect(&mut self, client: Client) {
        if let Some(account) = self.clients.get_mut(&client) {
            account.connections -= 1;
            self.all.connections -= 1;
        }
    }

    /// Takes bytes from the allowances of a client and of all.
    ///
    /// # Errors
    ///
    /// One of the allowances has fewer bytes left; then none is taken.
    pub fn spend(&mut self, client: Client, bytes: u64, now: Duration) -> Result<(), Refusal> {
        let limits = self.limits;
        self.all.bytes.refill(limits.all_bytes, now);
        if self.all.bytes.left < bytes {
            return Err(Refusal::AllBytes);
        }
        let account = self.account(client, now);
        account.bytes.refill(limits.client_bytes, now);
        if account.bytes.left < bytes {
            return Err(Refusal::ClientBytes);
        }
        account.bytes.left -= bytes;
        self.all.bytes.left -= bytes;
        Ok(())
    }

    fn account(&mut self, client: Client, now: Duration) -> &mut Account {
        if self.clients.len() >= MOST_CLIENTS && !self.clients.contains_key(&client) {
            self.forget_idle(now);
        }
        let full = Allowance { left: self.limits.client_bytes, at: now };
        self.clients.entry(client).or_insert(Account { bytes: full, connections: 0 })
    }

    /// Forgets clients without connections: those whose allowance is full again, or else the half that is idle longest.
    fn forget_idle(&mut self, now: Duration) {
        self.clients.retain(|_, account| account.connections > 0 || now.saturating_sub(account.bytes.at) < PERIOD);
        if self.clients.len() < MOST_CLIENTS {
            return;
        }
        let mut times: Vec<_> = self.clients.values().map(|account| account.bytes.at).collect();
        let middle = times.len() / 2;
        let limit = *times.select_nth_unstable(middle).1;
        self.clients.retain(|_, account| account.connections > 0 || account.bytes.at > limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: Limits = Limits {
        client_bytes: 3600,
        all_bytes: 5000,
        client_connections: 2,
        all_connections: 3,
        duration: Duration::from_secs(10),
    };

    fn client(last: u8) -> Client {
        IpAddr::from([192, 0, 2, last]).into()
    }

    #[test]
    fn a_client_gets_its_bytes_and_no_more() {
        let mut accounts = Accounts::new(LIMITS);
        assert_eq!(accounts.spend(client(1), 3600, Duration::ZERO), Ok(()));
        assert_eq!(accounts.spend(client(1), 1, Duration::ZERO), Err(Refusal::ClientBytes));
        assert_eq!(accounts.spend(client(2), 1401, Duration::ZERO), Err(Refusal::AllBytes));
        assert_eq!(accounts.spend(client(2), 1400, Duration::ZERO), Ok(()));
    }

    #[test]
    fn bytes_refill_over_an_hour() {
        let mut accounts = Accounts::new(LIMITS);
        accounts.spend(client(1), 3600, Duration::ZERO).unwrap();
        let later = Duration::from_secs(60);
        assert_eq!(accounts.spend(client(1), 61, later), Err(Refusal::ClientBytes));
        assert_eq!(accounts.spend(client(1), 60, later), Ok(()));
    }

    #[test]
    fn connections_are_counted_for_each_client_and_for_all() {
        let mut accounts = Accounts::new(LIMITS);
        for _ in 0..2 {
            accounts.connect(client(1), Duration::ZERO).unwrap();
        }
        assert_eq!(accounts.connect(client(1), Duration::ZERO), Err(Refusal::ClientConnections));
        accounts.connect(client(2), Duration::ZERO).unwrap();
        assert_eq!(accounts.connect(client(3), Duration::ZERO), Err(Refusal::AllConnections));
        accounts.disconnect(client(1));
        assert_eq!(accounts.connect(client(3), Duration::ZERO), Ok(()));
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_client() {
        let of = |text: &str| Client::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }

    #[test]
    fn strangers_cannot_fill_the_memory() {
        let mut accounts = Accounts::new(Limits { all_bytes: u64::MAX, ..LIMITS });
        for number in 0..3 * MOST_CLIENTS as u32 {
            let client = IpAddr::from(number.to_be_bytes()).into();
            accounts.spend(client, 1, Duration::from_millis(number.into())).unwrap();
        }
        assert!(accounts.clients.len() <= MOST_CLIENTS);
    }

    proptest! {
        /// However requests are timed, a client gets at most its allowance and what refilled meanwhile.
        #[test]
        fn no_timing_gets_more(steps in proptest::collection::vec((0..5_000u64, 0..2_000u64), 1..200)) {
            let mut accounts = Accounts::new(LIMITS);
            let (mut now, mut got) = (Duration::ZERO, 0);
            for (ms, bytes) in steps {
                now += Duration::from_millis(ms);
                if accounts.spend(client(1), bytes, now).is_ok() {
                    got += bytes;
                }
                prop_assert!(got as f64 <= 3600.0 + now.as_secs_f64() + 1.0);
            }
        }
    }
}
