// Starts `par lsp` for files of the language and connects the editor to it.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async function () {
  const command = vscode.workspace.getConfiguration("par").get("command", "par");
  const server = { command, args: ["lsp", "--stdio"] };
  const options = { documentSelector: [{ language: "par" }] };
  client = new LanguageClient("par", "Par", server, options);
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(`Par: ${command} could not be started (${error.message}). Set par.command to its path.`);
  }
};

exports.deactivate = function () {
  return client && client.stop();
};
