//! Reads the footer of a file: its columns, and the types by which their values are interpreted.
//!
//! ```text
//!  in the file                          as read                interpreted as
//!  INTERVAL                             FixedSizeBinary(12)    Interval
//!  UUID                                 FixedSizeBinary(16)    Utf8; in a BLOB column FixedSizeBinary(16)
//!  BYTE_ARRAY without a logical type    BinaryView             Binary; in a TEXT column Utf8
//!  timestamp of 96 bits, not nested     microseconds           Timestamp; 64-bit nanoseconds would end in 2262
//!  a group without members              not at all             Struct
//! ```
//!
//! A group without members has no values in the file, and the Parquet crate does not support such groups. They are removed from the schema
//! before the crate sees it, and their columns are filled with constants. Such groups inside other groups are missing from the JSON.

use std::slice;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, Type as Node, TypePtr};
use sqluice_core::source::columns::{ColumnFrom, Constant};

use super::FilePart;
use super::views::{Texts, group, type_as_views, with_leaves};
use crate::arrow::{BoxedError, read_damaged};

/// The length of a UUID, in bytes.
const UUID_BYTES: i32 = 16;

/// The columns of a table that a file fills.
pub struct TableColumns<'a> {
    /// The field or the constant that fills each column.
    pub from: Vec<ColumnFrom>,
    /// `true` for each column that has TEXT affinity.
    pub as_text: &'a [bool],
    /// `true` for each column that is declared as BLOB.
    pub as_blob: &'a [bool],
}

/// The footer of a file.
pub(super) struct Footer {
    /// The metadata, from which groups without members are removed.
    pub(super) metadata: ArrowReaderMetadata,
    /// `true` if the file contains an Arrow schema that can't be read. It is optional: the Parquet schema is sufficient.
    pub(super) unreadable_hint: bool,
    /// All columns of the file, with the types by which their values are interpreted.
    pub(super) schema: SchemaRef,
    /// For each column of the file: the index of its field in the metadata, or its constant.
    stored: Vec<ColumnFrom>,
    /// The types by which the fields of the metadata are interpreted.
    kinds: Vec<DataType>,
}

impl Footer {
    /// Reads the end of a file.
    pub(super) fn read(input: &FilePart) -> Result<Footer, BoxedError> {
        let parquet = read_damaged(|| ParquetMetaDataReader::new().parse_and_finish(input))?;
        let root = Arc::clone(&parquet.file_metadata().schema_descr().root_schema_ptr());
        let members = root.get_fields().iter().map(with_members).collect::<Result<Vec<_>, _>>()?;
        let parquet = Arc::new(of_members(parquet, &root, &members)?);
        let (metadata, unreadable_hint) = with_schema(&parquet)?;
        let is_hinted = !unreadable_hint && has_hint(&parquet);
        let mut leaves = metadata.parquet_schema().columns().iter();
        let fields = metadata.schema().fields().iter();
        let kinds: Vec<_> =
            fields.clone().map(|field| kind(field.data_type(), is_hinted, &mut leaves)).collect();
        let mut known = fields.zip(&kinds).enumerate();
        let (mut all, mut stored) = (Vec::new(), Vec::new());
        for (node, member) in root.get_fields().iter().zip(&members) {
            if member.is_none() {
                all.push(Arc::new(Field::new(node.name(), DataType::Struct(Fields::empty()), true)));
                stored.push(ColumnFrom::Constant(of_empty(node)));
                continue;
            }
            let (index, (field, kind)) = known.next().ok_or("some of its columns have no type")?;
            all.push(Arc::new(field.as_ref().clone().with_data_type(kind.clone())));
            stored.push(ColumnFrom::Field(index));
        }
        let schema = Schema::new_with_metadata(all, metadata.schema().metadata().clone());
        Ok(Footer { metadata, unreadable_hint, schema: Arc::new(schema), stored, kinds })
    }

    /// Returns the metadata in the form of the Parquet crate.
    pub(super) fn parquet(&self) -> &Arc<ParquetMetaData> {
        self.metadata.metadata()
    }

    /// Translates field indexes of the file to field indexes of the metadata, or to constants.
    pub(super) fn stored(&self, from: Vec<ColumnFrom>) -> Vec<ColumnFrom> {
        let stored = |from| match from {
            ColumnFrom::Field(field) => self.stored[field].clone(),
            constant @ ColumnFrom::Constant(_) => constant,
        };
        from.into_iter().map(stored).collect()
    }

    /// Returns the types by which the fields `read` of the metadata are interpreted. Text types become view types.
    pub(super) fn kinds(&self, read: &[usize]) -> Vec<DataType> {
        read.iter().map(|field| with_leaves(&self.kinds[*field], &mut text_as_view)).collect()
    }

    /// Returns the type by which a field is interpreted in a column declared as TEXT or BLOB, if it differs from the type in other columns.
    pub(super) fn declared_kind(&self, field: usize, as_text: bool, as_blob: bool) -> Option<DataType> {
        let node = &self.metadata.parquet_schema().root_schema().get_fields()[field];
        let info = node.get_basic_info();
        if !node.is_primitive() || info.repetition() == Repetition::REPEATED {
            return None;
        }
        let is_unmarked = info.logical_type_ref().is_none() && info.converted_type() == ConvertedType::NONE;
        match node.get_physical_type() {
            Type::BYTE_ARRAY if as_text && is_unmarked => Some(DataType::Utf8View),
            Type::FIXED_LEN_BYTE_ARRAY if as_blob && info.logical_type_ref() == Some(&LogicalType::Uuid) => {
                Some(DataType::FixedSizeBinary(UUID_BYTES))
            }
            _ => None,
        }
    }
}

