//! Writes the profiled function: the only place where code is generated. Works on checked arguments alone.
//!
//! The generated code meets names it cannot foresee (`mod std`, `enum Option`, `type u64`, a parameter called like one of
//! ours), so it says `::core::…` or goes through `gpuprof::__private`, gives its locals the hygiene of `mixed_site`, and
//! ends every literal in its type. What it needs of `__private`: `inventory`, `Entry`, `Meta`, `Site`, `type_name_of`,
//! `StatedWork`, `Amount`, `Payload`, `IntoPayload`, `Probe`, `ProbeYes`, `ProbeNo`, `Streams`, `stream_of`, `stated`, `Span`,
//! `AsyncSpan`, `instrument`.

use crate::bindings::{self, Binding};
use crate::future_fn::{self, Tail};
use crate::item::{Function, Item};
use crate::rewrite::{inferable, typed};
use crate::validate::Args;
use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Attribute, Expr, Meta, Path, ReturnType, Type, UnOp};

/// The function with its body inside a span.
pub(crate) fn function(mut function: Function, args: &Args) -> TokenStream {
    let site = Span::mixed_site();
    let (inner, body) = split(function.body.stream());
    let future = future_fn::tail(&body, &function.sig.output);
    let kind = if function.sig.asyncness.is_some() {
        Kind::Async
    } else if let Some(tail) = future {
        Kind::Future(tail)
    } else {
        Kind::Plain
    };
    let span = span(&function, args, &kind);
    let private = private(args);
    let body = match kind {
        Kind::Plain => body,
        Kind::Async => in_async(&private, &function.sig.output, &body),
        Kind::Future(tail) => around_future(&private, tail),
    };
    let mut block = Group::new(Delimiter::Brace, quote_spanned!(site=> #inner #span #body));
    block.set_span(function.body.span());
    function.body = block;
    let item = Item::Function(Box::new(function));
    // The span comes before any `use` or `fn` that the body begins with.
    quote_spanned!(site=> #[allow(clippy::items_after_statements)] #item)
}

/// The attribute with `crate = path` added.
pub(crate) fn with_crate(attribute: &Attribute, krate: &Path) -> Attribute {
    let site = Span::mixed_site();
    let arguments = match &attribute.meta {
        Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    };
    let ends = arguments.clone().into_iter().last();
    let comma = match ends {
        Some(TokenTree::Punct(end)) if end.as_char() == ',' => None,
        Some(_) => Some(quote_spanned!(site=> ,)),
        None => None,
    };
    let path = attribute.path();
    let mut changed = attribute.clone();
    let meta = quote_spanned!(site=> #path(#arguments #comma crate = #krate));
    if let Ok(meta) = syn::parse2(meta) {
        changed.meta = meta;
    }
    changed
}

/// Whether the function is asynchronous, in either form.
pub(crate) fn is_async(function: &Function) -> bool {
    let (_, body) = split(function.body.stream());
    function.sig.asyncness.is_some() || future_fn::tail(&body, &function.sig.output).is_some()
}

/// How a function runs.
enum Kind {
    Plain,
    Async,
    /// Not `async`, but its last expression makes a future.
    Future(Tail),
}

fn private(args: &Args) -> TokenStream {
    let site = Span::mixed_site();
    match &args.krate {
        Some(path) => quote_spanned!(site=> #path::__private),
        None => quote_spanned!(site=> ::gpuprof::__private),
    }
}

/// The inner attributes, which must stay first, and the statements.
fn split(body: TokenStream) -> (TokenStream, TokenStream) {
    let parse = |input: ParseStream| {
        let mut inner = TokenStream::new();
        for attribute in input.call(Attribute::parse_inner)? {
            attribute.to_tokens(&mut inner);
        }
        Ok((inner, input.parse()?))
    };
    parse
        .parse2(body.clone())
        .unwrap_or((TokenStream::new(), body))
}

/// The statement that opens the span. Its items stand in a block of their own, outside of any `async` block, so that
/// the path that `type_name` gives is the function's own.
fn span(function: &Function, args: &Args, kind: &Kind) -> TokenStream {
    let site = Span::mixed_site();
    let private = private(args);
    let meta = meta(&private, function, args, !matches!(kind, Kind::Plain));
    let (slots, streams) = streams(&private, function, args);
    let work = work(&private, args);
    let payload = payload(&private, args);
    let begin =
        |enter| quote_spanned!(site=> #enter(&__GPUPROF_SITE, || #streams, || #work, || #payload));
    let items = quote_spanned! {site=>
        fn __gpuprof_path() -> &'static ::core::primitive::str {
            #private::type_name_of(__gpuprof_path)
        }
        static __GPUPROF_SITE: #private::Site = #private::Site::new(#meta);
        #private::inventory::submit! { #private::Entry(&__GPUPROF_SITE) }
    };
    let enter = match kind {
        // Begun where it stays: moving it costs as much as a clock read.
        Kind::Plain => {
            let begin = begin(quote_spanned!(site=> __gpuprof_span.enter));
            return quote_spanned! {site=>
                #[allow(clippy::used_underscore_binding)]
                let mut __gpuprof_span = #private::Span::off();
                #[allow(clippy::used_underscore_binding)]
                {
                    #items
                    if __GPUPROF_SITE.active() {
                        #slots
                        #begin;
                    }
                }
            };
        }
        Kind::Async => quote_spanned!(site=> new),
        // Called now, polled later or never.
        Kind::Future(_) => quote_spanned!(site=> later),
    };
    let begin = begin(quote_spanned!(site=> #private::AsyncSpan::#enter));
    quote_spanned! {site=>
        #[allow(clippy::used_underscore_binding)]
        let __gpuprof_span = {
            #items
            if __GPUPROF_SITE.active() {
                #slots
                #begin
            } else {
                #private::AsyncSpan::off()
            }
        };
    }
}

fn meta(private: &TokenStream, function: &Function, args: &Args, is_async: bool) -> TokenStream {
    let site = Span::mixed_site();
    // `line!()` would give the line of the attribute, for every function of a block the same.
    let line = Literal::u32_suffixed(function.sig.ident.span().unwrap().line() as u32);
    let name = option(args.name.as_ref());
    let category = option(args.category.as_ref());
    let color = option(args.color.map(Literal::u32_suffixed));
    let sample = Literal::u32_suffixed(args.sample.unwrap_or(0));
    let cpu = args.cpu;
    let graph = args.graph.is_some();
    quote_spanned! {site=>
        #private::Meta {
            path: __gpuprof_path,
            name: #name,
            module: ::core::module_path!(),
            file: ::core::file!(),
            line: #line,
            cpu: #cpu,
            graph: #graph,
            is_async: #is_async,
            sample: #sample,
            color: #color,
            category: #category,
        }
    }
}

fn option(value: Option<impl ToTokens>) -> TokenStream {
    let site = Span::mixed_site();
    match value {
        Some(value) => quote_spanned!(site=> ::core::option::Option::Some(#value)),
        None => quote_spanned!(site=> ::core::option::Option::None),
    }
}

/// What a stream closure needs declared before it, and the body of that closure.
fn streams(private: &TokenStream, function: &Function, args: &Args) -> (TokenStream, TokenStream) {
    let site = Span::mixed_site();
    if let Some(streams) = &args.stream {
        return stated_streams(private, function, streams);
    }
    let bindings = if args.cpu {
        Vec::new()
    } else {
        bindings::of(&function.sig)
    };
    if bindings.is_empty() {
        return (
            TokenStream::new(),
            quote_spanned!(site=> #private::Streams::Inherit),
        );
    }
    // The probes stand outside of the closure, as what they give is borrowed from them.
    let mut slots = TokenStream::new();
    let mut answers = TokenStream::new();
    for (index, Binding { cfgs, ident }) in bindings.iter().enumerate() {
        let probe = Ident::new(&format!("probe{index}"), site);
        slots.extend(quote_spanned!(site=> #(#cfgs)* let #probe = &#private::Probe(&#ident);));
        answers.extend(quote_spanned! {site=>
            #(#cfgs)*
            if let ::core::option::Option::Some(stream) = #probe.gpuprof_stream() {
                return #private::Streams::One(stream);
            }
        });
    }
    let search = quote_spanned! {site=> {
        use #private::{ProbeNo as _, ProbeYes as _};
        #answers
        #private::Streams::Inherit
    }};
    (slots, search)
}

fn stated_streams(
    private: &TokenStream,
    function: &Function,
    streams: &[Expr],
) -> (TokenStream, TokenStream) {
    let site = Span::mixed_site();
    let parameters = bindings::of(&function.sig);
    let mut slots = TokenStream::new();
    let mut found = Vec::new();
    for (index, stream) in streams.iter().enumerate() {
        let here = site.located_at(stream.span());
        let value = if is_place(stream) {
            quote_spanned!(here=> &(#stream))
        } else {
            // A call may return the stream by value: it needs a place that outlives the closure.
            let slot = Ident::new(&format!("slot{index}"), here);
            slots.extend(quote_spanned!(site=> let #slot = ::core::cell::OnceCell::new();));
            quote_spanned!(here=> #slot.get_or_init(|| #stream))
        };
        let parameter = is_one_of(stream, &parameters);
        found.push(quote_spanned!(here=> #private::stream_of(#value, #parameter)));
    }
    let streams = quote_spanned!(site=> #private::stated([#(#found),*]));
    (slots, streams)
}

/// Whether the expression is a place, which can be borrowed, not a value, which lives no longer than the expression.
fn is_place(expression: &Expr) -> bool {
    match expression {
        Expr::Path(_) => true,
        Expr::Field(field) => is_place(&field.base),
        Expr::Index(index) => is_place(&index.expr),
        Expr::Unary(unary) => matches!(unary.op, UnOp::Deref(_)) && is_place(&unary.expr),
        Expr::Paren(inner) => is_place(&inner.expr),
        Expr::Group(inner) => is_place(&inner.expr),
        _ => false,
    }
}

fn is_one_of(expression: &Expr, parameters: &[Binding]) -> bool {
    match expression {
        Expr::Path(path) => path
            .path
            .get_ident()
            .is_some_and(|ident| parameters.iter().any(|binding| binding.ident == *ident)),
        _ => false,
    }
}

fn work(private: &TokenStream, args: &Args) -> TokenStream {
    let site = Span::mixed_site();
    if args.bytes.is_none() && args.flops.is_none() && args.items.is_none() {
        return quote_spanned!(site=> #private::StatedWork::NONE);
    }
    let amount = |value: &Option<Expr>| {
        option(value.as_ref().map(|value| {
            let value = typed(value, false);
            quote_spanned!(site.located_at(value.span())=> #private::Amount::amount(#value))
        }))
    };
    let (bytes, flops, items) = (
        amount(&args.bytes),
        amount(&args.flops),
        amount(&args.items),
    );
    quote_spanned!(site=> #private::StatedWork { bytes: #bytes, flops: #flops, items: #items })
}

fn payload(private: &TokenStream, args: &Args) -> TokenStream {
    let site = Span::mixed_site();
    match &args.payload {
        Some(value) => {
            let value = typed(value, true);
            quote_spanned!(site.located_at(value.span())=> #private::IntoPayload::payload(#value))
        }
        None => quote_spanned!(site=> #private::Payload::None),
    }
}

/// The body of an `async fn` as a block that the span can watch.
fn in_async(private: &TokenStream, output: &ReturnType, body: &TokenStream) -> TokenStream {
    let site = Span::mixed_site();
    let output = match output {
        ReturnType::Default => quote_spanned!(site=> ()),
        // Nothing can be said about a block that never ends, but that what follows it is not reached.
        ReturnType::Type(_, output) if matches!(**output, Type::Never(_)) => {
            return quote_spanned! {site=>
                #[allow(unreachable_code)]
                {
                    #private::instrument(__gpuprof_span, async move { #body }).await;
                    ::core::future::pending().await
                }
            };
        }
        ReturnType::Type(_, output) => inferable(output.to_token_stream()),
    };
    // The dead `return` tells the block its type, which `?` and closures in the body may depend on.
    quote_spanned! {site=>
        #private::instrument(__gpuprof_span, async move {
            if false {
                return ::core::future::pending::<#output>().await;
            }
            #body
        }).await
    }
}

/// The body of a function that returns a future: the span opens when the function is called and travels with it.
fn around_future(private: &TokenStream, tail: Tail) -> TokenStream {
    let site = Span::mixed_site();
    let Tail {
        before,
        wrapper,
        future,
    } = tail;
    let watched = quote_spanned!(site=> #private::instrument(__gpuprof_span, #future));
    match wrapper {
        None => quote_spanned!(site=> #before #watched),
        Some(wrapper) => {
            let path = wrapper.path;
            let mut call = Group::new(Delimiter::Parenthesis, watched);
            call.set_span(wrapper.parens.span());
            quote_spanned!(site=> #before #path #call)
        }
    }
}
