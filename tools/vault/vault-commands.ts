// Does what was asked of the vault beside a running platform: without a key of it, so nobody who runs this sees a card.
import { createAudit } from '../../packages/server/src/audit/index.ts';
import {
  createJobs,
  createMetrics,
  type Database,
  isoTime,
  type Log,
  omitCardSettings,
  readSettings,
  type Settings,
  systemClock,
  systemIds,
} from '../../packages/server/src/platform/index.ts';
import {
  listPanAccesses,
  listVaultKeys,
  requestKeyRotation,
  type VaultKeyView,
} from '../../packages/server/src/vault/index.ts';
import { withDatabase } from '../platform-database/open-platform-database.ts';
import { requireDataDirectory } from '../platform-database/require-data-directory.ts';

export type VaultCommand = { readonly json: boolean } & (
  | { readonly command: 'make-key' }
  | {
      readonly command: 'status' | 'rotate-keys';
      /** Undefined: all of them. */
      readonly organization: string | undefined;
    }
  | {
      readonly command: 'accesses';
      readonly organization: string;
      readonly from: number;
      readonly to: number;
      readonly limit: number;
    }
);

type Open = { readonly settings: Settings; readonly database: Database; readonly log: Log };

const print = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);

function printKeys(keys: readonly VaultKeyView[], json: boolean): void {
  if (json) return void print({ keys });
  for (const key of keys) {
    const owner = key.purpose === 'Index' ? 'index of all cards'.padEnd(36) : key.organizationId;
    process.stdout.write(
      `  ${owner}  ${key.keyId}  ${key.state.padEnd(9)}  ${key.createdAt}  ${key.wrappedBy}\n`,
    );
  }
}

async function rotate(open: Open, organization: string | undefined, json: boolean): Promise<void> {
  const { settings, database, log } = open;
  const parts = { database, clock: systemClock, ids: systemIds, log };
  // The job runner is not started: a running platform with the role cards executes the jobs.
  const jobs = createJobs({ ...parts, metrics: createMetrics({ processMetrics: false }) });
  const audit = createAudit({ ...parts, masterKey: settings.platformKey, jobs });
  const ordered = await requestKeyRotation(
    { ...parts, jobs, recordAudit: audit.recordChange },
    organization,
  );
  if (json) return void print({ organizations: ordered });
  const done =
    ordered.length === 0
      ? 'there was no key to replace'
      : `the keys of ${ordered.length} organisations are being replaced; status shows how far it is`;
  process.stdout.write(`${done}\n`);
}

async function tellAccesses(
  database: Database,
  {
    organization: organizationId,
    from,
    to,
    limit,
    json,
  }: Extract<VaultCommand, { command: 'accesses' }>,
): Promise<void> {
  const accesses = await listPanAccesses(database, { organizationId, from, to, limit });
  if (json) return void print({ from: isoTime(from), to: isoTime(to), accesses });
  for (const { at, purpose, actor, subjectId = '', token, result } of accesses) {
    process.stdout.write(
      `  ${at}  ${result.padEnd(7)}  ${purpose.padEnd(12)}  ${actor}  ${subjectId}  card ${token}\n`,
    );
  }
}

export async function runVaultCommand(vaultCommand: VaultCommand): Promise<void> {
  if (vaultCommand.command === 'make-key') {
    const { createPkcs11Key } = await import('./create-pkcs11-key.ts');
    return createPkcs11Key();
  }
  requireDataDirectory();
  const settings = readSettings(omitCardSettings(process.env));
  await withDatabase(settings, { name: 'vault', connections: 2 }, async ({ database, log }) => {
    if (vaultCommand.command === 'accesses') return tellAccesses(database, vaultCommand);
    const { command, organization, json } = vaultCommand;
    if (command === 'rotate-keys') return rotate({ settings, database, log }, organization, json);
    return printKeys(await listVaultKeys(database, organization), json);
  });
}
