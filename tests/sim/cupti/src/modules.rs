//! The modules that the driver has loaded, and their images. A test sets the code of kernels; it is
//! that of the images that are built afterwards. An image is built when its module is first
//! reported: when it is loaded, or at a later launch if nothing was enabled then.

use std::collections::BTreeMap;
use std::sync::Arc;

use simbase::activity::Module;

use crate::cubin_image::{self, INSTRUCTION_BYTES, KernelCode, StoredInstruction};
use crate::result_codes::{Answer, Code};

/// The image of a module.
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    pub(crate) checksum: u64,
    kernels: Vec<KernelCode>,
}

impl Image {
    fn new(kernels: Vec<KernelCode>) -> Image {
        let bytes = cubin_image::build(&kernels);
        Image {
            checksum: checksum(&bytes),
            bytes,
            kernels,
        }
    }

    fn kernel(&self, name: &str) -> Option<&KernelCode> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// The index of a kernel's symbol; 0 for a kernel that it lacks.
    pub(crate) fn symbol(&self, kernel: &str) -> u32 {
        self.kernel(kernel).map_or(0, |kernel| kernel.symbol)
    }

    /// The path and line of the instruction at an offset of a function: INVALID_PARAMETER for a
    /// function that the image lacks (libcupti 13.0), UNKNOWN for an instruction without line.
    pub(crate) fn line(&self, function: &str, offset: u64) -> Answer<(String, u32)> {
        let kernel = self.kernel(function).ok_or(Code::INVALID_PARAMETER)?;
        let index = (offset / INSTRUCTION_BYTES) as usize;
        let line = kernel.code.get(index).and_then(|found| found.line.clone());
        line.ok_or(Code::UNKNOWN)
    }
}

pub(crate) struct Modules {
    /// By kernel.
    code: BTreeMap<String, Vec<StoredInstruction>>,
    /// By the module's number.
    loaded: BTreeMap<u32, Arc<Image>>,
    /// By checksum, of all modules that there have been.
    images: BTreeMap<u64, Arc<Image>>,
}

impl Modules {
    pub(crate) const fn new() -> Modules {
        Modules {
            code: BTreeMap::new(),
            loaded: BTreeMap::new(),
            images: BTreeMap::new(),
        }
    }

    pub(crate) fn set_code(&mut self, kernel: &str, code: Vec<StoredInstruction>) {
        self.code.insert(kernel.to_owned(), code);
    }

    /// The image of a module.
    pub(crate) fn image(&mut self, module: &Module) -> Arc<Image> {
        if let Some(image) = self.loaded.get(&module.id) {
            return image.clone();
        }
        let names = module.kernels().iter().map(|kernel| kernel.text());
        let kernels = names.zip(1..).map(|(name, symbol)| KernelCode {
            name: name.to_owned(),
            code: match self.code.get(name) {
                Some(code) => code.clone(),
                None => cubin_image::default_code(),
            },
            symbol,
        });
        let image = Arc::new(Image::new(kernels.collect()));
        let image = self.images.entry(image.checksum).or_insert(image).clone();
        self.loaded.insert(module.id, image.clone());
        image
    }

    /// Forgets which image an unloaded module had.
    pub(crate) fn unload(&mut self, module: &Module) {
        self.loaded.remove(&module.id);
    }

    /// The image that has these bytes; INVALID_MODULE for bytes of no module.
    pub(crate) fn find(&self, bytes: &[u8]) -> Answer<&Image> {
        let found = self.images.get(&checksum(bytes));
        let found = found.filter(|image| image.bytes == bytes);
        Ok(found.ok_or(Code::INVALID_MODULE)?)
    }
}

/// FNV-1a of 64 bits. NVIDIA's algorithm is unknown.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
