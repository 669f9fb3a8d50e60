// A real headless browser for the tests of pages: the installed Chromium, never a download.
import assert from 'node:assert/strict';
import { createHash, X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/** `chromium-headless-shell` is first: it takes two thirds of the time of a full Chromium. */
const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
const launchLimitMs = 60_000;

function findChromium(): string | undefined {
  const folders = ['/usr/bin', ...(process.env['PATH'] ?? '').split(':')];
  return folders
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find((path) => existsSync(path));
}

const executablePath = findChromium();

/** The reason why the tests are skipped; false if a browser exists or is required. */
export function reasonToSkip(path: string | undefined, required: string | undefined) {
  if (path !== undefined || required === '1') return false;
  return 'no Chromium on this machine: install the package chromium to run these tests';
}

/** The `skip` option for `describe`. */
export const chromiumSkipReason: string | false = reasonToSkip(
  executablePath,
  process.env['SWITCHYARD_REQUIRE_BROWSER'],
);
if (chromiumSkipReason !== false) console.warn(`\n*** SKIPPED: ${chromiumSkipReason} ***\n`);

export type ChromiumOptions = {
  /** The certificate of the server, PEM. */
  readonly certificate: string;
  /** Resolves these host names to this address: `127.0.0.1:8443`. */
  readonly hosts?: { readonly names: readonly string[]; readonly at: string };
};

/**
 * Opens a browser that trusts the key of this server as if a known authority had signed it.
 * Chromium refuses passkeys after a certificate error, even an ignored one. The caller closes the
 * browser.
 */
export async function openChromium({ certificate, hosts }: ChromiumOptions): Promise<Browser> {
  assert.ok(executablePath !== undefined, 'Chromium is needed here, and there is none');
  const { publicKey } = new X509Certificate(certificate);
  const key = publicKey.export({ type: 'spki', format: 'der' });
  const digest = createHash('sha256').update(key).digest('base64');
  return chromium.launch({
    executablePath,
    timeout: launchLimitMs,
    args: [
      `--ignore-certificate-errors-spki-list=${digest}`,
      `--host-resolver-rules=${(hosts?.names ?? []).map((name) => `MAP ${name} ${hosts?.at}`).join(',')}`,
      '--force-color-profile=srgb',
    ],
  });
}
