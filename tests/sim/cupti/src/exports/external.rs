//! External correlation ids: one stack per thread and kind.

use super::cupti_functions;
use crate::abi::Out;
use crate::result_codes::{Answer, Code};
use crate::state::{self, thread};

/// `CUpti_ExternalCorrelationKind`: unknown, OpenACC and the three custom ones.
const KINDS: std::ops::RangeInclusive<u32> = 1..=5;

cupti_functions! {
    fn cuptiActivityPushExternalCorrelationId(kind: u32, id: u64) {
        check_kind(kind)?;
        state::lock().pushed.entry((thread(), kind)).or_default().push(id);
        Ok(())
    }

    /// QUEUE_EMPTY if nothing is pushed. The popped id is an optional output.
    fn cuptiActivityPopExternalCorrelationId(kind: u32, last: Out<u64>) {
        check_kind(kind)?;
        let mut state = state::lock();
        let ids = state.pushed.get_mut(&(thread(), kind));
        let popped = ids.and_then(Vec::pop).ok_or(Code::QUEUE_EMPTY)?;
        last.write_if_given(popped);
        Ok(())
    }
}

fn check_kind(kind: u32) -> Answer {
    if KINDS.contains(&kind) {
        Ok(())
    } else {
        Err(Code::INVALID_PARAMETER)
    }
}
