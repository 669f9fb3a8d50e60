// The files behind the pages: style, picture, and the two scripts of the passkey; nothing is fetched elsewhere.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Asset, createAsset } from '../../../http/index.ts';
import type { Frame } from './page-layout.ts';

const script = 'text/javascript; charset=utf-8';
const tagCharacters = 12;

const sources = {
  'pages.css': {
    type: 'text/css; charset=utf-8',
    url: new URL('assets/pages.css', import.meta.url),
  },
  'logo.svg': { type: 'image/svg+xml', url: new URL('assets/logo.svg', import.meta.url) },
  'passkey.js': { type: script, url: new URL('assets/passkey.js', import.meta.url) },
  'webauthn.js': {
    type: script,
    // The finished file of the package: nothing is built here.
    url: new URL(
      '../../dist/bundle/index.umd.min.js',
      import.meta.resolve('@simplewebauthn/browser'),
    ),
  },
} as const;

type Name = keyof typeof sources;

export const assetFolder = '/auth/assets';

export type PageAssets = Frame['assets'] & {
  readonly scripts: readonly string[];
  /** `tag` is what the address asks for; a file is kept for long only under its own. */
  find(name: string, tag: string | undefined): Asset | undefined;
};

/** Small files, read at the start, so that a page can name them by what is in them. */
export function createPageAssets(): PageAssets {
  const files = Object.entries(sources).map(([name, { type, url }]) => {
    const content = readFileSync(fileURLToPath(url));
    const tag = createHash('sha256').update(content).digest('base64url').slice(0, tagCharacters);
    const served = (cacheControl: string) =>
      createAsset({ type, cacheControl, read: () => content });
    const lasting = served('public, max-age=31536000, immutable');
    return [name, { tag, lasting, other: served('public, no-cache') }] as const;
  });
  const byName = new Map<string, (typeof files)[number][1]>(files);
  const addressOf = (name: Name) => `${assetFolder}/${name}?v=${byName.get(name)?.tag ?? ''}`;
  return {
    style: addressOf('pages.css'),
    mark: addressOf('logo.svg'),
    scripts: [addressOf('webauthn.js'), addressOf('passkey.js')],
    find(name, tag) {
      const file = byName.get(name);
      return file !== undefined && file.tag === tag ? file.lasting : file?.other;
    },
  };
}
