//! What to improve, and command lines for a closer look.

use super::word_enums::FindingRule;
use crate::figures::figures;

figures! {
    /// Advice that a rule derives from the rest of the profile.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct Finding {
        /// The rule that made it.
        pub rule: FindingRule;
        /// Name of the function it is about; `None` for the whole program.
        pub function: Option<String>;
        /// The most wall time that following the advice can save, ns, by the model that the rule
        /// states. Findings are sorted by it.
        pub gain_ns: u64;
        /// What the profile shows, with numbers.
        pub evidence: String;
        /// What to try.
        pub advice: String;
    }
}

figures! {
    /// A command line of another tool that shows what a profile cannot.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct ToolCommand {
        /// What it shows.
        pub what: String;
        /// The command line, quoted for a POSIX shell, with the program by its file name alone.
        pub line: String;
    }
}
