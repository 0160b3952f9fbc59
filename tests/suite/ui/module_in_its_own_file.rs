//! The body of `mod elsewhere;` in fail/module_file.rs, which shows the error for the attribute on
//! a module that is not inline.
