//! Arrow IPC files and streams. To count the rows, and again for the load, the whole input is read from its start. So an input that is
//! compressed, or is not a local file, is copied to a temporary file first.

use arrow_schema::SchemaRef;
use sqluice_core::error::Result;
use sqluice_core::progress::Silent;
use sqluice_core::source::chain::Counted;

use super::columnar::{count_rows, opened, options, part, regular};
use super::opened::{Content, OpenRequest, Opened, WantedRows};
use super::sample::changed;
use super::{FileFormat, Format};
use crate::arrow::{ArrowOptions, ArrowRows, ArrowSource, ipc};
use crate::input::InputFile;

/// The reader of Arrow IPC files and streams.
pub(super) struct Arrow;

impl Format for Arrow {
    fn open(
        &self,
        this: &'static FileFormat,
        mut input: InputFile,
        request: &OpenRequest<'_>,
    ) -> Result<Vec<Opened>> {
        let folder = (request.temp_folder)()?;
        input.decompress(&folder, &Silent)?;
        input.keep(&folder, &Silent)?;
        let options = options(request);
        let part = part(&input, request)?;
        let magic = this.signatures[0];
        let is_file = input.sample(magic.len())?.text.starts_with(magic);
        let (schema, batches) = ipc::read(part, is_file, input.name(), options.memory)?;
        let rows = count_rows(batches)?;
        let content = ArrowFile { is_file, options, schema: schema.clone() };
        Ok(vec![opened(this, input, request, &schema, rows, Box::new(content))?])
    }
}

/// An opened Arrow IPC file or stream. Its rows are read from the input, whose schema must still be `schema`.
struct ArrowFile {
    /// `true` for a file, `false` for a stream.
    is_file: bool,
    options: ArrowOptions,
    schema: SchemaRef,
}

impl Content for ArrowFile {
    fn source(&mut self, input: &mut InputFile, wanted: WantedRows<'_>) -> Result<Box<dyn Counted>> {
        let (schema, batches) = ipc::read(regular(input)?, self.is_file, input.name(), self.options.memory)?;
        if schema != self.schema {
            return Err(changed());
        }
        let WantedRows { map, as_text, rows, .. } = wanted;
        let of =
            ArrowRows::new(Some(input.name().to_owned()), schema.fields().len(), map, as_text, self.options);
        Ok(Box::new(ArrowSource::new(batches, of, rows)))
    }

    fn sample_source(
        &mut self,
        input: &mut InputFile,
        _: usize,
        wanted: WantedRows<'_>,
    ) -> Result<Box<dyn Counted>> {
        self.source(input, wanted)
    }

    fn has_untyped_values(&self) -> bool {
        false
    }
}
