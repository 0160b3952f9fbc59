fn main() {
    let _guard = gpuprof::scope!("name");
}
