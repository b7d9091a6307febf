//! `FromPar`: parts are read by their names or places.

use crate::names::{self, Shape};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Fields, Ident, Result, parse_quote};

pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let generics = names::bounded(&input.generics, parse_quote!(::par::FromPar));
    let (before, after, clause) = generics.split_for_impl();
    let (fits, body) = match names::shape(input)? {
        Shape::Struct(fields) => (fits(fields)?, read(&quote!(#name), fields)?),
        Shape::Enum(data) => (quote! { ::par::embed::parts::sum(view) }, variants(name, data)?),
    };
    Ok(quote! {
        #[automatically_derived]
        impl #before ::par::FromPar for #name #after #clause {
            fn fits(
                view: &::par::embed::View<'_>,
            ) -> ::core::result::Result<(), ::par::embed::Mismatch> {
                #fits
            }

            fn from_view(
                view: &::par::embed::View<'_>,
                row: usize,
            ) -> ::core::result::Result<Self, ::par::embed::Mismatch> {
                #body
            }
        }
    })
}

/// Asks whether a record, a tuple, or the only component, of `view` can be read.
fn fits(fields: &Fields) -> Result<TokenStream> {
    let (count, types) = (fields.len(), fields.iter().map(|f| &f.ty));
    Ok(match fields {
        Fields::Named(named) => {
            let names = named.named.iter().map(names::field).collect::<Result<Vec<_>>>()?;
            quote! {
                let fields = ::par::embed::parts::record(view, #count)?;
                #(::par::embed::parts::fits::<#types>(fields, #names)?;)*
                ::core::result::Result::Ok(())
            }
        }
        Fields::Unnamed(_) if count == 1 => quote! { #(<#types as ::par::FromPar>::fits(view))* },
        Fields::Unnamed(_) => {
            let indices = 0..count;
            quote! {
                let parts = ::par::embed::parts::tuple(view, #count)?;
                #(<#types as ::par::FromPar>::fits(&parts[#indices])?;)*
                ::core::result::Result::Ok(())
            }
        }
        Fields::Unit => quote! { <() as ::par::FromPar>::fits(view) },
    })
}

/// Reads a record, a tuple, or the only component, of `view`.
fn read(path: &TokenStream, fields: &Fields) -> Result<TokenStream> {
    let count = fields.len();
    Ok(match fields {
        Fields::Named(named) => {
            let idents = named.named.iter().map(|f| &f.ident);
            let names = named.named.iter().map(names::field).collect::<Result<Vec<_>>>()?;
            quote! {
                let fields = ::par::embed::parts::record(view, #count)?;
                ::core::result::Result::Ok(#path {
                    #(#idents: ::par::embed::parts::field(fields, #names, row)?),*
                })
            }
        }
        Fields::Unnamed(_) if count == 1 => {
            quote! { ::core::result::Result::Ok(#path(::par::FromPar::from_view(view, row)?)) }
        }
        Fields::Unnamed(_) => {
            let indices = 0..count;
            quote! {
                let parts = ::par::embed::parts::tuple(view, #count)?;
                ::core::result::Result::Ok(#path(#(::par::FromPar::from_view(&parts[#indices], row)?),*))
            }
        }
        Fields::Unit => quote! {
            <() as ::par::FromPar>::from_view(view, row)?;
            ::core::result::Result::Ok(#path)
        },
    })
}

fn variants(name: &Ident, data: &DataEnum) -> Result<TokenStream> {
    let mut arms = Vec::new();
    let mut constructors = Vec::new();
    for variant in &data.variants {
        let (ident, constructor) = (&variant.ident, names::variant(variant)?);
        let count = variant.fields.len();
        let made = match &variant.fields {
            Fields::Named(_) => {
                let record = read(&quote!(#name::#ident), &variant.fields)?;
                quote! {
                    let view = &::par::embed::parts::payload(payload, 1)?[0];
                    #record
                }
            }
            Fields::Unnamed(_) => {
                let indices = 0..count;
                quote! {
                    let parts = ::par::embed::parts::payload(payload, #count)?;
                    ::core::result::Result::Ok(
                        #name::#ident(#(::par::FromPar::from_view(&parts[#indices], row)?),*)
                    )
                }
            }
            Fields::Unit => quote! {
                ::par::embed::parts::payload(payload, 0)?;
                ::core::result::Result::Ok(#name::#ident)
            },
        };
        arms.push(quote! { #constructor => { #made } });
        constructors.push(constructor);
    }
    Ok(quote! {
        let (constructor, payload) = ::par::embed::parts::constructor(view, row)?;
        match constructor {
            #(#arms)*
            other => ::core::result::Result::Err(
                ::par::embed::parts::unknown_constructor(other, &[#(#constructors),*])
            ),
        }
    })
}
