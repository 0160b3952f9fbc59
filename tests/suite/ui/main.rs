//! Promise: every form that the attribute accepts compiles and runs as before; every mistake is a
//! message at the wrong token that says what is accepted.
//!
//! After a change of wording: `TRYBUILD=overwrite cargo test -p ui`, and read the difference.

#[test]
fn accepted_forms_compile_and_run_and_mistakes_are_explained() {
    let cases = trybuild::TestCases::new();
    cases.pass("pass/*.rs");
    cases.compile_fail("fail/*.rs");
}
