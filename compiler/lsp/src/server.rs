//! The server's side of the conversation.

use crate::document::{Document, Open, path_of};
use crate::{actions, answers, colours, completion, diagnostics, names, signature, text, transport};
use lsp_server::{Connection, ErrorCode, ExtractError, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Notification as _, PublishDiagnostics,
};
use lsp_types::request::{
    CodeActionRequest, Completion, DocumentSymbolRequest, Formatting, GotoDefinition, HoverRequest,
    InlayHintRequest, PrepareRenameRequest, RangeFormatting, References, Rename, Request as _,
    SemanticTokensFullRequest, SemanticTokensRangeRequest, SignatureHelpRequest,
};
use lsp_types::{
    CodeActionProviderCapability, CompletionOptions, CompletionParams, CompletionResponse,
    DocumentSymbolResponse, GotoDefinitionResponse, HoverProviderCapability, InlayHint, InlayHintParams,
    Location, OneOf, PrepareRenameResponse, PublishDiagnosticsParams, ReferenceParams, RenameOptions,
    SemanticTokensFullOptions, SemanticTokensOptions, SemanticTokensRangeResult, SemanticTokensResult,
    ServerCapabilities, SignatureHelp, SignatureHelpOptions, SignatureHelpParams, TextDocumentPositionParams,
    TextDocumentSyncCapability, TextDocumentSyncKind, Url,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Why the server has stopped without being asked to.
pub type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Serves an editor on standard input and output, until it says that it has finished.
pub fn serve_stdio() -> Result<(), Failed> {
    let (connection, writer) = transport::stdio();
    serve(&connection)?;
    drop(connection);
    writer.join().map_err(|_| "what was said could not be written")??;
    Ok(())
}

/// Serves the client at the other end, until it says that it has finished or goes away.
pub fn serve(connection: &Connection) -> Result<(), Failed> {
    connection.initialize(serde_json::to_value(capabilities())?)?;
    let mut server =
        Server { connection, documents: HashMap::new(), open: Open::default(), told: BTreeMap::new() };
    while let Ok(message) = connection.receiver.recv() {
        if !server.take(message)? {
            return Ok(());
        }
        while let Ok(message) = connection.receiver.try_recv() {
            if !server.take(message)? {
                return Ok(());
            }
        }
        server.tell_news()?;
    }
    Ok(())
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::INCREMENTAL)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        document_range_formatting_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: Default::default(),
        })),
        code_action_provider: Some(CodeActionProviderCapability::Simple(true)),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: Some(vec![" ".to_string(), "(".to_string()]),
            ..Default::default()
        }),
        semantic_tokens_provider: Some(
            SemanticTokensOptions {
                legend: colours::legend(),
                range: Some(true),
                full: Some(SemanticTokensFullOptions::Bool(true)),
                ..Default::default()
            }
            .into(),
        ),
        inlay_hint_provider: Some(OneOf::Left(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(vec![".".to_string()]),
            ..Default::default()
        }),
        ..Default::default()
    }
}

struct Server<'a> {
    connection: &'a Connection,
    documents: HashMap<Url, Document>,
    open: Open,
    /// By program: what is wrong in its files, as the editor was told.
    told: BTreeMap<Url, BTreeMap<Url, Vec<lsp_types::Diagnostic>>>,
}

