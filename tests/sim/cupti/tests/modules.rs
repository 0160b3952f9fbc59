//! Callbacks about modules, their images, and what is asked about images.

mod common;

use std::ffi::{CStr, CString, c_char};
use std::sync::Arc;

use common::pc_client::{enable, read};
use common::{
    CONTEXT_CREATED, MODULE_LOADED, MODULE_UNLOADED, ModuleCallback, RESOURCE, World, address,
    call_words, module_callbacks, world,
};
use cudarc::driver::{CudaContext, CudaModule, LaunchConfig, PushKernelArg, sys};
use cudarc::nvrtc::Ptx;
use object::{Architecture, Object, ObjectSection, ObjectSymbol, SymbolKind};
use simcupti::{Instruction, StallModel};

const OK: u32 = 0;
const INVALID_PARAMETER: u32 = 1;
const INVALID_MODULE: u32 = 24;
const UNKNOWN: u32 = 999;

/// The driver can launch `spin`.
const PTX: &str = ".visible .entry one() { ret; }\n.visible .entry spin() { ret; }\n";

/// An instruction that stands for any.
const WORD: [u64; 2] = [0x0000_0024_0400_7981, 0x000e_a200_0c1e_1900];

fn observed() -> World {
    let world = world();
    for cbid in [MODULE_LOADED, MODULE_UNLOADED] {
        let enable = world.api.enable_callback;
        assert_eq!(enable(1, world.subscriber, RESOURCE, cbid), OK);
    }
    world
}

fn load(world: &World) -> Arc<CudaModule> {
    let context = world.stream.context();
    context.load_module(Ptx::from_src(PTX)).unwrap()
}

/// The only callback since the last call.
fn told() -> ModuleCallback {
    let callbacks = std::mem::take(&mut *module_callbacks());
    let [callback] = &callbacks[..] else {
        panic!("{callbacks:?}")
    };
    callback.clone()
}

fn sections(image: &[u8]) -> Vec<(String, Vec<u8>)> {
    let file = object::File::parse(image).expect("it is an ELF file");
    let sections = file.sections().map(|section| {
        let name = section.name().expect("it has one").to_owned();
        (name, section.data().expect("it is inside").to_vec())
    });
    sections.collect()
}

fn section(image: &[u8], name: &str) -> Option<Vec<u8>> {
    let mut sections = sections(image).into_iter();
    Some(sections.find(|(known, _)| known == name)?.1)
}

fn bytes(words: &[[u64; 2]]) -> Vec<u8> {
    words
        .as_flattened()
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect()
}

#[test]
fn a_load_calls_back_with_the_image_of_the_module() {
    let world = observed();
    let _module = load(&world);
    let loaded = told();
    assert_eq!(
        (loaded.cbid, loaded.context),
        (MODULE_LOADED, world.context())
    );
    assert_eq!(loaded.image[18..20], 190_u16.to_le_bytes(), "EM_CUDA");
    let file = object::File::parse(&*loaded.image).expect("it is an ELF file");
    assert!(file.is_64() && file.is_little_endian());
    assert_eq!(file.architecture(), Architecture::Unknown);
    let functions = file
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text);
    let functions: Vec<_> = functions
        .map(|symbol| {
            let section = symbol.section_index().expect("it is in one");
            let section = file.section_by_index(section).expect("it is there");
            let name = symbol.name().expect("it has one").to_owned();
            (name, symbol.size(), section.name().unwrap().to_owned())
        })
        .collect();
    let expected = ["one", "spin"].map(|name| (name.to_owned(), 64, format!(".text.{name}")));
    assert_eq!(functions, expected);
    let code = section(&loaded.image, ".text.spin").expect("it has one");
    let opcodes: Vec<u16> = code
        .chunks(16)
        .map(|word| u16::from_le_bytes([word[0], word[1]]) & 0xfff)
        .collect();
    assert_eq!(opcodes, [0x918; 4], "NOP");
    for name in [".debug_line", ".nv_debug_line_sass"] {
        assert_eq!(section(&loaded.image, name), None);
    }
}

#[test]
fn callbacks_are_those_that_were_enabled() {
    let world = world();
    let module = load(&world);
    drop(module);
    assert_eq!(*module_callbacks(), []);
    let enable = world.api.enable_callback;
    assert_eq!(enable(1, world.subscriber, RESOURCE, MODULE_UNLOADED), OK);
    drop(load(&world));
    assert_eq!(told().cbid, MODULE_UNLOADED);
    // CUPTI_CBID_RESOURCE_MODULE_PROFILED is not simulated.
    assert_eq!(enable(1, world.subscriber, RESOURCE, 8), INVALID_PARAMETER);
}

