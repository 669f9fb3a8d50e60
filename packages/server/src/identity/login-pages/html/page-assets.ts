// The assets of the pages: style sheet, logo, and the two scripts for passkeys; none comes from another host.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createStaticAsset, type StaticAsset } from '../../../http/index.ts';
import type { LayoutOptions } from './page-layout.ts';

const javascriptType = 'text/javascript; charset=utf-8';
const contentHashLength = 12;

const assetSources = {
  'pages.css': {
    type: 'text/css; charset=utf-8',
    url: new URL('assets/pages.css', import.meta.url),
  },
  'logo.svg': { type: 'image/svg+xml', url: new URL('assets/logo.svg', import.meta.url) },
  'passkey.js': { type: javascriptType, url: new URL('assets/passkey.js', import.meta.url) },
  'webauthn.js': {
    type: javascriptType,
    // The built file of the package.
    url: new URL('../dist/bundle/index.umd.min.js', import.meta.resolve('@simplewebauthn/browser')),
  },
} as const;

type AssetName = keyof typeof assetSources;

export const assetPath = '/auth/assets';

export type PageAssets = LayoutOptions['assets'] & {
  readonly scripts: readonly string[];
  /** `hash` is the content hash in the address; browsers cache a file for long only with its current hash. */
  find(name: string, tag: string | undefined): StaticAsset | undefined;
};

/** Small files, read at the start, so that pages can address them by content hash. */
export function createPageAssets(): PageAssets {
  const files = Object.entries(assetSources).map(([name, { type, url }]) => {
    const content = readFileSync(fileURLToPath(url));
    const tag = createHash('sha256')
      .update(content)
      .digest('base64url')
      .slice(0, contentHashLength);
    const served = (cacheControl: string) =>
      createStaticAsset({ type, cacheControl, read: () => content });
    const lasting = served('public, max-age=31536000, immutable');
    return [name, { tag, lasting, other: served('public, no-cache') }] as const;
  });
  const byName = new Map<string, (typeof files)[number][1]>(files);
  const addressOf = (name: AssetName) => `${assetPath}/${name}?v=${byName.get(name)?.tag ?? ''}`;
  return {
    style: addressOf('pages.css'),
    logo: addressOf('logo.svg'),
    scripts: [addressOf('webauthn.js'), addressOf('passkey.js')],
    find(name, tag) {
      const file = byName.get(name);
      return file !== undefined && file.tag === tag ? file.lasting : file?.other;
    },
  };
}
