//! `gpuprof completions` and `gpuprof man`: what clap knows of the arguments, for shells and `man`.

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::output::{self, Exit, complain};

/// Prints the completions of a shell
#[derive(Debug, Args)]
#[command(after_help = COMPLETION_EXAMPLES)]
pub(crate) struct CompletionArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

const COMPLETION_EXAMPLES: &str = "\
Examples:
  gpuprof completions bash > ~/.local/share/bash-completion/completions/gpuprof
  gpuprof completions fish > ~/.config/fish/completions/gpuprof.fish
  gpuprof completions zsh > ~/.zfunc/_gpuprof   # a folder of $fpath";

/// Prints the manual page, of the whole command or of one of its commands
#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct ManArguments {
    /// One of the commands, such as show
    command: Option<String>,
}

/// What the page belongs to.
const SOURCE: &str = concat!("gpuprof ", env!("CARGO_PKG_VERSION"));

const MAN_EXAMPLES: &str = "\
Examples:
  gpuprof man | man -l -
  gpuprof man run > ~/.local/share/man/man1/gpuprof-run.1";

/// Prints the completions for `command`.
pub(crate) fn completions(arguments: &CompletionArguments, mut command: Command) -> Exit {
    let mut text = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(arguments.shell, &mut command, name, &mut text);
    output::write(&text, None)
}

/// Prints the manual page of `command`.
pub(crate) fn man(arguments: &ManArguments, mut command: Command) -> Exit {
    command.build();
    let page = match &arguments.command {
        None => command,
        Some(name) => match command.find_subcommand(name) {
            Some(found) => found.clone(),
            None => {
                let names = command
                    .get_subcommands()
                    .map(Command::get_name)
                    .collect::<Vec<_>>()
                    .join(", ");
                complain(format_args!("man: accepted are {names}"));
                return Exit::BadInput;
            }
        },
    };
    let mut text = Vec::new();
    // Writing into memory cannot fail.
    let _ = Man::new(page).source(SOURCE).render(&mut text);
    output::write(&text, None)
}
