//! The derive macro of `kilocore`: a struct with named fields becomes a row, and each field a column.
//!
//! Use it through `kilocore`, which documents it together with the trait that it implements.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{
    Data, DeriveInput, Error, Field, Fields, GenericArgument, Ident, LitInt, LitStr, PathArguments,
    Type, parse_macro_input, spanned::Spanned,
};

/// Implements `kilocore::TableRow` and `kilocore::RowValues` for a struct with named fields.
#[proc_macro_derive(Row, attributes(row))]
pub fn derive_row(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    row(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// A field of the struct, and what its attributes say.
struct ColumnField {
    ident: Ident,
    /// Name of the column.
    name: String,
    kind: Type,
    /// Largest length in bytes, for text and bytes.
    up_to: Option<u32>,
}

fn row(input: &DeriveInput) -> Result<TokenStream, Error> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.span(), "a row is a struct"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new(input.span(), "a row is a struct with named fields"));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new(input.generics.span(), "a row has no type parameters"));
    }
    let fields = fields.named.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let struct_name = &input.ident;
    let columns = fields.iter().map(declared);
    let given = fields.iter().map(given);
    let read = fields
        .iter()
        .map(|ColumnField { ident, name, .. }| quote!(#ident: ::kilocore::Row::get(row, #name)?));
    Ok(quote! {
        impl ::kilocore::TableRow for #struct_name {
            fn columns() -> ::std::vec::Vec<(&'static str, ::kilocore::ColumnType, bool)> {
                ::std::vec![#(#columns),*]
            }

            fn from_row(
                row: &::kilocore::Row<'_>,
            ) -> ::std::result::Result<Self, ::kilocore::Error> {
                ::std::result::Result::Ok(Self { #(#read),* })
            }
        }

        impl ::kilocore::RowValues for #struct_name {
            fn given(&self) -> ::kilocore::Given<'_> {
                ::kilocore::Given::ByName(::std::vec![#(#given),*])
            }
        }
    })
}

/// Reads a field and its attributes.
fn column(field: &Field) -> Result<ColumnField, Error> {
    let ident = field.ident.clone().expect("the field has a name");
    let mut column = ColumnField {
        name: ident.to_string().trim_start_matches("r#").to_owned(),
        ident,
        kind: field.ty.clone(),
        up_to: None,
    };
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("row")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("name") {
                column.name = meta.value()?.parse::<LitStr>()?.value();
                return Ok(());
            }
            if meta.path.is_ident("up_to") {
                column.up_to = Some(meta.value()?.parse::<LitInt>()?.base10_parse()?);
                return Ok(());
            }
            Err(meta.error("unknown attribute; allowed are name = \"...\" and up_to = BYTES"))
        })?;
    }
    Ok(column)
}

/// Returns the column of a field: its name, its type, and whether it is nullable.
fn declared(ColumnField { name, kind, up_to, .. }: &ColumnField) -> TokenStream {
    let of_type = quote!(<#kind as ::kilocore::ColumnValue>::column());
    match up_to {
        None => quote!({
            let (kind, nullable) = #of_type;
            (#name, kind, nullable)
        }),
        Some(most) => quote!({
            let (kind, nullable) = #of_type;
            (#name, ::kilocore::ColumnType::up_to(kind, #most), nullable)
        }),
    }
}

/// Returns the name and the value of a field.
fn given(ColumnField { ident, name, kind, .. }: &ColumnField) -> TokenStream {
    match inside_option(kind) {
        None => quote!((#name, ::kilocore::Value::from(&self.#ident))),
        Some(_) => quote!((#name, match &self.#ident {
            ::std::option::Option::Some(value) => ::kilocore::Value::from(value),
            ::std::option::Option::None => ::kilocore::Value::Null,
        })),
    }
}

/// Returns the type inside an `Option`.
fn inside_option(kind: &Type) -> Option<&Type> {
    let Type::Path(path) = kind else { return None };
    let last = path.path.segments.last()?;
    let option = Ident::new("Option", Span::call_site());
    if last.ident != option {
        return None;
    }
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(inside) => Some(inside),
        _ => None,
    }
}
