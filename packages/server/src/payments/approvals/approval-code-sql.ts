// SQL of approval codes and of failed attempts.
import { CompiledQuery, type Kysely } from 'kysely';
import type { Database } from '../../platform/index.ts';
import { findOperation } from '../repository/transaction-sql.ts';
import type { OperationType } from '../transaction/state-machine.ts';

export type CodeRow = {
  approval_code_id: string;
  merchant_id: string | null;
  store_id: string | null;
  name: string;
  one_time: boolean;
  max_amount: number | null;
  currency: string | null;
  valid_until: Date | null;
  uses: number;
  last_used_at: Date | null;
  created_by: string;
  created_at: Date;
  revoked_at: Date | null;
};

export type NewCodeRow = Omit<CodeRow, 'uses' | 'last_used_at' | 'revoked_at' | 'valid_until'> & {
  organization_id: string;
  code_mark: string;
  valid_until: string | null;
};

/** Where a code is to approve something, RFC 3339 and minor units. */
export type CodeUse = {
  organizationId: string;
  codeHash: string;
  merchantId: string;
  storeId: string | undefined;
  amount: number;
  currency: string;
  at: string;
};

/** Who tries, how many wrong codes that may be, and when a span ends that begins now, RFC 3339. */
export type AttemptLimit = { attemptedBy: string; maxFailures: number; windowEndsAt: string };

/** What a code is to approve: it may have been done meanwhile, in another process. */
export type CodeCheckRequest = CodeUse & {
  kind: OperationType;
  clientOperationId: string | undefined;
};

/**
 * Right ones leave the count as it is: who knows one code must not find others by it. `Done`: the operation is
 * there already, whatever is left of the code that approved it.
 */
export type CodeCheck = { approvalCodeId: string } | { lockedUntil: number } | 'Wrong' | 'Done';

type FailureCount = { failures: number; counted_until: Date };

export type CodeListQuery = {
  organizationId: string;
  merchantId: string | undefined;
  storeId: string | undefined;
  /** Codes that were revoked too. */
  includeRevoked: boolean;
  after: string | undefined;
  limit: number;
};

const columns = `approval_code_id, merchant_id, store_id, name, one_time,
  max_amount, currency, valid_until, uses, last_used_at, created_by, created_at, revoked_at`;

const insertText = `INSERT INTO approval_codes (organization_id, approval_code_id, merchant_id,
    store_id, name, code_mark, one_time, max_amount, currency, valid_until, created_by, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
  ON CONFLICT (organization_id, code_mark) DO NOTHING RETURNING ${columns}`;

const revokeText = `UPDATE approval_codes SET revoked_at = $4
  WHERE organization_id = $1 AND approval_code_id = $2 AND revoked_at IS NULL
    AND merchant_id IS NOT DISTINCT FROM coalesce($3::uuid, merchant_id)
  RETURNING ${columns}`;

const codeMatchesClause = `organization_id = $1 AND code_mark = $2 AND revoked_at IS NULL
    AND (merchant_id IS NULL OR merchant_id = $3) AND (store_id IS NULL OR store_id = $4)
    AND (max_amount IS NULL OR max_amount >= $5 AND currency = $6)
    AND (valid_until IS NULL OR valid_until > $7) AND NOT (one_time AND uses > 0)`;

const findCodeText = `SELECT approval_code_id FROM approval_codes WHERE ${codeMatchesClause}`;

/** Every condition stands in the one statement: of two at once, a one-time code approves one. */
const consumeCodeText = `UPDATE approval_codes SET uses = uses + 1, last_used_at = $7
  WHERE ${codeMatchesClause} RETURNING approval_code_id`;

const restoreCodeText = `UPDATE approval_codes SET uses = uses - 1
  WHERE organization_id = $1 AND approval_code_id = $2 AND uses > 0`;

/** Those who try come one by one by this: many at once are no way around the limit. */
const lockFailuresText = `INSERT INTO approval_failures AS f
    (organization_id, tried_by, failures, counted_until) VALUES ($1, $2, 0, $3)
  ON CONFLICT (organization_id, tried_by) DO UPDATE SET
    failures = CASE WHEN f.counted_until > $3 THEN f.failures ELSE 0 END
  RETURNING failures, counted_until`;

/** The first wrong one begins the span. */
const countFailureText = `UPDATE approval_failures SET failures = failures + 1,
    counted_until = CASE WHEN failures = 0 THEN $3 ELSE counted_until END
  WHERE organization_id = $1 AND tried_by = $2`;

