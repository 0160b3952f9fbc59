//! `gpuprof top`: the functions, threads and devices of a running program.

#[cfg(feature = "top")]
mod ending;
mod numbers;
#[cfg(feature = "top")]
mod refresh_loop;
#[cfg(feature = "top")]
mod screen;
mod tables;
#[cfg(all(test, feature = "top"))]
mod tests;
mod top_model;

use std::thread;
use std::time::Duration;

use clap::Args;

use self::top_model::{TopModel, TopSort};
use super::look_arguments::LookArguments;
use crate::live::{self, LiveError, ProgramConnection};
use crate::output::{self, Exit, complain};

/// Shows what a running program does now: its functions, threads and devices.
///
/// The program must run with GPUPROF_LIVE=on or GPUPROF=standby, as the same user, and goes on
/// undisturbed; one in standby is measured while this command runs. Rates are those since the last
/// refresh, once a second; answers cost the program at most 1 % of a processor, and the refresh
/// takes longer if they would cost more.
///
/// The cost in the first line is the CPU time of the program's answers, in percent of its time.
///
/// Keys: t, u, c, r and n sort by GPU time, CPU time, calls, calls per second and name; p shows
/// threads, d devices, f functions; space pauses, arrows scroll, q quits.
#[derive(Debug, Args)]
pub(crate) struct TopArguments {
    /// Process id, or file name, of the program
    #[arg(value_name = "PID|PROGRAM")]
    target: String,

    /// Print one refresh as text, for pipes, and end
    #[arg(long)]
    once: bool,

    /// The order of functions
    #[arg(long, value_enum, default_value_t = TopSort::Gpu)]
    sort: TopSort,

    #[command(flatten)]
    look: LookArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &TopArguments) -> Exit {
    let mut connection = match live::connect(&arguments.target) {
        Ok(connection) => connection,
        Err(problem) => {
            complain(problem);
            return Exit::BadInput;
        }
    };
    if let Err(error) = arguments.look.begin(&mut connection) {
        complain(format_args!(
            "{} {}: {error}",
            connection.pid, connection.program
        ));
        return Exit::BadInput;
    }
    if arguments.once {
        once(connection, arguments.sort)
    } else {
        watch(connection, arguments.sort)
    }
}

#[cfg(feature = "top")]
fn watch(connection: ProgramConnection, sort: TopSort) -> Exit {
    refresh_loop::run(connection, sort)
}

#[cfg(not(feature = "top"))]
fn watch(_: ProgramConnection, _: TopSort) -> Exit {
    complain(
        "this build of the command has no screen: add --once, or install it with \
         cargo install gpuprof-cli --features top",
    );
    Exit::BadInput
}

/// Two answers, one refresh apart: rates need both.
fn once(mut connection: ProgramConnection, sort: TopSort) -> Exit {
    let mut model = TopModel::new(&connection);
    let mut refresh = |pause: Duration| -> Result<Duration, LiveError> {
        thread::sleep(pause);
        let changes = connection.changes()?;
        model.apply(changes);
        Ok(model.interval())
    };
    match refresh(Duration::ZERO).and_then(&mut refresh) {
        Ok(_) => output::write(tables::to_text(&model, sort).as_bytes(), None),
        Err(error) => {
            complain(format_args!("{} {}: {error}", model.pid, model.program));
            Exit::BadInput
        }
    }
}
