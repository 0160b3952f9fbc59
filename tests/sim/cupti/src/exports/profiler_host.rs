//! The host side of the profiler: metrics, their configuration, and their values.

use super::cupti_functions;
use crate::counter_data;
use crate::parameters::{
    AddMetrics, BaseMetrics, ChipName, ConfigImage, ConfigSize, Evaluate, HostInitialize,
    HostObject, Initialize, Parameters, Passes,
};
use crate::profiler_host::CHIP;
use crate::result_codes::Code;
use crate::{driver, state};

cupti_functions! {
    /// NOT_INITIALIZED without a simulated driver.
    fn cuptiProfilerInitialize(parameters: Parameters<Initialize>) {
        let mut parameters = parameters;
        parameters.get()?;
        driver::now()?;
        state::lock().hosts.is_initialized = true;
        Ok(())
    }

    /// All devices are of one chip.
    fn cuptiDeviceGetChipName(parameters: Parameters<ChipName>) {
        let mut parameters = parameters;
        parameters.get()?.name = CHIP.as_ptr();
        Ok(())
    }

    fn cuptiProfilerHostInitialize(parameters: Parameters<HostInitialize>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        let hosts = &mut state::lock().hosts;
        if !hosts.is_initialized {
            return Err(Code::NOT_INITIALIZED);
        }
        parameters.host = hosts.create(parameters.chip())?;
        Ok(())
    }

    fn cuptiProfilerHostDeinitialize(parameters: Parameters<HostObject>) {
        let mut parameters = parameters;
        state::lock().hosts.destroy(parameters.get()?.host)
    }

    fn cuptiProfilerHostConfigAddMetrics(parameters: Parameters<AddMetrics>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        state::lock().hosts.add(parameters.host, &parameters.names())
    }

    /// The names are static.
    fn cuptiProfilerHostGetBaseMetrics(parameters: Parameters<BaseMetrics>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        let names = state::lock().hosts.base_metrics(parameters.host, parameters.kind)?;
        (parameters.names, parameters.count) = (names.as_ptr().cast(), names.len());
        Ok(())
    }

    fn cuptiProfilerHostGetConfigImageSize(parameters: Parameters<ConfigSize>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        parameters.bytes = state::lock().hosts.config(parameters.host)?.len();
        Ok(())
    }

    fn cuptiProfilerHostGetConfigImage(parameters: Parameters<ConfigImage>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        let config = state::lock().hosts.config(parameters.host)?;
        parameters.image.write(parameters.bytes, &config)
    }

    fn cuptiProfilerHostGetNumOfPasses(parameters: Parameters<Passes>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        let config = parameters.image.read(parameters.bytes)?;
        parameters.passes = state::lock().hosts.passes(&config);
        Ok(())
    }

    fn cuptiProfilerHostEvaluateToGpuValues(parameters: Parameters<Evaluate>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        let sample = counter_data::sample(parameters.image, parameters.bytes, parameters.index)?;
        let ns = sample.end - sample.start;
        let names = parameters.names();
        let mut state = state::lock();
        let values = state.hosts.evaluate(parameters.host, &names, &sample.totals, ns)?;
        parameters.write(&values)
    }
}
