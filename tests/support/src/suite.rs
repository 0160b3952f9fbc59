//! A test binary in which each test is a process of its own.
//!
//! gpuprof's collector, the simulated driver and the clock exist once per process. A process for
//! each test gives it fresh ones, so tests need no lock and no order. The binary starts itself
//! again with `TEST` in the environment to run one test, and with [`program::SCENARIO`] to be
//! the program that a test examines.

use std::ffi::OsString;
use std::fs::{self, File};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use libtest_mimic::{Arguments, Failed, Trial};

use crate::cupti_from_environment::{CUPTI_CONFIGURATION, SUBSCRIBER_CALLS};
use crate::current_test_file;
use crate::program::{self, Folder};

/// The test that this process runs.
const TEST: &str = "GPUPROF_TEST_NAME";

/// A multiple of what any test takes on a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// A test's name in its file, and its body.
pub type Test = (&'static str, fn());

/// The tests of one file, and the program that they run.
#[derive(Clone, Copy)]
pub struct Module {
    path: &'static str,
    tests: &'static [&'static [Test]],
    program: Option<fn(&str) -> ExitCode>,
    is_repeated: bool,
}

impl Module {
    /// The tests of the file whose `module_path!()` is `path`.
    pub const fn new(path: &'static str, tests: &'static [&'static [Test]]) -> Self {
        Self {
            path,
            tests,
            program: None,
            is_repeated: false,
        }
    }

    /// Each test runs a second time, with a libcupti that has the calls of a subscriber.
    pub const fn with_subscriber_calls(mut self) -> Self {
        self.is_repeated = true;
        self
    }

    /// `program` is the `main` of the processes that the tests start. It takes a scenario.
    pub const fn with_program(mut self, program: fn(&str) -> ExitCode) -> Self {
        self.program = Some(program);
        self
    }

    /// The path without the binary's name: `nesting` of `numbers::nesting`.
    fn path_in_binary(&self) -> &'static str {
        self.path.split_once("::").map_or("", |(_, name)| name)
    }

    fn tests(&self) -> impl Iterator<Item = (String, fn())> {
        let tests = self.tests.iter().copied().flatten();
        tests.map(|(test, run)| match self.path_in_binary() {
            "" => ((*test).to_owned(), *run),
            name => (format!("{name}::{test}"), *run),
        })
    }
}

/// The listed functions with their names, for [`Module::new`].
#[macro_export]
macro_rules! tests {
    ($($test:ident),+ $(,)?) => { &[$((stringify!($test), $test as fn())),+] };
}

/// The `main` of a test binary with these files.
pub fn run(modules: &[Module]) -> ExitCode {
    if let Some(scenario) = program::scenario() {
        return run_program(modules, &scenario);
    }
    if let Ok(test) = env::var(TEST) {
        return run_test(modules, &test);
    }
    let arguments = Arguments::from_args();
    let shows_output = arguments.nocapture;
    let trials = modules.iter().flat_map(|module| {
        let again = module.is_repeated.then_some(SUBSCRIBER_CALLS);
        let tests = [""].into_iter().chain(again).flat_map(|configuration| {
            let tests = module.tests();
            tests.map(move |(test, _)| (test, configuration))
        });
        tests.map(|(test, configuration)| {
            let name = match configuration {
                "" => test.clone(),
                _ => format!("{test}_by_subscriber_calls"),
            };
            Trial::test(name, move || {
                run_in_process(test_command(&test, configuration), &test, shows_output)
            })
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn run_program(modules: &[Module], scenario: &str) -> ExitCode {
    // A tool that starts the program sets only the scenario, if one file has a program.
    let wanted = program::module();
    let is_wanted = |module: &&Module| match &wanted {
        Some(path) => module.path == path,
        None => module.program.is_some(),
    };
    let module = modules.iter().find(is_wanted).expect("a file of the suite");
    current_test_file::set_file(module.path);
    let program = module.program.expect("the file has a program");
    program(scenario)
}

fn run_test(modules: &[Module], test: &str) -> ExitCode {
    let mut all = modules
        .iter()
        .flat_map(|module| module.tests().map(|(name, run)| (module.path, name, run)));
    let (path, _, run) = all.find(|(_, name, _)| name == test).expect("a test");
    current_test_file::set_file(path);
    run();
    ExitCode::SUCCESS
}

/// Runs a test in a process of its own.
fn run_in_process(mut command: Command, test: &str, shows_output: bool) -> Result<(), Failed> {
    if shows_output {
        let status = command.status().map_err(|error| error.to_string())?;
        return if status.success() {
            Ok(())
        } else {
            Err(status.to_string().into())
        };
    }
    // A process that outlives the test would keep a pipe open, but not a file.
    let folder = Folder::create();
    let path = folder.path("output");
    let output = File::create(&path).expect("the target folder can be written");
    let errors = output.try_clone().expect("a descriptor");
    command.stdout(output).stderr(errors);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let began = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status.to_string(),
            None if began.elapsed() > TIME_LIMIT => {
                let _ = child.kill();
                let _ = child.wait();
                break format!("killed after {TIME_LIMIT:?}");
            }
            None => thread::sleep(Duration::from_millis(1)),
        }
    };
    let is_ok = child.wait().is_ok_and(|status| status.success());
    if is_ok {
        return Ok(());
    }
    let output = fs::read(&path).unwrap_or_default();
    let output = String::from_utf8_lossy(&output);
    Err(format!("{output}\n{test}: {status}").into())
}

/// This binary again, to run one test with this configuration of libcupti, without gpuprof's
/// settings.
fn test_command(test: &str, configuration: &str) -> Command {
    let mut command = program::clean_command(&env::current_exe().expect("a test has a path"));
    let is_for_tests = |name: &OsString| name.to_string_lossy().starts_with("GPUPROF_TEST_");
    command.envs(env::vars_os().filter(|(name, _)| is_for_tests(name)));
    if !configuration.is_empty() {
        command.env(CUPTI_CONFIGURATION, configuration);
    }
    command.env(TEST, test).stdin(Stdio::null());
    command
}
