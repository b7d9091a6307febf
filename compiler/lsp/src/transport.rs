//! Messages on standard input and output. What is no message is told to the editor and passed over.

use lsp_server::{Connection, Message, Notification};
use lsp_types::notification::{LogMessage, Notification as _};
use lsp_types::{LogMessageParams, MessageType};
use std::io::{self, ErrorKind};
use std::thread::{self, JoinHandle};

/// A connection with whoever has started the server, and the thread that writes to it: it ends when the connection is dropped.
pub fn stdio() -> (Connection, JoinHandle<io::Result<()>>) {
    let (server, Connection { sender: to_server, receiver: from_server }) = Connection::memory();
    let to_editor = server.sender.clone();
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let sent = match Message::read(&mut input) {
                Ok(Some(message)) => {
                    let is_exit = matches!(&message, Message::Notification(n) if n.method == "exit");
                    to_server.send(message).is_ok() && !is_exit
                }
                // Its bytes are read: what follows may be a message again.
                Err(e) if e.kind() == ErrorKind::InvalidData => to_editor.send(complaint(&e)).is_ok(),
                Ok(None) | Err(_) => false,
            };
            if !sent {
                return;
            }
        }
    });
    let writer = thread::spawn(move || {
        let mut output = io::stdout().lock();
        from_server.into_iter().try_for_each(|message| message.write(&mut output))
    });
    (server, writer)
}

fn complaint(wrong: &io::Error) -> Message {
    let params = LogMessageParams { typ: MessageType::ERROR, message: format!("not a message: {wrong}") };
    Message::Notification(Notification::new(LogMessage::METHOD.to_string(), params))
}
