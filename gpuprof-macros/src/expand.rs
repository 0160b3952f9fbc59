//! Writes the profiled function from checked arguments.
//!
//! The user's code may define names that the generated code would otherwise refer to (`mod std`,
//! `enum Option`, `type u64`, a parameter with the name of a local). The generated code therefore
//! uses `::core::…` or `gpuprof::__private` paths, gives its locals `mixed_site` hygiene, and
//! suffixes literals. All that it uses of `__private` is in `gpuprof-runtime/src/macro_support.rs`.

use crate::amounts::to_f64;
use crate::argument_values::Args;
use crate::async_fn;
use crate::future_fn::{self, FutureTail};
use crate::group_precedence;
use crate::literals_and_return_types::suffix_integer_literals;
use crate::parsed_item::{FunctionItem, Item};
use crate::recorded_values::RecordedValue;
use crate::stream_expressions::streams;
use crate::stream_types::names_stream;
use crate::unused;
use proc_macro2::{Delimiter, Group, Literal, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Attribute, Expr};

/// The function with its body inside a span. `keeps_async`: an `async fn` must stay one.
pub(crate) fn function(mut function: FunctionItem, args: &Args, keeps_async: bool) -> TokenStream {
    let site = Span::mixed_site();
    let (inner, body) = split(function.body.stream());
    let future = future_fn::tail(&body, &function.sig.output);
    let kind = if function.sig.asyncness.is_some() {
        FunctionKind::Async
    } else if let Some(tail) = future {
        FunctionKind::Future(tail)
    } else {
        FunctionKind::Plain
    };
    let span = span(&function, args, &kind);
    let private = private_at(args, site);
    let body = match kind {
        FunctionKind::Plain => {
            let unused = unused::locals(&mut function.sig, args, &body);
            quote_spanned!(site=> #span #unused #body)
        }
        FunctionKind::Async => {
            wrap_in_async(&private, &mut function, args, keeps_async, &span, &body)
        }
        FunctionKind::Future(tail) => {
            let unused = unused::locals(&mut function.sig, args, &body);
            let body = around_future(&private, tail);
            quote_spanned!(site=> #span #unused #body)
        }
    };
    let mut block = Group::new(Delimiter::Brace, quote_spanned!(site=> #inner #body));
    block.set_span(function.body.span());
    function.body = block;
    let item = Item::Function(Box::new(function));
    // The span comes before any `use` or `fn` that the body begins with.
    quote_spanned!(site=> #[allow(clippy::items_after_statements)] #item)
}

/// How a function runs.
enum FunctionKind {
    Plain,
    Async,
    /// Not `async`, but its last expression makes a future.
    Future(FutureTail),
}

/// The path of the items that generated code uses.
fn private_at(args: &Args, site: Span) -> TokenStream {
    match &args.krate {
        Some(path) => quote_spanned!(site=> #path::__private),
        None => quote_spanned!(site=> ::gpuprof::__private),
    }
}

/// The inner attributes, which must come first, and the statements. Without such attributes the
/// statements stay as they were.
fn split(body: TokenStream) -> (TokenStream, TokenStream) {
    let parse = |input: ParseStream| {
        let mut inner = TokenStream::new();
        for attribute in input.call(Attribute::parse_inner)? {
            attribute.to_tokens(&mut inner);
        }
        Ok((inner, input.parse::<TokenStream>()?))
    };
    match parse.parse2(body.clone()) {
        Ok((inner, statements)) if !inner.is_empty() => {
            let statements = statements.into_iter().map(group_precedence::replace);
            (inner, statements.collect())
        }
        _ => (TokenStream::new(), body),
    }
}

/// The statements that begin the span. Their items are in a block of their own, where they hide
/// none of the user's.
fn span(function: &FunctionItem, args: &Args, kind: &FunctionKind) -> TokenStream {
    let site = Span::mixed_site();
    let private = private_at(args, site);
    let meta = meta(
        &private,
        function,
        args,
        !matches!(kind, FunctionKind::Plain),
    );
    let (slots, streams) = streams(&private, function, args);
    let work = work(&private, args);
    let (label, payload) = (label(&private, args), payload(&private, args));
    let arguments = arguments(&private, args);
    let begin = |enter| {
        quote_spanned! {site=>
            #enter(&__GPUPROF_SITE, || #label, || #streams, || #work, || #payload, #arguments)
        }
    };
    let items = quote_spanned! {site=>
        fn __gpuprof_path() -> &'static ::core::primitive::str {
            #private::type_name_of(__gpuprof_path)
        }
        static __GPUPROF_SITE: #private::Site = #private::Site::new(#meta);
        #private::inventory::submit! { #private::SiteEntry(&__GPUPROF_SITE) }
    };
    match kind {
        // Begun in place, because moving the span costs as much as a clock read.
        FunctionKind::Plain => {
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
        FunctionKind::Async => {
            let begin = begin(quote_spanned!(site=> #private::AsyncSpan::created::<false>));
            return quote_spanned! {site=>
                #[allow(clippy::used_underscore_binding)]
                let __gpuprof_hand_over = {
                    #items
                    if __GPUPROF_SITE.active() {
                        #slots
                        #private::HandOver::new(#begin)
                    } else {
                        #private::HandOver::none()
                    }
                };
                __gpuprof_hand_over.await;
            };
        }
        FunctionKind::Future(_) => {}
    };
    // The function's body runs now; the future it returns is polled later, or never.
    let begin = begin(quote_spanned!(site=> #private::AsyncSpan::created::<true>));
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

fn meta(
    private: &TokenStream,
    function: &FunctionItem,
    args: &Args,
    is_async: bool,
) -> TokenStream {
    let site = Span::mixed_site();
    // `line!()` would give the line of the attribute, the same for every function of a block.
    let line = Literal::u32_suffixed(function.sig.ident.span().unwrap().line() as u32);
    let name = option(args.name.as_ref());
    let category = option(args.category.as_ref());
    let color = option(args.color.map(Literal::u32_suffixed));
    let precision = args.precision.as_ref();
    let precision = option(precision.map(|word| quote_spanned!(site=> #private::Precision::#word)));
    let sample = Literal::u32_suffixed(args.sample.unwrap_or(0));
    let cpu = args.cpu;
    let names_stream = args.stream.is_none() && names_stream(&function.sig);
    quote_spanned! {site=>
        #private::Meta {
            path: __gpuprof_path,
            name: #name,
            module: ::core::module_path!(),
            file: ::core::file!(),
            line: #line,
            cpu: #cpu,
            is_async: #is_async,
            names_stream: #names_stream,
            precision: #precision,
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
    let amount = |value: &Option<Expr>| option(value.as_ref().map(|value| to_f64(private, value)));
    let (bytes, flops, items) = (
        amount(&args.bytes),
        amount(&args.flops),
        amount(&args.items),
    );
    quote_spanned!(site=> #private::StatedWork { bytes: #bytes, flops: #flops, items: #items })
}

fn label(private: &TokenStream, args: &Args) -> TokenStream {
    let site = Span::mixed_site();
    match &args.label {
        // Borrowed, so that a `String` need not be cloned.
        Some(value) => {
            quote_spanned!(site.located_at(value.span())=> __GPUPROF_SITE.label(&(#value)))
        }
        None => quote_spanned!(site=> #private::LabelNumber::NONE),
    }
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

/// The closure that records `args(…)`.
fn arguments(private: &TokenStream, args: &Args) -> TokenStream {
    let site = Span::mixed_site();
    if args.recorded.is_empty() {
        return quote_spanned!(site=> #private::CallArguments::default);
    }
    let values = args
        .recorded
        .iter()
        .map(|RecordedValue { name, value, .. }| {
            // Borrowed, so that no parameter is moved.
            quote_spanned!(site.located_at(value.span())=> #private::argument(#name, &(#value)))
        });
    quote_spanned!(site=> || #private::arguments(|| [#(#values),*]))
}

/// The body of an `async fn` as a block that the span can watch. Changes the signature to match.
fn wrap_in_async(
    private: &TokenStream,
    function: &mut FunctionItem,
    args: &Args,
    keeps_async: bool,
    span: &TokenStream,
    body: &TokenStream,
) -> TokenStream {
    let site = Span::mixed_site();
    let never = async_fn::is_never(&function.sig.output);
    let mut written = function.sig.clone();
    let at_output = private_at(args, site.located_at(function.sig.output.span()));
    let async_fn::AsyncBlock {
        owns,
        binds,
        binds_first,
        unreachable_return,
    } = async_fn::block(function, args, &at_output);
    let begins = if binds_first {
        let unused = unused::locals(&mut written, args, body);
        quote_spanned!(site=> #binds #span #unused)
    } else {
        quote_spanned!(site=> #span #binds)
    };
    let watched = quote_spanned! {site=>
        #private::instrument(#private::AsyncSpan::handed_over_by_body(), async move {
            #owns
            #begins
            #unreachable_return
            #body
        })
    };
    if !keeps_async && async_fn::returns_future(function) {
        return watched;
    }
    if never {
        // The code after a block of type `!` is unreachable.
        quote_spanned! {site=>
            #[allow(unreachable_code)]
            {
                #watched.await;
                ::core::future::pending().await
            }
        }
    } else {
        quote_spanned!(site=> #watched.await)
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
