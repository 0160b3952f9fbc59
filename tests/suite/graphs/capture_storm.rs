//! Promise: ten thousand GLOBAL captures succeed while other threads run spans.

use promises::assert_kept;
use promises::capture_storm::succeeds_beside_spans;
use support::suite::Module;
use support::{tests, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![ten_thousand_captures_succeed_beside_spans,]],
);

fn ten_thousand_captures_succeed_beside_spans() {
    assert_kept(succeeds_beside_spans(&world().gpu, 10_000));
}
