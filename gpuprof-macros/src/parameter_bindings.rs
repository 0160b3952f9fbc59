//! Finds the names that a function's parameters bind, in order: the values that may have a stream.

use proc_macro2::Ident;
use syn::{Attribute, FnArg, Pat, Signature};

/// One name that the body can use, `self` included.
pub(crate) struct Binding {
    /// The `#[cfg]`s of its parameter, without which the name does not exist.
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) ident: Ident,
}

/// Every name bound by the parameters, the receiver first.
pub(crate) fn bindings(signature: &Signature) -> Vec<Binding> {
    let mut found = Vec::new();
    for input in &signature.inputs {
        let (attrs, mut idents) = match input {
            FnArg::Receiver(receiver) => {
                let this = Ident::new("self", receiver.self_token.span);
                (&receiver.attrs, vec![this])
            }
            FnArg::Typed(typed) => (&typed.attrs, in_pattern(&typed.pat)),
        };
        let cfgs: Vec<Attribute> = attrs
            .iter()
            .filter(|attr| attr.path().is_ident("cfg"))
            .cloned()
            .collect();
        found.extend(idents.drain(..).map(|ident| Binding {
            cfgs: cfgs.clone(),
            ident,
        }));
    }
    found
}

/// The names that a pattern binds. `_`, literals and paths bind nothing. All sides of `a | b` bind
/// the same names, so the first suffices.
pub(crate) fn in_pattern(pattern: &Pat) -> Vec<Ident> {
    match pattern {
        Pat::Ident(name) => {
            let mut found = vec![name.ident.clone()];
            if let Some((_, inner)) = &name.subpat {
                found.extend(in_pattern(inner));
            }
            found
        }
        Pat::Paren(inner) => in_pattern(&inner.pat),
        Pat::Reference(inner) => in_pattern(&inner.pat),
        Pat::Type(inner) => in_pattern(&inner.pat),
        Pat::Or(sides) => sides.cases.first().map(in_pattern).unwrap_or_default(),
        Pat::Tuple(tuple) => in_patterns(tuple.elems.iter()),
        Pat::TupleStruct(tuple) => in_patterns(tuple.elems.iter()),
        Pat::Slice(slice) => in_patterns(slice.elems.iter()),
        Pat::Struct(fields) => in_patterns(fields.fields.iter().map(|field| &*field.pat)),
        _ => Vec::new(),
    }
}

fn in_patterns<'a>(patterns: impl Iterator<Item = &'a Pat>) -> Vec<Ident> {
    patterns.flat_map(in_pattern).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_binding_is_found_in_order() {
        let signature = "fn f(mut self: Box<Self>, a: A, _: B, (ref b, [c, .., 3]): C, \
                         S { d, e: Some(f), .. }: S, g @ (h, _): D, (V(i) | W(i)): E, &r#type: &F)";
        let signature: syn::Signature = syn::parse_str(signature).unwrap();
        let found: Vec<String> = super::bindings(&signature)
            .iter()
            .map(|found| found.ident.to_string())
            .collect();
        assert_eq!(found.join(" "), "self a b c d f g h i r#type");
    }
}
