//! PC sampling of contexts: samples of the instructions that warps wait at.

use simbase::activity::FoundContext;

use super::cupti_functions;
use crate::call_records::on_driver_call;
use crate::parameters::Parameters;
use crate::pc_sampling_parameters::{
    Configuration, GetData, OfContext, ReasonCount, Reasons, renew_names,
};
use crate::result_codes::{Answer, Code};
use crate::{driver, launch_locks, library_statics, stall_model, state};

/// INVALID_PARAMETER for a context that does not exist.
fn find(context: u64) -> Answer<FoundContext> {
    let found = driver::find_context(context)?;
    if found.number != 0 {
        return Ok(found);
    }
    // The driver reports a context that it has destroyed, which a real one is about to.
    let sampled = state::lock().pc_sampling.of_handle(context);
    sampled.ok_or(Code::INVALID_PARAMETER)
}

/// INVALID_OPERATION if sampling is not enabled for the context.
fn find_enabled(context: u64) -> Answer<FoundContext> {
    let found = find(context)?;
    let now = driver::now()?;
    state::lock().pc_sampling.check(found, now)?;
    Ok(found)
}

fn set_started(parameters: &OfContext, start: bool) -> Answer {
    let context = find(parameters.context)?;
    let now = driver::now()?;
    state::lock().pc_sampling.set_started(context, now, start)
}

/// The result for a call with an attribute of this status. Of the header: an unknown attribute is
/// INVALID_PARAMETER in its status and INVALID_OPERATION for the call, a bad value the reverse.
fn result_for(status: Code) -> Code {
    match status {
        Code::INVALID_PARAMETER => Code::INVALID_OPERATION,
        Code::INVALID_OPERATION => Code::INVALID_PARAMETER,
        other => other,
    }
}

cupti_functions! {
    /// HARDWARE_BUSY while the device has an object of PM sampling.
    fn cuptiPCSamplingEnable(parameters: Parameters<OfContext>) {
        let mut parameters = parameters;
        let handle = parameters.get()?.context;
        let context = find(handle)?;
        library_statics::make();
        driver::set_observer(Some(on_driver_call))?;
        let now = driver::now()?;
        let mut state = state::lock();
        if state.sampling.uses(context.device) {
            return Err(Code::HARDWARE_BUSY);
        }
        if state.pc_sampling.is_empty() {
            renew_names();
        }
        state.pc_sampling.enable(handle, context, now)
    }

    /// Writes what is left into the configured buffer.
    fn cuptiPCSamplingDisable(parameters: Parameters<OfContext>) {
        library_statics::assert_alive();
        let mut parameters = parameters;
        let context = find(parameters.get()?.context)?;
        let now = driver::now()?;
        let left = state::lock().pc_sampling.disable(context, now)?;
        if let Some((mut buffer, collected)) = left {
            buffer.check()?;
            buffer.write(&collected)?;
        }
        Ok(())
    }

    fn cuptiPCSamplingStart(parameters: Parameters<OfContext>) {
        let mut parameters = parameters;
        set_started(parameters.get()?, true)
    }

    fn cuptiPCSamplingStop(parameters: Parameters<OfContext>) {
        let mut parameters = parameters;
        launch_locks::take_both();
        set_started(parameters.get()?, false)
    }

    /// Sets all attributes that are valid, and returns the error of the first that is not.
    fn cuptiPCSamplingSetConfigurationAttribute(parameters: Parameters<Configuration>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        let context = find_enabled(parameters.context)?;
        let now = driver::now()?;
        let mut result = Ok(());
        for info in parameters.attributes()? {
            let set = |attribute| state::lock().pc_sampling.configure(context, now, attribute);
            let status = info.read().and_then(set);
            info.set_status(status);
            result = result.and(status.map_err(result_for));
        }
        result
    }

    fn cuptiPCSamplingGetNumStallReasons(parameters: Parameters<ReasonCount>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        find_enabled(parameters.context)?;
        parameters.write(stall_model::COUNT)
    }

    fn cuptiPCSamplingGetStallReasons(parameters: Parameters<Reasons>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        find_enabled(parameters.context)?;
        parameters.write()
    }

    /// OUT_OF_MEMORY after the hardware buffer was full.
    fn cuptiPCSamplingGetData(parameters: Parameters<GetData>) {
        library_statics::assert_alive();
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        let context = find_enabled(parameters.context)?;
        parameters.data.check()?;
        let room = parameters.data.room()?;
        let now = driver::now()?;
        let collected = state::lock().pc_sampling.read(context, now, room)?;
        parameters.data.write(&collected)?;
        if collected.is_full { Err(Code::OUT_OF_MEMORY) } else { Ok(()) }
    }
}
