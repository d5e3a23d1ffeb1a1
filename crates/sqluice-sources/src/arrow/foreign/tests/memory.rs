//! Builds arrays of the C data interface in which every buffer is a separate allocation of its exact size.

use std::ffi::c_void;
use std::ptr;

use arrow_array::ffi::FFI_ArrowArray;
use arrow_schema::DataType;
use fastrand::Rng;

use super::super::raw::Raw;
use super::tree::Tree;

/// The memory that the pointers of an array refer to. Every buffer is a separate allocation of exactly its size, so that tools notice reads
/// beyond its end.
#[derive(Default)]
pub(super) struct Memory {
    buffers: Vec<Box<[u8]>>,
    pointers: Vec<Box<[*const c_void]>>,
    children: Vec<Box<[*mut Raw]>>,
    arrays: Vec<*mut Raw>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        for array in &self.arrays {
            // SAFETY: each pointer comes from `Box::into_raw`, and no array uses it any longer.
            drop(unsafe { Box::from_raw(*array) });
        }
    }
}

unsafe extern "C" fn release(array: *mut Raw) {
    // SAFETY: the interface passes a valid array.
    unsafe { (*array).release = None };
}

impl Memory {
    fn array(&mut self, tree: &Tree, rng: &mut Rng) -> *mut Raw {
        let mut buffers: Vec<Option<Vec<u8>>> = tree.buffers.clone();
        if matches!(tree.kind, DataType::Utf8View | DataType::BinaryView) {
            let sizes = tree.buffers[2..].iter().flatten();
            buffers.push(Some(sizes.flat_map(|data| (data.len() as i64).to_le_bytes()).collect()));
        }
        let mut pointers: Vec<*const c_void> = Vec::new();
        for buffer in buffers {
            let Some(bytes) = buffer else {
                pointers.push(ptr::null());
                continue;
            };
            // One of eight buffers begins at an odd offset, so it is not aligned.
            let skipped = if rng.usize(..8) == 0 { 1 } else { 0 };
            let bytes: Box<[u8]> = [vec![0; skipped], bytes].concat().into();
            pointers.push(bytes[skipped..].as_ptr().cast());
            self.buffers.push(bytes);
        }
        let children: Vec<*mut Raw> = tree.children.iter().map(|child| self.array(child, rng)).collect();
        let dictionary = tree.dictionary.as_ref().map_or(ptr::null_mut(), |tree| self.array(tree, rng));
        self.pointers.push(pointers.into());
        self.children.push(children.into());
        let [pointers, children] = [
            self.pointers.last_mut().unwrap().as_mut_ptr().cast(),
            self.children.last_mut().unwrap().as_mut_ptr().cast::<c_void>(),
        ];
        let array = Raw {
            length: tree.length as i64,
            null_count: tree.null_count,
            offset: tree.offset as i64,
            n_buffers: self.pointers.last().unwrap().len() as i64,
            n_children: tree.children.len() as i64,
            buffers: pointers.cast(),
            children: children.cast(),
            dictionary,
            release: Some(release),
            private_data: ptr::null_mut(),
        };
        self.arrays.push(Box::into_raw(Box::new(array)));
        *self.arrays.last().unwrap()
    }

    pub(super) fn ffi(&mut self, tree: &Tree, rng: &mut Rng) -> FFI_ArrowArray {
        let array = self.array(tree, rng);
        // SAFETY: `array` points to a valid array of the C data interface.
        unsafe { FFI_ArrowArray::from_raw(array.cast()) }
    }
}
