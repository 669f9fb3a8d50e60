// `switchyard admin vault`: lists and replaces the keys of stored cards, without access to a key or a card.
import type { CommandContext } from '../../packages/cli/src/command-line/command-runner.ts';
import { isUuid } from '../../packages/cli/src/command-line/path-parameters.ts';
import { fail } from '../../packages/cli/src/runtime/command-error.ts';
import { isoTime, readSettings } from '../../packages/server/src/platform/index.ts';
import {
  listPanAccesses,
  listVaultKeys,
  requestKeyRotation,
} from '../../packages/server/src/vault/index.ts';
import { createAuditAndJobs, withExistingPlatform } from './platform-database.ts';

type AccessOptions = { readonly from?: string; readonly to?: string; readonly limit: number };

const listedMax = 10_000;
const dayMs = 86_400_000;

function organizationOf({ globals: { organization } }: CommandContext): string | undefined {
  if (organization !== undefined && !isUuid(organization))
    fail('usage', '--organization must be the identifier (UUID) of an organisation.');
  return organization;
}

export async function listCardKeys(context: CommandContext): Promise<void> {
  const { environment, output } = context;
  const organization = organizationOf(context);
  await withExistingPlatform(environment.env, 'vault status', async ({ database }) => {
    const keys = await listVaultKeys(database, organization);
    output.printResult({ keys }, () =>
      output.formatTable(
        [
          {
            title: 'ORGANISATION',
            value: ({ purpose, organizationId }) =>
              purpose === 'Index' ? 'index of all cards' : organizationId,
            neverTruncate: true,
          },
          { title: 'KEY', value: ({ keyId }) => keyId, neverTruncate: true },
          'state',
          { title: 'CREATED', value: ({ createdAt }) => createdAt },
          { title: 'WRAPPED BY', value: ({ wrappedBy }) => wrappedBy },
        ],
        keys,
      ),
    );
  });
}

export async function rotateKeys(
  context: CommandContext,
  _args: string[],
  { all = false }: { readonly all?: boolean },
): Promise<void> {
  const { environment, output } = context;
  const organization = organizationOf(context);
  if (all === (organization !== undefined))
    fail('usage', 'rotate-keys needs either --organization or --all.');
  await withExistingPlatform(environment.env, 'vault rotate-keys', async (platform) => {
    const { recordChange: recordAudit, ...parts } = await createAuditAndJobs(platform);
    const organizations = await requestKeyRotation({ ...parts, recordAudit }, organization);
    output.printResult({ organizations }, () =>
      organizations.length === 0
        ? 'there was no key to replace\n'
        : `replaced the keys of ${organizations.length} organisations; a job re-encrypts their cards, and “vault status” shows the progress\n`,
    );
  });
}

function parseTime(text: string, option: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) fail('usage', `${option} must be a time such as 2026-03-01T00:00:00Z.`);
  return time;
}

export async function listAccesses(
  context: CommandContext,
  _args: string[],
  options: AccessOptions,
): Promise<void> {
  const { environment, output } = context;
  const organizationId = organizationOf(context) ?? fail('usage', '--organization is missing.');
  const { limit } = options;
  if (limit > listedMax) fail('usage', `--limit must be a number from 1 to ${listedMax}.`);
  const to = options.to === undefined ? environment.clock.now() : parseTime(options.to, '--to');
  const from = options.from === undefined ? to - dayMs : parseTime(options.from, '--from');
  await withExistingPlatform(environment.env, 'vault accesses', async ({ database }) => {
    const accesses = await listPanAccesses(database, { organizationId, from, to, limit });
    output.printResult({ from: isoTime(from), to: isoTime(to), accesses }, () =>
      output.formatTable(['at', 'result', 'purpose', 'actor', 'subjectId', 'token'], accesses),
    );
  });
}

/** The key never leaves the module; only a backup of the module copies it. */
export async function createPkcs11Key({ environment, output }: CommandContext): Promise<void> {
  const settings = readSettings(environment.env);
  const { vaultPkcs11Module: module, vaultPkcs11Token: token } = settings;
  const { vaultPkcs11Key: key, vaultPkcs11Pin: pin } = settings;
  if (module === undefined || token === undefined || key === undefined || pin === undefined)
    throw new Error(
      'set SWITCHYARD_VAULT_KEY_PROVIDER=pkcs11 and SWITCHYARD_VAULT_PKCS11_MODULE, _TOKEN, _KEY and _PIN',
    );
  // The package is optional, because it compiles native code.
  const { makePkcs11Key } = await import('../../packages/pkcs11/src/index.ts');
  makePkcs11Key({ module, token, key, pin });
  output.printResult({ key, token }, () => `the key ${key} was created in the token ${token}\n`);
}
