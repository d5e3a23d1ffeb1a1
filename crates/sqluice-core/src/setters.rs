//! Builder methods of option structs: a method sets the field of the same name and returns the options.

/// Writes one builder method for each line, with the doc comment above it.
///
/// ```
/// #[derive(Default)]
/// pub struct Options {
///     pub threads: Option<usize>,
///     pub names: Vec<String>,
/// }
///
/// sqluice_core::setters! { Options:
///     /// Sets the number of threads.
///     threads(threads: impl Into<Option<usize>>) = threads.into();
///     /// Sets the names.
///     names(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
/// }
///
/// let options = Options::default().threads(4).names(["a", "b"]);
/// assert_eq!((options.threads, options.names.len()), (Some(4), 2));
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($options:ty: $($(#[$attribute:meta])* $field:ident($value:ident: $given:ty) = $set:expr;)*) => {
        impl $options {
            $(
                $(#[$attribute])*
                #[must_use]
                pub fn $field(mut self, $value: $given) -> Self {
                    self.$field = $set;
                    self
                }
            )*
        }
    };
}
