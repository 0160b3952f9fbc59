fn main() {
    gpuprof::scope!();
    gpuprof::scope!(3);
    gpuprof::scope!("name", 5);
    gpuprof::scope!("name", 5, 6);
    gpuprof::scope!("name", label = 2.5);
    gpuprof::scope!("name", index = 3);
    let name = String::from("at run time");
    gpuprof::scope!(&name);
    let text = "a variable";
    gpuprof::scope!(text);
}
