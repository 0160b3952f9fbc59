//! Reading profiles from files and standard input.

use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use gpuprof_report::json::{self, ReadError};
use gpuprof_report::profile::Profile;
use gpuprof_report::sanitize;

/// The longest file that is read.
const MAX_FILE_BYTES: u64 = 512_000_000;

/// The most JSON objects that a file may have: those of a profile take up to 2 KB of memory each,
/// however short their text is.
const MAX_OBJECTS: usize = 2_000_000;

/// Characters of a path that a message shows.
const MAX_PATH: usize = 200;

/// Characters of a reason that a message shows; a parser may repeat part of the file.
const MAX_REASON: usize = 300;

/// Reads a saved profile; the path `-` is standard input.
///
/// # Errors
/// [`InputError`], whose text is one line with the file's name, what is wrong and what to do.
pub(crate) fn read_profile(path: &Path) -> Result<Profile, InputError> {
    let error = |kind| InputError {
        path: path.to_owned(),
        kind,
    };
    let text = read_text(path).map_err(error)?;
    if text.bytes().filter(|byte| *byte == b'{').count() > MAX_OBJECTS {
        return Err(error(InputErrorKind::TooManyObjects));
    }
    json::from_str(&text).map_err(|reason| error(InputErrorKind::Profile(reason)))
}

/// A file's name as headings and messages show it.
pub(crate) fn shown(path: &Path) -> String {
    if is_standard_input(path) {
        return "standard input".to_owned();
    }
    sanitize::short(&path.to_string_lossy(), MAX_PATH).into_owned()
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn read_text(path: &Path) -> Result<String, InputErrorKind> {
    let source: Box<dyn Read> = if is_standard_input(path) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(InputErrorKind::Io)?)
    };
    let mut bytes = Vec::new();
    let mut source = source.take(MAX_FILE_BYTES + 1);
    source.read_to_end(&mut bytes).map_err(InputErrorKind::Io)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(InputErrorKind::TooLong);
    }
    String::from_utf8(bytes).map_err(|_| InputErrorKind::NotText)
}

/// Why a profile could not be read.
#[derive(Debug)]
pub(crate) struct InputError {
    path: PathBuf,
    kind: InputErrorKind,
}

#[derive(Debug)]
enum InputErrorKind {
    Io(io::Error),
    TooLong,
    TooManyObjects,
    NotText,
    Profile(ReadError),
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", shown(&self.path))?;
        match &self.kind {
            InputErrorKind::Io(error) if error.kind() == io::ErrorKind::IsADirectory => f.write_str(
                "is a folder, and one profile is read here; gpuprof diff, merge and export take \
                 folders of profiles",
            ),
            InputErrorKind::Io(error) => write!(f, "cannot be read: {error}"),
            InputErrorKind::TooLong => write!(
                f,
                "is longer than {} MB, the most that is read of a file; a profile of gpuprof is \
                 far shorter",
                MAX_FILE_BYTES / 1_000_000
            ),
            InputErrorKind::TooManyObjects => write!(
                f,
                "has more than {MAX_OBJECTS} JSON objects; a profile of gpuprof has far fewer"
            ),
            InputErrorKind::NotText => f.write_str(
                "this is not a JSON profile of gpuprof: it is not UTF-8; \
                 GPUPROF_REPORT=json=PATH writes one",
            ),
            InputErrorKind::Profile(error) => {
                f.write_str(&sanitize::short(&error.to_string(), MAX_REASON))
            }
        }
    }
}

impl Error for InputError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            InputErrorKind::Io(error) => Some(error),
            InputErrorKind::Profile(error) => Some(error),
            InputErrorKind::TooLong | InputErrorKind::TooManyObjects | InputErrorKind::NotText => {
                None
            }
        }
    }
}
