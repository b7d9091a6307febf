//! `IntoPar`: parts are pushed in the order of the type of Par, whatever their order here.

use crate::names::{self, Shape};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{DataEnum, DeriveInput, Fields, Ident, Result, parse_quote};

pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let generics = names::bounded(&input.generics, parse_quote!(::par::IntoPar));
    let (before, after, clause) = generics.split_for_impl();
    let body = match names::shape(input)? {
        Shape::Struct(fields) => {
            let (pattern, parts) = bindings(fields);
            let pushes = push(fields, &parts, &quote!(to))?;
            quote! { let #name #pattern = self; #pushes }
        }
        Shape::Enum(data) => variants(name, data)?,
    };
    Ok(quote! {
        #[automatically_derived]
        impl #before ::par::IntoPar for #name #after #clause {
            fn write_to(
                &self,
                to: &mut ::par::embed::Builder,
            ) -> ::core::result::Result<(), ::par::embed::Mismatch> {
                #body
                ::core::result::Result::Ok(())
            }
        }
    })
}

/// A pattern for the fields, and what it binds.
fn bindings(fields: &Fields) -> (TokenStream, Vec<Ident>) {
    let parts: Vec<Ident> = (0..fields.len()).map(|i| format_ident!("part_{i}")).collect();
    let pattern = match fields {
        Fields::Named(named) => {
            let names = named.named.iter().map(|f| &f.ident);
            quote!({ #(#names: #parts),* })
        }
        Fields::Unnamed(_) => quote!((#(#parts),*)),
        Fields::Unit => quote!(),
    };
    (pattern, parts)
}

/// Pushes the fields of a record, the components of a tuple, or what the only component is.
fn push(fields: &Fields, parts: &[Ident], to: &TokenStream) -> Result<TokenStream> {
    let count = parts.len();
    Ok(match fields {
        Fields::Named(named) => {
            let names = named.named.iter().map(names::field).collect::<Result<Vec<_>>>()?;
            quote! { #(::par::IntoPar::write_to(#parts, #to.field(#names, #count)?)?;)* }
        }
        Fields::Unnamed(_) if count == 1 => quote! { #(::par::IntoPar::write_to(#parts, #to)?;)* },
        Fields::Unnamed(_) => {
            let indices = 0..count;
            quote! { #(::par::IntoPar::write_to(#parts, #to.component(#indices, #count)?)?;)* }
        }
        Fields::Unit => quote! { ::par::IntoPar::write_to(&(), #to)?; },
    })
}

fn variants(name: &Ident, data: &DataEnum) -> Result<TokenStream> {
    let mut arms = Vec::new();
    for variant in &data.variants {
        let (ident, constructor) = (&variant.ident, names::variant(variant)?);
        let (pattern, parts) = bindings(&variant.fields);
        let count = parts.len();
        let pushes = match &variant.fields {
            Fields::Named(_) => {
                let fields = push(&variant.fields, &parts, &quote!(record))?;
                quote! { let record = payload.part(0, 1)?; #fields }
            }
            _ => {
                let indices = 0..count;
                quote! { #(::par::IntoPar::write_to(#parts, payload.part(#indices, #count)?)?;)* }
            }
        };
        let payload = if count == 0 { quote!(_) } else { quote!(mut payload) };
        arms.push(quote! {
            #name::#ident #pattern => {
                let #payload = to.constructor(#constructor)?;
                #pushes
            }
        });
    }
    Ok(quote! { match self { #(#arms)* } })
}
