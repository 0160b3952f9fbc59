//! What CUPTI's records say of a function.

use gpuprof::Profile;

use crate::known_spans::function;
use crate::tolerance::Tolerance;

/// The kernels of a function.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kernels {
    pub launches: u64,
    /// Their time in sum.
    pub ns: u64,
}

impl Kernels {
    /// Whether there are so many of `ns` in sum.
    pub fn are(&self, launches: u64, ns: u64, within: Tolerance) -> bool {
        self.launches == launches && within.accepts(self.ns, ns)
    }
}

/// The kernels that the function of this name launched itself.
pub fn kernels_of(profile: &Profile, name: &str) -> Kernels {
    let kernels = function(profile, name).map(|found| &found.activity.kernels);
    let all = kernels.into_iter().flatten();
    all.fold(Kernels::default(), |sum, kernel| Kernels {
        launches: sum.launches + kernel.times.calls,
        ns: sum.ns + kernel.times.total_ns,
    })
}

/// The number of copies of this kind that the function launched itself, and their bytes.
pub(crate) fn copies_of(profile: &Profile, name: &str, kind: &str) -> (u64, u64) {
    let copies = function(profile, name).map(|found| &found.activity.copies);
    let of_kind = copies.into_iter().flatten();
    let of_kind = of_kind.filter(|copies| copies.kind.as_str() == kind);
    of_kind.fold((0, 0), |(calls, bytes), copies| {
        (calls + copies.times.calls, bytes + copies.bytes)
    })
}
