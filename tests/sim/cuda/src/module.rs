//! Modules and their functions (API reference, Module Management). Nothing is compiled: a module is
//! a list of the names that its PTX text declares.

use std::collections::BTreeMap;

use simbase::activity::{self, KernelName, ResourceChange};

use crate::abi::Handle;
use crate::device;
use crate::kernels;
use crate::objects::{EntryNames, Function, KernelResources, Module};
use crate::result_codes::{Answer, Code};
use crate::state::State;

/// By default.
const RESOURCES: KernelResources = KernelResources {
    registers: 32,
    static_shared: 0,
    local: 0,
};

/// Every `.entry NAME` of a PTX text (PTX ISA, Kernel and Function Directives: .entry).
pub(crate) fn entry_names(text: &str) -> EntryNames {
    let code = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or(line));
    let code: String = code.flat_map(|line| [line, "\n"]).collect();
    let names = code.split(".entry").skip(1).filter_map(|rest| {
        let name = rest
            .trim_start()
            .split(|c: char| !(c.is_ascii_alphanumeric() || "_$%".contains(c)))
            .next();
        name.filter(|name| !name.is_empty() && rest.starts_with(char::is_whitespace))
            .map(str::to_owned)
    });
    EntryNames::Declared(names.collect())
}

impl State {
    /// A new module in the current context.
    pub(crate) fn load_module(&mut self, names: EntryNames) -> Answer<Handle> {
        let context = self.current_context()?;
        self.last_module += 1;
        let kernels = reported_kernels(&names);
        let reported = activity::Module::new(self.last_module, context, kernels);
        let reported = &*Box::leak(Box::new(reported));
        self.add_resource_change(ResourceChange::ModuleLoaded { module: reported });
        Ok(self.modules.insert(Module {
            context,
            reported,
            names,
            functions: BTreeMap::new(),
        }))
    }

    /// The function `name` of `module`, with the same handle each time; NOT_FOUND if the module
    /// does not declare it.
    pub(crate) fn function(&mut self, module: Handle, name: &str) -> Answer<Handle> {
        let found = self.modules.get(module)?;
        if let Some(function) = found.functions.get(name) {
            return Ok(*function);
        }
        if let EntryNames::Declared(names) = &found.names
            && !names.iter().any(|declared| declared == name)
        {
            return Err(Code::NOT_FOUND);
        }
        let context = found.context;
        let kernel = kernels::find(name);
        let name = name.to_owned();
        let dynamic_shared = device::SHARED_PER_BLOCK;
        let handle = self.functions.insert(Function {
            context,
            module,
            name: name.clone(),
            kernel,
            dynamic_shared,
        });
        self.modules.get_mut(module)?.functions.insert(name, handle);
        Ok(handle)
    }

    /// What the threads and blocks of a kernel use.
    pub(crate) fn resources(&self, kernel: &str) -> KernelResources {
        self.resources.get(kernel).copied().unwrap_or(RESOURCES)
    }

    /// Unloads `module` with its functions. The deferred operations must have been computed.
    pub(crate) fn unload_module(&mut self, module: Handle) -> Answer {
        let unloaded = self.modules.remove(module)?.reported;
        self.functions.retain(|function| function.module != module);
        self.add_resource_change(ResourceChange::ModuleUnloaded { module: unloaded });
        Ok(())
    }
}

/// The kernels that the observer is told of, which live as long as the process: those that a text
/// declares; of a binary image all that the simulator knows.
fn reported_kernels(names: &EntryNames) -> &'static [KernelName] {
    let kernels: Vec<KernelName> = match names {
        EntryNames::Declared(names) => names
            .iter()
            .map(|name| KernelName::new(name.clone().leak()))
            .collect(),
        EntryNames::Any => kernels::names().map(KernelName::new).collect(),
    };
    kernels.leak()
}

/// The value of `CU_FUNC_ATTRIBUTE_*` number `attribute`. What would come from compiling is
/// constant.
pub(crate) fn attribute(
    function: &Function,
    resources: KernelResources,
    attribute: i32,
) -> Answer<i32> {
    let value = match attribute {
        0 => device::MAX_THREADS_PER_BLOCK as i32,
        1 => resources.static_shared as i32,
        2 | 7 => 0, // constant memory; cache mode
        3 => resources.local as i32,
        4 => resources.registers as i32,
        5 | 6 => 75, // PTX and binary version
        8 => function.dynamic_shared as i32,
        9 => -1,      // preferred shared-memory carve-out: the driver's choice
        10..=15 => 0, // clusters, which this device lacks
        _ => return Err(Code::INVALID_VALUE),
    };
    Ok(value)
}
