//! Which process of a job.

use crate::figures::figures;

figures! {
    /// A process of a job.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct RankProcess {
        /// Its rank; `None` if it has none.
        pub rank: Option<u32>;
        /// Its host.
        pub host: String;
        /// Its process id.
        pub pid: u32;
    }
}

impl std::fmt::Display for RankProcess {
    /// `rank 3`, or `process 4711` without a rank.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.rank {
            Some(rank) => write!(f, "rank {rank}"),
            None => write!(f, "process {}", self.pid),
        }
    }
}
