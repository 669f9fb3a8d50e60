// SQL for terminal claims: the organisation that has a terminal, claim codes and conflicts.
import { type ClaimMethod, formatTsn } from '@switchyard/contract';
import { nilUuid, type Queries } from '../../platform/index.ts';
import type { Row } from '../resources/resource-sql.ts';

/** The names that are printed on the housing of a terminal. */
export type TerminalIdentity = {
  readonly serialNumber: string;
  readonly make: string;
  readonly model: string;
};

/** A device of an organisation, and the method that proved the possession of the terminal. */
export type ClaimParty = {
  readonly organizationId: string;
  readonly physicalDeviceId: string;
  readonly method: ClaimMethod;
};

export function readTerminalIdentity(row: Row): TerminalIdentity {
  return {
    serialNumber: String(row['serial_number']),
    make: String(row['make']),
    model: String(row['model']),
  };
}

/** A terminal has the same key in every organisation. */
export function terminalKey(row: Row): string {
  return formatTsn(readTerminalIdentity(row));
}

/** Ends the claims, codes and open conflicts of devices that no longer have the terminal. */
export async function releaseClaims(
  queries: Queries,
  organizationId: string,
  rows: readonly Row[],
): Promise<void> {
  const values = [organizationId, rows.map((row) => row['physical_device_id'])];
  const isDeviceSql = 'organization_id = $1 AND physical_device_id = ANY($2::uuid[])';
  await queries.query(
    `DELETE FROM terminal_claims c
     USING unnest($2::uuid[], $3::text[], $4::text[], $5::text[])
       AS t (physical_device_id, serial_number, make, model)
     WHERE c.serial_number = t.serial_number AND c.make = t.make AND c.model = t.model
       AND c.organization_id = $1 AND c.physical_device_id = t.physical_device_id`,
    [
      ...values,
      rows.map((row) => row['serial_number']),
      rows.map((row) => row['make']),
      rows.map((row) => row['model']),
    ],
  );
  await queries.query(`DELETE FROM terminal_claim_codes WHERE ${isDeviceSql}`, values);
  await queries.query(
    `UPDATE terminal_claim_conflicts SET status = 'Withdrawn'
     WHERE claimant_organization_id = $1 AND claimant_physical_device_id = ANY($2::uuid[])
       AND status = 'Open'`,
    values,
  );
}

const isTerminalSql = 'serial_number = $1 AND make = $2 AND model = $3';

const toClaimParty = (row: Row): ClaimParty => ({
  organizationId: String(row['organization_id']),
  physicalDeviceId: String(row['physical_device_id']),
  method: row['method'] as ClaimMethod,
});

/** Locks the claim until the transaction ends; undefined if the terminal is unclaimed. */
export async function lockClaim(
  queries: Queries,
  { serialNumber, make, model }: TerminalIdentity,
): Promise<ClaimParty | undefined> {
  const [row] = await queries.query(
    `SELECT organization_id, physical_device_id, method FROM terminal_claims
     WHERE ${isTerminalSql} FOR UPDATE`,
    [serialNumber, make, model],
  );
  return row && toClaimParty(row);
}

/** Returns false if another transaction inserted the claim first. */
export async function insertClaim(
  queries: Queries,
  { serialNumber, make, model }: TerminalIdentity,
  { organizationId, physicalDeviceId, method }: ClaimParty,
  now: string,
): Promise<boolean> {
  const made = await queries.query(
    `INSERT INTO terminal_claims
       (serial_number, make, model, organization_id, physical_device_id, method, claimed_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (serial_number, make, model) DO NOTHING RETURNING serial_number`,
    [serialNumber, make, model, organizationId, physicalDeviceId, method, now],
  );
  return made.length > 0;
}

/** The caller has locked the claim. */
export async function moveClaim(
  queries: Queries,
  { serialNumber, make, model }: TerminalIdentity,
  { organizationId, physicalDeviceId, method }: ClaimParty,
  now: string,
): Promise<void> {
  await queries.query(
    `UPDATE terminal_claims SET organization_id = $4, physical_device_id = $5, method = $6,
       claimed_at = $7
     WHERE ${isTerminalSql}`,
    [serialNumber, make, model, organizationId, physicalDeviceId, method, now],
  );
}

/** Storing the same code again keeps the count of wrong entries. */
export async function storeClaimCode(
  queries: Queries,
  { organizationId, physicalDeviceId }: Omit<ClaimParty, 'method'>,
  codeHash: Buffer,
  expiresAt: string,
): Promise<void> {
  await queries.query(
    `INSERT INTO terminal_claim_codes
       (organization_id, physical_device_id, code_hash, attempts, expires_at)
     VALUES ($1, $2, $3, 0, $4)
     ON CONFLICT (organization_id, physical_device_id) DO UPDATE SET
       attempts = CASE WHEN terminal_claim_codes.code_hash = EXCLUDED.code_hash
         THEN terminal_claim_codes.attempts ELSE 0 END,
       code_hash = EXCLUDED.code_hash, expires_at = EXCLUDED.expires_at`,
    [organizationId, physicalDeviceId, codeHash, expiresAt],
  );
}

