//! Parses the annotated item, and no more of it than needed: signatures are parsed and bodies stay
//! tokens, so that a body may use syntax that `syn` does not know.

use crate::group_precedence;
use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, LitStr, Result, Signature, Token, Visibility, token};

/// An item or an associated item.
pub(crate) enum Item {
    Function(Box<FunctionItem>),
    Container(Container),
    Other(OtherItem),
}

/// A function with a body.
pub(crate) struct FunctionItem {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    /// `default`, in specializing impls.
    pub(crate) default: Option<Ident>,
    pub(crate) sig: Signature,
    pub(crate) body: Group,
}

/// A block of items.
pub(crate) struct Container {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) kind: ContainerKind,
    /// `mod`, `impl` or `trait`.
    pub(crate) keyword: TokenTree,
    /// Everything between the attributes and the body.
    pub(crate) header: TokenStream,
    pub(crate) body: Group,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ContainerKind {
    Mod,
    Impl,
    Trait,
}

/// Anything else, unchanged.
pub(crate) struct OtherItem {
    pub(crate) attrs: Vec<Attribute>,
    /// `struct`, `use` and so on.
    pub(crate) keyword: TokenTree,
    /// Everything but the attributes.
    pub(crate) tokens: TokenStream,
}

impl Item {
    pub(crate) fn attrs(&self) -> &Vec<Attribute> {
        match self {
            Item::Function(function) => &function.attrs,
            Item::Container(container) => &container.attrs,
            Item::Other(other) => &other.attrs,
        }
    }

    pub(crate) fn attrs_mut(&mut self) -> &mut Vec<Attribute> {
        match self {
            Item::Function(function) => &mut function.attrs,
            Item::Container(container) => &mut container.attrs,
            Item::Other(other) => &mut other.attrs,
        }
    }
}

impl OtherItem {
    /// Whether it is an expression, such as a loop or a closure.
    pub(crate) fn is_expression(&self) -> bool {
        match &self.keyword {
            TokenTree::Ident(word) => ["for", "while", "loop", "if", "match", "move"]
                .iter()
                .any(|w| word == w),
            TokenTree::Group(group) => group.delimiter() != Delimiter::None,
            _ => true,
        }
    }
}

impl Container {
    /// The same block around other items, with the span of its braces.
    pub(crate) fn with_body(mut self, items: TokenStream) -> Container {
        let mut body = Group::new(Delimiter::Brace, items);
        body.set_span(self.body.span());
        self.body = body;
        self
    }
}

impl ToTokens for Item {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        for attr in self.attrs() {
            attr.to_tokens(tokens);
        }
        match self {
            Item::Function(function) => {
                function.vis.to_tokens(tokens);
                function.default.to_tokens(tokens);
                function.sig.to_tokens(tokens);
                function.body.to_tokens(tokens);
            }
            Item::Container(container) => {
                container.header.to_tokens(tokens);
                container.body.to_tokens(tokens);
            }
            Item::Other(other) => other.tokens.to_tokens(tokens),
        }
    }
}

/// Words that can stand before the keyword of an item.
const QUALIFIERS: [&str; 7] = [
    "default", "const", "async", "unsafe", "safe", "extern", "auto",
];

impl Parse for Item {
    fn parse(input: ParseStream) -> Result<Item> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis: Visibility = input.parse()?;
        let keyword = keyword(input)?;
        let kind = match keyword.to_string().as_str() {
            "fn" if has_body(input)? => return function(input, attrs, vis),
            "mod" if has_body(input)? => ContainerKind::Mod,
            "impl" if has_body(input)? => ContainerKind::Impl,
            "trait" if has_body(input)? => ContainerKind::Trait,
            _ => return other_item(input, attrs, &vis, keyword),
        };
        let mut header = vis.into_token_stream();
        header.extend(until_body(input)?);
        let body = block(input)?;
        Ok(Item::Container(Container {
            attrs,
            kind,
            keyword,
            header,
            body,
        }))
    }
}

fn function(input: ParseStream, attrs: Vec<Attribute>, vis: Visibility) -> Result<Item> {
    let default = if input.peek(Token![default]) {
        Some(input.call(Ident::parse_any)?)
    } else {
        None
    };
    Ok(Item::Function(Box::new(FunctionItem {
        attrs,
        vis,
        default,
        sig: input.parse()?,
        body: block(input)?,
    })))
}

