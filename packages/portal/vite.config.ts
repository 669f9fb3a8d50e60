// Builds the portal: one page for both entries, hashed assets, a screen in a file of its own.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

export default defineConfig({
  base: '/portal/',
  // The server puts the nonce of each answer in its place.
  html: { cspNonce: '__CSP_NONCE__' },
  oxc: { jsx: { runtime: 'automatic' } },
  resolve: {
    // Without the protection of messages: its ciphers are Node's.
    alias: {
      '@switchyard/nexo': fileURLToPath(new URL('../nexo/src/browser.ts', import.meta.url)),
    },
  },
  build: {
    target: 'es2023',
    // A picture in a style would be a data: address, which the policy forbids to styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      // Mantine marks its files for servers that render React; there is none here.
      onLog(level, log, write) {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') write(level, log);
      },
    },
  },
});
