//! Which C library a program needs: the newest version that its symbols name.
//!
//! The pack is linked against the glibc of the machine that builds it. On a machine with an older
//! glibc the loader refuses it with an unhelpful message, so run.sh --help states the version that
//! is needed.

/// The newest `GLIBC_major.minor` in the version names of `image`; (0, 0) where there is none.
/// Version names are between NULs in the string table (System V ABI, Symbol Versioning), so they
/// are found without reading the headers.
pub(super) fn newest_glibc(image: &[u8]) -> (u32, u32) {
    image
        .split(|byte| *byte == 0)
        .filter_map(|text| text.strip_prefix(b"GLIBC_"))
        .filter_map(|version| {
            let mut numbers = std::str::from_utf8(version).ok()?.split('.');
            let major = numbers.next()?.parse().ok()?;
            Some((major, numbers.next()?.parse().ok()?))
        })
        .max()
        .unwrap_or((0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let image = b"\x7fELF\0GLIBC_2.9\0xGLIBC_2.99\0GLIBC_2.34\0GLIBC_2.2.5\0GLIBC_PRIVATE\0";
        assert_eq!(newest_glibc(image), (2, 34));
        assert_eq!(newest_glibc(b"no version"), (0, 0));
    }

    /// This test's own program is linked as the pack is.
    #[test]
    fn a_real_program_names_one() {
        let path = std::env::current_exe().expect("a test has a path");
        let image = std::fs::read(path).expect("readable");
        assert!(newest_glibc(&image) >= (2, 17));
    }
}