/// The braces and their content, also if macro_rules passed them on as `$body`.
fn block(input: ParseStream) -> Result<Group> {
    // Whole, so that the compiler parses it as it was.
    if let TokenTree::Group(block) = input.fork().parse()?
        && block.delimiter() == Delimiter::Brace
    {
        input.parse::<TokenTree>()?;
        return Ok(block);
    }
    let content;
    let braces = syn::braced!(content in input);
    let mut block = Group::new(Delimiter::Brace, content.parse()?);
    block.set_span(braces.span.join());
    Ok(block)
}

/// The token after visibility and qualifiers; `input` does not move.
fn keyword(input: ParseStream) -> Result<TokenTree> {
    let ahead = input.fork();
    loop {
        let token: TokenTree = ahead.parse()?;
        let qualifier =
            matches!(&token, TokenTree::Ident(word) if QUALIFIERS.iter().any(|q| word == q));
        if qualifier && ahead.peek(LitStr) {
            ahead.parse::<LitStr>()?;
        }
        // `const X`, `extern crate`, `extern "C" {`, `auto!{}`: the word is the keyword.
        if !qualifier || !(ahead.peek(syn::Ident::peek_any)) {
            return Ok(token);
        }
        let next = ahead.fork().call(Ident::parse_any)?;
        let goes_on = QUALIFIERS.iter().any(|q| next == q);
        if !goes_on
            && !["fn", "impl", "trait", "mod"]
                .iter()
                .any(|word| next == word)
        {
            return Ok(token);
        }
    }
}

/// Whether the item ahead ends in a block, not in `;`.
fn has_body(input: ParseStream) -> Result<bool> {
    Ok(until_body(&input.fork())?.is_some())
}

/// Takes everything before the block that ends an item; `None` if `;` or the end comes first. A
/// block in generic arguments (`<{ N + 1 }>`) does not end the item.
fn until_body(input: ParseStream) -> Result<Option<TokenStream>> {
    let mut taken = TokenStream::new();
    let mut angles = Angles::default();
    while !input.is_empty() {
        if angles.closed() && input.peek(token::Brace) {
            return Ok(Some(taken));
        }
        if input.peek(Token![;]) {
            return Ok(None);
        }
        let token: TokenTree = input.parse()?;
        angles.pass(&token);
        taken.extend([token]);
    }
    Ok(None)
}

/// Takes an item that is not profiled, to its `;` or its block.
fn other_item(
    input: ParseStream,
    attrs: Vec<Attribute>,
    vis: &Visibility,
    keyword: TokenTree,
) -> Result<Item> {
    let word = keyword.to_string();
    let block_ends = !["const", "static", "type", "use", "let"].contains(&word.as_str());
    let mut tokens = vis.to_token_stream();
    let mut angles = Angles::default();
    while !input.is_empty() {
        let block = block_ends && angles.closed() && input.peek(token::Brace);
        let semicolon = input.peek(Token![;]);
        let token: TokenTree = input.parse()?;
        angles.pass(&token);
        let whole = is_whole_item(&token);
        tokens.extend([group_precedence::replace(token)]);
        if block || semicolon || whole {
            break;
        }
    }
    Ok(Item::Other(OtherItem {
        attrs,
        keyword,
        tokens,
    }))
}

/// An item that a macro_rules macro passed on as `$item`.
fn is_whole_item(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else {
        return false;
    };
    if group.delimiter() != Delimiter::None {
        return false;
    }
    match group.stream().into_iter().last() {
        Some(TokenTree::Punct(end)) => end.as_char() == ';',
        Some(TokenTree::Group(end)) => end.delimiter() == Delimiter::Brace,
        _ => false,
    }
}

/// Counts `<` and `>`, leaving out the arrow `->`.
#[derive(Default)]
struct Angles {
    open: u32,
    after_dash: bool,
}

impl Angles {
    fn pass(&mut self, token: &TokenTree) {
        let sign = match token {
            TokenTree::Punct(punct) => punct.as_char(),
            _ => ' ',
        };
        match sign {
            '<' => self.open += 1,
            '>' if !self.after_dash => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        self.after_dash = sign == '-';
    }

    fn closed(&self) -> bool {
        self.open == 0
    }
}
