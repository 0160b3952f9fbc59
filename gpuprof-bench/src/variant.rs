//! One of two implementations that are compared: how it is set up, called, and read.

use std::fmt::Debug;

use crate::closure_return::ClosureReturn;
use crate::error::BenchError;
use crate::output_agreement::OutputValues;

/// One of two implementations of the same; see [`Bench::compare`](crate::Bench::compare).
pub struct Variant<'a> {
    pub(crate) name: String,
    pub(crate) implementation: Box<dyn Implementation + 'a>,
}

impl std::fmt::Debug for Variant<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Variant").field(&self.name).finish()
    }
}

impl<'a> Variant<'a> {
    /// An implementation of this name.
    ///
    /// `setup` makes what it works on; the memory that this takes counts as the implementation's.
    /// `call` is benchmarked. `output` copies the result to the host: values of any type that
    /// converts to `f64` without loss. It is asked for once, after the first call.
    pub fn new<S, T, SetupError, OutputError, R>(
        name: impl Into<String>,
        setup: impl FnOnce() -> Result<S, SetupError> + 'a,
        mut call: impl FnMut(&mut S) -> R + 'a,
        output: impl FnOnce(&S) -> Result<Vec<T>, OutputError> + 'a,
    ) -> Self
    where
        S: 'a,
        T: Copy + Into<f64> + 'static,
        SetupError: Debug,
        OutputError: Debug,
        R: ClosureReturn,
    {
        let output = |state: &S| -> Result<Box<dyn OutputValues>, BenchError> {
            Ok(Box::new(output(state).map_err(failed)?))
        };
        let steps = Steps {
            setup: Some(Box::new(|| setup().map_err(failed))),
            call: Box::new(move |state| call(state).into_result().map_err(BenchError::Call)),
            output: Some(Box::new(output)),
            state: None,
        };
        Self {
            name: name.into(),
            implementation: Box::new(steps),
        }
    }
}

fn failed(error: impl Debug) -> BenchError {
    BenchError::Call(format!("{error:?}"))
}

pub(crate) trait Implementation {
    fn set_up(&mut self) -> Result<(), BenchError>;
    fn call(&mut self) -> Result<(), BenchError>;
    fn output(&mut self) -> Result<Box<dyn OutputValues>, BenchError>;
}

type Setup<'a, S> = Box<dyn FnOnce() -> Result<S, BenchError> + 'a>;
type VariantCall<'a, S> = Box<dyn FnMut(&mut S) -> Result<(), BenchError> + 'a>;
type VariantOutput<'a, S> = Box<dyn FnOnce(&S) -> Result<Box<dyn OutputValues>, BenchError> + 'a>;

struct Steps<'a, S> {
    setup: Option<Setup<'a, S>>,
    call: VariantCall<'a, S>,
    output: Option<VariantOutput<'a, S>>,
    /// Once it is set up.
    state: Option<S>,
}

impl<S> Implementation for Steps<'_, S> {
    fn set_up(&mut self) -> Result<(), BenchError> {
        if let Some(setup) = self.setup.take() {
            self.state = Some(setup()?);
        }
        Ok(())
    }

    fn call(&mut self) -> Result<(), BenchError> {
        match &mut self.state {
            Some(state) => (self.call)(state),
            None => Ok(()),
        }
    }

    fn output(&mut self) -> Result<Box<dyn OutputValues>, BenchError> {
        match (self.output.take(), &self.state) {
            (Some(output), Some(state)) => output(state),
            _ => Ok(Box::new(Vec::<f64>::new())),
        }
    }
}
