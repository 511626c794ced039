//! Tokens that prove a client owns its address: the UDP echo and the transfers answer nobody else.
//!
//! A token is the time at which it ends and a keyed hash (HMAC-SHA-256, RFC 2104) of that time and the address. The
//! server stores none of them.

use ring::{hmac, rand};
use std::net::IpAddr;
use std::time::Duration;

/// Bytes of a token.
pub const SIZE: usize = 24;

/// How long a token is valid.
pub const LIFETIME: Duration = Duration::from_secs(300);

/// A token as it is sent.
pub type Token = [u8; SIZE];

/// The key of a server, drawn anew at each start.
pub struct Key(hmac::Key);

impl Key {
    /// Draws a key.
    ///
    /// # Errors
    ///
    /// The operating system gives no random bytes.
    pub fn generate() -> Result<Self, ring::error::Unspecified> {
        hmac::Key::generate(hmac::HMAC_SHA256, &rand::SystemRandom::new()).map(Self)
    }

    /// Issues a token for an address; `now` is the time since the server's start.
    pub fn issue(&self, address: IpAddr, now: Duration) -> Token {
        let end = (now + LIFETIME).as_secs().to_be_bytes();
        let mut token = [0; SIZE];
        token[..8].copy_from_slice(&end);
        token[8..].copy_from_slice(&self.hash(address, end).as_ref()[..SIZE - 8]);
        token
    }

    /// Reports whether a token was issued for this address and is still valid.
    pub fn accepts(&self, token: &Token, address: IpAddr, now: Duration) -> bool {
        let Some((end, hash)) = token.split_first_chunk::<8>() else { return false };
        let expected = self.hash(address, *end);
        // All bytes are compared, whichever differ: how long it takes says nothing about the hash.
        let differences = hash.iter().zip(expected.as_ref()).fold(0, |all, (a, b)| all | (a ^ b));
        differences == 0 && now.as_secs() < u64::from_be_bytes(*end)
    }

    fn hash(&self, address: IpAddr, end: [u8; 8]) -> hmac::Tag {
        let IpAddr::V6(address) = (match address.to_canonical() {
            IpAddr::V4(v4) => IpAddr::V6(v4.to_ipv6_mapped()),
            v6 => v6,
        }) else {
            unreachable!("BUG: both kinds of addresses are written as IPv6");
        };
        let mut text = [0; 24];
        text[..16].copy_from_slice(&address.octets());
        text[16..].copy_from_slice(&end);
        hmac::sign(&self.0, &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    #[test]
    fn a_token_is_for_one_address_and_some_minutes() {
        let key = Key::generate().unwrap();
        let token = key.issue(HOME, Duration::from_secs(7));
        assert!(key.accepts(&token, HOME, Duration::from_secs(7)));
        assert!(key.accepts(&token, "::ffff:192.0.2.1".parse().unwrap(), Duration::from_secs(300)));
        assert!(!key.accepts(&token, HOME, Duration::from_secs(307)));
        assert!(!key.accepts(&token, IpAddr::from([192, 0, 2, 2]), Duration::from_secs(7)));
        assert!(!Key::generate().unwrap().accepts(&token, HOME, Duration::from_secs(7)));
    }

    #[test]
    fn no_bit_of_a_token_can_be_changed() {
        let key = Key::generate().unwrap();
        let token = key.issue(HOME, Duration::ZERO);
        for bit in 0..8 * SIZE {
            let mut other = token;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!key.accepts(&other, HOME, Duration::ZERO), "bit {bit}");
        }
    }
}
