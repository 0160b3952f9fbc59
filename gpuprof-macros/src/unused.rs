//! Keeps `unused_variables` working for parameters. The search for a stream reads every parameter,
//! which hides from the compiler that the user's code reads it nowhere.

use crate::argument_values::Args;
use crate::parameter_bindings;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt;
use syn::{Attribute, FnArg, Signature};

/// An unused local for each parameter that the search reads and the user's code does not mention:
/// the compiler then reports the name where the user wrote it. Lint attributes of such a parameter
/// move there.
pub(crate) fn locals(signature: &mut Signature, args: &Args, body: &TokenStream) -> TokenStream {
    let mut locals = TokenStream::new();
    if args.cpu || args.stream.is_some() {
        return locals;
    }
    let site = Span::mixed_site();
    for input in &mut signature.inputs {
        let FnArg::Typed(typed) = input else { continue };
        let mut unused = parameter_bindings::bindings_in_pattern(&typed.pat);
        unused.retain(|name| {
            // One with a capital is a constant or a unit struct.
            name.unraw().to_string().starts_with(char::is_lowercase)
                && !mentions(body, name)
                && !is_argument(args, name)
        });
        if unused.is_empty() {
            continue;
        }
        let attributes = typed.attrs.clone();
        typed.attrs.retain(is_cfg);
        for name in unused {
            locals.extend(quote_spanned!(site=> #(#attributes)* let #name = 0_u8;));
        }
    }
    locals
}

pub(crate) fn is_cfg(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
}

/// Whether an argument of the attribute mentions the name.
pub(crate) fn is_argument(args: &Args, name: &Ident) -> bool {
    let Args {
        bytes,
        flops,
        items,
        label,
        payload,
        stream,
        recorded,
        ..
    } = args;
    let numbers = [bytes, flops, items, label, payload].into_iter().flatten();
    let recorded = recorded.iter().map(|recorded| &recorded.value);
    let mut expressions = numbers.chain(stream.iter().flatten()).chain(recorded);
    expressions.any(|expression| mentions(&expression.to_token_stream(), name))
}

/// Whether the name is among the tokens, or in a literal that may be a format string.
fn mentions(tokens: &TokenStream, name: &Ident) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(word) => word.unraw() == name.unraw(),
        TokenTree::Group(group) => mentions(&group.stream(), name),
        TokenTree::Literal(literal) => {
            let (text, name) = (literal.to_string(), name.unraw());
            text.contains(&format!("{{{name}")) || text.contains(&format!("{name}$"))
        }
        TokenTree::Punct(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::mentions;
    use proc_macro2::{Ident, Span};

    #[test]
    fn a_name_is_found_in_code_and_in_format_strings() {
        let name = Ident::new("x", Span::call_site());
        for (body, found) in [
            ("{ if a { f(x) } }", true),
            ("r#x + 1", true),
            ("println!(\"{x:?}\")", true),
            ("println!(\"{:.x$}\", 1)", true),
            ("println!(\"x\")", false),
            ("y + xx", false),
        ] {
            assert_eq!(mentions(&body.parse().unwrap(), &name), found, "{body}");
        }
    }
}
