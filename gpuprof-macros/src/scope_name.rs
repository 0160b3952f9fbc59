//! Checks the name that `scope!` is given: it becomes part of a static.

use proc_macro2::TokenStream;
use syn::{Error, Expr, parse2};

/// The expression itself, or a compile error in its place if it is a variable.
pub(crate) fn checked(name: TokenStream) -> TokenStream {
    match parse2::<Expr>(name.clone()) {
        Ok(expression) if is_of_run_time(&expression) => {
            let what = "the name of a scope is fixed when the program is compiled: a string, or a \
                        constant in UPPER_CASE, as in `scope!(\"load\")`; what differs at run time \
                        is a label, as in `scope!(\"load\", label = i)`";
            Error::new_spanned(written(&expression), what).to_compile_error()
        }
        _ => name,
    }
}

/// Without the invisible parentheses that macro_rules puts around `$name`.
fn written(expression: &Expr) -> &Expr {
    match expression {
        Expr::Group(inner) => written(&inner.expr),
        other => other,
    }
}

/// Whether the expression begins with a local variable or formats a text.
fn is_of_run_time(expression: &Expr) -> bool {
    match expression {
        Expr::Group(inner) => is_of_run_time(&inner.expr),
        Expr::Paren(inner) => is_of_run_time(&inner.expr),
        Expr::Reference(inner) => is_of_run_time(&inner.expr),
        Expr::MethodCall(call) => is_of_run_time(&call.receiver),
        Expr::Field(field) => is_of_run_time(&field.base),
        Expr::Index(index) => is_of_run_time(&index.expr),
        Expr::Macro(call) => call.mac.path.is_ident("format"),
        Expr::Path(path) => path
            .path
            .get_ident()
            .is_some_and(|name| name.to_string().starts_with(char::is_lowercase)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_of_run_time;

    #[test]
    fn variables_and_formatted_texts_are_no_names() {
        for (written, rejected) in [
            ("name", true),
            ("&name", true),
            ("(self.name.as_str())", true),
            ("format!(\"{i}\")", true),
            ("NAME", false),
            ("Self::NAME", false),
            ("\"load\"", false),
            ("concat!(\"a\", \"b\")", false),
        ] {
            let expression = syn::parse_str(written).unwrap();
            assert_eq!(is_of_run_time(&expression), rejected, "{written}");
        }
    }
}
