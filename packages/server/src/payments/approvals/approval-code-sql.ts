// SQL of approval codes and of failed attempts.
import type { Database, Queries } from '../../platform/index.ts';
import { findOperation, findOperationValues } from '../repository/transaction-sql.ts';
import type { StoredOperation, TransactionRow } from '../transaction/transaction.ts';

export type CodeRow = {
  approvalCodeId: string;
  merchantId: string | null;
  storeId: string | null;
  name: string;
  oneTime: boolean;
  maxAmount: number | null;
  currency: string | null;
  validUntil: Date | null;
  uses: number;
  lastUsedAt: Date | null;
  createdBy: string;
  createdAt: Date;
  revokedAt: Date | null;
};

type NewCode = Omit<CodeRow, 'uses' | 'lastUsedAt' | 'revokedAt' | 'validUntil'> & {
  organizationId: string;
  codeHash: string;
  /** RFC 3339. */
  validUntil: string | null;
};

/** `at` is RFC 3339. */
export type CodeUse = { codeHash: string; at: string } & Pick<
  TransactionRow,
  'organizationId' | 'merchantId' | 'storeId' | 'amount' | 'currency'
>;

/** `windowEndsAt` is RFC 3339; the window begins with the first failed attempt. */
type AttemptLimit = { attemptedBy: string; maxFailures: number; windowEndsAt: string };

type CodeCheckRequest = CodeUse & Pick<StoredOperation, 'kind' | 'clientOperationId'>;

/**
 * `Invalid`: the code exists and does not approve this operation. `Unknown`: a failed attempt.
 * `OperationExists`: another request has stored the same operation.
 */
export type CodeCheck =
  | { approvalCodeId: string }
  | { lockedUntil: number }
  | 'Used'
  | 'Invalid'
  | 'Unknown'
  | 'OperationExists';

type CodeListQuery = { organizationId: string; includeRevoked: boolean; limit: number } & Record<
  'merchantId' | 'storeId' | 'after',
  string | undefined
>;

const columns = `approval_code_id AS "approvalCodeId", merchant_id AS "merchantId",
  store_id AS "storeId", name, one_time AS "oneTime", max_amount AS "maxAmount", currency,
  valid_until AS "validUntil", uses, last_used_at AS "lastUsedAt", created_by AS "createdBy",
  created_at AS "createdAt", revoked_at AS "revokedAt"`;

const findCodeSql = `SELECT ${columns} FROM approval_codes
  WHERE organization_id = $1 AND approval_code_id = $2`;

const listCodesSql = `SELECT ${columns} FROM approval_codes
  WHERE organization_id = $1 AND ($2::uuid IS NULL OR merchant_id = $2)
    AND ($3::boolean OR revoked_at IS NULL)
    AND approval_code_id > coalesce($4, '00000000-0000-0000-0000-000000000000'::uuid)
    AND ($6::uuid IS NULL OR store_id = $6)
  ORDER BY approval_code_id LIMIT $5`;

const hasCodeSql = 'organization_id = $1 AND code_hash = $2';

/** A code of another location or a revoked code must not be reported as used. */
const codeResultSql = `CASE
    WHEN ((merchant_id IS NULL OR merchant_id = $3) AND (store_id IS NULL OR store_id = $4)
      AND revoked_at IS NULL) IS NOT TRUE THEN 'Invalid'
    WHEN one_time AND uses > 0 THEN 'Used'
    WHEN ((max_amount IS NULL OR max_amount >= $5 AND currency = $6)
      AND (valid_until IS NULL OR valid_until > $7)) IS NOT TRUE THEN 'Invalid'
    ELSE 'Approved' END`;

const checkCodeSql = `SELECT approval_code_id AS "approvalCodeId", ${codeResultSql} AS result
  FROM approval_codes WHERE ${hasCodeSql}`;

const consumeCodeSql = `UPDATE approval_codes SET uses = uses + 1, last_used_at = $7
  WHERE ${hasCodeSql} AND ${codeResultSql} = 'Approved' RETURNING approval_code_id`;

const codeUseValues = (codeUse: CodeUse) => [
  codeUse.organizationId,
  codeUse.codeHash,
  codeUse.merchantId,
  codeUse.storeId ?? null,
  codeUse.amount,
  codeUse.currency,
  codeUse.at,
];

/** Locks the row, so that concurrent attempts do not exceed the limit. */
async function lockFailures(
  trx: Queries,
  { organizationId, at }: CodeUse,
  { attemptedBy }: AttemptLimit,
) {
  const [count] = await trx.query<{ failures: number; windowEndsAt: Date }>(
    `INSERT INTO approval_code_failures AS f
      (organization_id, attempted_by, failures, window_ends_at) VALUES ($1, $2, 0, $3)
    ON CONFLICT (organization_id, attempted_by) DO UPDATE SET
      failures = CASE WHEN f.window_ends_at > $3 THEN f.failures ELSE 0 END
    RETURNING failures, window_ends_at AS "windowEndsAt"`,
    [organizationId, attemptedBy, at],
  );
  if (count === undefined) throw new Error('the row of failed attempts does not exist');
  return count;
}

