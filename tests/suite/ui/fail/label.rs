use gpuprof::gpu_profile;

struct Layer {
    kind: Option<u32>,
}

#[gpu_profile(label = self.kind)]
impl Layer {
    #[gpu_profile(label = self.kind)]
    fn no_label(&self) {}

    #[gpu_profile(label = self.kind?)]
    fn leaves(&self) {}
}

#[gpu_profile(label)]
fn no_value() {}

#[gpu_profile(label = 2.5)]
fn float() {}

#[gpu_profile(label = 1, label = 2)]
fn twice() {}

#[gpu_profile(lable = 1)]
fn misspelled() {}

fn main() {}