const rowsIn = async <Of = CodeRow>(trx: Kysely<unknown>, text: string, values: unknown[]) =>
  (await trx.executeQuery<Of>(CompiledQuery.raw(text, values))).rows;

const codeUseValues = (codeUse: CodeUse): unknown[] => [
  codeUse.organizationId,
  codeUse.codeHash,
  codeUse.merchantId,
  codeUse.storeId ?? null,
  codeUse.amount,
  codeUse.currency,
  codeUse.at,
];

async function isOperationStored(
  trx: Kysely<unknown>,
  request: CodeCheckRequest,
): Promise<boolean> {
  const { organizationId, clientOperationId, merchantId, kind } = request;
  if (clientOperationId === undefined) return false;
  const values = [organizationId, clientOperationId, merchantId, kind];
  return (await rowsIn(trx, findOperation.text, values)).length > 0;
}

/** @example const store = createApprovalStore(database); await store.use(wanted); */
export function createApprovalStore(database: Database) {
  return {
    /** Nothing where the code was given out before. */
    async insert(trx: Kysely<unknown>, code: NewCodeRow): Promise<CodeRow | undefined> {
      const [row] = await rowsIn(trx, insertText, [
        code.organization_id,
        code.approval_code_id,
        code.merchant_id,
        code.store_id,
        code.name,
        code.code_mark,
        code.one_time,
        code.max_amount,
        code.currency,
        code.valid_until,
        code.created_by,
        code.created_at,
      ]);
      return row;
    },

    async revoke(
      trx: Kysely<unknown>,
      code: { organizationId: string; approvalCodeId: string; merchantId: string | undefined },
      at: string,
    ): Promise<CodeRow | undefined> {
      const { organizationId, approvalCodeId, merchantId = null } = code;
      const [row] = await rowsIn(trx, revokeText, [organizationId, approvalCodeId, merchantId, at]);
      return row;
    },

    /** Finds the code that approves. Wrong ones alone are counted, and beyond a limit none is looked at. */
    judge: (request: CodeCheckRequest, limit: AttemptLimit): Promise<CodeCheck> =>
      database.transaction(async (trx) => {
        const counter = [request.organizationId, limit.attemptedBy];
        const [failureCount] = await rowsIn<FailureCount>(trx, lockFailuresText, [
          ...counter,
          request.at,
        ]);
        if (failureCount === undefined)
          throw new Error('the row of failed attempts does not exist');
        const isLocked = failureCount.failures >= limit.maxFailures;
        const [matchingCode] = isLocked
          ? []
          : await rowsIn(trx, findCodeText, codeUseValues(request));
        if (matchingCode !== undefined) return { approvalCodeId: matchingCode.approval_code_id };
        // Behind the look for the code: who has used it for this very operation has committed that as well.
        if (await isOperationStored(trx, request)) return 'Done';
        if (isLocked) return { lockedUntil: failureCount.counted_until.getTime() };
        await rowsIn(trx, countFailureText, [...counter, limit.windowEndsAt]);
        return 'Wrong';
      }),

    /** Within the commit of what it approves. False where it approves that no longer. */
    use: async (trx: Kysely<unknown>, codeUse: CodeUse): Promise<boolean> =>
      (await rowsIn(trx, consumeCodeText, codeUseValues(codeUse))).length > 0,

    async giveBack(
      trx: Kysely<unknown>,
      organizationId: string,
      approvalCodeId: string,
    ): Promise<void> {
      await rowsIn(trx, restoreCodeText, [organizationId, approvalCodeId]);
    },

    async find(organizationId: string, id: string): Promise<CodeRow | undefined> {
      const [row] = await database.query<CodeRow>(
        `SELECT ${columns} FROM approval_codes
         WHERE organization_id = $1 AND approval_code_id = $2`,
        [organizationId, id],
      );
      return row;
    },

    /** In the order of making. */
    list({ organizationId, merchantId, storeId, ...query }: CodeListQuery): Promise<CodeRow[]> {
      const { includeRevoked: revoked, after, limit } = query;
      return database.query<CodeRow>(
        `SELECT ${columns} FROM approval_codes
         WHERE organization_id = $1 AND ($2::uuid IS NULL OR merchant_id = $2)
           AND ($3::boolean OR revoked_at IS NULL)
           AND approval_code_id > coalesce($4, '00000000-0000-0000-0000-000000000000'::uuid)
           AND ($6::uuid IS NULL OR store_id = $6)
         ORDER BY approval_code_id LIMIT $5`,
        [organizationId, merchantId ?? null, revoked, after ?? null, limit, storeId ?? null],
      );
    },
  };
}

export type ApprovalStore = ReturnType<typeof createApprovalStore>;
