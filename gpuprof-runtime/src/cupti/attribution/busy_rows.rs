//! How busy each device was, by the records.

use super::window_tables::WindowTables;
use gpuprof_report::profile::{BusyRecords, GpuBusy, Profile};
use gpuprof_report::sorting::sort_by_key;

/// The most records that may be missing: without one, a kernel looks like idle time.
const MAX_MISSING_SHARE: f64 = 0.01;

/// Replaces what GPU spans say of the devices whose records are complete.
pub(super) fn write(profile: &mut Profile, tables: &WindowTables) {
    let Some(cupti) = &profile.cupti else {
        return;
    };
    let missing = cupti.dropped_records.saturating_add(cupti.unfinished);
    if missing as f64 / cupti.records.max(1) as f64 > MAX_MISSING_SHARE {
        return;
    }
    for device in tables.devices() {
        let Some(records) = tables.device_times(device) else {
            continue;
        };
        let mut busy = GpuBusy::default();
        busy.device = device;
        busy.busy_ns = records.busy_ns();
        busy.records = Some(records);
        profile.gpu_busy.retain(|known| known.device != device);
        profile.gpu_busy.push(busy);
    }
    // A device without a record ran nothing, whatever the spans on its streams cover.
    let recorded = tables.devices();
    for busy in &mut profile.gpu_busy {
        if !recorded.contains(&busy.device) {
            let device = busy.device;
            *busy = GpuBusy::default();
            busy.device = device;
            busy.records = Some(BusyRecords::default());
        }
    }
    sort_by_key(&mut profile.gpu_busy, |busy| busy.device);
}
