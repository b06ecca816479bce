//! Ports and addresses that nothing else on this machine uses.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use anyhow::{Context, Result, bail};
use tokio::net::TcpSocket;

/// A port of the loopback address that stays reserved for a server that shares it (`SO_REUSEPORT`).
///
/// This socket never listens, so it gets no connection; it only keeps others from being given the port between now and
/// the moment when the server binds it, or binds it again.
#[derive(Debug)]
pub(crate) struct Reserved {
    port: u16,
    _socket: TcpSocket,
}

impl Reserved {
    pub(crate) fn new() -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseport(true)?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        Ok(Self { port: socket.local_addr()?.port(), _socket: socket })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

/// Addresses for pods and for real servers: 127.N.0.1 to 127.N.255.253. The whole of 127.0.0.0/8 is this machine, so an
/// application can listen on the address of its pod, with the port that it always has, and whoever reads the pod's status
/// reaches it.
///
/// A free port of 127.0.0.1 would not do for a server that stops and comes back, or that starts late: the system gives
/// such ports to clients too, and then the server ends.
#[derive(Debug)]
pub struct Addresses {
    block: u8,
    next: u16,
    /// Holds the block against other testbeds of this machine.
    _lock: TcpListener,
}

/// Port of the last address of a block, which is what a testbed locks.
const LOCK_PORT: u16 = 61_616;

impl Addresses {
    /// A block of its own, until this value is dropped.
    ///
    /// # Errors
    ///
    /// None of the 254 blocks is free.
    pub fn new() -> Result<Self> {
        for block in 1..=254 {
            let address = SocketAddr::from((Ipv4Addr::new(127, block, 255, 254), LOCK_PORT));
            if let Ok(lock) = TcpListener::bind(address) {
                return Ok(Self { block, next: 0, _lock: lock });
            }
        }
        bail!("no block of addresses 127.N.0.0/16 is free: are 254 testbeds running?")
    }

    /// An address that was not given yet.
    ///
    /// # Errors
    ///
    /// All 65,000 are used.
    pub fn take(&mut self) -> Result<Ipv4Addr> {
        self.next =
            self.next.checked_add(1).filter(|next| *next < 0xfffe).context("all addresses are used")?;
        let [high, low] = self.next.to_be_bytes();
        Ok(Ipv4Addr::new(127, self.block, high, low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_testbeds_never_share_an_address() -> Result<()> {
        let (mut one, mut other) = (Addresses::new()?, Addresses::new()?);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..300 {
            assert!(seen.insert(one.take()?) && seen.insert(other.take()?));
        }
        Ok(())
    }

    #[tokio::test]
    async fn a_reserved_port_is_given_to_nobody_else_and_can_be_shared() -> Result<()> {
        let reserved = Reserved::new()?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, reserved.port()));
        assert!(TcpListener::bind(address).is_err(), "it is taken for those who do not share");
        let sharing = TcpSocket::new_v4()?;
        sharing.set_reuseport(true)?;
        sharing.bind(address)?;
        let listener = sharing.listen(8)?;
        let (asked, accepted) = tokio::join!(tokio::net::TcpStream::connect(address), listener.accept());
        assert!(asked.is_ok() && accepted.is_ok());
        Ok(())
    }
}
