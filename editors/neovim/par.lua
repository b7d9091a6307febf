-- Par for Neovim 0.8 and later: put this file into `plugin/` of your configuration, or `require` it.
vim.filetype.add({ extension = { par = "par" } })

vim.api.nvim_create_autocmd("FileType", {
  pattern = "par",
  callback = function(args)
    vim.bo[args.buf].commentstring = "-- %s"
    vim.bo[args.buf].expandtab = true
    vim.bo[args.buf].shiftwidth = 2
    vim.lsp.start({
      name = "par",
      cmd = { "par", "lsp" },
      root_dir = vim.fs.dirname(vim.api.nvim_buf_get_name(args.buf)),
    })
  end,
})
