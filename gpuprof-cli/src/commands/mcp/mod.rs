//! `gpuprof mcp`: answers the questions of an agent about a profile or a running program.

mod agent_connection;
mod answers;
mod names;
mod profile_source;
mod tools;
mod waits;
mod why;

use std::io::{self, IsTerminal};

use clap::Args;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;

use crate::output::{Exit, complain};

use agent_connection::AgentConnection;
use profile_source::ProfileSource;
use tools::Tools;

/// Answers an agent's questions about a profile or a running program, over MCP
///
/// An agent starts it and asks through standard input. It has tools for the report, a function,
/// kernels, findings, why one is slow, and a comparison with other runs; they read and change
/// nothing.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct McpArguments {
    /// JSON profile, which is read anew for each question and may not exist yet; or the process id
    /// of a program that runs with GPUPROF_LIVE=on
    #[arg(value_name = "FILE|PID")]
    source: ProfileSource,
}

const EXAMPLES: &str = "\
Examples:
  claude mcp add gpuprof -- gpuprof mcp profile.json
  codex mcp add gpuprof -- gpuprof mcp profile.json";

/// Runs the command until standard input ends.
pub(crate) fn run(arguments: &McpArguments) -> Exit {
    if io::stdin().is_terminal() {
        complain(
            "mcp: standard input is a terminal; an agent starts this command, as `gpuprof mcp \
             --help` shows",
        );
        return Exit::BadInput;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let served = match runtime {
        Ok(runtime) => {
            let served = runtime.block_on(serve(arguments.source.clone()));
            // An answer to a cancelled request may still be in the making.
            runtime.shutdown_background();
            served
        }
        Err(error) => Err(error.to_string()),
    };
    match served {
        Ok(()) => Exit::Success,
        Err(error) => {
            complain(format_args!("mcp: {error}"));
            Exit::BadInput
        }
    }
}

async fn serve(source: ProfileSource) -> Result<(), String> {
    match Tools::new(source).serve(AgentConnection::new()).await {
        Ok(server) => server
            .waiting()
            .await
            .map(drop)
            .map_err(|error| error.to_string()),
        // The agent went away before it asked anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
