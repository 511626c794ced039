//! TUN devices: the network card of an emulated host, whose wire is this program.

use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Name of the device, the same in every namespace.
pub const NAME: &str = "ub0";
/// Length of `struct virtio_net_hdr`, which precedes each packet and says how far its checksum is
/// complete.
pub const HEADER: usize = 10;

mod ioctl {
    nix::ioctl_write_ptr_bad!(
        tun_set_interface,
        nix::request_code_write!(b'T', 202, size_of::<libc::c_int>()),
        libc::ifreq
    );
    nix::ioctl_write_int_bad!(tun_set_offload, nix::request_code_write!(b'T', 208, size_of::<libc::c_int>()));
}

/// A TUN device that gives and takes whole IP packets, each behind a `virtio_net_hdr`.
#[derive(Debug)]
pub struct Tun(OwnedFd);

impl Tun {
    /// Creates a device in the calling thread's namespace, which ends with this value.
    ///
    /// Packets leave it with an unfinished checksum (the "wire" does not damage them), and are
    /// never longer than its MTU.
    ///
    /// # Errors
    /// Fails without CAP_NET_ADMIN or `/dev/net/tun`.
    pub fn create() -> io::Result<Tun> {
        let flags = OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let file = nix::fcntl::open("/dev/net/tun", flags, Mode::empty()).map_err(|error| {
            io::Error::new(io::Error::from(error).kind(), format!("/dev/net/tun cannot be opened: {}", error.desc()))
        })?;
        // SAFETY: an all-zero ifreq is a valid one.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(NAME.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
        // SAFETY: the call reads and writes the ifreq that the pointer leads to.
        unsafe { ioctl::tun_set_interface(file.as_raw_fd(), &raw const request)? };
        // SAFETY: the argument is a number.
        unsafe { ioctl::tun_set_offload(file.as_raw_fd(), libc::TUN_F_CSUM as libc::c_int)? };
        Ok(Tun(file))
    }

    /// Takes the next packet that the host has sent, and returns its length; none if no packet
    /// waits.
    #[inline]
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match nix::unistd::read(&self.0, buffer) {
            Ok(length) => Ok(Some(length)),
            Err(nix::Error::EAGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Delivers a packet to the host.
    #[inline]
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        nix::unistd::write(&self.0, packet)?;
        Ok(())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
