// Opens the identity of a platform, beside it or without it, and does what was asked with its keys.
import { createAudit } from '../../packages/server/src/audit/index.ts';
import {
  createIdentity,
  type Identity,
  type SigningKeySummary,
} from '../../packages/server/src/identity/index.ts';
import {
  createJobs,
  createMetrics,
  isoTime,
  omitCardSettings,
  readSettings,
  systemClock,
  systemIds,
} from '../../packages/server/src/platform/index.ts';
import { withDatabase } from '../platform-database/open-platform-database.ts';
import { requireDataDirectory } from '../platform-database/require-data-directory.ts';

export type RealmCommand = {
  command: 'keys' | 'rotate-keys';
  domain: string;
  now: boolean;
  json: boolean;
};

/** Beside a running platform its embedded database is used and left running. */
export async function withIdentity(work: (identity: Identity) => Promise<void>): Promise<void> {
  requireDataDirectory();
  // Signing keys are no card data: the vault's key is left alone.
  const settings = readSettings(omitCardSettings(process.env));
  const { platformKey: masterKey } = settings;
  await withDatabase(settings, { name: 'realm', connections: 1 }, async ({ database, log }) => {
    const parts = { database, clock: systemClock, ids: systemIds, log };
    // The job runner is not started: a running platform executes the jobs.
    const jobs = createJobs({ ...parts, metrics: createMetrics({ processMetrics: false }) });
    const audit = createAudit({ database, clock: systemClock, masterKey, jobs });
    const identity = createIdentity({
      ...parts,
      settings,
      masterKey,
      findDevice: async () => undefined,
      recordChange: audit.recordChange,
    });
    try {
      await work(identity);
    } finally {
      await identity.close();
    }
  });
}

function printKeys(keys: readonly SigningKeySummary[], json: boolean): void {
  const rows = keys.map(({ keyId, algorithm, state, activeFrom, retireAt }) => ({
    keyId,
    algorithm,
    state,
    signsFrom: isoTime(activeFrom),
    verifiesUntil: retireAt === undefined ? null : isoTime(retireAt),
  }));
  if (json) {
    process.stdout.write(`${JSON.stringify({ keys: rows })}\n`);
    return;
  }
  for (const { keyId, algorithm, state, signsFrom, verifiesUntil } of rows) {
    const until = verifiesUntil === null ? '' : `, verifies until ${verifiesUntil}`;
    process.stdout.write(
      `  ${keyId}  ${algorithm}  ${state.padEnd(9)}  from ${signsFrom}${until}\n`,
    );
  }
}

export async function runRealmCommand(
  identity: Identity,
  realmCommand: RealmCommand,
): Promise<void> {
  const { command, domain, now, json } = realmCommand;
  const printLine = (text: string) => process.stderr.write(`${domain}: ${text}\n`);
  if (command === 'rotate-keys' && now) {
    await identity.replaceSigningKeysAtOnce(domain);
    printLine(
      'new keys sign at once; tokens of the old ones are refused, everywhere within a minute',
    );
  } else if (command === 'rotate-keys') {
    const isNew = await identity.rotateSigningKeys(domain);
    printLine(
      isNew ? 'new keys are published' : 'new keys are published already and wait for their hour',
    );
  }
  printKeys(await identity.listSigningKeys(domain), json);
}
