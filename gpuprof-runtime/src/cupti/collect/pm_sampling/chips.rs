//! What chips have room for, by NVIDIA's libcupti: host objects need neither a device nor a driver.
//! Run by `cargo xtask chips`, which names that library.

use gpuprof_report::profile::Metric;

use super::host::{AvailableCounters, Host};
use super::library::SamplingLibrary;
use crate::cupti::collect::library::CuptiLibrary;

#[test]
fn chips_have_room_for_what_the_documentation_says() {
    let cupti = CuptiLibrary::open().expect("GPUPROF_CUPTI_LIBRARY");
    let library = SamplingLibrary::of_hosts(&cupti).expect("one with PM sampling");
    let library: &'static SamplingLibrary = Box::leak(Box::new(library));
    use Metric::{AluActive, NvlinkReceived, NvlinkSent, PcieRead, PcieWrite, TensorActive};
    let nvlink = [NvlinkReceived, NvlinkSent];
    for (name, omitted) in [
        (c"TU102", vec![TensorActive]),
        (c"GA100", vec![]),
        (c"GA102", vec![]),
        (c"AD102", nvlink.to_vec()),
        (c"GH100", vec![]),
        (c"GB100", vec![PcieRead, PcieWrite]),
        (c"GB202", [&[AluActive][..], &nvlink].concat()),
    ] {
        let chip = AvailableCounters {
            name,
            availability: &[],
        };
        let host = Host::choose(library, &chip).expect("a known chip");
        assert_eq!(host.metrics().1, omitted, "{name:?}");
    }
}
