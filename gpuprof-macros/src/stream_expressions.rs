//! Writes the part of the span that finds its streams: from `stream = …`, or among the parameters.

use crate::argument_values::Args;
use crate::parameter_bindings::{Binding, bindings};
use crate::parsed_item::FunctionItem;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, UnOp};

/// The declarations that the stream closure borrows from, and the body of that closure.
pub(crate) fn streams(
    private: &TokenStream,
    function: &FunctionItem,
    args: &Args,
) -> (TokenStream, TokenStream) {
    let site = Span::mixed_site();
    if let Some(streams) = &args.stream {
        return stated_streams(private, function, streams);
    }
    let searched = if args.cpu {
        Vec::new()
    } else {
        bindings(&function.sig)
    };
    if searched.is_empty() {
        return (
            TokenStream::new(),
            quote_spanned!(site=> #private::Streams::Inherit),
        );
    }
    // The probes are outside the closure, because the streams that they give are borrowed from
    // them.
    let mut slots = TokenStream::new();
    let (mut stream, mut carried) = (TokenStream::new(), TokenStream::new());
    for (index, binding) in searched.iter().enumerate() {
        let Binding {
            cfgs,
            ident,
            by_ref,
        } = binding;
        let probe = Ident::new(&format!("probe{index}"), site);
        // What `ref` binds is as the call owns it: the reference need not outlive the call.
        let value = if *by_ref {
            quote_spanned!(site=> *#ident)
        } else {
            ident.to_token_stream()
        };
        slots.extend(
            quote_spanned!(site=> #(#cfgs)* let #probe = &#private::ParameterProbe(&#value);),
        );
        stream.extend(quote_spanned! {site=>
            #(#cfgs)*
            if let ::core::option::Option::Some(stream) = #probe.gpuprof_stream() {
                return #private::Streams::One(stream);
            }
        });
        carried.extend(quote_spanned! {site=>
            #(#cfgs)*
            let carried = carried.and(#probe.gpuprof_carried());
        });
    }
    let search = quote_spanned! {site=> {
        use #private::{CarrierNo as _, CarrierYes as _, StreamNo as _, StreamYes as _};
        #stream
        let carried = #private::Carried::new(&__GPUPROF_SITE);
        #carried
        carried.streams()
    }};
    (slots, search)
}

fn stated_streams(
    private: &TokenStream,
    function: &FunctionItem,
    streams: &[Expr],
) -> (TokenStream, TokenStream) {
    let site = Span::mixed_site();
    let parameters = bindings(&function.sig);
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

/// Whether the expression is a place, which can be borrowed, not a value, which lives no longer
/// than the expression.
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
        Expr::Path(path) => path.path.get_ident().is_some_and(|ident| {
            parameters
                .iter()
                .any(|binding| binding.ident == *ident && !binding.by_ref)
        }),
        _ => false,
    }
}
