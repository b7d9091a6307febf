//! Names of fields and variants in Par.

use syn::{
    Attribute, Data, DataEnum, DeriveInput, Error, Field, Fields, Generics, LitStr, Result, parse_quote,
};

/// The name that `#[par(name = "…")]` gives.
fn given(attributes: &[Attribute]) -> Result<Option<String>> {
    let mut name = None;
    for attribute in attributes.iter().filter(|a| a.path().is_ident("par")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("name") {
                return Err(meta.error("expected `name = \"…\"`"));
            }
            name = Some(meta.value()?.parse::<LitStr>()?.value());
            Ok(())
        })?;
    }
    Ok(name)
}

/// The name of a field; `r#type` is `type`.
pub fn field(field: &Field) -> Result<String> {
    let own = field.ident.as_ref().map(|i| i.to_string().trim_start_matches("r#").to_string());
    Ok(given(&field.attrs)?.or(own).unwrap_or_default())
}

/// The name of a variant's constructor.
pub fn variant(variant: &syn::Variant) -> Result<String> {
    Ok(given(&variant.attrs)?.unwrap_or_else(|| snake(&variant.ident.to_string())))
}

/// `BigBox` as `big_box`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for (i, c) in name.trim_start_matches("r#").char_indices() {
        if c.is_uppercase() && i > 0 {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// Shape of the type that is derived for.
pub enum Shape<'a> {
    Struct(&'a Fields),
    Enum(&'a DataEnum),
}

/// The fields or variants of a type.
pub fn shape(input: &DeriveInput) -> Result<Shape<'_>> {
    match &input.data {
        Data::Struct(s) => Ok(Shape::Struct(&s.fields)),
        Data::Enum(e) if e.variants.is_empty() => {
            Err(Error::new_spanned(&input.ident, "a type without variants has no values"))
        }
        Data::Enum(e) => Ok(Shape::Enum(e)),
        Data::Union(_) => Err(Error::new_spanned(&input.ident, "unions have no counterpart in Par")),
    }
}

/// The type's parameters, each with a bound.
pub fn bounded(generics: &Generics, bound: syn::TypeParamBound) -> Generics {
    let mut generics = generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(#bound));
    }
    generics
}

#[cfg(test)]
mod tests {
    use super::snake;

    #[test]
    fn words_are_joined_by_underscores() {
        assert_eq!((snake("Circle"), snake("BigBox")), ("circle".to_string(), "big_box".to_string()));
        assert_eq!((snake("A"), snake("r#Type")), ("a".to_string(), "type".to_string()));
    }
}