impl Server<'_> {
    /// Does what a message wants. False: it wants the end.
    fn take(&mut self, message: Message) -> Result<bool, Failed> {
        match message {
            Message::Request(request) => {
                if self.connection.handle_shutdown(&request)? {
                    return Ok(false);
                }
                // An answer is about what was told before it.
                self.tell_news()?;
                let response = self.answer(request);
                self.connection.sender.send(Message::Response(response))?;
            }
            Message::Notification(note) => {
                // One that makes no sense is passed over: there is no answer to a notification.
                match self.note(note) {
                    Err(failed) if failed.is::<ExtractError<Notification>>() => {}
                    result => result?,
                }
            }
            Message::Response(_) => {}
        }
        Ok(true)
    }

    fn note(&mut self, note: Notification) -> Result<(), Failed> {
        match note.method.as_str() {
            DidOpenTextDocument::METHOD => {
                let file =
                    note.extract::<lsp_types::DidOpenTextDocumentParams>(DidOpenTextDocument::METHOD)?;
                let file = file.text_document;
                self.open.set(&file.uri, Some(&file.text));
                self.look_again(&file.uri);
                self.documents.insert(file.uri, Document::new(file.text, file.version));
            }
            DidChangeTextDocument::METHOD => {
                let change =
                    note.extract::<lsp_types::DidChangeTextDocumentParams>(DidChangeTextDocument::METHOD)?;
                let (uri, version) = (change.text_document.uri, change.text_document.version);
                if let Some(document) = self.documents.get_mut(&uri) {
                    let text = change.content_changes.into_iter().fold(document.text.clone(), text::changed);
                    self.open.set(&uri, Some(&text));
                    document.change(text, version);
                    self.look_again(&uri);
                }
            }
            DidCloseTextDocument::METHOD => {
                let file =
                    note.extract::<lsp_types::DidCloseTextDocumentParams>(DidCloseTextDocument::METHOD)?;
                let uri = file.text_document.uri;
                self.open.set(&uri, None);
                self.documents.remove(&uri);
                self.look_again(&uri);
                let told = self.told.remove(&uri).unwrap_or_default();
                told.into_keys().try_for_each(|file| self.publish(file))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Open programs that may import a file see it as it is now.
    fn look_again(&mut self, changed: &Url) {
        let path = path_of(changed);
        self.documents.values_mut().for_each(|d| d.look_again(&path));
    }

    /// Publishes what is wrong with files that have changed.
    fn tell_news(&mut self) -> Result<(), Failed> {
        let urls: Vec<Url> = self.documents.iter().filter(|d| d.1.is_new()).map(|d| d.0.clone()).collect();
        for url in urls {
            let Some(document) = self.documents.get_mut(&url) else { continue };
            let files = diagnostics::by_file(&url, document.analysis(&url, &self.open));
            let now: BTreeSet<Url> = files.keys().cloned().collect();
            let before = self.told.insert(url, files).unwrap_or_default();
            let both = now.into_iter().chain(before.into_keys()).collect::<BTreeSet<Url>>();
            both.into_iter().try_for_each(|file| self.publish(file))?;
        }
        Ok(())
    }

    /// Publishes what all open programs find wrong in a file.
    fn publish(&self, uri: Url) -> Result<(), Failed> {
        let mut diagnostics: Vec<lsp_types::Diagnostic> = Vec::new();
        for found in self.told.values().filter_map(|files| files.get(&uri)).flatten() {
            if !diagnostics.contains(found) {
                diagnostics.push(found.clone());
            }
        }
        let version = self.documents.get(&uri).map(|d| d.version);
        let params = PublishDiagnosticsParams { uri, diagnostics, version };
        let note = Notification::new(PublishDiagnostics::METHOD.to_string(), params);
        Ok(self.connection.sender.send(Message::Notification(note))?)
    }

    fn answer(&mut self, request: Request) -> Response {
        let id = request.id.clone();
        let answered = match request.method.as_str() {
            HoverRequest::METHOD => self.ask::<HoverRequest>(request, |server, params| {
                let place = params.text_document_position_params;
                let (text, analysis) = server.typed(&place.text_document.uri)?;
                answers::hover(text, analysis, place.position)
            }),
            GotoDefinition::METHOD => self.ask::<GotoDefinition>(request, |server, params| {
                let place = params.text_document_position_params;
                let url = place.text_document.uri;
                let (text, analysis) = server.typed(&url)?;
                answers::definition(&url, text, analysis, place.position).map(GotoDefinitionResponse::Scalar)
            }),
            Completion::METHOD => self.ask::<Completion>(request, Self::completion),
            InlayHintRequest::METHOD => self.ask::<InlayHintRequest>(request, Self::hints),
            DocumentSymbolRequest::METHOD => self.ask::<DocumentSymbolRequest>(request, |server, params| {
                let url = params.text_document.uri;
                let document = server.documents.get_mut(&url)?;
                let symbols = answers::symbols(&url, document.analysis(&url, &server.open));
                Some(DocumentSymbolResponse::Flat(symbols))
            }),
            Formatting::METHOD => self.ask::<Formatting>(request, |server, params| {
                Some(answers::formatted(&server.documents.get(&params.text_document.uri)?.text))
            }),
            RangeFormatting::METHOD => self.ask::<RangeFormatting>(request, |server, params| {
                let document = server.documents.get(&params.text_document.uri)?;
                Some(actions::formatted(&document.text, params.range))
            }),
            CodeActionRequest::METHOD => self.ask::<CodeActionRequest>(request, |server, params| {
                let url = params.text_document.uri;
                let document = server.documents.get(&url)?;
                Some(actions::fixes(&url, &document.text, &params.context.diagnostics))
            }),
            SignatureHelpRequest::METHOD => self.ask::<SignatureHelpRequest>(request, Self::signature),
            SemanticTokensFullRequest::METHOD => {
                self.ask::<SemanticTokensFullRequest>(request, |server, params| {
                    let tokens = server.tokens(&params.text_document.uri, None)?;
                    Some(SemanticTokensResult::Tokens(tokens))
                })
            }
            SemanticTokensRangeRequest::METHOD => {
                self.ask::<SemanticTokensRangeRequest>(request, |server, params| {
                    let tokens = server.tokens(&params.text_document.uri, Some(params.range))?;
                    Some(SemanticTokensRangeResult::Tokens(tokens))
                })
            }
            References::METHOD => self.ask::<References>(request, Self::references),
            PrepareRenameRequest::METHOD => self.ask::<PrepareRenameRequest>(request, Self::prepare_rename),
            Rename::METHOD => return self.rename(request),
            other => {
                let message = format!("this server does not know {other}");
                return Response::new_err(id, ErrorCode::MethodNotFound as i32, message);
            }
        };
        answered.unwrap_or_else(|message| Response::new_err(id, ErrorCode::InvalidParams as i32, message))
    }

    fn completion(&mut self, params: CompletionParams) -> Option<CompletionResponse> {
        let place = params.text_document_position;
        let (present, analysis) = self.present(&place.text_document.uri)?;
        Some(CompletionResponse::Array(completion::complete(&present, analysis, place.position)))
    }

    fn signature(&mut self, params: SignatureHelpParams) -> Option<SignatureHelp> {
        let place = params.text_document_position_params;
        let (present, analysis) = self.present(&place.text_document.uri)?;
        signature::help(&present, analysis, place.position)
    }

    fn hints(&mut self, params: InlayHintParams) -> Option<Vec<InlayHint>> {
        let document = self.documents.get_mut(&params.text_document.uri)?;
        let analysis = document.analysis(&params.text_document.uri, &self.open);
        let text = diagnostics::text_of(&analysis.sources, analysis.file());
        Some(answers::hints(text, analysis, params.range))
    }

    fn references(&mut self, params: ReferenceParams) -> Option<Vec<Location>> {
        let place = params.text_document_position;
        names::references(&mut self.documents, &self.open, &place.text_document.uri, place.position)
    }

    fn prepare_rename(&mut self, place: TextDocumentPositionParams) -> Option<PrepareRenameResponse> {
        let url = place.text_document.uri;
        let found = names::renameable(&mut self.documents, &self.open, &url, place.position);
        found.ok().map(PrepareRenameResponse::Range)
    }

    /// Renaming may be refused, with a reason.
    fn rename(&mut self, request: Request) -> Response {
        let id = request.id.clone();
        let mut refused = None;
        let answered = self.ask::<Rename>(request, |server, params| {
            let place = params.text_document_position;
            let (url, at) = (place.text_document.uri, place.position);
            let edit = names::rename(&mut server.documents, &server.open, &url, at, &params.new_name);
            edit.map_err(|reason| refused = Some(reason)).ok()
        });
        match refused.map_or(answered, Err) {
            Ok(response) => response,
            Err(message) => Response::new_err(id, ErrorCode::RequestFailed as i32, message),
        }
    }

    fn tokens(&mut self, url: &Url, part: Option<lsp_types::Range>) -> Option<lsp_types::SemanticTokens> {
        let (present, analysis) = self.present(url)?;
        Some(colours::tokens(&present, analysis, part))
    }

    fn ask<R>(
        &mut self,
        request: Request,
        answer: impl FnOnce(&mut Self, R::Params) -> R::Result,
    ) -> Result<Response, String>
    where
        R: lsp_types::request::Request,
    {
        let (id, params): (RequestId, R::Params) = request.extract(R::METHOD).map_err(|e| match e {
            ExtractError::MethodMismatch(_) => "another method".to_string(),
            ExtractError::JsonError { error, .. } => error.to_string(),
        })?;
        let result = serde_json::to_value(answer(self, params)).unwrap_or(Value::Null);
        Ok(Response { id, result: Some(result), error: None })
    }

    /// The text as it is, and the analysis of what was typed last.
    fn present(&mut self, url: &Url) -> Option<(String, &par::analysis::Analysis)> {
        let present = self.documents.get(url)?.text.clone();
        Some((present, self.typed(url)?.1))
    }

    fn typed(&mut self, url: &Url) -> Option<(&str, &par::analysis::Analysis)> {
        let document = self.documents.get_mut(url)?;
        Some(document.typed(url, &self.open))
    }
}
