// Creates, lists and revokes approval codes.
import {
  type ApprovalCode,
  type ApprovalCodeInput,
  defined,
  type NewApprovalCode,
  refuse,
} from '@switchyard/contract';
import { isActiveCurrency } from '@switchyard/money';
import { actorOf, type Recorder } from '../../audit/index.ts';
import type { Caller } from '../../http/index.ts';
import { type Clock, type Database, type Ids, isoTime } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import { resolveMerchantScope, resolveStoreScope } from '../runtime/caller-scope.ts';
import type { ApprovalStore, CodeRow } from './approval-code-sql.ts';
import { viewApprovalCode } from './approval-code-view.ts';

export type ApprovalCodeDeps = {
  readonly database: Database;
  readonly store: ApprovalStore;
  readonly audit: Pick<Recorder, 'record'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly provisioning: Pick<Provisioning, 'merchants' | 'stores'>;
  /** The keyed hash under which a code is kept. */
  readonly hashCode: (organizationId: string, code: string) => string;
};

/** Who asks, and by which request. */
export type ApprovalCodeRequest = { readonly caller: Caller; readonly id: string };

const codeDigits = 8;
const codeCount = 10n ** BigInt(codeDigits);
const maxDraws = 20;

/** Even over all codes: 128 random bits are so many that the remainder shows no lean. */
function drawCode(ids: Ids): string {
  const drawn = BigInt(`0x${Buffer.from(ids.secret(16), 'base64url').toString('hex')}`);
  return String(drawn % codeCount).padStart(codeDigits, '0');
}

const fieldInvalid = (pointer: string, detail: string) => ({
  errors: [{ pointer, code: 'field_invalid' as const, detail }],
});

function validateInput(input: ApprovalCodeInput, now: number): void {
  const { maxAmount, currency, validUntil } = input;
  if ((maxAmount === undefined) !== (currency === undefined)) {
    const missing = maxAmount === undefined ? '/maxAmount' : '/currency';
    refuse('field_invalid', 'maxAmount and currency must be sent together.', {
      ...fieldInvalid(missing, 'Is required with the other member.'),
    });
  }
  if (currency !== undefined && !isActiveCurrency(currency)) {
    refuse('currency_unknown', 'The currency is not in ISO 4217.', {
      errors: [{ pointer: '/currency', code: 'currency_unknown', detail: 'Not an active code.' }],
    });
  }
  if (validUntil !== undefined && !(Date.parse(validUntil) > now)) {
    refuse('field_invalid', 'validUntil is in the past.', {
      ...fieldInvalid('/validUntil', 'Must lie in the future.'),
    });
  }
}

/** Of a store follows its merchant; whatever the caller cannot see is unknown. */
async function resolveLocation(
  { provisioning }: ApprovalCodeDeps,
  caller: Caller,
  input: ApprovalCodeInput,
) {
  const { organizationId } = caller;
  const merchantId = resolveMerchantScope(caller, input.merchantId);
  const storeId = resolveStoreScope(caller, input.storeId);
  if (merchantId !== undefined) await provisioning.merchants.get({ organizationId }, merchantId);
  if (storeId === undefined) return { merchantId: merchantId ?? null, storeId: null };
  const scope = { organizationId, ...defined({ merchantId }) };
  const { view } = await provisioning.stores.get(scope, storeId);
  return { merchantId: view.merchantId, storeId };
}

export type ApprovalCodeManager = {
  create(request: ApprovalCodeRequest, input: ApprovalCodeInput): Promise<NewApprovalCode>;
  get(caller: Caller, approvalCodeId: string): Promise<ApprovalCode>;
  list(
    caller: Caller,
    query: { merchantId?: string; includeRevoked?: boolean },
    page: { limit: number; after?: string },
  ): Promise<{ items: ApprovalCode[]; next: string | undefined }>;
  revoke(request: ApprovalCodeRequest, approvalCodeId: string): Promise<ApprovalCode>;
};

