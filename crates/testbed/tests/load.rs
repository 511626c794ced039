//! Every congestion control in the running kernel, for real: these tests need root.

use scenario::model::{CcSource, CongestionControl};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::Path;

fn library() -> mechanism::Library {
    mechanism::Library::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../algorithms"))
}

fn builtin(name: &str) -> CongestionControl {
    CongestionControl { source: CcSource::Builtin(name.into()), params: Default::default() }
}

fn available() -> String {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("the list")
}

fn offered(name: &str) -> bool {
    available().split_whitespace().any(|known| known == name)
}

/// Asks for a congestion control on a socket and gives what the socket has then.
fn choose(socket: &TcpStream, name: &str) -> String {
    let fd = socket.as_raw_fd();
    // SAFETY: the kernel reads as many bytes as it is told of.
    let failed = unsafe {
        libc::setsockopt(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_ptr().cast(), name.len() as u32)
    };
    assert_eq!(failed, 0, "{name}: {}", std::io::Error::last_os_error());
    let mut bytes = [0_u8; 16];
    let mut length = bytes.len() as u32;
    // SAFETY: the kernel writes at most `length` bytes.
    unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, bytes.as_mut_ptr().cast(), &mut length) };
    String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().expect("a first part")).into_owned()
}

/// Sends some megabytes over the loopback with a congestion control.
fn transfer(name: &str) {
    const BYTES: usize = 4_000_000;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut sender = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    assert_eq!(choose(&sender, name), name);
    let (mut receiver, _) = listener.accept().expect("the connection");
    let reader = std::thread::spawn(move || {
        let mut received = Vec::new();
        receiver.read_to_end(&mut received).expect("all of it");
        received.len()
    });
    sender.write_all(&vec![7; BYTES]).expect("sent");
    drop(sender);
    assert_eq!(reader.join().expect("the reader"), BYTES);
}

#[test]
fn every_built_in_loads_works_and_goes() {
    let library = library();
    for name in library.names() {
        let wanted = format!("ub_t_{}", &name[..name.len().min(9)]);
        let loaded = testbed::kernel::load(&library, &builtin(&name), Some(&wanted)).unwrap_or_else(|error| {
            panic!("{error}\n{}", error.log.clone().unwrap_or_default());
        });
        assert_eq!(loaded.kernel_name, wanted);
        assert!(offered(&wanted), "{wanted} in {}", available());
        transfer(&wanted);
        drop(loaded);
        assert!(!offered(&wanted), "{wanted} in {}", available());
    }
}
