//! Opens Avro files for a load. To count the rows, and again for the load, the whole file is read from its start. So an input that is
//! compressed, or is not a local file, is copied to a temporary file first.

use arrow_schema::SchemaRef;
use sqluice_core::error::Result;
use sqluice_core::progress::Silent;
use sqluice_core::source::chain::Counted;

use super::read;
use crate::arrow::{ArrowOptions, ArrowRows, ArrowSource};
use crate::formats::columnar::{count_rows, opened, options, part, regular};
use crate::formats::opened::{Content, OpenRequest, Opened, WantedRows};
use crate::formats::sample::changed;
use crate::formats::{FileFormat, Format};
use crate::input::InputFile;

/// The reader of Avro files.
pub(in crate::formats) struct Avro;

impl Format for Avro {
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
        let (schema, batches) = read(part(&input, request)?, input.name(), options.memory)?;
        let rows = count_rows(batches)?;
        let content = AvroFile { options, schema: schema.clone() };
        Ok(vec![opened(this, input, request, &schema, rows, Box::new(content))?])
    }
}

/// An opened Avro file.
struct AvroFile {
    options: ArrowOptions,
    schema: SchemaRef,
}

impl Content for AvroFile {
    fn source(&mut self, input: &mut InputFile, wanted: WantedRows<'_>) -> Result<Box<dyn Counted>> {
        let (schema, batches) = read(regular(input)?, input.name(), self.options.memory)?;
        if schema != self.schema {
            return Err(changed());
        }
        let WantedRows { map, as_text, rows, .. } = wanted;
        let types: Vec<_> = schema.fields().iter().map(|field| field.data_type().clone()).collect();
        let of = ArrowRows::new(Some(input.name().to_owned()), types.len(), map, as_text, self.options);
        Ok(Box::new(ArrowSource::new(batches, of.kinds(&types), rows)))
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
