use gpuprof::gpu_profile;

#[gpu_profile(args)]
fn no_list() {}

#[gpu_profile(args = n)]
fn no_parentheses(n: u32) {
    let _ = n;
}

#[gpu_profile(args[n])]
fn brackets(n: u32) {
    let _ = n;
}

#[gpu_profile(args())]
fn empty() {}

#[gpu_profile(args(n m, n +, , o =, p: m, "p" = m, q = 1))]
fn syntax(n: u32, m: u32) {
    let _ = (n, m);
}

#[gpu_profile(args(n, m + 1, m +1, n = 1))]
fn same_name(n: u32, m: u32) {
    let _ = (n, m);
}

#[gpu_profile(args(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17))]
fn too_many() {}

#[gpu_profile(args(n?, later.await, return))]
fn leaves(n: Option<u32>) {
    let _ = n;
}

#[gpu_profile(args(n), args(m))]
fn twice() {}

#[gpu_profile(arg(n))]
fn misspelled() {}

#[gpu_profile(args(self.index))]
mod block {
    pub fn inside() {}
}

fn main() {
    block::inside();
}
