// Orders key rotations and lists the keys, without a running vault and without clear keys.
import { type Clock, type Database, isoTime, type Jobs, type Queries } from '../platform/index.ts';
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

type Row = {
  organization_id: string;
  key_id: string;
  purpose: VaultKey['purpose'];
  state: KeyState;
  wrapped_by: string;
  created_at: Date;
  changed_at: Date;
  started_at: Date | null;
  tally: { resealed: number } | null;
};

/** Lists the keys oldest first, of one organisation or of all. */
export async function listVaultKeys(
  database: Queries,
  organizationId?: string,
): Promise<VaultKeyView[]> {
  const rows = await database.query<Row>(
    `SELECT k.organization_id, k.key_id, k.purpose, k.state, k.wrapped_by, k.created_at, k.changed_at,
      r.started_at, r.tally
    FROM vault_keys k LEFT JOIN vault_rounds r ON r.organization_id = k.organization_id
    WHERE $1::uuid IS NULL OR k.organization_id = $1
    ORDER BY k.organization_id, k.created_at LIMIT $2`,
    [organizationId ?? null, listedMax],
  );
  return rows.map((row) => ({
    organizationId: row.organization_id,
    keyId: row.key_id,
    purpose: row.purpose,
    state: row.state,
    wrappedBy: row.wrapped_by,
    createdAt: isoTime(row.created_at.getTime()),
    changedAt: isoTime(row.changed_at.getTime()),
    ...(row.started_at === null
      ? {}
      : {
          round: {
            startedAt: isoTime(row.started_at.getTime()),
            resealed: row.tally?.resealed ?? 0,
          },
        }),
  }));
}

type RotationDeps = {
  database: Database;
  clock: Clock;
  jobs: Pick<Jobs, 'enqueue'>;
  recordAudit: RecordAudit;
};

type ActiveKey = { organization_id: string; key_id: string };

/** Retires the key and orders its round, in one transaction with the audit record. */
async function replaceKey(deps: RotationDeps, activeKey: ActiveKey): Promise<boolean> {
  const { database, clock, jobs, recordAudit } = deps;
  const { organization_id: organizationId, key_id: keyId } = activeKey;
  return database.transaction(async (trx: Queries) => {
    const key = { organizationId, keyId, state: 'Active' } as const;
    if (!(await changeKeyState(trx, key, 'Retiring', clock.now()))) return false;
    const jobId = vaultJobId(reEncryptionJobKind, organizationId);
    await jobs.enqueue({ organizationId, jobId, kind: reEncryptionJobKind, payload: {} }, trx);
    // A waiting round starts now.
    await trx.query(
      `UPDATE jobs SET due_at = $3 WHERE organization_id = $1 AND job_id = $2
        AND lease_token IS NULL`,
      [organizationId, jobId, isoTime(clock.now())],
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
  const activeKeys = await deps.database.query<ActiveKey>(
    `SELECT organization_id, key_id FROM vault_keys
    WHERE purpose = 'Data' AND state = 'Active' AND ($1::uuid IS NULL OR organization_id = $1)`,
    [organizationId ?? null],
  );
  const rotated: string[] = [];
  for (const activeKey of activeKeys) {
    if (await replaceKey(deps, activeKey)) rotated.push(activeKey.organization_id);
  }
  return rotated;
}
