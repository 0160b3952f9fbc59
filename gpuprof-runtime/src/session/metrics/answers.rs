//! What is answered to a request.

use std::cell::RefCell;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::{Request, Response, StatusCode};

use super::request::{self, Asked};
use super::scrape::page;
use crate::session::serving::{Budget, cpu_time_of};
use crate::session::waits::LOCK_LIMIT;
use gpuprof_report::metrics::text;

/// A page is sent again within so many times the CPU time that it took to make: clients cannot have
/// more than a tenth of a processor spent on it.
const REUSE: u32 = 10;

pub(super) struct Answers {
    /// The listener is for this machine alone.
    is_local: bool,
    metrics: RefCell<Page>,
}

/// Metrics that are sent again until others may be made.
struct Page {
    text: Option<Bytes>,
    budget: Budget,
}

impl Answers {
    pub(super) fn new(is_local: bool) -> Self {
        Self {
            is_local,
            metrics: RefCell::new(Page {
                text: None,
                budget: Budget::new(REUSE, Duration::MAX),
            }),
        }
    }

    pub(super) fn to<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        match request::asked(request, self.is_local) {
            Ok(Asked::Metrics) => match self.metrics() {
                Some(text) => response(StatusCode::OK, text::CONTENT_TYPE, text),
                None => line(StatusCode::SERVICE_UNAVAILABLE, "locked"),
            },
            Ok(Asked::Index) => line(StatusCode::OK, "gpuprof: /metrics"),
            Err(status) => line(status, status.as_str()),
        }
    }

    /// `None`: a lock was not free.
    fn metrics(&self) -> Option<Bytes> {
        let mut known = self.metrics.borrow_mut();
        if known.budget.wait().is_none() {
            let (text, spent) = cpu_time_of(|| page(LOCK_LIMIT));
            known.text = Some(Bytes::from(text?));
            known.budget.spend(spent);
        }
        known.text.clone()
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
