//! Calls of a thread that others begin and end in any order: spans of `tracing`, ranges of NVTX. A
//! call ends when those inside it have.

/// A place for such a call.
pub(crate) trait NestedCall {
    /// Whether the call ends once it is the innermost.
    fn is_over(&self) -> bool;
    /// Ends the call; the place is spare then.
    fn end(&mut self);
}

/// The calls of a thread, the innermost last.
///
/// Beginning a call and ending one may run code of a tool, so the list is not borrowed then: each
/// call is on the heap, where it also is not copied, as it is large.
pub(crate) struct NestedCalls<C: NestedCall> {
    pub(crate) open: Vec<Box<C>>,
    spare: Vec<Box<C>>,
}

impl<C: NestedCall> NestedCalls<C> {
    pub(crate) const NEW: Self = Self {
        open: Vec::new(),
        spare: Vec::new(),
    };

    /// A place that an earlier call has left.
    pub(crate) fn take_spare(&mut self) -> Option<Box<C>> {
        self.spare.pop()
    }

    /// The innermost call, if it is over, to be ended and [kept](Self::keep_spare).
    pub(crate) fn take_over(&mut self) -> Option<Box<C>> {
        self.open.pop_if(|call| call.is_over())
    }

    pub(crate) fn keep_spare(&mut self, place: Box<C>) {
        self.spare.push(place);
    }
}

/// The thread ends.
impl<C: NestedCall> Drop for NestedCalls<C> {
    fn drop(&mut self) {
        while let Some(mut innermost) = self.open.pop() {
            innermost.end();
        }
    }
}
