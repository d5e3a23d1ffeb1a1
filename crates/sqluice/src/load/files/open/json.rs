//! Opens JSON files: where their records are, and which keys these have.

use sqluice_core::error::{Error, Place, Result, Setting, message};
use sqluice_core::progress::Silent;
use sqluice_engine::options::IfExists;
use sqluice_sources::input::Sample;
use sqluice_sources::json::{JsonOptions, Layout, Wanted, arrays_of_objects};

use crate::load::files::file::{Content, LoadFile};
use crate::load::files::format::FileFormat;
use crate::load::files::json::JsonFile;
use crate::load::files::sample::{Opened, SAMPLE_GROWTH, record_bytes_max};
use crate::load::request::Request;
use crate::load::request::key_specs;

/// Samples a JSON file, and reads all of it where the request names columns that the sample does not have.
pub(crate) fn open(mut file: LoadFile, layout: Layout, load: &Request, rows_max: u64) -> Result<LoadFile> {
    let wanted = load.columns.clone().map_or(Wanted::All, Wanted::Named);
    let options = JsonOptions::new(layout)
        .part_bytes(load.write.tuning.part_bytes)
        .record_bytes_max(record_bytes_max(load))
        .records(load.format.records.clone())
        .wanted(wanted);
    file.words = match &options.records {
        Some(path) => format!("JSON, records in {path}"),
        None => FileFormat::Json(layout).words().to_owned(),
    };
    let remark = options.records.as_ref().map(|path| {
        format!("records are the elements of {path}; what stands around that array is left out").into()
    });
    let mut json = JsonFile::new(options, remark);
    let mut sample_bytes = load.write.tuning.sample_bytes;
    loop {
        let sample = file.input.sample(sample_bytes)?;
        let opened = Opened::of(&sample, sample_bytes);
        let (whole, text_bytes) = (opened.whole, opened.text_bytes);
        file.sampled(opened);
        let more =
            sample_bytes <= json.options.record_bytes_max && text_bytes >= sample_bytes as u64 && !whole;
        let head = Sample { text: sample.text.clone(), ..sample };
        let mut source = match json.of_sample(sample, &file.input, rows_max) {
            // The array has not begun.
            Err(_) if more => {
                sample_bytes = sample_bytes.max(1).saturating_mul(SAMPLE_GROWTH);
                continue;
            }
            source => source?,
        };
        // Where the sample is cut off, it can't be read.
        let _ = json.read_keys(&mut source, 1);
        file.name_json_columns(&json);
        let source = json.all_of_sample(&mut file.input, sample_bytes, rows_max)?;
        file.observe(source, load, rows_max)?;
        if !more || file.sample_rows > 0 {
            suggest_records(&mut json, &mut file, &head)?;
            break;
        }
        sample_bytes = sample_bytes.max(1).saturating_mul(SAMPLE_GROWTH);
    }
    json.complete = file.seen;
    if lacks_asked(&json, &file, load) {
        if !file.can_reopen() {
            file.keep(&load.temp_folder()?, &Silent)?;
        }
        let mut source = json.keys_source(&mut file.input, 0..rows_max)?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        json.read_keys(&mut source, load.write.threads.unwrap_or(threads))?;
        json.complete = true;
        file.name_json_columns(&json);
    }
    file.content = Content::Json(json);
    Ok(file)
}

/// Suggests the array in which the records may be, where a file is one object that has such an array.
///
/// # Errors
/// When no memory holds that object.
fn suggest_records(json: &mut JsonFile, file: &mut LoadFile, sample: &Sample) -> Result<()> {
    if json.options.layout == Layout::Array || file.sample_rows > 1 || file.sample_rows == 1 && !sample.whole
    {
        return Ok(());
    }
    let Some(path) = arrays_of_objects(&sample.text).into_iter().next() else { return Ok(()) };
    let suggestion = message![Setting::Records.to(path.to_string()), " loads a row for each of its elements"];
    if file.sample_rows == 0 && !sample.whole {
        let message = format!("the file is one long object, with an array of objects in {path}");
        return Err(Error::input(message).at(Place::file(file.input.name())).hint(suggestion));
    }
    let words = format!("the file is one object, with an array of objects in {path}; ");
    json.remark = Some(message![words, suggestion]);
    file.name_json_columns(json);
    Ok(())
}

/// Whether the user names a column that the sample does not have.
fn lacks_asked(json: &JsonFile, file: &LoadFile, load: &Request) -> bool {
    let mut asked: Vec<&str> = load.columns.iter().flatten().map(String::as_str).collect();
    asked.extend(load.types.iter().map(|(name, _)| name.as_str()));
    asked.extend(load.convert.iter().map(|(name, _)| name.as_str()));
    asked.extend(load.primary_key.iter().map(String::as_str));
    if let IfExists::Upsert(keys) = &load.write.if_exists {
        asked.extend(keys.iter().map(String::as_str));
    }
    let indexed = key_specs::indexed(load);
    asked.extend(indexed.iter().map(String::as_str));
    let exists = |name: &&str| file.names.iter().any(|known| known.eq_ignore_ascii_case(name));
    !json.complete && !asked.iter().all(exists)
}