async function isOperationStored(
  trx: Queries,
  { organizationId, merchantId, kind, clientOperationId }: CodeCheckRequest,
): Promise<boolean> {
  if (clientOperationId === undefined) return false;
  const values = findOperationValues({ organizationId, merchantId, kind, clientOperationId });
  return (await trx.query(findOperation.text, values)).length > 0;
}

export function createApprovalStore(database: Database) {
  return {
    /** Undefined if the organisation has this code already. */
    async insert(trx: Queries, code: NewCode): Promise<CodeRow | undefined> {
      const rows = await trx.query<CodeRow>(
        `INSERT INTO approval_codes (organization_id,
          approval_code_id, merchant_id, store_id, name, code_hash, one_time, max_amount, currency,
          valid_until, created_by, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,
          $10, $11, $12)
        ON CONFLICT (organization_id, code_hash) DO NOTHING RETURNING ${columns}`,
        [
          code.organizationId,
          code.approvalCodeId,
          code.merchantId,
          code.storeId,
          code.name,
          code.codeHash,
          code.oneTime,
          code.maxAmount,
          code.currency,
          code.validUntil,
          code.createdBy,
          code.createdAt,
        ],
      );
      return rows[0];
    },

    async revoke(
      trx: Queries,
      code: { organizationId: string; approvalCodeId: string; merchantId: string | undefined },
      at: string,
    ): Promise<CodeRow | undefined> {
      const { organizationId, approvalCodeId, merchantId = null } = code;
      const rows = await trx.query<CodeRow>(
        `UPDATE approval_codes SET revoked_at = $1
        WHERE organization_id = $2 AND approval_code_id = $3 AND revoked_at IS NULL
          AND merchant_id IS NOT DISTINCT FROM coalesce($4::uuid, merchant_id)
        RETURNING ${columns}`,
        [at, organizationId, approvalCodeId, merchantId],
      );
      return rows[0];
    },

    /** After too many attempts with unknown codes no code is checked until the window ends. */
    check: (request: CodeCheckRequest, limit: AttemptLimit): Promise<CodeCheck> =>
      database.transaction(async (trx) => {
        const { failures, windowEndsAt } = await lockFailures(trx, request, limit);
        const isLocked = failures >= limit.maxFailures;
        type Code = { approvalCodeId: string; result: 'Approved' | 'Used' | 'Invalid' };
        const [code] = isLocked ? [] : await trx.query<Code>(checkCodeSql, codeUseValues(request));
        if (code?.result === 'Approved') return { approvalCodeId: code.approvalCodeId };
        // After the code is read: a concurrent request commits the operation and its use of the code together.
        if (await isOperationStored(trx, request)) return 'OperationExists';
        if (isLocked) return { lockedUntil: windowEndsAt.getTime() };
        if (code !== undefined) return code.result;
        await trx.query(
          `UPDATE approval_code_failures SET failures = failures + 1,
            window_ends_at = CASE WHEN failures = 0 THEN $1 ELSE window_ends_at END
          WHERE organization_id = $2 AND attempted_by = $3`,
          [limit.windowEndsAt, request.organizationId, limit.attemptedBy],
        );
        return 'Unknown';
      }),

    /**
     * In the commit of the operation. False if the code no longer approves it: a one-time code approves only
     * one of two concurrent operations.
     */
    async consume(trx: Queries, codeUse: CodeUse): Promise<boolean> {
      return (await trx.query(consumeCodeSql, codeUseValues(codeUse))).length > 0;
    },

    async restore(trx: Queries, organizationId: string, approvalCodeId: string): Promise<void> {
      await trx.query(
        `UPDATE approval_codes SET uses = uses - 1 WHERE uses > 0
        AND organization_id = $1 AND approval_code_id = $2`,
        [organizationId, approvalCodeId],
      );
    },

    find: async (organizationId: string, id: string): Promise<CodeRow | undefined> =>
      (await database.query<CodeRow>(findCodeSql, [organizationId, id]))[0],

    /** In the order of creation. */
    list({ organizationId, merchantId, storeId, includeRevoked, after, limit }: CodeListQuery) {
      const values = [organizationId, merchantId, includeRevoked, after, limit, storeId];
      const sqlValues = values.map((value) => value ?? null);
      return database.query<CodeRow>(listCodesSql, sqlValues);
    },
  };
}

export type ApprovalStore = ReturnType<typeof createApprovalStore>;
