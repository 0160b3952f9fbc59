//! Decides whether the attribute may stand where it stands and whether its arguments make sense, and turns them into
//! [`Args`]. Every message names the accepted form and underlines the token that is wrong. Emits nothing itself.

use crate::args::{Form, Raw};
use crate::errors::Mistakes;
use crate::item::{Item, Kind};
use crate::suggest;
use proc_macro2::{Ident, Span, TokenTree};
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprPath, Lit, LitStr, Path};

/// The arguments, checked.
#[derive(Clone, Default)]
pub(crate) struct Args {
    pub(crate) name: Option<LitStr>,
    pub(crate) stream: Option<Vec<Expr>>,
    pub(crate) cpu: bool,
    /// Where it is said.
    pub(crate) graph: Option<Span>,
    pub(crate) bytes: Option<Expr>,
    pub(crate) flops: Option<Expr>,
    pub(crate) items: Option<Expr>,
    pub(crate) payload: Option<Expr>,
    /// 0xRRGGBB
    pub(crate) color: Option<u32>,
    pub(crate) category: Option<LitStr>,
    /// GPU-time one call in this many.
    pub(crate) sample: Option<u32>,
    pub(crate) krate: Option<Path>,
}

/// What the attribute stands on.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Place {
    Function,
    /// `mod` or `impl`.
    Block,
}

/// Every argument: name, how it is written, whether a block of functions takes it.
const ARGUMENTS: [(&str, &str, bool); 13] = [
    ("name", "name = \"conv/forward\"", false),
    ("stream", "stream = EXPR", true),
    ("cpu", "cpu", true),
    ("graph", "graph", true),
    ("bytes", "bytes = EXPR", false),
    ("flops", "flops = EXPR", false),
    ("items", "items = EXPR", false),
    ("payload", "payload = EXPR", false),
    ("color", "color = 0x76B900", true),
    ("category", "category = \"forward\"", true),
    ("sample", "sample = 100", true),
    ("skip", "skip", false),
    ("crate", "crate = path::to::gpuprof", true),
];

/// The arguments that this place takes, as one line of text; without a place, those of a function.
pub(crate) fn accepted(place: Option<Place>) -> String {
    let block = place == Some(Place::Block);
    let usable =
        |&&(name, _, in_block): &&(&str, &str, bool)| if block { in_block } else { name != "skip" };
    let forms: Vec<String> = ARGUMENTS
        .iter()
        .filter(usable)
        .map(|(_, form, _)| format!("`{form}`"))
        .collect();
    forms.join(", ")
}

pub(crate) fn is_gpu_profile(attribute: &Attribute) -> bool {
    attribute
        .path()
        .segments
        .last()
        .is_some_and(|last| last.ident == "gpu_profile")
}

/// Checks where the attribute stands; `None` where it may not stand at all.
pub(crate) fn place(item: &Item, mistakes: &mut Mistakes) -> Option<Place> {
    for again in item
        .attrs()
        .iter()
        .filter(|attribute| is_gpu_profile(attribute))
    {
        let what = "`#[gpu_profile]` is given twice; put all arguments into one";
        mistakes.push(Error::new_spanned(again, what));
    }
    match item {
        Item::Function(function) => {
            if let Some(constant) = &function.sig.constness {
                let what = "a `const fn` also runs in the compiler, where there is nothing to measure; \
                            take away `const` or the attribute";
                mistakes.push(Error::new(constant.span, what));
            }
            Some(Place::Function)
        }
        Item::Container(container) if container.kind != Kind::Trait => Some(Place::Block),
        Item::Container(container) => {
            let hint = "a `trait`; put it on its methods that have a body";
            mistakes.push(misplaced(&container.keyword, hint));
            None
        }
        Item::Other(other) => {
            let hint = match other.keyword.to_string().as_str() {
                "fn" => "a function without a body".to_owned(),
                "mod" => "a `mod` in another file; put it on the functions there".to_owned(),
                word if word.starts_with(['a', 'e', 'i', 'o', 'u']) => format!("an `{word}`"),
                word if word.starts_with(char::is_alphabetic) => format!("a `{word}`"),
                sign => format!("`{sign}`"),
            };
            mistakes.push(misplaced(&other.keyword, &hint));
            None
        }
    }
}

fn misplaced(keyword: &TokenTree, what: &str) -> Error {
    let rule = "`#[gpu_profile]` goes on a function with a body, an inline `mod` or an `impl` block, not on";
    Error::new(keyword.span(), format!("{rule} {what}"))
}

/// Checks each argument by itself and all of them together.
pub(crate) fn arguments(raw: Vec<Raw>, place: Option<Place>, mistakes: &mut Mistakes) -> Args {
    let mut args = Args::default();
    for (index, argument) in raw.iter().enumerate() {
        let key = &argument.key;
        if raw[..index].iter().any(|earlier| earlier.key == *key) {
            mistakes.push(Error::new(key.span(), format!("`{key}` is given twice")));
        } else if belongs(key, place, mistakes) {
            mistakes.take(set(&mut args, argument));
        }
    }
    contradictions(&raw, &args, mistakes);
    args
}

/// Whether the argument exists and has its place here.
fn belongs(key: &Ident, place: Option<Place>, mistakes: &mut Mistakes) -> bool {
    let name = key.to_string();
    let wrong = match ARGUMENTS.iter().find(|(known, ..)| *known == name) {
        None => {
            let hint = suggest::nearest(&name, ARGUMENTS.iter().map(|(known, ..)| *known))
                .map(|near| format!(", did you mean `{near}`?"))
                .unwrap_or_default();
            format!(
                "unknown argument `{name}`{hint}\naccepted: {}",
                accepted(place)
            )
        }
        Some(("skip", ..)) => {
            "`skip` stands alone, on a function or block inside an annotated `mod` or `impl`"
                .to_owned()
        }
        Some((_, _, false)) if place == Some(Place::Block) => format!(
            "`{name}` belongs on a single function; a `mod` or `impl` takes: {}",
            accepted(place)
        ),
        Some(_) => return true,
    };
    mistakes.push(Error::new(key.span(), wrong));
    false
}

