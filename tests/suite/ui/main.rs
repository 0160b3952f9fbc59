//! Every form that the attribute accepts compiles, runs and gives what it gave before; every mistake is a message that
//! says what is accepted, at the token that is wrong.
//!
//! After a change of wording: `TRYBUILD=overwrite cargo test --test attribute_ui`, and read the difference.

#[test]
fn accepted_forms_compile_and_run_and_mistakes_are_explained() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/suite/ui/pass/*.rs");
    cases.compile_fail("tests/suite/ui/fail/*.rs");
}
