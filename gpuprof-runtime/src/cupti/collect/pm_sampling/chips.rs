//! What chips have room for, by NVIDIA's libcupti: host objects need neither a device nor a driver.
//! Run by `cargo xtask chips`, which names that library.

use gpuprof_report::profile::{DeviceCounters, Metric};

use super::host::{AvailableCounters, Host};
use super::library::SamplingLibrary;
use super::listed::MetricList;
use super::refused;
use crate::cupti::collect::library::CuptiLibrary;

#[test]
fn chips_have_room_for_what_the_documentation_says() {
    let library = library();
    use Metric::{AluActive, NvlinkReceived, NvlinkSent, PcieRead, PcieWrite, TensorActive};
    let nvlink = [NvlinkReceived, NvlinkSent];
    let nvlink = nvlink.as_slice();
    for (name, lacking, without_room) in [
        (c"TU102", &[][..], &[TensorActive][..]),
        (c"GA100", &[], &[]),
        (c"GA102", &[], &[]),
        (c"AD102", nvlink, &[]),
        (c"GH100", &[], &[]),
        (c"GB100", &[PcieRead, PcieWrite], &[]),
        (c"GB202", nvlink, &[AluActive]),
    ] {
        let chip = AvailableCounters {
            name,
            availability: &[],
        };
        let list = Box::leak(Box::default());
        let host = Host::choose(library, &chip, list).expect("a known chip");
        let mut facts = DeviceCounters::default();
        host.describe(&mut facts);
        assert_eq!(facts.lacking, lacking, "{name:?}");
        assert_eq!(facts.without_room, without_room, "{name:?}");
    }
}

#[test]
fn chips_have_room_for_what_is_sampled_in_turn() {
    let library = library();
    use Metric::{SharedConflicts, TensorFloat, TensorInteger};
    let tensor = [TensorFloat, TensorInteger];
    let tensor = tensor.as_slice();
    let conflicts = &[SharedConflicts][..];
    for (name, lacking, without_room) in [
        (c"TU102", tensor, conflicts),
        (c"GA100", tensor, conflicts),
        (c"GA102", tensor, conflicts),
        (c"AD102", tensor, conflicts),
        (c"GH100", &[], &[]),
        (c"GB100", tensor, &[]),
        (c"GB202", tensor, &[]),
    ] {
        let chip = AvailableCounters {
            name,
            availability: &[],
        };
        let host = Host::choose_in_turn(library, &chip).expect("a known chip");
        let mut facts = DeviceCounters::default();
        host.describe_in_turn(&mut facts);
        assert_eq!(facts.lacking, lacking, "{name:?}");
        assert_eq!(facts.without_room, without_room, "{name:?}");
    }
}

#[test]
fn refused_names_have_the_nearest_of_the_chip() {
    let library = library();
    let warps = "sm__warps_active.avg.pct_of_peak_sustained_elapsed";
    let names = [
        warps,
        "lts__t_sectors.sum",
        "sm__warp_active.avg.pct_of_peak_sustained_elapsed",
        "lts__t_sector.sum",
        "lts__t_sectors",
        "l1tex__t_sector_hit_rat.pct",
        "sm__throughput.avg.pct_of_peak_sustained_elapsed",
        "lts__average_t_sector_srcunit_tex_op_write_lookup_hit.pct",
        "l1tex__t_sectors.sum",
        "smsp__inst_executed.sum",
    ];
    let list = MetricList::new(&names.map(str::to_owned));
    let chip = AvailableCounters {
        name: c"GH100",
        availability: &[],
    };
    let host = Host::choose(library, &chip, Box::leak(Box::new(list))).expect("a known chip");
    let mut facts = DeviceCounters::default();
    host.describe(&mut facts);
    assert_eq!(facts.listed, [names[0], names[1], names[8]]);
    use Metric::{IssueRate, L1Throughput, SmActive, XuActive};
    assert_eq!(facts.omitted, [SmActive, IssueRate, L1Throughput, XuActive]);
    let lines = refused::lines(&host.refused, library, &chip);
    let nearest = |name: &str| format!("GH100 has no such metric; the nearest is {name}");
    let sectors = "accepted of this metric are lts__t_sectors.sum and \
                   lts__t_sectors.avg.pct_of_peak_sustained_elapsed";
    let expected = [
        (names[4], sectors.to_owned()),
        (names[2], nearest(warps)),
        (names[3], nearest("lts__t_sectors.sum")),
        (names[5], nearest("l1tex__t_sector_hit_rate.pct")),
        (
            names[6],
            "it needs several passes, and sampling has one; the nearest is \
             fe__throughput.avg.pct_of_peak_sustained_elapsed"
                .to_owned(),
        ),
        (
            names[7],
            "it needs several passes, and sampling has one; the nearest is \
             lts__average_t_sector_srcunit_tex_op_write.pct"
                .to_owned(),
        ),
        (
            names[9],
            format!(
                "it needs another pass beside {warps}, lts__t_sectors.sum, l1tex__t_sectors.sum: \
                 list it first"
            ),
        ),
    ];
    let expected = expected
        .map(|(name, reason)| format!("{name} is not sampled (GPUPROF_COUNTERS): {reason}"));
    assert_eq!(lines, expected);
}

fn library() -> &'static SamplingLibrary {
    let cupti = CuptiLibrary::open().expect("GPUPROF_CUPTI_LIBRARY");
    let library = SamplingLibrary::of_hosts(&cupti).expect("one with PM sampling");
    Box::leak(Box::new(library))
}