/// Whether the arguments fit a function that runs as this one does.
pub(crate) fn fits(args: &Args, is_async: bool, mistakes: &mut Mistakes) {
    if let (Some(graph), true) = (args.graph, is_async) {
        let what = "`graph` times what is captured between entry and return; this function is asynchronous, \
                    so put it on the function that launches";
        mistakes.push(Error::new(graph, what));
    }
}

fn contradictions(raw: &[Raw], args: &Args, mistakes: &mut Mistakes) {
    if let (Some(graph), Some([_, _, ..])) = (args.graph, args.stream.as_deref()) {
        let what = "`graph` times the work on one stream; give `stream` one, or take `graph` away";
        mistakes.push(Error::new(graph, what));
    }
    if !raw.iter().any(|argument| argument.key == "cpu") {
        return;
    }
    let about_gpu = ["stream", "sample", "graph"];
    for other in raw
        .iter()
        .filter(|argument| about_gpu.iter().any(|name| argument.key == name))
    {
        let what = format!(
            "`{}` is about GPU time, which `cpu` turns off; keep one of the two",
            other.key
        );
        mistakes.push(Error::new(other.key.span(), what));
    }
}

fn set(args: &mut Args, argument: &Raw) -> Result<(), Error> {
    let key = &argument.key;
    let value = match (&argument.form, key == "cpu" || key == "graph") {
        (Form::Broken, _) => return Ok(()),
        (Form::Word, true) if key == "graph" => {
            args.graph = Some(key.span());
            return Ok(());
        }
        (Form::Word, true) => {
            args.cpu = true;
            return Ok(());
        }
        (Form::Value(value), true) => return Err(wants(key, value.span())),
        (Form::List(parens), _) => return Err(wants(key, parens.span.join())),
        (Form::Word, false) => return Err(wants(key, key.span())),
        (Form::Value(value), false) => bare(value),
    };
    let wrong = || Error::new_spanned(value, usage(key));
    match key.to_string().as_str() {
        "name" => args.name = Some(text(key, value)?),
        "category" => args.category = Some(text(key, value)?),
        "stream" => args.stream = Some(streams(value)?),
        "color" => args.color = Some(whole(value, 0, 0x00FF_FFFF).ok_or_else(wrong)?),
        "sample" => args.sample = Some(whole(value, 1, u32::MAX).ok_or_else(wrong)?),
        "crate" => args.krate = Some(path(value).ok_or_else(wrong)?),
        "bytes" => args.bytes = Some(value.clone()),
        "flops" => args.flops = Some(value.clone()),
        "items" => args.items = Some(value.clone()),
        _ => args.payload = Some(value.clone()),
    }
    Ok(())
}

fn wants(key: &Ident, span: Span) -> Error {
    Error::new(span, usage(key))
}

fn usage(key: &Ident) -> String {
    match key.to_string().as_str() {
        "name" => "`name` takes a string: `name = \"conv/forward\"`".to_owned(),
        "category" => "`category` takes a string: `category = \"forward\"`".to_owned(),
        "stream" => {
            "`stream` takes an expression that has a stream, or several: `stream = self.stream`, \
                     `stream = [a, b]`"
                .to_owned()
        }
        "cpu" | "graph" => format!("`{key}` takes no value"),
        "color" => {
            "`color` takes a number from 0 to 0xFFFFFF, red, green, blue: `color = 0x76B900`"
                .to_owned()
        }
        "sample" => {
            "`sample` takes a whole number from 1, to time one call in so many: `sample = 100`"
                .to_owned()
        }
        "crate" => "`crate` takes the path to gpuprof: `crate = my_crate::gpuprof`".to_owned(),
        "payload" => {
            "`payload` takes an integer or a floating-point number: `payload = x.len()`".to_owned()
        }
        _ => format!("`{key}` takes a number, how many in one call: `{key} = 4 * x.len()`"),
    }
}

/// Without parentheses, and without the invisible ones that macro_rules puts around `$value`.
fn bare(mut value: &Expr) -> &Expr {
    loop {
        value = match value {
            Expr::Paren(inner) if inner.attrs.is_empty() => &inner.expr,
            Expr::Group(inner) if inner.attrs.is_empty() => &inner.expr,
            _ => return value,
        }
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
            format!("`{key}` must not be empty"),
        )),
        cut if cut.contains('\0') => {
            let what = format!("`{key}` must not contain a NUL character: NVTX would end it there");
            Err(Error::new_spanned(value, what))
        }
        _ => Ok(text.clone()),
    }
}

fn whole(value: &Expr, low: u32, high: u32) -> Option<u32> {
    let Expr::Lit(literal) = value else {
        return None;
    };
    let Lit::Int(number) = &literal.lit else {
        return None;
    };
    let number = number.base10_parse::<u32>().ok()?;
    (low..=high).contains(&number).then_some(number)
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

fn streams(value: &Expr) -> Result<Vec<Expr>, Error> {
    let Expr::Array(several) = value else {
        return Ok(vec![value.clone()]);
    };
    if several.elems.is_empty() {
        let what = "`stream = []` names no stream; write `cpu` for a function without GPU work";
        return Err(Error::new(several.bracket_token.span.join(), what));
    }
    Ok(several.elems.iter().map(|one| bare(one).clone()).collect())
}