function refuseCodeNotFound(): never {
  return refuse('resource_not_found', 'No approval code in your scope has this identifier.');
}

/** Whoever acts for one store has to do with what is that store's alone. */
function isVisibleTo(caller: Caller, row: CodeRow): boolean {
  const { merchantId = row.merchant_id, storeId = row.store_id } = caller;
  return merchantId === row.merchant_id && storeId === row.store_id;
}

/** @example const codes = createCodes(deps); const { code } = await codes.create(asked, { name: 'Shift lead' }); */
export function createApprovalCodeManager(deps: ApprovalCodeDeps): ApprovalCodeManager {
  const { database, store, audit, clock, ids } = deps;

  async function insert(request: ApprovalCodeRequest, input: ApprovalCodeInput, code: string) {
    const { caller } = request;
    const { organizationId } = caller;
    const location = await resolveLocation(deps, caller, input);
    const now = clock.now();
    return database.transaction(async (trx) => {
      const row = await store.insert(trx, {
        organization_id: organizationId,
        approval_code_id: ids.uuid(),
        merchant_id: location.merchantId,
        store_id: location.storeId,
        name: input.name,
        code_mark: deps.hashCode(organizationId, code),
        one_time: input.oneTime ?? false,
        max_amount: input.maxAmount ?? null,
        currency: input.currency ?? null,
        valid_until: input.validUntil ?? null,
        created_by: caller.subject,
        created_at: new Date(now),
      });
      if (row === undefined) return undefined;
      const view = viewApprovalCode(row, now);
      await audit.record(trx, { ...auditEntry(request, row, 'created'), after: view });
      return view;
    });
  }

  const auditEntry = ({ caller, id }: ApprovalCodeRequest, row: CodeRow, actionName: string) => ({
    ...actorOf(caller, id),
    organizationId: caller.organizationId,
    action: `approvalCode.${actionName}`,
    entity: {
      type: 'approvalCode',
      id: row.approval_code_id,
      ...(row.merchant_id === null ? {} : { merchantId: row.merchant_id }),
    },
  });

  return {
    async create(request, input) {
      validateInput(input, clock.now());
      for (let draw = 0; draw < maxDraws; draw += 1) {
        const code = drawCode(ids);
        const createdCode = await insert(request, input, code);
        if (createdCode !== undefined) return { ...createdCode, code };
      }
      throw new Error('no unused approval code was found');
    },

    async get(caller, approvalCodeId) {
      const row = await store.find(caller.organizationId, approvalCodeId);
      if (row === undefined || !isVisibleTo(caller, row)) refuseCodeNotFound();
      return viewApprovalCode(row, clock.now());
    },

    async list(caller, query, { limit, after }) {
      const rows = await store.list({
        organizationId: caller.organizationId,
        merchantId: resolveMerchantScope(caller, query.merchantId),
        storeId: caller.storeId,
        includeRevoked: query.includeRevoked ?? false,
        after,
        limit: limit + 1,
      });
      const items = rows.slice(0, limit);
      const next = rows.length > limit ? items.at(-1)?.approval_code_id : undefined;
      return { items: items.map((row) => viewApprovalCode(row, clock.now())), next };
    },

    async revoke(request, approvalCodeId) {
      const { caller } = request;
      const { organizationId } = caller;
      const current = await this.get(caller, approvalCodeId);
      if (current.status === 'Revoked') return current;
      const at = isoTime(clock.now());
      const revoked = await database.transaction(async (trx) => {
        const merchantId = resolveMerchantScope(caller, undefined);
        const row = await store.revoke(trx, { organizationId, approvalCodeId, merchantId }, at);
        if (row === undefined) return undefined;
        const after = viewApprovalCode(row, clock.now());
        await audit.record(trx, { ...auditEntry(request, row, 'revoked'), before: current, after });
        return after;
      });
      return revoked ?? this.get(caller, approvalCodeId);
    },
  };
}
