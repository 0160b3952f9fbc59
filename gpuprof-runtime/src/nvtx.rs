//! Ranges for Nsight Systems and other NVTX tools: one domain, names registered once, attributes
//! encoded once.
//!
//! The first call of each site checks whether an NVTX tool is attached; without one, later calls of
//! that site cost one atomic load.

use std::borrow::Cow;

#[cfg(feature = "nvtx")]
pub(crate) use with_nvtx::{OpenRange, SiteRange};
#[cfg(not(feature = "nvtx"))]
pub(crate) use without_nvtx::{OpenRange, SiteRange};

/// A number shown with a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Payload {
    /// None.
    None,
    /// An unsigned integer.
    U64(u64),
    /// A signed integer.
    I64(i64),
    /// A double.
    F64(f64),
    /// An unsigned 32-bit integer.
    U32(u32),
    /// A signed 32-bit integer.
    I32(i32),
    /// A float.
    F32(f32),
}

/// How a site's ranges are shown. Evaluated once per site and label.
#[cfg_attr(not(feature = "nvtx"), allow(dead_code))]
pub(crate) struct RangeAttributes<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) color: Option<u32>,
    pub(crate) category: Option<&'static str>,
}

#[cfg(feature = "nvtx")]
mod with_nvtx {
    use std::ffi::CString;
    use std::fmt;
    use std::sync::OnceLock;

    use nvtx::sys;
    use parking_lot::Mutex;

    use super::{Payload, RangeAttributes};
    use crate::os::fork;
    use crate::os::own_work::OwnWork;
    use gpuprof_report::sanitize;

    /// Characters of a name that a tool receives: more than in tables, because only the name
    /// distinguishes two generic functions there.
    const MAX_NAME_LENGTH: usize = 1_000;

    /// The domain `gpuprof`, which is never destroyed, and its categories so far. A category's id
    /// is its index + 1.
    struct Domain {
        handle: sys::DomainHandle,
        categories: Mutex<Vec<&'static str>>,
    }

