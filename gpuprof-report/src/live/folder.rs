//! Where sockets are: a folder that only one user can use.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The mode of the folder: its user alone may list and open what is in it.
const MODE: u32 = 0o700;

/// The folder of the sockets of `user`: `gpuprof` in `runtime_folder`, the value of
/// `XDG_RUNTIME_DIR`, or `/tmp/gpuprof-UID` if that is no absolute path of a folder of theirs: a
/// launcher or sudo may have passed on another one.
#[must_use]
pub fn folder_path(runtime_folder: Option<&OsStr>, user: u32) -> PathBuf {
    let is_theirs = |folder: &&Path| {
        let found = fs::metadata(folder);
        folder.is_absolute() && found.is_ok_and(|found| found.is_dir() && found.uid() == user)
    };
    match runtime_folder.map(Path::new).filter(is_theirs) {
        Some(folder) => folder.join("gpuprof"),
        None => PathBuf::from(format!("/tmp/gpuprof-{user}")),
    }
}

/// The file name of the socket of a process.
#[must_use]
pub fn socket_name(pid: u32) -> String {
    format!("{pid}.sock")
}

/// The process whose socket has this file name. `None`: it is no socket of gpuprof.
#[must_use]
pub fn pid_of(name: &OsStr) -> Option<u32> {
    let pid = name.to_str()?.strip_suffix(".sock")?.parse().ok()?;
    (OsStr::new(&socket_name(pid)) == name).then_some(pid)
}

/// Why a folder is not used.
#[derive(Debug)]
#[non_exhaustive]
pub enum FolderError {
    /// It cannot be looked at.
    Io(io::Error),
    /// It is a symlink or a file.
    NotAFolder,
    /// It belongs to another user.
    OtherUser(u32),
    /// Its mode is not 0700.
    Mode(u32),
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::NotAFolder => f.write_str("it is not a folder"),
            Self::OtherUser(user) => write!(f, "it belongs to user {user}"),
            Self::Mode(mode) => write!(f, "its mode is {mode:04o}, not 0700"),
        }
    }
}

impl std::error::Error for FolderError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::NotAFolder | Self::OtherUser(_) | Self::Mode(_) => None,
        }
    }
}

/// Whether `folder` is a folder that only `user` may use, and no symlink to one.
///
/// # Errors
/// [`FolderError`] if it is not.
pub fn check_folder(folder: &Path, user: u32) -> Result<(), FolderError> {
    let found = fs::symlink_metadata(folder).map_err(FolderError::Io)?;
    if !found.is_dir() {
        return Err(FolderError::NotAFolder);
    }
    if found.uid() != user {
        return Err(FolderError::OtherUser(found.uid()));
    }
    // The group of the folder around it may be passed on, which gives no access.
    match found.mode() & 0o777 {
        MODE => Ok(()),
        mode => Err(FolderError::Mode(mode)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn the_folder_is_in_the_runtime_folder_or_names_the_user() {
        let folder = tempfile::tempdir().unwrap();
        let user = fs::metadata(folder.path()).unwrap().uid();
        let of = |folder: &Path, user| folder_path(Some(folder.as_os_str()), user);
        assert_eq!(of(folder.path(), user), folder.path().join("gpuprof"));
        let other = user + 1;
        let without = PathBuf::from(format!("/tmp/gpuprof-{other}"));
        assert_eq!(folder_path(None, other), without);
        let missing = folder.path().join("missing");
        for path in [Path::new(""), Path::new("run"), &missing, folder.path()] {
            assert_eq!(of(path, other), without);
        }
    }

    #[test]
    fn only_exact_names_are_sockets() {
        assert_eq!(pid_of(OsStr::new(&socket_name(4_711))), Some(4_711));
        for name in [
            "", ".sock", "04.sock", "+4.sock", "4.socket", "-1.sock", "4",
        ] {
            assert_eq!(pid_of(OsStr::new(name)), None, "{name}");
        }
    }

    #[test]
    fn links_files_other_modes_and_other_users_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("gpuprof");
        fs::create_dir(&folder).unwrap();
        let user = fs::metadata(&folder).unwrap().uid();
        let set = |mode| fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
        let refusal = |path: &Path, user| match check_folder(path, user) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        set(0o700);
        assert_eq!(refusal(&folder, user), "");
        assert_eq!(
            refusal(&folder, user + 1),
            format!("it belongs to user {user}")
        );
        set(0o2700);
        assert_eq!(refusal(&folder, user), "");
        for mode in [0o750, 0o701, 0o777, 0o600] {
            set(mode);
            assert_eq!(
                refusal(&folder, user),
                format!("its mode is {mode:04o}, not 0700")
            );
        }
        set(0o700);
        let link = parent.path().join("link");
        symlink(&folder, &link).unwrap();
        assert_eq!(refusal(&link, user), "it is not a folder");
        let file = parent.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(refusal(&file, user), "it is not a folder");
        assert!(matches!(
            check_folder(&parent.path().join("missing"), user),
            Err(FolderError::Io(_))
        ));
    }
}
