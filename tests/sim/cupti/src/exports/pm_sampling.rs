//! PM sampling: the counters of a device at an interval.

use super::cupti_functions;
use crate::call_records::on_driver_call;
use crate::counter_data;
use crate::parameters::{
    Availability, DataInfo, DataInitialize, DataSize, Decode, Enable, Parameters, SampleInfo,
    SamplingObject, SetConfig,
};
use crate::pm_sampling::Trigger;
use crate::result_codes::Code;
use crate::{driver, library_statics, state};

/// The size of the image that says which counters can be used, which has no content.
const AVAILABILITY_BYTES: usize = 16;

/// `CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL`.
const COUNTER_DATA_FULL: i32 = 1;
/// `CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS`.
const END_OF_RECORDS: i32 = 2;

cupti_functions! {
    /// Without an image it gives the size. HARDWARE_BUSY while PC sampling is enabled for a context
    /// of the device (H100, CUDA 13.0).
    fn cuptiPmSamplingGetCounterAvailability(parameters: Parameters<Availability>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        let device = u32::try_from(parameters.device).map_err(|_| Code::INVALID_DEVICE)?;
        if state::lock().pc_sampling.uses(device) {
            return Err(Code::HARDWARE_BUSY);
        }
        if parameters.image.is_null() {
            parameters.bytes = AVAILABILITY_BYTES;
            return Ok(());
        }
        parameters.image.write(parameters.bytes, &[0; AVAILABILITY_BYTES])
    }

    /// INVALID_OPERATION for a device that has an object. Takes the time that a test sets.
    fn cuptiPmSamplingEnable(parameters: Parameters<Enable>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        if !state::lock().hosts.is_initialized {
            return Err(Code::NOT_INITIALIZED);
        }
        let device = u32::try_from(parameters.device).map_err(|_| Code::INVALID_DEVICE)?;
        driver::set_observer(Some(on_driver_call))?;
        let mut state = state::lock();
        parameters.object = state.sampling.enable(device)?;
        driver::advance(state.sampling.enable_ns)
    }

    fn cuptiPmSamplingDisable(parameters: Parameters<SamplingObject>) {
        library_statics::assert_alive();
        let mut parameters = parameters;
        state::lock().sampling.disable(parameters.get()?.object)
    }

    /// INVALID_OPERATION for a started object, and for more than one pass.
    fn cuptiPmSamplingSetConfig(parameters: Parameters<SetConfig>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        let config = parameters.image.read(parameters.bytes)?;
        let mut state = state::lock();
        if state.hosts.passes(&config) != 1 {
            return Err(Code::INVALID_OPERATION);
        }
        let trigger = match parameters.trigger {
            0 => Trigger::Sysclk,
            1 => Trigger::Time,
            _ => return Err(Code::INVALID_PARAMETER),
        };
        let counters = state.hosts.counters(&config);
        state.sampling.configure(
            parameters.object,
            (trigger, parameters.interval),
            parameters.hardware_buffer_bytes,
            counters,
        )
    }

    fn cuptiPmSamplingStart(parameters: Parameters<SamplingObject>) {
        library_statics::make();
        let mut parameters = parameters;
        let now = driver::now()?;
        state::lock().sampling.start(parameters.get()?.object, now)
    }

    fn cuptiPmSamplingStop(parameters: Parameters<SamplingObject>) {
        let mut parameters = parameters;
        let now = driver::now()?;
        state::lock().sampling.stop(parameters.get()?.object, now)
    }

    fn cuptiPmSamplingGetCounterDataSize(parameters: Parameters<DataSize>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        parameters.bytes = counter_data::size(parameters.max_samples as usize);
        Ok(())
    }

    fn cuptiPmSamplingCounterDataImageInitialize(parameters: Parameters<DataInitialize>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        counter_data::write(parameters.image, parameters.bytes, &[])
    }

    /// Replaces what an initialized image holds.
    fn cuptiPmSamplingDecodeData(parameters: Parameters<Decode>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        let room = counter_data::room(parameters.bytes);
        let now = driver::now()?;
        let decoded = state::lock().sampling.decode(parameters.object, now, room)?;
        counter_data::write(parameters.image, parameters.bytes, &decoded.samples)?;
        parameters.stop_reason = if decoded.is_full { COUNTER_DATA_FULL } else { END_OF_RECORDS };
        Ok(())
    }

    fn cuptiPmSamplingGetCounterDataInfo(parameters: Parameters<DataInfo>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        let samples = counter_data::count(parameters.image, parameters.bytes)?;
        parameters.total = counter_data::room(parameters.bytes);
        parameters.populated = samples;
        parameters.completed = samples;
        Ok(())
    }

    fn cuptiPmSamplingCounterDataGetSampleInfo(parameters: Parameters<SampleInfo>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        let sample = counter_data::sample(parameters.image, parameters.bytes, parameters.index)?;
        parameters.start = sample.start;
        parameters.end = sample.end;
        Ok(())
    }
}
