//! The file formats of time lines, and which one a file name asks for.

#[cfg(feature = "trace")]
use std::io::{self, Write};
use std::path::Path;

#[cfg(feature = "trace")]
use super::{Trace, chrome::write_json, perfetto::write_perfetto};

/// A file format of time lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceFileFormat {
    /// Chrome JSON with Kineto's categories and fields.
    ChromeJson,
    /// Perfetto's own.
    Perfetto,
}

impl TraceFileFormat {
    /// The format for a file of this name: Chrome JSON for `.json`, Perfetto's for `.pftrace`,
    /// `None` for any other.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "json" => Some(Self::ChromeJson),
            "pftrace" => Some(Self::Perfetto),
            _ => None,
        }
    }
}

/// Writes the trace in this format: [`write_json`] or [`write_perfetto`].
///
/// # Errors
/// Those of `out`.
#[cfg(feature = "trace")]
pub fn write(trace: &Trace, format: TraceFileFormat, out: &mut dyn Write) -> io::Result<()> {
    match format {
        TraceFileFormat::ChromeJson => write_json(trace, out),
        TraceFileFormat::Perfetto => write_perfetto(trace, out),
    }
}

#[cfg(all(test, feature = "trace"))]
mod tests {
    use std::path::Path;

    use super::super::hand_made::one_kernel;
    use super::{TraceFileFormat, write};

    #[test]
    fn the_extension_chooses_the_format() {
        let format = |path: &str| TraceFileFormat::from_path(Path::new(path));
        assert_eq!(format("a.b/run.json"), Some(TraceFileFormat::ChromeJson));
        assert_eq!(format("run.pftrace"), Some(TraceFileFormat::Perfetto));
        for other in ["run", "run.txt", ".json", "run.json.gz", "run.JSON"] {
            assert_eq!(format(other), None, "{other}");
        }
    }

    #[test]
    fn a_trace_is_written_in_the_chosen_format() {
        for (format, first) in [
            (TraceFileFormat::ChromeJson, b'{'),
            (TraceFileFormat::Perfetto, 0x0a),
        ] {
            let mut out = Vec::new();
            write(&one_kernel(), format, &mut out).unwrap();
            assert_eq!(out.first(), Some(&first), "{format:?}");
        }
    }
}
