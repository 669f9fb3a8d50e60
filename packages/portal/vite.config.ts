// Builds the portal: one page for both portals, hashed assets, one file for each screen.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

export default defineConfig({
  base: '/portal/',
  // The server replaces it with the nonce of each response.
  html: { cspNonce: '__CSP_NONCE__' },
  oxc: { jsx: { runtime: 'automatic' } },
  resolve: {
    // Without message protection, which needs the ciphers of Node.
    alias: {
      '@switchyard/nexo': fileURLToPath(new URL('../nexo/src/browser.ts', import.meta.url)),
    },
  },
  build: {
    target: 'es2023',
    // The content security policy forbids data: URLs in styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      // Mantine marks its files for server rendering, which the portal does not use.
      onLog(level, log, write) {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') write(level, log);
      },
    },
  },
});
