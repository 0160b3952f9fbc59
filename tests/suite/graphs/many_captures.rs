//! Promise: thousands of captures in each mode succeed while other threads run spans.

use promises::assert_kept;
use promises::captures::{Beside, succeed_beside_spans};
use promises::graphs::MODES;
use support::suite::Module;
use support::{tests, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![thousands_of_captures_succeed_beside_spans,]],
);

fn thousands_of_captures_succeed_beside_spans() {
    let beside = Beside {
        threads: 2,
        is_paced: true,
    };
    let observed = succeed_beside_spans(&world().gpu, &MODES, 4_000, beside);
    assert_kept(observed);
}
