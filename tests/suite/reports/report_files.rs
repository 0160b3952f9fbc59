//! Promise: a report file is complete or absent, replaces the previous one, cannot be
//! written by other users, and never follows a symlink. Targets that are no files (a pipe, standard
//! output, `/dev/null`) work as users expect.

mod program;

use std::ffi::CString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;

use gpuprof::Profile;
use support::program::{Ended, Folder, Program, read_profile};
use support::suite::Module;
use support::tests;

use self::program::STDOUT;

pub(crate) const MODULE: Module = Module::new(module_path!(), &[TESTS]).with_program(program::run);

/// Every test of this file.
const TESTS: &[(&str, fn())] = tests![
    permissions_are_the_umasks_but_nobody_else_may_write,
    what_was_closed_to_others_stays_closed,
    a_reader_of_the_old_report_reads_it_to_its_end,
    a_symlink_is_replaced_and_not_followed,
    a_folder_is_refused_and_nothing_is_lost,
    one_path_that_fails_leaves_the_others,
    without_a_temporary_folder_the_report_is_on_standard_error,
    a_full_device_and_a_limit_on_files_leave_the_old_report,
    a_pipe_with_a_reader_gets_the_report,
    a_pipe_without_a_reader_keeps_nobody,
    standard_output_may_be_asked_for,
    standard_output_in_a_file_goes_on_where_it_was,
    dev_null_takes_it,
];

fn to(path: &Path) -> Program {
    Program::new("work").env("GPUPROF_REPORT", format!("json={}", path.display()))
}

/// Runs the program and checks that it did its work.
fn run(program: Program) -> Ended {
    let ended = program.run();
    assert!(ended.status.success(), "{ended:#?}");
    assert_eq!(String::from_utf8_lossy(&ended.stdout), STDOUT);
    ended
}

/// Checks that one line says why the report could not be written to its file, and that it is in a
/// temporary file instead, which only its owner may read.
fn assert_saved_instead(ended: &Ended, why: &str) {
    let [remark] = ended.remarks()[..] else {
        panic!("{}", ended.stderr)
    };
    assert!(
        remark.contains("cannot write") && remark.contains(why),
        "{remark}"
    );
    assert!(ended.stderr.starts_with(remark), "{}", ended.stderr);
    let path = remark.rsplit_once("the report is in ").expect("a path").1;
    let path = Path::new(path.trim_matches('"'));
    assert_eq!(
        (mode(path), path.extension()),
        (0o600, Some("json".as_ref()))
    );
    assert_eq!(read_profile(path, ended).diagnostics.calls, 1);
    fs::remove_file(path).expect("our own");
}

/// The same where no temporary file can be written either: the report is below the line.
fn assert_shown_instead(ended: &Ended, why: &str) {
    let (line, document) = ended.stderr.split_once('\n').expect("a line");
    assert!(
        line.contains(why) && line.ends_with("the report follows"),
        "{line}"
    );
    let profile: Profile = serde_json::from_str(document).expect("whole");
    assert_eq!(profile.diagnostics.calls, 1);
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it was made").mode() & 0o7777
}

fn permissions_are_the_umasks_but_nobody_else_may_write() {
    for (scenario, wanted) in [("umask 0", 0o644), ("umask 77", 0o600)] {
        let folder = Folder::create();
        let path = folder.path("report.json");
        let report = format!("json={}", path.display());
        run(Program::new(scenario).env("GPUPROF_REPORT", report));
        assert_eq!(mode(&path), wanted, "{scenario}: {:o}", mode(&path));
    }
}

fn what_was_closed_to_others_stays_closed() {
    let folder = Folder::create();
    let path = folder.path("report.json");
    for (before, after) in [
        (0o600, 0o600),
        (0o640, 0o640),
        (0o666, 0o644),
        (0o400, 0o600),
    ] {
        fs::write(&path, "old").expect("written");
        fs::set_permissions(&path, Permissions::from_mode(before)).expect("our own");
        run(to(&path));
        assert_eq!(mode(&path), after & !umask(), "{before:o}");
        fs::remove_file(&path).expect("our own");
    }
}

/// The umask of this process, which child processes inherit.
fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    u32::from_str_radix(line.expect("a umask").trim(), 8).expect("octal")
}

fn a_reader_of_the_old_report_reads_it_to_its_end() {
    let folder = Folder::create();
    let path = folder.path("report.json");
    fs::write(&path, "the old report").expect("written");
    let mut reader = File::open(&path).expect("there");
    let ended = run(to(&path));
    let mut old = String::new();
    reader.read_to_string(&mut old).expect("read");
    assert_eq!(old, "the old report");
    assert_eq!(read_profile(&path, &ended).diagnostics.calls, 1);
    assert_eq!(folder.files(), ["report.json"]);
}

