//! Checks the value of each argument by itself, and holds the checked values.

use crate::amounts;
use crate::argument_list::{Form, RawArgument};
use crate::argument_table::{PRECISIONS, usage};
use crate::group_precedence::bare;
use crate::recorded_values::{self, RecordedValue};
use proc_macro2::Ident;
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprPath, Lit, LitStr, Path};

/// The arguments with their checked values.
#[derive(Clone, Default)]
pub(crate) struct Args {
    pub(crate) name: Option<LitStr>,
    pub(crate) stream: Option<Vec<Expr>>,
    pub(crate) cpu: bool,
    pub(crate) bytes: Option<Expr>,
    pub(crate) flops: Option<Expr>,
    pub(crate) items: Option<Expr>,
    /// A variant of `Precision`.
    pub(crate) precision: Option<Ident>,
    pub(crate) label: Option<Expr>,
    /// The values of `args(…)`.
    pub(crate) recorded: Vec<RecordedValue>,
    pub(crate) payload: Option<Expr>,
    /// 0xRRGGBB
    pub(crate) color: Option<u32>,
    pub(crate) category: Option<LitStr>,
    /// GPU-time one call in this many.
    pub(crate) sample: Option<u32>,
    pub(crate) krate: Option<Path>,
}

impl Args {
    /// Sets the argument.
    ///
    /// # Errors
    /// On the token that is wrong, with what is accepted.
    pub(crate) fn set(&mut self, argument: &RawArgument) -> Result<(), Error> {
        let key = &argument.key;
        let value = match (&argument.form, key == "cpu") {
            (Form::Invalid, _) => return Ok(()),
            (Form::Word, true) => {
                self.cpu = true;
                return Ok(());
            }
            (Form::Value(value), true) => return Err(Error::new(value.span(), usage(key))),
            (Form::Values(parens, values), _) => {
                recorded_values::check(key, *parens, values)?;
                self.recorded.clone_from(values);
                return Ok(());
            }
            (Form::Group(group), _) => return Err(Error::new(group.span(), usage(key))),
            (Form::Value(value), _) if key == "args" => {
                return Err(Error::new_spanned(value, usage(key)));
            }
            (Form::Word, false) => return Err(Error::new(key.span(), usage(key))),
            (Form::Value(value), false) => bare(value),
        };
        let error = || Error::new_spanned(value, usage(key));
        match key.to_string().as_str() {
            "name" => self.name = Some(text(key, value)?),
            "category" => self.category = Some(text(key, value)?),
            "stream" => self.stream = Some(streams(key, value)?),
            "color" => self.color = Some(whole_number(value, 0, 0x00FF_FFFF).ok_or_else(error)?),
            "sample" => self.sample = Some(whole_number(value, 1, u32::MAX).ok_or_else(error)?),
            "crate" => self.krate = Some(path(value).ok_or_else(error)?),
            "bytes" => self.bytes = Some(amount(key, value)?),
            "flops" => self.flops = Some(amount(key, value)?),
            "precision" => self.precision = Some(precision(value).ok_or_else(error)?),
            "items" => self.items = Some(amount(key, value)?),
            "label" => self.label = Some(expression(key, value)?),
            _ => self.payload = Some(expression(key, value)?),
        }
        Ok(())
    }
}

fn text(key: &Ident, value: &Expr) -> Result<LitStr, Error> {
    let Expr::Lit(literal) = value else {
        return Err(Error::new_spanned(value, usage(key)));
    };
    let Lit::Str(text) = &literal.lit else {
        return Err(Error::new_spanned(value, usage(key)));
    };
    match text.value() {
        empty if empty.trim().is_empty() => Err(Error::new_spanned(
            value,
            format!("`{key}` must not be empty; {}", usage(key)),
        )),
        cut if cut.contains('\0') => {
            let what =
                format!("`{key}` must not contain a NUL character, which ends a name in NVTX");
            Err(Error::new_spanned(value, what))
        }
        _ => Ok(text.clone()),
    }
}

fn whole_number(value: &Expr, low: u32, high: u32) -> Option<u32> {
    let Expr::Lit(literal) = value else {
        return None;
    };
    let Lit::Int(number) = &literal.lit else {
        return None;
    };
    let number = number.base10_parse::<u32>().ok()?;
    (low..=high).contains(&number).then_some(number)
}

fn precision(value: &Expr) -> Option<Ident> {
    let path = path(value)?;
    let word = path.get_ident()?;
    let known = PRECISIONS.iter().find(|(known, _)| word == known);
    known.map(|(_, variant)| Ident::new(variant, word.span()))
}

fn path(value: &Expr) -> Option<Path> {
    match value {
        Expr::Path(ExprPath {
            attrs,
            qself: None,
            path,
        }) if attrs.is_empty() && path.segments.iter().all(|part| part.arguments.is_none()) => {
            Some(path.clone())
        }
        _ => None,
    }
}

fn amount(key: &Ident, value: &Expr) -> Result<Expr, Error> {
    amounts::check_signs(&key.to_string(), value)?;
    expression(key, value)
}

fn expression(key: &Ident, value: &Expr) -> Result<Expr, Error> {
    amounts::check_flow(&key.to_string(), value)?;
    Ok(value.clone())
}

fn streams(key: &Ident, value: &Expr) -> Result<Vec<Expr>, Error> {
    amounts::check_flow(&key.to_string(), value)?;
    let Expr::Array(several) = value else {
        return Ok(vec![value.clone()]);
    };
    if several.elems.is_empty() {
        let what = "`stream = []` names no stream; write `cpu` for a function without GPU work";
        return Err(Error::new(several.bracket_token.span.join(), what));
    }
    Ok(several
        .elems
        .iter()
        .map(|stream| bare(stream).clone())
        .collect())
}
