//! Par in Zed: starts `par lsp`.

use zed_extension_api::{self as zed, Command, LanguageServerId, Result, Worktree};

struct Par;

impl zed::Extension for Par {
    fn new() -> Par {
        Par
    }

    fn language_server_command(&mut self, _: &LanguageServerId, worktree: &Worktree) -> Result<Command> {
        let command = worktree.which("par").ok_or("there is no command `par` on the path")?;
        Ok(Command { command, args: vec!["lsp".into()], env: worktree.shell_env() })
    }
}

zed::register_extension!(Par);