fn a_symlink_is_replaced_and_not_followed() {
    let folder = Folder::create();
    let (path, victim) = (folder.path("report.json"), folder.path("victim"));
    for content in [Some("precious"), None] {
        let _ = fs::remove_file(&path);
        let _ = fs::remove_file(&victim);
        if let Some(content) = content {
            fs::write(&victim, content).expect("written");
        }
        symlink(&victim, &path).expect("a link");
        let ended = run(to(&path));
        assert_eq!(fs::read_to_string(&victim).ok().as_deref(), content);
        assert!(fs::symlink_metadata(&path).expect("there").is_file());
        assert_eq!(read_profile(&path, &ended).diagnostics.calls, 1);
    }
    // A link to a device is replaced too: a report written to /dev/null would be lost.
    fs::remove_file(&path).expect("our own");
    symlink("/dev/null", &path).expect("a link");
    let ended = run(to(&path));
    assert_eq!(read_profile(&path, &ended).diagnostics.calls, 1);
}

fn a_folder_is_refused_and_nothing_is_lost() {
    let folder = Folder::create();
    let path = folder.path("report.json");
    fs::create_dir(&path).expect("a folder");
    assert_saved_instead(&run(to(&path)), "is a directory");
    assert_saved_instead(&run(to(&folder.path("report.json/"))), "directory");
    assert_eq!(folder.files(), ["report.json"]);
}

fn one_path_that_fails_leaves_the_others() {
    let folder = Folder::create();
    let report = format!(
        "json={},table,json={}",
        folder.path("nowhere/report.json").display(),
        folder.path("report.json").display()
    );
    let ended = run(Program::new("work").env("GPUPROF_REPORT", report));
    assert_saved_instead(&ended, "No such file or directory");
    assert_eq!(ended.reports(), 1);
    let profile = read_profile(&folder.path("report.json"), &ended);
    assert_eq!(profile.diagnostics.calls, 1);
    assert_eq!(folder.files(), ["report.json"]);
}

fn without_a_temporary_folder_the_report_is_on_standard_error() {
    let path = Path::new("/nowhere/report.json");
    let ended = run(to(path).env("TMPDIR", "/nowhere"));
    assert_shown_instead(&ended, "No such file or directory");
}

fn a_full_device_and_a_limit_on_files_leave_the_old_report() {
    assert_saved_instead(&run(to(Path::new("/dev/full"))), "No space left on device");
    let folder = Folder::create();
    let path = folder.path("report.json");
    fs::write(&path, "the old report").expect("written");
    let report = format!("json={}", path.display());
    let ended = run(Program::new("small files").env("GPUPROF_REPORT", report));
    assert_shown_instead(&ended, "File too large");
    assert_eq!(fs::read_to_string(&path).expect("there"), "the old report");
    assert_eq!(folder.files(), ["report.json"]);
}

fn pipe_at(path: &Path) {
    let path = CString::new(path.as_os_str().as_bytes()).expect("no NUL");
    // SAFETY: the path is a C string.
    let status = unsafe { libc::mkfifo(path.as_ptr(), 0o600) };
    assert_eq!(status, 0, "mkfifo: {}", std::io::Error::last_os_error());
}

fn a_pipe_with_a_reader_gets_the_report() {
    let folder = Folder::create();
    let path = folder.path("pipe");
    pipe_at(&path);
    // Without O_NONBLOCK the open would wait for a writer.
    let reader = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(&path);
    let mut reader = reader.expect("there");
    // It is read once the program has ended, so that it must fit: of this function alone.
    let program = to(&path).env("GPUPROF_FILTER", "work");
    assert_eq!(run(program).stderr, "");
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("read");
    let profile: Profile = serde_json::from_str(&text).expect("whole");
    assert_eq!(profile.diagnostics.calls, 1);
    assert_eq!(folder.files(), ["pipe"]);
}

fn a_pipe_without_a_reader_keeps_nobody() {
    let folder = Folder::create();
    let path = folder.path("pipe");
    pipe_at(&path);
    assert_saved_instead(&run(to(&path)), "nobody reads from it");
}

fn standard_output_may_be_asked_for() {
    for path in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let ended = to(Path::new(path)).run();
        let stdout = String::from_utf8(ended.stdout).expect("UTF-8");
        let document = stdout
            .strip_prefix(STDOUT)
            .expect("the program's own first");
        let profile: Profile = serde_json::from_str(document).expect("whole");
        assert_eq!(
            (profile.diagnostics.calls, &*ended.stderr),
            (1, ""),
            "{path}"
        );
    }
    let ended = to(Path::new("/dev/stderr")).run();
    assert!(ended.stderr.starts_with("{\n"), "{}", ended.stderr);
}

fn standard_output_in_a_file_goes_on_where_it_was() {
    let folder = Folder::create();
    let path = folder.path("output");
    fs::write(&path, "before\n").expect("written");
    let mut output = OpenOptions::new().write(true).open(&path).expect("there");
    output.seek(std::io::SeekFrom::End(0)).expect("a file");
    to(Path::new("/dev/stdout")).stdout(output).run();
    let text = fs::read_to_string(&path).expect("UTF-8");
    let document = text.strip_prefix(&format!("before\n{STDOUT}"));
    let document = document.unwrap_or_else(|| panic!("{text}"));
    let profile: Profile = serde_json::from_str(document).expect("whole");
    assert_eq!(profile.diagnostics.calls, 1);
}

fn dev_null_takes_it() {
    assert_eq!(run(to(Path::new("/dev/null"))).stderr, "");
    let still = fs::symlink_metadata("/dev/null").expect("there");
    assert!(!still.is_file());
}
