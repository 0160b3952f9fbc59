//! Writes the profiled function from checked arguments.
//!
//! The user's code may define names that the generated code would otherwise refer to (`mod std`,
//! `enum Option`, `type u64`, a parameter with the name of a local). The generated code therefore
//! uses `::core::…` or `gpuprof::__private` paths, gives its locals `mixed_site` hygiene, and
//! suffixes literals. It uses these items of `__private`: `inventory`, `Entry`, `Meta`, `Site`,
//! `type_name_of`, `Work`, `Amount`, `Payload`, `IntoPayload`, `Probe`, `ProbeYes`, `ProbeNo`,
//! `Streams`, `stream_of`, `stated`, `Span`, `AsyncSpan`, `instrument`.

use crate::argument_values::Args;
use crate::future_fn::{self, FutureTail};
use crate::item::{Function, Item};
use crate::literals_and_return_types::{replace_impl_trait, suffix_integer_literals};
use crate::stream_expressions::streams;
use proc_macro2::{Delimiter, Group, Literal, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ReturnType, Type};

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
    Future(FutureTail),
}

fn private(args: &Args) -> TokenStream {
    let site = Span::mixed_site();
    match &args.krate {
        Some(path) => quote_spanned!(site=> #path::__private),
        None => quote_spanned!(site=> ::gpuprof::__private),
    }
}

/// The inner attributes, which must come first, and the statements.
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

/// The statement that begins the span. Its items are in a block of their own, outside of any
/// `async` block, so that `type_name` gives the path of the function itself.
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
        // Begun in place, because moving the span costs as much as a clock read.
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
        // The function's body runs now; the future it returns is polled later, or never.
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
    // `line!()` would give the line of the attribute, the same for every function of a block.
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

fn work(private: &TokenStream, args: &Args) -> TokenStream {
    let site = Span::mixed_site();
    if args.bytes.is_none() && args.flops.is_none() && args.items.is_none() {
        return quote_spanned!(site=> #private::StatedWork::NONE);
    }
    let amount = |value: &Option<Expr>| {
        option(value.as_ref().map(|value| {
            let value = suffix_integer_literals(value, false);
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
            let value = suffix_integer_literals(value, true);
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
        // A block of type `!` has no type to give; the code after it is unreachable.
        ReturnType::Type(_, output) if matches!(**output, Type::Never(_)) => {
            return quote_spanned! {site=>
                #[allow(unreachable_code)]
                {
                    #private::instrument(__gpuprof_span, async move { #body }).await;
                    ::core::future::pending().await
                }
            };
        }
        ReturnType::Type(_, output) => replace_impl_trait(output.to_token_stream()),
    };
    // The unreachable `return` fixes the block's type, which `?` and closures in the body may need.
    quote_spanned! {site=>
        #private::instrument(__gpuprof_span, async move {
            if false {
                return ::core::future::pending::<#output>().await;
            }
            #body
        }).await
    }
}

/// The body of a function that returns a future. The span begins when the function is called and
/// moves into the future.
fn around_future(private: &TokenStream, tail: FutureTail) -> TokenStream {
    let site = Span::mixed_site();
    let FutureTail {
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