/// Returns the type by which values of an Arrow type are interpreted. `leaves` iterates over the Parquet columns of the type's leaves.
fn kind(data_type: &DataType, is_hinted: bool, leaves: &mut slice::Iter<'_, ColumnDescPtr>) -> DataType {
    with_leaves(data_type, &mut |leaf| {
        let logical = leaves.next().and_then(|column| column.logical_type_ref());
        match leaf {
            DataType::FixedSizeBinary(UUID_BYTES) if logical == Some(&LogicalType::Uuid) => DataType::Utf8,
            // Only an Arrow schema tells the unit of an interval.
            DataType::Interval(_) if !is_hinted => DataType::Interval(IntervalUnit::MonthDayNano),
            other => other.clone(),
        }
    })
}

/// Returns the type that leaves have in memory: texts and blobs are views.
fn text_as_view(leaf: &DataType) -> DataType {
    match leaf {
        DataType::Interval(_) => leaf.clone(),
        leaf => type_as_views(leaf, Texts::Checked),
    }
}

fn has_hint(parquet: &ParquetMetaData) -> bool {
    let pairs = parquet.file_metadata().key_value_metadata().into_iter().flatten();
    pairs.into_iter().any(|pair| pair.key == ARROW_SCHEMA_META_KEY)
}

/// Returns the constant that stands for a group without members. For an optional group, the file does not tell which rows are NULL.
fn of_empty(node: &Node) -> Constant {
    let info = node.get_basic_info();
    match info.repetition() == Repetition::REQUIRED && info.converted_type() == ConvertedType::NONE {
        true => Constant::Text("{}".to_owned()),
        false => Constant::Null,
    }
}

/// Returns a node of the schema without nested groups that have no members, or `None` if the node itself is such a group.
fn with_members(node: &TypePtr) -> Result<Option<TypePtr>, ParquetError> {
    if node.is_primitive() {
        return Ok(Some(Arc::clone(node)));
    }
    let fields = node.get_fields().iter().map(with_members).collect::<Result<Vec<_>, _>>()?;
    if fields.iter().all(|field| field.is_some()) && !fields.is_empty() {
        return Ok(Some(Arc::clone(node)));
    }
    let fields: Vec<_> = fields.into_iter().flatten().collect();
    if fields.is_empty() { Ok(None) } else { Ok(Some(Arc::new(group(node, fields)?))) }
}

/// Returns the metadata with only the columns in `members`.
fn of_members(
    parquet: ParquetMetaData,
    root: &Node,
    members: &[Option<TypePtr>],
) -> Result<ParquetMetaData, ParquetError> {
    let is_same = |(node, member): (&TypePtr, &Option<TypePtr>)| {
        member.as_ref().is_some_and(|member| Arc::ptr_eq(node, member))
    };
    if root.get_fields().iter().zip(members).all(is_same) {
        return Ok(parquet);
    }
    let schema = SchemaDescriptor::new(Arc::new(group(root, members.iter().flatten().cloned().collect())?));
    let file = parquet.file_metadata();
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        file.key_value_metadata().cloned(),
        Arc::new(schema),
        file.column_orders().cloned(),
    );
    Ok(ParquetMetaData::new(file, parquet.row_groups().to_vec()))
}

/// Returns the metadata with the Arrow schema, and whether the file has an Arrow schema that can't be read. Columns of deprecated 96-bit
/// timestamps are read in microseconds; such timestamps within lists and groups stay nanoseconds.
fn with_schema(parquet: &Arc<ParquetMetaData>) -> Result<(ArrowReaderMetadata, bool), BoxedError> {
    let with = |options| read_damaged(|| ArrowReaderMetadata::try_new(Arc::clone(parquet), options));
    let (metadata, unreadable) = match with(ArrowReaderOptions::new()) {
        Ok(metadata) => (metadata, false),
        Err(_) => (with(ArrowReaderOptions::new().with_skip_arrow_metadata(true))?, true),
    };
    let columns = metadata.parquet_schema().columns();
    if columns.iter().all(|column| column.physical_type() != Type::INT96) {
        return Ok((metadata, unreadable));
    }
    let roots = metadata.parquet_schema().root_schema().get_fields();
    let is_int96 = |root: &Node| root.is_primitive() && root.get_physical_type() == Type::INT96;
    let fields = roots.iter().zip(metadata.schema().fields()).map(|(root, field)| match field.data_type() {
        DataType::Timestamp(_, zone) if is_int96(root) => {
            let data_type = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
            Arc::new(field.as_ref().clone().with_data_type(data_type))
        }
        _ => Arc::clone(field),
    });
    let schema = Schema::new_with_metadata(fields.collect::<Fields>(), metadata.schema().metadata().clone());
    Ok((with(ArrowReaderOptions::new().with_schema(Arc::new(schema)))?, unreadable))
}
