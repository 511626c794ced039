//! Helpers that the tests of loading share: congestion controls to load, and sockets to try them.
#![allow(dead_code, reason = "each test file uses its part")]

use mechanism::Library;
use model::{MechanismRef, MechanismSource, ParamValue};
use std::io::{Error, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;
use unbloat_kernel::{self, Loaded};

/// Opens the library of this repository.
pub fn library() -> Library {
    Library::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../algorithms"))
}

/// Returns a name that no other test and no other process has.
pub fn name_of(what: &str) -> String {
    let name = format!("{what}{}", std::process::id());
    assert!(name.len() <= 15, "{name}");
    name
}

/// Selects a congestion control without parameters.
pub fn control(source: MechanismSource) -> MechanismRef {
    MechanismRef::new(source, Default::default())
}

/// Selects a congestion control with one parameter.
pub fn with_param(source: MechanismSource, name: &str, value: ParamValue) -> MechanismRef {
    MechanismRef::new(source, [(name.to_string(), value)].into_iter().collect())
}

/// Loads a congestion control that has to be loadable.
pub fn loaded(control: &MechanismRef, name: &str) -> Loaded {
    unbloat_kernel::load(&library(), control, Some(name))
        .unwrap_or_else(|error| panic!("{error}\n{}", error.log.clone().unwrap_or_default()))
}

/// Returns the refusal of a congestion control that must not be loadable.
pub fn refused(control: &MechanismRef, name: &str) -> unbloat_kernel::Error {
    match unbloat_kernel::load(&library(), control, Some(name)) {
        Ok(loaded) => panic!("{} was loaded", loaded.kernel_name),
        Err(error) => error,
    }
}

/// Reports whether the kernel offers a congestion control of this name.
pub fn is_offered(name: &str) -> bool {
    let list = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("the list");
    list.split_whitespace().any(|known| known == name)
}

/// Reports whether the kernel has released a congestion control of this name.
///
/// It does so once nobody holds the link. For a moment a process may hold it that another test has
/// forked: before it executes its program, it has a copy of every descriptor.
pub fn goes(name: &str) -> bool {
    const TRIES: u32 = 10_000;
    (0..TRIES).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        !is_offered(name)
    })
}

/// Requests a congestion control on a socket, and returns the one that the socket has then.
pub fn choose(socket: &TcpStream, name: &str) -> String {
    let fd = socket.as_raw_fd();
    // SAFETY: the kernel reads the number of bytes that it is given.
    let failed = unsafe {
        libc::setsockopt(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_ptr().cast(), name.len() as u32)
    };
    assert_eq!(failed, 0, "{name}: {}", Error::last_os_error());
    let mut bytes = [0_u8; 16];
    let mut length = bytes.len() as u32;
    // SAFETY: the kernel writes at most `length` bytes.
    unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, bytes.as_mut_ptr().cast(), &mut length) };
    String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().expect("a first part")).into_owned()
}

/// Returns the socket's congestion window, in packets.
pub fn window(socket: &TcpStream) -> u32 {
    // SAFETY: all zeroes is a value of this struct.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&info) as u32;
    // SAFETY: the kernel writes at most `length` bytes.
    let failed = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &mut length)
    };
    assert_eq!(failed, 0, "{}", Error::last_os_error());
    info.tcpi_snd_cwnd
}

/// The sending side of a connection over the loopback, and the thread that reads on the other.
pub struct Connection {
    /// Socket of the sender.
    pub sender: TcpStream,
    sent: usize,
    reader: std::thread::JoinHandle<usize>,
}

impl Connection {
    /// Opens a connection whose sender has the congestion control `name`.
    pub fn with(name: &str) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let sender = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        assert_eq!(choose(&sender, name), name);
        let (mut receiver, _) = listener.accept().expect("the connection");
        let reader = std::thread::spawn(move || {
            let mut received = Vec::new();
            receiver.read_to_end(&mut received).expect("all of it");
            received.len()
        });
        Connection { sender, sent: 0, reader }
    }

    /// Sends `bytes` bytes.
    pub fn send(&mut self, bytes: usize) {
        self.sender.write_all(&vec![7; bytes]).expect("sent");
        self.sent += bytes;
    }

    /// Sends `bytes` bytes, closes, and waits until all have arrived.
    pub fn finish(mut self, bytes: usize) {
        self.send(bytes);
        drop(self.sender);
        assert_eq!(self.reader.join().expect("the reader"), self.sent);
    }
}

/// A file of the user's own. It always has the same path, so that a guest can use its compiled
/// object unchanged.
pub struct UserFile(PathBuf);

impl UserFile {
    /// Completes a congestion control around `body`, which may define callbacks and name them among
    /// `members`.
    pub fn control(name: &str, body: &str, members: &str) -> UserFile {
        let text = format!(
            "#include \"vmlinux.h\"\n#include <bpf/bpf_helpers.h>\n#include <bpf/bpf_tracing.h>\n\
             #include \"bpf_tracing_net.h\"\n\
             {body}\n\
             SEC(\"struct_ops\") __u32 BPF_PROG(halve, struct sock *sk) {{ return max(tcp_sk(sk)->snd_cwnd / 2, 2U); \
             }}\n\
             SEC(\"struct_ops\") __u32 BPF_PROG(undo, struct sock *sk) {{ return tcp_sk(sk)->snd_cwnd; }}\n\
             SEC(\".struct_ops\") struct tcp_congestion_ops {name} = {{ .name = \"{name}\", .ssthresh = (void \
             *)halve,\n\
             .undo_cwnd = (void *)undo, {members} }};\nchar _license[] SEC(\"license\") = \"GPL\";\n"
        );
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.bpf.c"));
        if std::fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            let new = path.with_extension(std::process::id().to_string());
            std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &path)).expect("a file");
        }
        UserFile(path)
    }

    /// Returns the file as a scenario names it.
    pub fn source(&self) -> MechanismSource {
        MechanismSource::File(self.0.clone())
    }

    /// Returns the file with the name of one of its congestion controls.
    pub fn choice(&self, name: &str) -> MechanismSource {
        MechanismSource::File(format!("{}#{name}", self.0.display()).into())
    }

    /// Returns the path of the file.
    pub fn path(&self) -> String {
        self.0.display().to_string()
    }
}
