// docs/reference/cryptography.md: which file uses which cryptography and what for, read off the sources.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-root.ts';
import { code, table } from './markdown.ts';

/** Packages that bring cryptography with them. */
const libraries = /from '(node:crypto|node:tls|@node-rs\/argon2|@peculiar\/x509|jose|otpauth)'/;
const imported = /import \{([^}]*)\} from '(?:node:crypto|@node-rs\/argon2|jose|otpauth)'/g;
const spaces = /import (?:\* as )?(\w+) from '(@peculiar\/x509|node:crypto|jose)'/g;

/** Names of algorithms as sources spell them. */
const algorithms =
  /'((?:aes|id-aes|des-ede3?)[\w-]*|sha-?(?:1|256|384|512)|ed25519|ec|P-\d{3}|ES\d{3}|PS\d{3}|RS\d{3}|EdDSA|ECDSA|AES-\w+|argon2id|HS\d{3}|HMAC)'/gi;
const wrapped = /`(aes-\$\{[^`]*)`/g;

export type CryptographyUse = {
  readonly path: string;
  readonly names: readonly string[];
  readonly algorithms: readonly string[];
  readonly purpose: string;
};

const unique = (values: readonly string[]) => [...new Set(values)].sort();

function namesIn(text: string): string[] {
  const listed = [...text.matchAll(imported)].flatMap(([, names = '']) =>
    names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '' && !name.startsWith('type '))
      .map((name) => name.split(' as ')[0] ?? name),
  );
  return unique([...listed, ...[...text.matchAll(spaces)].map(([, , from = '']) => from)]);
}

function algorithmsIn(text: string): string[] {
  const written = [...text.matchAll(algorithms)].map(([, name = '']) => name);
  const made = [...text.matchAll(wrapped)].map(([, name = '']) => name.replace(/\$\{[^}]*\}/, '…'));
  const hasArgon = text.includes("from '@node-rs/argon2'") ? ['argon2id'] : [];
  return unique([...written, ...made, ...hasArgon]);
}

/** The first sentence of the file. */
function purposeOf(text: string): string {
  const opening = /^(?:\/\/ [^\n]*\n)+|^\/\*\*[\s\S]*?\*\//.exec(text)?.[0] ?? '';
  const words = opening
    .replace(/^\s*(?:\/\/|\/\*\*|\*\/?)|\*\/$/gm, '')
    .replace(/\s+/g, ' ')
    .trim();
  return words.split(/(?<=\.) /)[0] ?? '';
}

export function findCryptographyUses(
  files: readonly { path: string; text: string }[],
): CryptographyUse[] {
  return files
    .filter(({ text }) => libraries.test(text))
    .map(({ path, text }) => ({
      path,
      names: namesIn(text),
      algorithms: algorithmsIn(text),
      purpose: purposeOf(text),
    }))
    .filter(({ names }) => names.length > 0);
}

/** Each use of a key: its purpose, its storage and its rotation. */
const certificates: readonly (readonly [string, string, string])[] = [
  [
    'The server’s own, for API, device and portal listeners',
    'from `SWITCHYARD_TLS_CERT_FILE`; in the demo made by the local authority',
    'packages/server/src/platform/tls/listener-certificate.ts',
  ],
  [
    'The local authority of the demo',
    'in the data directory, for one machine',
    'packages/server/src/platform/tls/local-certificate-authority.ts',
  ],
  [
    'The authority that issues device certificates, one for each organisation',
    'sealed in the database',
    'packages/server/src/identity/devices/certificate-authority.ts',
  ],
  [
    'Device certificates',
    'the key never leaves the device; renewed before they end',
    'packages/server/src/identity/devices/device-certificates.ts',
  ],
];

function certificateRows(): string[][] {
  return certificates.map(([what, where, file]) => {
    if (!existsSync(join(repositoryRoot, file)))
      throw new Error(`${file} of the inventory does not exist`);
    return [what, where, code(file)];
  });
}

const head = `# Cryptography

Every file that uses cryptography, with what it takes from which library, read off the sources. Look
through it once a year, and whenever an algorithm falls (PCI DSS 12.3.3); the second table is the
inventory of certificates (PCI DSS 4.2.1.1).

`;

export function cryptographyDocument(): string {
  const paths = globSync('packages/*/src/**/*.ts', { cwd: repositoryRoot })
    .filter((path) => !/\.(?:test|fixture)\.ts$/.test(path))
    .filter((path) => !/^packages\/simulators\//.test(path))
    .sort();
  const uses = findCryptographyUses(
    paths.map((path) => ({ path, text: readFileSync(join(repositoryRoot, path), 'utf8') })),
  );
  const rows = uses.map(({ path, names, algorithms: known, purpose }) => [
    code(path),
    purpose,
    names.map(code).join(' '),
    known.map(code).join(' '),
  ]);
  return [
    head,
    '## Where it is used\n\n',
    table(['File', 'What for', 'Uses', 'Algorithms'], rows),
    '\n\n## Certificates\n\n',
    table(['Certificate', 'Key and life', 'File'], certificateRows()),
    '\n',
  ].join('');
}
