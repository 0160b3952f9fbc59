//! What is answered to a request.

use std::cell::RefCell;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::{Request, Response, StatusCode};

use super::request::{self, Asked};
use super::scrape::page;
#[cfg(feature = "pprof")]
use super::scrape::pprof_file;
use crate::session::serving::{Budget, cpu_time_of};
use crate::session::waits::LOCK_LIMIT;
use gpuprof_report::metrics::text;

#[cfg(feature = "pprof")]
const INDEX: &str = "gpuprof: /metrics /debug/pprof/gpu";
#[cfg(not(feature = "pprof"))]
const INDEX: &str = "gpuprof: /metrics";

/// A page is sent again within so many times the CPU time that it took to make: clients cannot have
/// more than a tenth of a processor spent on it.
const REUSE: u32 = 10;

pub(super) struct Answers {
    /// The listener is for this machine alone.
    is_local: bool,
    metrics: Page,
    #[cfg(feature = "pprof")]
    pprof: Page,
}

/// A page that is sent again until another may be made.
struct Page(RefCell<MadePage>);

struct MadePage {
    body: Option<Bytes>,
    budget: Budget,
}

impl Answers {
    pub(super) fn new(is_local: bool) -> Self {
        Self {
            is_local,
            metrics: Page::new(),
            #[cfg(feature = "pprof")]
            pprof: Page::new(),
        }
    }

    pub(super) fn to<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        match request::asked(request, self.is_local) {
            Ok(Asked::Metrics) => self.metrics.answer(text::CONTENT_TYPE, page),
            #[cfg(feature = "pprof")]
            Ok(Asked::Pprof) => self.pprof.answer("application/octet-stream", pprof_file),
            Ok(Asked::Index) => line(StatusCode::OK, INDEX),
            Err(status) => line(status, status.as_str()),
        }
    }
}

impl Page {
    fn new() -> Self {
        Self(RefCell::new(MadePage {
            body: None,
            budget: Budget::new(REUSE, Duration::MAX),
        }))
    }

    /// `make` gives nothing if a lock is not free within its limit.
    fn answer(
        &self,
        content_type: &'static str,
        make: fn(Duration) -> Option<Vec<u8>>,
    ) -> Response<Full<Bytes>> {
        match self.0.borrow_mut().body(make) {
            Some(body) => response(StatusCode::OK, content_type, body),
            None => line(StatusCode::SERVICE_UNAVAILABLE, "locked"),
        }
    }
}

impl MadePage {
    fn body(&mut self, make: fn(Duration) -> Option<Vec<u8>>) -> Option<Bytes> {
        if self.budget.wait().is_none() {
            let (body, spent) = cpu_time_of(|| make(LOCK_LIMIT));
            self.body = Some(Bytes::from(body?));
            self.budget.spend(spent);
        }
        self.body.clone()
    }
}

fn line(status: StatusCode, line: &str) -> Response<Full<Bytes>> {
    let line = format!("{line}\n");
    response(status, "text/plain; charset=utf-8", line.into())
}

fn response(status: StatusCode, content_type: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}