    fn domain() -> &'static Domain {
        static DOMAIN: OnceLock<Domain> = OnceLock::new();
        DOMAIN.get_or_init(|| Domain {
            handle: sys::domain_create_ascii(c"gpuprof"),
            categories: Mutex::new(Vec::new()),
        })
    }

    impl Domain {
        fn category(&self, name: &'static str) -> u32 {
            let mut categories = self.categories.lock();
            if let Some(index) = categories.iter().position(|known| *known == name) {
                return index as u32 + 1;
            }
            categories.push(name);
            let id = categories.len() as u32;
            sys::domain_name_category_ascii(self.handle, id, &c_string(name));
            id
        }
    }

    /// Sanitizes a name as in all other outputs, because NVTX tools print names to terminals and
    /// web pages. This also escapes NUL, which would end the C string early.
    fn c_string(text: &str) -> CString {
        CString::new(sanitize::short(text, MAX_NAME_LENGTH).into_owned()).unwrap_or_default()
    }

    /// The ranges of one site, or of its calls with one label.
    pub(crate) struct SiteRange {
        /// `Some(None)`: no tool is attached.
        encoded: OnceLock<Option<Encoded>>,
    }

    struct Encoded(sys::EventAttributes);

    // SAFETY: the attributes are plain values and a handle to a registered string, which NVTX lets
    // every thread use.
    unsafe impl Send for Encoded {}
    // SAFETY: as above; they are not changed after their creation.
    unsafe impl Sync for Encoded {}

    impl fmt::Debug for SiteRange {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("SiteRange").finish_non_exhaustive()
        }
    }

    /// A range between its start and its end.
    #[derive(Debug)]
    pub(crate) enum OpenRange {
        None,
        /// Pushed on this thread.
        Pushed,
        /// Started in the process, to be ended on any thread.
        Started(sys::RangeId),
    }

    impl SiteRange {
        pub(crate) const fn new() -> Self {
            Self {
                encoded: OnceLock::new(),
            }
        }

        fn attributes<'a>(
            &self,
            attributes: impl FnOnce() -> RangeAttributes<'a>,
            payload: impl FnOnce() -> Payload,
        ) -> Option<sys::EventAttributes> {
            let encoded = self.encoded(attributes);
            let mut attributes = encoded?.0;
            (attributes.payloadType, attributes.payload) = encode_payload(payload());
            Some(attributes)
        }

        /// Whether a tool is attached that shows this range.
        pub(crate) fn is_shown<'a>(
            &self,
            attributes: impl FnOnce() -> RangeAttributes<'a>,
        ) -> bool {
            self.encoded(attributes).is_some()
        }

        fn encoded<'a>(
            &self,
            attributes: impl FnOnce() -> RangeAttributes<'a>,
        ) -> Option<&Encoded> {
            if let Some(encoded) = self.encoded.get() {
                return encoded.as_ref();
            }
            let _own = OwnWork::begin();
            self.encoded.get_or_init(|| encode(&attributes())).as_ref()
        }

        /// Pushes a range; this thread must pop it, last in, first out. NVTX's return value is
        /// meaningless under nsys.
        #[inline]
        pub(crate) fn push<'a>(
            &self,
            attributes: impl FnOnce() -> RangeAttributes<'a>,
            payload: impl FnOnce() -> Payload,
        ) -> OpenRange {
            match self.attributes(attributes, payload) {
                Some(attributes) => {
                    sys::domain_range_push_ex(domain().handle, &attributes);
                    OpenRange::Pushed
                }
                None => OpenRange::None,
            }
        }

        /// Opens a range that any thread may close.
        pub(crate) fn start<'a>(
            &self,
            attributes: impl FnOnce() -> RangeAttributes<'a>,
            payload: impl FnOnce() -> Payload,
        ) -> OpenRange {
            match self.attributes(attributes, payload) {
                Some(attributes) => {
                    OpenRange::Started(sys::domain_range_start_ex(domain().handle, &attributes))
                }
                None => OpenRange::None,
            }
        }
    }

    impl OpenRange {
        /// Whether no tool is attached.
        #[inline]
        pub(crate) fn is_none(&self) -> bool {
            matches!(self, Self::None)
        }

        /// Closes the range. To be called once.
        #[inline]
        pub(crate) fn close(&self) {
            if !self.is_none() {
                self.close_open();
            }
        }

        // Not inlined: without a tool no range is open.
        #[inline(never)]
        fn close_open(&self) {
            match self {
                Self::None => {}
                _ if fork::is_child() => {}
                Self::Pushed => {
                    sys::domain_range_pop(domain().handle);
                }
                Self::Started(id) => sys::domain_range_end(domain().handle, *id),
            }
        }
    }

    fn encode(attributes: &RangeAttributes<'_>) -> Option<Encoded> {
        let domain = domain();
        let registered =
            sys::domain_register_string_ascii(domain.handle, &c_string(&attributes.name)).into();
        let message = sys::MessageValue { registered };
        // Without a tool NVTX registers nothing and returns null.
        if registered.is_null() {
            return None;
        }
        let (color_type, color) = match attributes.color {
            Some(rgb) => (sys::ColorType::NVTX_COLOR_ARGB, 0xff00_0000 | rgb),
            None => (sys::ColorType::NVTX_COLOR_UNKNOWN, 0),
        };
        let (payload_type, payload) = encode_payload(Payload::None);
        Some(Encoded(sys::EventAttributes {
            version: sys::NVTX_VERSION as u16,
            size: sys::NVTX_EVENT_ATTRIBUTES_SIZE as u16,
            category: attributes
                .category
                .map_or(0, |category| domain.category(category)),
            colorType: color_type.into(),
            color,
            payloadType: payload_type,
            reserved0: 0,
            payload,
            messageType: sys::MessageType::NVTX_MESSAGE_TYPE_REGISTERED.into(),
            message,
        }))
    }

    fn encode_payload(payload: Payload) -> (i32, sys::PayloadValue) {
        use sys::{PayloadType as Type, PayloadValue as Value};
        let (kind, value) = match payload {
            Payload::None => (Type::NVTX_PAYLOAD_UNKNOWN, Value { ullValue: 0 }),
            Payload::U64(value) => (
                Type::NVTX_PAYLOAD_TYPE_UNSIGNED_INT64,
                Value { ullValue: value },
            ),
            Payload::I64(value) => (Type::NVTX_PAYLOAD_TYPE_INT64, Value { llValue: value }),
            Payload::F64(value) => (Type::NVTX_PAYLOAD_TYPE_DOUBLE, Value { dValue: value }),
            Payload::U32(value) => (
                Type::NVTX_PAYLOAD_TYPE_UNSIGNED_INT32,
                Value { uiValue: value },
            ),
            Payload::I32(value) => (Type::NVTX_PAYLOAD_TYPE_INT32, Value { iValue: value }),
            Payload::F32(value) => (Type::NVTX_PAYLOAD_TYPE_FLOAT, Value { fValue: value }),
        };
        (kind.into(), value)
    }
}

#[cfg(not(feature = "nvtx"))]
mod without_nvtx {
    use super::{Payload, RangeAttributes};

    /// Nothing: built without the feature `nvtx`.
    #[derive(Debug)]
    pub(crate) struct SiteRange;

    /// Nothing: built without the feature `nvtx`.
    #[derive(Debug)]
    pub(crate) enum OpenRange {
        None,
    }

    impl SiteRange {
        pub(crate) const fn new() -> Self {
            Self
        }

        #[inline]
        pub(crate) fn is_shown<'a>(&self, _look: impl FnOnce() -> RangeAttributes<'a>) -> bool {
            false
        }

        #[inline]
        pub(crate) fn push<'a>(
            &self,
            _look: impl FnOnce() -> RangeAttributes<'a>,
            _payload: impl FnOnce() -> Payload,
        ) -> OpenRange {
            OpenRange::None
        }

        #[inline]
        pub(crate) fn start<'a>(
            &self,
            _look: impl FnOnce() -> RangeAttributes<'a>,
            _payload: impl FnOnce() -> Payload,
        ) -> OpenRange {
            OpenRange::None
        }
    }

    impl OpenRange {
        #[inline]
        pub(crate) fn is_none(&self) -> bool {
            true
        }

        #[inline]
        pub(crate) fn close(&self) {}
    }
}
