//! The version of the running kernel.

/// The oldest kernel that is supported.
pub(crate) const OLDEST: (u32, u32) = (6, 1);

/// Returns the running kernel's release.
pub fn release() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_string()
}

/// Returns the first two numbers of the running kernel's release.
pub fn running_version() -> (u32, u32) {
    version(&release())
}

/// A version with the features of every kernel, for use before the kernel is known.
pub const ANY_VERSION: (u32, u32) = (u32::MAX, 0);

/// Returns the first two numbers of a kernel's release.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases() {
        assert_eq!(version("6.1.0-40-amd64"), (6, 1));
        assert_eq!(version("6.18.44-fc"), (6, 18));
        assert_eq!(version("7.0-rc1"), (7, 0));
        assert!(version("5.15.0") < OLDEST && version("6.1-rc3") >= OLDEST);
    }
}
