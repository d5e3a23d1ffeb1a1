//! Keys of key-only items. Each key decodes to its item, so only the keys are stored.

use sqluice_platform::memory;

use super::halves::{HALF_BYTES, HALVES_MAX, first_word, halves, word};
use super::item::Decoded;
use super::order::{Cut, Order};
use super::radix::{self, Press, Scratch};

/// The form of the keys of key-only items. All keys of a list have the same form, and so the same number of u64 halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sort) enum Form {
    /// A record of two integers or NULLs, each in 32 bits. The key is one half.
    Short,
    /// A record of two integers or NULLs, each in 64 bits. The key has two halves.
    Pair,
    /// A normalized key that has only zeros after its first 16 bytes. The key has two halves: one word.
    Word,
    /// A normalized key that has only zeros after its first 32 bytes. The key has four halves: two words.
    Words,
    /// A record of a UUID as text, and at most one number or NULL. The key has four halves.
    Uuid,
}

/// A list of keys of one form. A normalized key that is shorter than the form is padded with zeros.
#[derive(Debug)]
pub(in crate::sort) struct Keys {
    pub(in crate::sort) form: Form,
    list: Vec<u64>,
}

/// A compression of each key of a run to one u64: only the bits in which the keys of the run differ are stored. Packed keys sort like the
/// keys.
#[derive(Clone, Copy, Debug)]
pub(in crate::sort) struct Packing {
    /// The bits that are 1 in all keys.
    common: [u64; HALVES_MAX],
    press: Press<HALVES_MAX>,
}

impl Packing {
    /// Returns the packing of `keys`; `None` if a key is only one u64, if the keys differ in more than 64 bits, or if the list is empty.
    pub(in crate::sort) fn of(keys: &Keys) -> Option<Packing> {
        let each = keys.form.halves();
        let first = widened(keys.list.get(..each).filter(|_| each > 1)?);
        let varying = keys.list.chunks(each).fold([0; HALVES_MAX], |mut varying, key| {
            for half in 0..each {
                varying[half] |= key[half] ^ first[half];
            }
            varying
        });
        let common = std::array::from_fn(|half| first[half] & !varying[half]);
        Some(Packing { common, press: Press::new(varying)? })
    }

    #[inline]
    pub(in crate::sort) fn packed(&self, key: &[u64]) -> u64 {
        self.press.key(widened(key))
    }

    /// Returns the key of a packed key in an array. Halves that the key does not have are 0.
    #[inline]
    pub(in crate::sort) fn unpacked<const HALVES: usize>(&self, packed: u64) -> [u64; HALVES] {
        let bits = self.press.halves_of(packed);
        std::array::from_fn(|half| self.common[half] | bits[half])
    }
}

/// Returns a key in an array of the largest size. Halves that the key does not have are 0.
#[inline]
fn widened(key: &[u64]) -> [u64; HALVES_MAX] {
    std::array::from_fn(|half| key.get(half).copied().unwrap_or(0))
}

impl Form {
    /// Returns the number of halves of a key in this form.
    #[inline]
    pub(in crate::sort) const fn halves(self) -> usize {
        match self {
            Form::Short => 1,
            Form::Pair | Form::Word => 2,
            Form::Words | Form::Uuid => 4,
        }
    }

    /// Returns the memory of a key in bytes, including the u64 into which the differing bits of the key are compressed for sorting.
    pub(in crate::sort) const fn key_bytes(self) -> usize {
        self.halves() * HALF_BYTES + size_of::<u64>()
    }

    /// Returns the pair of integers or NULLs that a key of the form `Short` or `Pair` stands for, or `None` if the key has another form.
    #[inline]
    fn pair(self, order: &Order, key: &[u64]) -> Option<u128> {
        match (self, key) {
            (Form::Short, [short, ..]) => Some(order.pair_of_short(*short)),
            (Form::Pair, [high, low, ..]) => Some(word([*high, *low])),
            _ => None,
        }
    }

    /// Converts a key of this form to the normalized key of its item: two words, padded with zeros. Returns `None` if the key is a UUID,
    /// whose normalized key is longer than two words.
    fn normalized(self, order: &Order, key: &[u64]) -> Option<[u128; 2]> {
        if let Some(pair) = self.pair(order, key) {
            let mut decoded = Decoded::NONE;
            decoded.set_pair(order, pair);
            return order.decodable_key(decoded.item().record).map(|(key, _)| key);
        }
        let half = |at: usize| key.get(at).copied().unwrap_or(0);
        (self != Form::Uuid).then(|| [word([half(0), half(1)]), word([half(2), half(3)])])
    }

    /// Decodes a key to its item, which is stored in `decoded`.
    #[inline]
    fn decode(self, order: &Order, key: &[u64], decoded: &mut Decoded) {
        match (self, key) {
            (Form::Short, [short, ..]) => decoded.set_pair(order, order.pair_of_short(*short)),
            (Form::Pair, [high, low, ..]) => decoded.set_pair(order, word([*high, *low])),
            (Form::Uuid, _) => decoded.set_uuid(order, widened(key)),
            _ => {
                let [a, b, c, d] = widened(key);
                decoded.set(order, [[a, b], [c, d]].map(word));
            }
        }
    }

    /// Decodes a key to its item, which is stored in `decoded`. Returns the prefix of the item: the first 16 bytes of its normalized key.
    #[inline]
    pub(in crate::sort) fn decode_with_prefix(
        self,
        order: &Order,
        key: &[u64],
        decoded: &mut Decoded,
    ) -> u128 {
        self.decode(order, key, decoded);
        match self {
            Form::Word | Form::Words => first_word(key),
            Form::Short | Form::Pair | Form::Uuid => order.prefix(&decoded.item()),
        }
    }

