//! What a viewer has a program in standby record: arguments of `snapshot`, `trace` and `top`.

use clap::Args;
use gpuprof_report::live::Look;

use crate::live::{LiveError, ProgramConnection};

/// For a program in standby (GPUPROF=standby): what it records while this command looks, beside
/// the calls of profiled functions
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "In a program in standby (GPUPROF=standby)")]
pub(crate) struct LookArguments {
    /// Record kernels, copies and CUDA calls through CUPTI
    #[arg(long)]
    cupti: bool,

    /// Sample the hardware counters of the GPU, with --cupti
    #[arg(long)]
    counters: bool,

    /// Sample for what the warps of kernels wait, with --cupti
    #[arg(long)]
    stalls: bool,

    /// Record which function allocates and frees memory, with --cupti
    #[arg(long)]
    memory: bool,
}

impl LookArguments {
    fn look(self) -> Look {
        let mut look = Look::default();
        look.counters = self.counters;
        look.stalls = self.stalls;
        look.memory = self.memory;
        look.cupti = self.cupti || self.counters || self.stalls || self.memory;
        look
    }

    /// Begins the look, if the program is in standby.
    ///
    /// # Errors
    /// [`LiveError::NotInStandby`] if it is not, and something is asked for;
    /// [`LiveError::Refused`] with the program's reason.
    pub(crate) fn begin(self, connection: &mut ProgramConnection) -> Result<(), LiveError> {
        match (connection.in_standby, self.look()) {
            (true, look) => connection.look(look),
            (false, look) if look == Look::default() => Ok(()),
            (false, _) => Err(LiveError::NotInStandby),
        }
    }
}