/** Counts the entry as wrong first; the caller deletes the code of an accepted entry. */
export async function checkClaimCode(
  queries: Queries,
  { organizationId, physicalDeviceId }: Omit<ClaimParty, 'method'>,
  codeHash: Buffer,
  { now, attemptsMax }: { readonly now: string; readonly attemptsMax: number },
): Promise<boolean> {
  const [row] = await queries.query(
    `UPDATE terminal_claim_codes SET attempts = attempts + 1
     WHERE organization_id = $1 AND physical_device_id = $2
     RETURNING code_hash = $3 AND attempts <= $4 AND expires_at > $5::timestamptz AS matches`,
    [organizationId, physicalDeviceId, codeHash, attemptsMax, now],
  );
  return row?.['matches'] === true;
}

export async function deleteClaimCode(
  queries: Queries,
  { organizationId, physicalDeviceId }: Omit<ClaimParty, 'method'>,
): Promise<void> {
  await queries.query(
    'DELETE FROM terminal_claim_codes WHERE organization_id = $1 AND physical_device_id = $2',
    [organizationId, physicalDeviceId],
  );
}

/**
 * Counts the conflicts of the whole organisation tree, because an organisation can create others.
 * The lock on the top organisation makes concurrent entries count one after the other.
 */
export async function countOpenConflicts(
  queries: Queries,
  organizationId: string,
): Promise<number> {
  const [top] = await queries.query(
    `SELECT organization_id FROM organizations WHERE organization_id =
       (SELECT coalesce(ancestor_ids[1], organization_id) FROM organizations
        WHERE organization_id = $1)
     FOR NO KEY UPDATE`,
    [organizationId],
  );
  const [row] = await queries.query(
    `SELECT count(*) AS open FROM terminal_claim_conflicts c
     JOIN organizations o ON o.organization_id = c.claimant_organization_id
     WHERE c.status = 'Open' AND coalesce(o.ancestor_ids[1], o.organization_id) = $1`,
    [top?.['organization_id'] ?? organizationId],
  );
  return Number(row?.['open']);
}

/** A device has at most one open conflict; a second proof adds none. */
export async function insertConflict(
  queries: Queries,
  conflictId: string,
  { serialNumber, make, model }: TerminalIdentity,
  { holder, claimant }: { readonly holder: ClaimParty; readonly claimant: ClaimParty },
  now: string,
): Promise<void> {
  await queries.query(
    `INSERT INTO terminal_claim_conflicts (conflict_id, serial_number, make, model,
       holder_organization_id, holder_physical_device_id, holder_method,
       claimant_organization_id, claimant_physical_device_id, claimant_method, status, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'Open', $11)
     ON CONFLICT (claimant_organization_id, claimant_physical_device_id)
       WHERE status = 'Open' DO NOTHING`,
    [
      conflictId,
      serialNumber,
      make,
      model,
      holder.organizationId,
      holder.physicalDeviceId,
      holder.method,
      claimant.organizationId,
      claimant.physicalDeviceId,
      claimant.method,
      now,
    ],
  );
}

/** Ends the open conflicts of a device that now has the claim. */
export async function withdrawConflicts(
  queries: Queries,
  { organizationId, physicalDeviceId }: Omit<ClaimParty, 'method'>,
): Promise<void> {
  await queries.query(
    `UPDATE terminal_claim_conflicts SET status = 'Withdrawn'
     WHERE claimant_organization_id = $1 AND claimant_physical_device_id = $2
       AND status = 'Open'`,
    [organizationId, physicalDeviceId],
  );
}

const selectConflictText = `SELECT c.*, h.name AS holder_name, m.name AS claimant_name
  FROM terminal_claim_conflicts c
  LEFT JOIN organizations h ON h.organization_id = c.holder_organization_id
  LEFT JOIN organizations m ON m.organization_id = c.claimant_organization_id`;

export function listConflicts(
  queries: Queries,
  { status, limit, after }: { status?: string | undefined; limit: number; after?: string },
): Promise<Row[]> {
  return queries.query(
    `${selectConflictText} WHERE c.conflict_id > $1 AND ($2::text IS NULL OR c.status = $2)
     ORDER BY c.conflict_id LIMIT $3`,
    [after ?? nilUuid, status ?? null, limit],
  );
}

export async function findConflict(
  queries: Queries,
  conflictId: string,
  lock = '',
): Promise<Row | undefined> {
  const [row] = await queries.query(`${selectConflictText} WHERE c.conflict_id = $1 ${lock}`, [
    conflictId,
  ]);
  return row;
}

export async function settleConflict(
  queries: Queries,
  conflictId: string,
  decision: string,
  now: string,
): Promise<void> {
  await queries.query(
    `UPDATE terminal_claim_conflicts SET status = 'Settled', decision = $2, settled_at = $3
     WHERE conflict_id = $1`,
    [conflictId, decision, now],
  );
}
