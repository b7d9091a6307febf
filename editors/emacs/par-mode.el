;;; par-mode.el --- Major mode for Par -*- lexical-binding: t; -*-

;; Put this file on the load path and add (require 'par-mode) to the initialisation file.
;; `M-x eglot' in a file then starts `par lsp'; to start it always:
;;   (add-hook 'par-mode-hook #'eglot-ensure)

;;; Code:

(defvar par-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?- ". 12" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?\\ "\\" table)
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?' "_" table)
    table)
  "Syntax of Par: `--' begins a comment.")

(defconst par-font-lock-keywords
  `((,(regexp-opt '("assert" "case" "def" "do" "else" "entry" "for" "if" "import" "in" "include" "let"
                    "local" "loop" "match" "module" "open" "then" "type" "val" "while" "with")
                  'symbols)
     . font-lock-keyword-face)
    (,(regexp-opt '("true" "false") 'symbols) . font-lock-constant-face)
    ("\\_<\\(?:[iu]\\(?:8\\|16\\|32\\|64\\)\\|f\\(?:16\\|32\\|64\\)\\|bool\\)\\_>" . font-lock-type-face)
    ("\\_<\\(?:def\\|entry\\)\\s-+\\([[:alpha:]_][[:alnum:]_']*\\)" 1 font-lock-function-name-face)
    ("#\\[[^]]*\\]" . font-lock-preprocessor-face)
    ("#[[:alpha:]_][[:alnum:]_]*" . font-lock-constant-face))
  "What is coloured in `par-mode'.")

;;;###autoload
(define-derived-mode par-mode prog-mode "Par"
  "Major mode for programs in Par."
  (setq-local comment-start "-- ")
  (setq-local comment-end "")
  (setq-local indent-tabs-mode nil)
  (setq-local font-lock-defaults '(par-font-lock-keywords)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.par\\'" . par-mode))

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(par-mode . ("par" "lsp"))))

(provide 'par-mode)
;;; par-mode.el ends here
