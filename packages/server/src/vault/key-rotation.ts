// Orders key rotations and lists the keys, without a running vault and without clear keys.
import { defined } from '@switchyard/contract';
import {
  bucketOf,
  type Clock,
  type Database,
  isoTime,
  type Jobs,
  type Queries,
  toRecords,
} from '../platform/index.ts';
import type { RecordAudit } from './re-encryption-run.ts';
import { reEncryptionJobKind, vaultJobId } from './vault-jobs.ts';
import { changeKeyState, type KeyState, type VaultKey } from './vault-key-sql.ts';

const listedMax = 10_000;

export type VaultKeyView = Pick<VaultKey, 'organizationId' | 'keyId' | 'purpose' | 'wrappedBy'> & {
  readonly state: KeyState;
  readonly createdAt: string;
  readonly changedAt: string;
  /** The progress of the running round, if there is one. */
  readonly round?: { readonly startedAt: string; readonly resealed: number };
};

/** Lists the keys oldest first, of one organisation or of all. */
export async function listVaultKeys(
  database: Queries,
  organizationId?: string,
): Promise<VaultKeyView[]> {
  const rows = await database.query(
    `SELECT k.organization_id, k.key_id, k.purpose, k.state, k.wrapped_by, k.created_at, k.changed_at,
      r.started_at, r.tally
    FROM vault_keys k LEFT JOIN vault_rounds r ON r.organization_id = k.organization_id
    WHERE $1::uuid IS NULL OR k.organization_id = $1
    ORDER BY k.organization_id, k.created_at LIMIT $2`,
    [organizationId ?? null, listedMax],
  );
  type StoredKey = Omit<VaultKeyView, 'createdAt' | 'changedAt' | 'round'> & {
    createdAt: number;
    changedAt: number;
    startedAt?: number;
    tally?: { resealed: number };
  };
  return toRecords<StoredKey>(rows).map(({ createdAt, changedAt, startedAt, tally, ...key }) => ({
    ...key,
    createdAt: isoTime(createdAt),
    changedAt: isoTime(changedAt),
    ...defined({
      round:
        startedAt === undefined
          ? undefined
          : { startedAt: isoTime(startedAt), resealed: tally?.resealed ?? 0 },
    }),
  }));
}

type RotationDeps = {
  database: Database;
  clock: Clock;
  jobs: Pick<Jobs, 'enqueue'>;
  recordAudit: RecordAudit;
};

type ActiveKey = Pick<VaultKey, 'organizationId' | 'keyId'>;

/** Retires the key and orders its round, in one transaction with the audit record. */
async function replaceKey(
  deps: RotationDeps,
  { organizationId, keyId }: ActiveKey,
): Promise<boolean> {
  const { database, clock, jobs, recordAudit } = deps;
  return database.transaction(async (trx) => {
    const key = { organizationId, keyId, state: 'Active' } as const;
    if (!(await changeKeyState(trx, key, 'Retiring', clock.now()))) return false;
    const jobId = vaultJobId(reEncryptionJobKind, organizationId);
    await jobs.enqueue({ organizationId, jobId, kind: reEncryptionJobKind, payload: {} }, trx);
    // A waiting round starts now.
    await trx.query(
      'UPDATE jobs SET due_at = $3 WHERE bucket = $1 AND job_id = $2 AND lease_token IS NULL',
      [bucketOf(jobId), jobId, isoTime(clock.now())],
    );
    await recordAudit(trx, {
      organizationId,
      action: 'vault.keyReplaced',
      entity: { type: 'vault', id: organizationId },
      after: { keyId, state: 'Retiring' },
    });
    return true;
  });
}

/** @returns the organisations whose key was retired now */
export async function requestKeyRotation(
  deps: RotationDeps,
  organizationId: string | undefined,
): Promise<string[]> {
  const rows = await deps.database.query(
    `SELECT organization_id, key_id FROM vault_keys
    WHERE purpose = 'Data' AND state = 'Active' AND ($1::uuid IS NULL OR organization_id = $1)`,
    [organizationId ?? null],
  );
  const rotated: string[] = [];
  for (const activeKey of toRecords<ActiveKey>(rows)) {
    if (await replaceKey(deps, activeKey)) rotated.push(activeKey.organizationId);
  }
  return rotated;
}
