//! The footer of a file: its columns, and the types that their values mean.
//!
//! ```text
//!  in the file                          as it is read          its type
//!  INTERVAL                             FixedSizeBinary(12)    Interval
//!  UUID                                 FixedSizeBinary(16)    Utf8; in a BLOB column FixedSizeBinary(16)
//!  BYTE_ARRAY that is not marked        BinaryView             Binary; in a TEXT column Utf8
//!  timestamp of 96 bits                 microseconds           Timestamp: nanoseconds of 64 bits end in 2262
//!  a group without members              not at all             Struct
//! ```
//!
//! A group without members has no values in the file, and Parquet's reader does not know such groups. They are taken out of the schema
//! before it sees it, and are constants. Where they are in another group, its JSON lacks them.

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

/// The length of a UUID.
const UUID_BYTES: i32 = 16;

/// The columns of a table that are filled.
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
    /// The metadata without groups that have no members.
    pub(super) metadata: ArrowReaderMetadata,
    /// `true` if the Arrow schema of the file can't be read. The schema is a hint: Parquet's own schema says all that must be known.
    pub(super) unreadable_hint: bool,
    /// All columns of the file, with the types that their values mean.
    pub(super) schema: SchemaRef,
    /// The field of the metadata that each column has, or its constant.
    stored: Vec<ColumnFrom>,
    /// The types that the fields of the metadata mean.
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
            let (index, (field, kind)) = known.next().ok_or("it has columns of no type")?;
            all.push(Arc::new(field.as_ref().clone().with_data_type(kind.clone())));
            stored.push(ColumnFrom::Field(index));
        }
        let schema = Schema::new_with_metadata(all, metadata.schema().metadata().clone());
        Ok(Footer { metadata, unreadable_hint, schema: Arc::new(schema), stored, kinds })
    }

    /// Returns the metadata of Parquet.
    pub(super) fn parquet(&self) -> &Arc<ParquetMetaData> {
        self.metadata.metadata()
    }

    /// Returns what fills columns that are filled from fields of the file: fields of the metadata.
    pub(super) fn stored(&self, from: Vec<ColumnFrom>) -> Vec<ColumnFrom> {
        let stored = |from| match from {
            ColumnFrom::Field(field) => self.stored[field].clone(),
            constant @ ColumnFrom::Constant(_) => constant,
        };
        from.into_iter().map(stored).collect()
    }

    /// Returns the types that the fields `read` of the metadata mean, however their texts are read.
    pub(super) fn kinds(&self, read: &[usize]) -> Vec<DataType> {
        read.iter().map(|field| with_leaves(&self.kinds[*field], &mut text_as_view)).collect()
    }

    /// Returns the type that the values of a field mean in a column that is declared as TEXT or BLOB, if it is another one than in other
    /// columns.
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

/// Returns the type that values of Arrow's type mean, whose leaves follow.
fn kind(data_type: &DataType, is_hinted: bool, leaves: &mut slice::Iter<'_, ColumnDescPtr>) -> DataType {
    with_leaves(data_type, &mut |leaf| {
        let logical = leaves.next().and_then(|column| column.logical_type_ref());
        match leaf {
            DataType::FixedSizeBinary(UUID_BYTES) if logical == Some(&LogicalType::Uuid) => DataType::Utf8,
            // Only an Arrow schema has the units of an interval.
            DataType::Interval(_) if !is_hinted => DataType::Interval(IntervalUnit::MonthDayNano),
            other => other.clone(),
        }
    })
}

/// Returns the type of texts and blobs in memory.
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

/// Returns the value of a group that has no members in each row. Whether an optional one is NULL is not in the file.
fn of_empty(node: &Node) -> Constant {
    let info = node.get_basic_info();
    match info.repetition() == Repetition::REQUIRED && info.converted_type() == ConvertedType::NONE {
        true => Constant::Text("{}".to_owned()),
        false => Constant::Null,
    }
}

/// Returns a node of the schema without the groups in it that have no members, or `None` if the node is such a group.
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

/// Returns the metadata with these of the columns.
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

/// Returns the metadata with the schema of Arrow, and whether the file has one that can't be read. Timestamps of 96 bits, which are
/// deprecated, are read to the microsecond.
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
