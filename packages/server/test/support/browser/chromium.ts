// A real browser for the tests of pages: the machine's own Chromium, without a window, never downloaded.
import assert from 'node:assert/strict';
import { createHash, X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/** The one that has no windows at all takes two thirds of the time of one that hides them. */
const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
const launchLimitMs = 60_000;

function findChromium(): string | undefined {
  const folders = ['/usr/bin', ...(process.env['PATH'] ?? '').split(':')];
  return folders
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find((path) => existsSync(path));
}

const executablePath = findChromium();

/** Why its tests are skipped; false where there is a browser, and where there must be one. */
export function reasonToSkip(path: string | undefined, required: string | undefined) {
  if (path !== undefined || required === '1') return false;
  return 'no Chromium on this machine: install the package chromium to run these tests';
}

/** What to tell `describe`. */
export const withoutChromium: string | false = reasonToSkip(
  executablePath,
  process.env['SWITCHYARD_REQUIRE_BROWSER'],
);
if (withoutChromium !== false) console.warn(`\n*** SKIPPED: ${withoutChromium} ***\n`);

export type ChromiumDeps = {
  /** Of the server, PEM. */
  readonly certificate: string;
  /** Finds these hosts at this address: `127.0.0.1:8443`. */
  readonly hosts?: { readonly names: readonly string[]; readonly at: string };
};

/**
 * Opens a browser that believes this server's key as if a known authority had signed it: with a
 * certificate that it only puts up with, it would refuse passkeys. The caller closes it.
 */
export async function openChromium({ certificate, hosts }: ChromiumDeps): Promise<Browser> {
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