#[test]
fn a_failed_load_does_not_call_back() {
    let _world = observed();
    let text = CString::new(PTX).unwrap();
    // SAFETY: the text ends, and null is refused.
    let code = unsafe { sys::cuModuleLoadData(std::ptr::null_mut(), text.as_ptr().cast()) };
    assert_eq!(code, sys::CUresult::CUDA_ERROR_INVALID_VALUE);
    assert_eq!(*module_callbacks(), []);
}

#[test]
fn an_unload_calls_back_with_the_same_module() {
    let world = observed();
    let first = load(&world);
    let one = told();
    let second = load(&world);
    let two = told();
    assert_ne!(one.id, two.id);
    drop(first);
    let unloaded = |loaded: ModuleCallback| ModuleCallback {
        cbid: MODULE_UNLOADED,
        ..loaded
    };
    assert_eq!(told(), unloaded(one));
    drop(second);
    assert_eq!(told(), unloaded(two));
}

#[test]
fn the_end_of_a_context_unloads_its_modules() {
    let _world = observed();
    let mut context = std::ptr::null_mut();
    // SAFETY: `context` is writable, and there are no parameters.
    let made = unsafe { sys::cuCtxCreate_v4(&raw mut context, std::ptr::null_mut(), 0, 1) };
    assert_eq!(made, sys::CUresult::CUDA_SUCCESS);
    let mut module = std::ptr::null_mut();
    let text = CString::new(PTX).unwrap();
    // SAFETY: `module` is writable, and the text ends.
    let loaded = unsafe { sys::cuModuleLoadData(&raw mut module, text.as_ptr().cast()) };
    assert_eq!(loaded, sys::CUresult::CUDA_SUCCESS);
    let loaded = told();
    assert_eq!(loaded.context, context as u64);
    // SAFETY: it lives, and nothing uses it.
    let destroyed = unsafe { sys::cuCtxDestroy_v2(context) };
    assert_eq!(destroyed, sys::CUresult::CUDA_SUCCESS);
    assert_eq!((told().cbid, loaded.cbid), (MODULE_UNLOADED, MODULE_LOADED));
}

/// Two instructions of `one`, of which the second has a line.
fn set_lines(world: &World, line: u32) {
    let code = [None, Some(("/home/user/kernels/one.cu", line))]
        .map(|line| Instruction { word: WORD, line });
    world.cupti.set_code("one", &code);
}

#[test]
fn a_module_has_the_code_that_was_set_before_it_was_loaded() {
    let world = observed();
    let module = load(&world);
    let before = told().image;
    set_lines(&world, 12);
    drop(module);
    assert_eq!(told().image, before);
    let _module = load(&world);
    let image = told().image;
    assert_eq!(section(&image, ".text.one"), Some(bytes(&[WORD, WORD])));
    assert_eq!(section(&image, ".text.spin").unwrap().len(), 64);
    for name in [".debug_line", ".nv_debug_line_sass"] {
        assert!(section(&image, name).is_some_and(|content| !content.is_empty()));
    }
}

fn crc(image: &[u8]) -> (u32, u64) {
    let words = [32, image.len() as u64, address(image), 0];
    let (code, [.., crc]) = call_words("cuptiGetCubinCrc", words);
    (code, crc)
}

#[test]
fn images_that_differ_have_other_checksums() {
    let world = observed();
    let mut images = Vec::new();
    for line in [12, 12, 13] {
        set_lines(&world, line);
        drop(load(&world));
        images.push(std::mem::take(&mut *module_callbacks())[0].image.clone());
    }
    let crcs: Vec<(u32, u64)> = images.iter().map(|image| crc(image)).collect();
    assert_eq!(crcs[0], crcs[1]);
    assert_ne!(crcs[1], crcs[2]);
    assert_eq!(crcs[2].0, OK);
    let image = &images[0][..];
    let wrong = [
        [24, image.len() as u64, address(image), 0],
        [32, 0, address(image), 0],
        [32, image.len() as u64, 0, 0],
    ];
    for words in wrong {
        assert_eq!(call_words("cuptiGetCubinCrc", words).0, INVALID_PARAMETER);
    }
}

/// The folder, file and line of an instruction.
fn line(image: &[u8], function: &CStr, offset: u64) -> Result<(String, String, u32), u32> {
    let (cubin, function) = (address(image), function.as_ptr() as u64);
    let rest = [u64::MAX, offset, 1, 1];
    let words = [
        64,
        cubin,
        function,
        image.len() as u64,
        rest[0],
        rest[1],
        rest[2],
        rest[3],
    ];
    let (code, words) = call_words("cuptiGetSassToSourceCorrelation", words);
    let [.., line, _, file, folder] = words;
    if code != OK {
        assert_eq!((line as u32, file, folder), (0, 0, 0));
        return Err(code);
    }
    let take = |text: u64| {
        let text = text as *mut c_char;
        // SAFETY: the library gives a NUL-terminated text.
        let copy = unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned();
        // SAFETY: the library has allocated it for the caller.
        unsafe { libc::free(text.cast()) };
        copy
    };
    Ok((take(folder), take(file), line as u32))
}

