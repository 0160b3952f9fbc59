//! What is asked about the images of modules.

use super::cupti_functions;
use crate::modules;
use crate::parameters::Parameters;
use crate::pc_sampling_parameters::{CubinCrc, SourceLine};
use crate::state;

cupti_functions! {
    fn cuptiGetCubinCrc(parameters: Parameters<CubinCrc>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        parameters.crc = modules::checksum(parameters.image()?);
        Ok(())
    }

    /// The caller frees both texts.
    fn cuptiGetSassToSourceCorrelation(parameters: Parameters<SourceLine>) {
        let mut parameters = parameters;
        let parameters = parameters.get()?;
        parameters.set_unknown();
        let (image, function) = parameters.question()?;
        let offset = parameters.offset;
        let found = state::lock().modules.find(image)?.line(function, offset);
        let (path, line) = found?;
        parameters.set_line(&path, line);
        Ok(())
    }
}