    /// Returns the prefix of the item to which this key decodes.
    pub(in crate::sort) fn prefix(self, order: &Order, key: &[u64]) -> u128 {
        let mut decoded = Decoded::NONE;
        self.decode_with_prefix(order, key, &mut decoded)
    }

    /// Returns the prefix of the item to which this key decodes, and the cut right before the item.
    pub(in crate::sort) fn place(self, order: &Order, key: &[u64]) -> (u128, Cut) {
        match self.normalized(order, key) {
            Some(key) => (key[0], Cut::of_whole(&key)),
            None => {
                let mut decoded = Decoded::NONE;
                self.decode(order, key, &mut decoded);
                order.place(&decoded.item())
            }
        }
    }

    /// Returns `true` if the item to which this key decodes sorts before `cut`.
    pub(in crate::sort) fn is_before(self, order: &Order, key: &[u64], cut: &Cut) -> bool {
        match self.normalized(order, key) {
            Some(key) => cut.is_after(&key),
            None => {
                let mut decoded = Decoded::NONE;
                let prefix = self.decode_with_prefix(order, key, &mut decoded);
                order.is_before(&decoded.item(), prefix, cut)
            }
        }
    }
}

/// Returns the first of the positions `0..count` for which `is_before` is false, or `count` if it is true for all. `is_before` must be true
/// for a number of positions at the beginning, and false for all others.
pub(in crate::sort) fn partition_point(count: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = (low + high) / 2;
        match is_before(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

impl Keys {
    pub(in crate::sort) fn new(form: Form) -> Keys {
        Keys { form, list: Vec::new() }
    }

    pub(in crate::sort) fn len(&self) -> usize {
        self.list.len() / self.form.halves()
    }

    pub(in crate::sort) fn as_halves(&self) -> &[u64] {
        &self.list
    }

    /// Returns the prefixes of the first and the last item of a sorted list.
    pub(in crate::sort) fn prefixes(&self, order: &Order) -> (u128, u128) {
        let each = self.form.halves().min(self.list.len());
        let (first, last) = (&self.list[..each], &self.list[self.list.len() - each..]);
        (self.form.prefix(order, first), self.form.prefix(order, last))
    }

    #[inline]
    pub(in crate::sort) fn push(&mut self, key: &[u64]) {
        debug_assert_eq!(key.len(), self.form.halves());
        self.list.extend_from_slice(key);
    }

    pub(in crate::sort) fn clear(&mut self) {
        self.list.clear();
    }

    /// Returns the memory of the keys in bytes.
    pub(in crate::sort) fn memory_bytes(&self) -> usize {
        HALF_BYTES * self.list.capacity()
    }

    /// Reserves memory for `keys` keys in total.
    pub(in crate::sort) fn reserve(&mut self, keys: usize) {
        self.list.reserve_exact((self.form.halves() * keys).saturating_sub(self.list.len()));
        memory::advise_large(&mut self.list);
    }

    pub(in crate::sort) fn shrink(&mut self) {
        self.list.shrink_to_fit();
    }

    pub(in crate::sort) fn sort(&mut self, scratch: &mut Scratch) {
        match self.form {
            Form::Short => radix::sort_numbers(&mut self.list, scratch),
            Form::Pair | Form::Word => radix::sort_decodable(self.list.as_chunks_mut::<2>().0, scratch),
            Form::Words | Form::Uuid => radix::sort_decodable(self.list.as_chunks_mut::<4>().0, scratch),
        }
    }

    /// Returns the keys of the same items in another, longer form: pairs if `wanted` is `Pair`, otherwise normalized keys. If `wanted` is
    /// `Word`, but a key has more than one word, the form is `Words`. Zeros may pad a key, because bytes after the end of a key are read as
    /// zeros, and no key is the beginning of another.
    pub(in crate::sort) fn in_form(&self, order: &Order, wanted: Form) -> Keys {
        let keys = self.list.chunks(self.form.halves());
        let normalized = |key: &[u64]| self.form.normalized(order, key).expect("no UUID becomes another key");
        let form = match wanted {
            Form::Word if keys.clone().any(|key| normalized(key)[1] != 0) => Form::Words,
            _ => wanted,
        };
        let mut list = Vec::with_capacity(form.halves() * self.len());
        for key in keys {
            match self.form.pair(order, key).filter(|_| form == Form::Pair) {
                Some(pair) => list.extend(halves(pair)),
                None => list.extend(&normalized(key).map(halves).as_flattened()[..form.halves()]),
            }
        }
        Keys { form, list }
    }

    /// Returns the keys between two cuts, as halves. The list must be sorted. Without a `start` or an `end`, the keys reach to that end of
    /// the list.
    pub(in crate::sort) fn between(&self, order: &Order, start: Option<&Cut>, end: Option<&Cut>) -> &[u64] {
        let each = self.form.halves();
        let before = |cut: &Cut| {
            let key = |at: usize| &self.list[each * at..][..each];
            each * partition_point(self.len(), |at| self.form.is_before(order, key(at), cut))
        };
        &self.list[start.map_or(0, before)..end.map_or(self.list.len(), before)]
    }

    /// Decodes each key, and calls `each` with its item.
    pub(in crate::sort) fn decode(&self, order: &Order, mut each: impl FnMut(&Decoded)) {
        let mut decoded = Decoded::NONE;
        for key in self.list.chunks(self.form.halves()) {
            self.form.decode(order, key, &mut decoded);
            each(&decoded);
        }
    }
}
