//! Chooses the Arrow types with which columns are read.
//!
//! Texts and blobs are read as views into the decompressed pages: a dictionary string is stored once, however many rows have it. The reader
//! refuses a whole page for one text that is not UTF-8. Then the columns are read again with texts as blobs, and only the rows with such
//! texts are bad rows.
//!
//! Intervals are read as blobs of 12 bytes, because the reader would drop either their months or all other fields.

use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, Fields};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels};
use parquet::basic::{ConvertedType, Type};
use parquet::errors::ParquetError;
use parquet::schema::types::{SchemaDescriptor, Type as Node, TypePtr};

/// The length of an interval: months, days and milliseconds, of 32 bits each.
const INTERVAL_BYTES: i32 = 12;

/// The form in which texts are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Texts {
    /// As texts, which the reader checks for UTF-8.
    Checked,
    /// As blobs, because some texts are not UTF-8.
    AsBlobs,
}

/// Returns the fields for reading the columns `read` of a file.
pub(super) fn levels(
    metadata: &ArrowReaderMetadata,
    read: &[usize],
    texts: Texts,
) -> Result<FieldLevels, ParquetError> {
    let fields = metadata.schema().fields().iter().map(|field| as_views(field, texts));
    let fields: Fields = fields.collect();
    let schema = SchemaDescriptor::new(Arc::new(bare(metadata.parquet_schema().root_schema(), texts)?));
    let mask = ProjectionMask::roots(&schema, read.iter().copied());
    parquet_to_arrow_field_levels(&schema, mask, Some(&fields))
}

/// Returns the form in which texts of the columns `read`, which are interpreted by the types `kinds`, can be read at first. The reader checks
/// only strings with the logical type UTF-8. It does not check JSON, nor strings that are text only by the file's Arrow schema.
pub(super) fn first_reading(metadata: &ArrowReaderMetadata, read: &[usize], kinds: &[DataType]) -> Texts {
    let schema = metadata.parquet_schema();
    let is_unchecked = |leaf: usize| {
        let column = schema.column(leaf);
        let root = read.binary_search(&schema.get_column_root_idx(leaf));
        column.physical_type() == Type::BYTE_ARRAY
            && column.converted_type() != ConvertedType::UTF8
            && root.is_ok_and(|root| has_text(&kinds[root]))
    };
    match (0..schema.num_columns()).any(is_unchecked) {
        true => Texts::AsBlobs,
        false => Texts::Checked,
    }
}

fn has_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8View => true,
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => has_text(field.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_text(field.data_type())),
        _ => false,
    }
}

fn as_views(field: &FieldRef, texts: Texts) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(type_as_views(field.data_type(), texts)))
}

/// Returns the type with which values of a type are read.
pub(super) fn type_as_views(data_type: &DataType, texts: Texts) -> DataType {
    with_leaves(data_type, &mut |leaf| match leaf {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => match texts {
            Texts::Checked => DataType::Utf8View,
            Texts::AsBlobs => DataType::BinaryView,
        },
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => DataType::BinaryView,
        DataType::Interval(_) => DataType::FixedSizeBinary(INTERVAL_BYTES),
        other => other.clone(),
    })
}

/// Replaces the leaves of a type, in their order, by the results of `leaf`. A dictionary is replaced by its values.
pub(super) fn with_leaves(data_type: &DataType, leaf: &mut dyn FnMut(&DataType) -> DataType) -> DataType {
    let mut of = |field: &FieldRef| {
        Arc::new(field.as_ref().clone().with_data_type(with_leaves(field.data_type(), leaf)))
    };
    match data_type {
        DataType::Dictionary(_, values) => with_leaves(values, leaf),
        DataType::List(field) => DataType::List(of(field)),
        DataType::LargeList(field) => DataType::LargeList(of(field)),
        DataType::ListView(field) => DataType::ListView(of(field)),
        DataType::LargeListView(field) => DataType::LargeListView(of(field)),
        DataType::FixedSizeList(field, length) => DataType::FixedSizeList(of(field), *length),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(of).collect()),
        DataType::Map(entries, sorted) => DataType::Map(of(entries), *sorted),
        other => leaf(other),
    }
}

/// Returns the schema without the logical types that make binaries intervals and, for [`Texts::AsBlobs`], without those that make byte
/// arrays text.
fn bare(node: &Node, texts: Texts) -> Result<Node, ParquetError> {
    let info = node.get_basic_info();
    let id = info.has_id().then(|| info.id());
    if node.is_primitive() {
        let physical = node.get_physical_type();
        let length = match physical {
            Type::BYTE_ARRAY if texts == Texts::AsBlobs && is_text(node) => -1,
            Type::FIXED_LEN_BYTE_ARRAY if info.converted_type() == ConvertedType::INTERVAL => INTERVAL_BYTES,
            _ => return Ok(node.clone()),
        };
        let bare = Node::primitive_type_builder(node.name(), physical).with_length(length);
        return bare.with_repetition(info.repetition()).with_id(id).build();
    }
    let fields = node.get_fields().iter().map(|field| bare(field, texts).map(Arc::new));
    group(node, fields.collect::<Result<_, _>>()?)
}

/// Returns a copy of a group with other fields.
pub(super) fn group(node: &Node, fields: Vec<TypePtr>) -> Result<Node, ParquetError> {
    let info = node.get_basic_info();
    let mut group = Node::group_type_builder(node.name())
        .with_fields(fields)
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_id(info.has_id().then(|| info.id()));
    if info.has_repetition() {
        group = group.with_repetition(info.repetition());
    }
    group.build()
}

/// Returns `true` if the logical type of a byte array may make it text. The logical type of decimals must be kept.
fn is_text(node: &Node) -> bool {
    use parquet::basic::LogicalType;
    let info = node.get_basic_info();
    match info.logical_type_ref() {
        Some(LogicalType::Decimal { .. }) => false,
        Some(_) => true,
        None => info.converted_type() != ConvertedType::DECIMAL,
    }
}