#[test]
fn an_instruction_with_a_line_has_a_source() {
    let world = observed();
    set_lines(&world, 12);
    let _module = load(&world);
    let image = told().image;
    let source = ("/home/user/kernels".to_owned(), "one.cu".to_owned(), 12);
    assert_eq!(line(&image, c"one", 16), Ok(source));
    assert_eq!(line(&image, c"one", 0), Err(UNKNOWN), "without a line");
    assert_eq!(line(&image, c"one", 32), Err(UNKNOWN), "behind the end");
    assert_eq!(line(&image, c"spin", 0), Err(UNKNOWN), "without lines");
    // libcupti 13.0.
    assert_eq!(line(&image, c"three", 0), Err(INVALID_PARAMETER));
    let mut other = image.clone();
    *other.last_mut().unwrap() ^= 1;
    assert_eq!(line(&other, c"one", 16), Err(INVALID_MODULE));
    assert_eq!(line(&[], c"one", 16), Err(INVALID_PARAMETER));
    let words = [64, address(&image[..]), 0, image.len() as u64, 0, 16, 0, 0];
    let (code, _) = call_words("cuptiGetSassToSourceCorrelation", words);
    assert_eq!(code, INVALID_PARAMETER, "no function");
    let words = [
        56,
        address(&image[..]),
        c"one".as_ptr() as u64,
        0,
        0,
        16,
        0,
        0,
    ];
    let (code, _) = call_words("cuptiGetSassToSourceCorrelation", words);
    assert_eq!(code, INVALID_PARAMETER, "another size");
}

/// Launches the kernel `spin` of a module once.
fn launch(world: &World, module: &Arc<CudaModule>) {
    let function = module.load_function("spin").unwrap();
    let mut launch = world.stream.launch_builder(&function);
    launch.arg(&10_000_u64);
    // SAFETY: it has this parameter.
    unsafe { launch.launch(LaunchConfig::for_num_elems(1)) }.unwrap();
    world.pass(10_000);
}

#[test]
fn samples_name_the_image_of_the_kernels_module() {
    let world = observed();
    let stall = StallModel {
        reason: "wait",
        samples: 1,
        ..StallModel::default()
    };
    world.cupti.set_stalls("spin", &[stall]);
    let without = load(&world);
    let image = told().image;
    set_lines(&world, 12);
    let with = load(&world);
    let image_with = told().image;
    assert_eq!(enable(world.context()), OK);
    for (module, image) in [(&without, image), (&with, image_with)] {
        launch(&world, module);
        let samples = read(world.context(), 9);
        let [pc] = &samples.pcs[..] else {
            panic!("{samples:?}")
        };
        assert_eq!((OK, pc.crc), crc(&image));
        assert_eq!((pc.function.as_str(), pc.symbol), ("spin", 2));
    }
}

#[test]
fn the_code_of_a_module_is_known_when_it_is_loaded() {
    let world = observed();
    let _same = load(&world);
    let image = told().image;
    let enable_callback = world.api.enable_callback;
    let code = enable_callback(0, world.subscriber, RESOURCE, MODULE_LOADED);
    assert_eq!((code, enable(world.context())), (OK, OK));
    let module = load(&world);
    set_lines(&world, 12);
    drop(module);
    assert_eq!(told().image, image);
}

/// A module that was loaded before anything was enabled.
#[test]
fn samples_name_an_image_of_a_module_that_was_not_reported() {
    let world = world();
    let module = load(&world);
    let stall = StallModel {
        reason: "wait",
        samples: 1,
        ..StallModel::default()
    };
    world.cupti.set_stalls("spin", &[stall]);
    assert_eq!(enable(world.context()), OK);
    launch(&world, &module);
    let crc_of_samples = read(world.context(), 9).pcs[0].crc;
    let enable = world.api.enable_callback;
    assert_eq!(enable(1, world.subscriber, RESOURCE, MODULE_UNLOADED), OK);
    drop(module);
    assert_eq!(crc(&told().image), (OK, crc_of_samples));
}

#[test]
fn a_new_context_is_reported_with_its_handle() {
    let world = world();
    let enable = world.api.enable_callback;
    assert_eq!(enable(1, world.subscriber, RESOURCE, CONTEXT_CREATED), OK);
    let context = CudaContext::new(1).unwrap();
    let created = told();
    assert_eq!(
        (created.cbid, created.context),
        (CONTEXT_CREATED, context.cu_ctx() as u64)
    );
}
