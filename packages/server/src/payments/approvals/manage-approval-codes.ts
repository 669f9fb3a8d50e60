// Makes, lists and revokes approval codes.
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
import { merchantOf, storeOf } from '../runtime/caller-scope.ts';
import type { ApprovalStore, CodeRow } from './approval-code-sql.ts';
import { viewCode } from './approval-code-view.ts';

export type CodesDeps = {
  readonly database: Database;
  readonly store: ApprovalStore;
  readonly audit: Pick<Recorder, 'record'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly provisioning: Pick<Provisioning, 'merchants' | 'stores'>;
  /** The keyed hash under which a code is kept. */
  readonly markOf: (organizationId: string, code: string) => string;
};

/** Who asks, and by which request. */
export type Asked = { readonly caller: Caller; readonly id: string };

const codeDigits = 8;
const codesMost = 10n ** BigInt(codeDigits);
const drawsMax = 20;

/** Even over all codes: 128 random bits are so many that the remainder shows no lean. */
function drawCode(ids: Ids): string {
  const drawn = BigInt(`0x${Buffer.from(ids.secret(16), 'base64url').toString('hex')}`);
  return String(drawn % codesMost).padStart(codeDigits, '0');
}

const fault = (pointer: string, detail: string) => ({
  errors: [{ pointer, code: 'field_invalid' as const, detail }],
});

function checkInput(input: ApprovalCodeInput, now: number): void {
  const { maxAmount, currency, validUntil } = input;
  if ((maxAmount === undefined) !== (currency === undefined)) {
    const missing = maxAmount === undefined ? '/maxAmount' : '/currency';
    refuse('field_invalid', 'maxAmount and currency come together.', {
      ...fault(missing, 'Is needed beside the other one.'),
    });
  }
  if (currency !== undefined && !isActiveCurrency(currency)) {
    refuse('currency_unknown', 'The currency is not in ISO 4217.', {
      errors: [{ pointer: '/currency', code: 'currency_unknown', detail: 'Not an active code.' }],
    });
  }
  if (validUntil !== undefined && !(Date.parse(validUntil) > now)) {
    refuse('field_invalid', 'validUntil is in the past.', {
      ...fault('/validUntil', 'Must lie in the future.'),
    });
  }
}

/** Of a store follows its merchant; whatever the caller cannot see is unknown. */
async function placeOf({ provisioning }: CodesDeps, caller: Caller, input: ApprovalCodeInput) {
  const { organizationId } = caller;
  const merchantId = merchantOf(caller, input.merchantId);
  const storeId = storeOf(caller, input.storeId);
  if (merchantId !== undefined) await provisioning.merchants.get({ organizationId }, merchantId);
  if (storeId === undefined) return { merchantId: merchantId ?? null, storeId: null };
  const scope = { organizationId, ...defined({ merchantId }) };
  const { view } = await provisioning.stores.get(scope, storeId);
  return { merchantId: view.merchantId, storeId };
}

export type Codes = {
  create(asked: Asked, input: ApprovalCodeInput): Promise<NewApprovalCode>;
  get(caller: Caller, approvalCodeId: string): Promise<ApprovalCode>;
  list(
    caller: Caller,
    query: { merchantId?: string; includeRevoked?: boolean },
    page: { limit: number; after?: string },
  ): Promise<{ items: ApprovalCode[]; next: string | undefined }>;
  revoke(asked: Asked, approvalCodeId: string): Promise<ApprovalCode>;
};

function refuseUnknown(): never {
  return refuse('resource_not_found', 'No approval code in your scope has this identifier.');
}

/** Whoever acts for one store has to do with what is that store's alone. */
function sees(caller: Caller, row: CodeRow): boolean {
  const { merchantId = row.merchant_id, storeId = row.store_id } = caller;
  return merchantId === row.merchant_id && storeId === row.store_id;
}

/** @example const codes = createCodes(deps); const { code } = await codes.create(asked, { name: 'Shift lead' }); */
export function createCodes(deps: CodesDeps): Codes {
  const { database, store, audit, clock, ids } = deps;

  async function insert(asked: Asked, input: ApprovalCodeInput, code: string) {
    const { caller } = asked;
    const { organizationId } = caller;
    const place = await placeOf(deps, caller, input);
    const now = clock.now();
    return database.transaction(async (trx) => {
      const row = await store.insert(trx, {
        organization_id: organizationId,
        approval_code_id: ids.uuid(),
        merchant_id: place.merchantId,
        store_id: place.storeId,
        name: input.name,
        code_mark: deps.markOf(organizationId, code),
        one_time: input.oneTime ?? false,
        max_amount: input.maxAmount ?? null,
        currency: input.currency ?? null,
        valid_until: input.validUntil ?? null,
        created_by: caller.subject,
        created_at: new Date(now),
      });
      if (row === undefined) return undefined;
      const view = viewCode(row, now);
      await audit.record(trx, { ...changed(asked, row, 'created'), after: view });
      return view;
    });
  }

  const changed = ({ caller, id }: Asked, row: CodeRow, done: string) => ({
    ...actorOf(caller, id),
    organizationId: caller.organizationId,
    action: `approvalCode.${done}`,
    entity: {
      type: 'approvalCode',
      id: row.approval_code_id,
      ...(row.merchant_id === null ? {} : { merchantId: row.merchant_id }),
    },
  });

  return {
    async create(asked, input) {
      checkInput(input, clock.now());
      for (let draw = 0; draw < drawsMax; draw += 1) {
        const code = drawCode(ids);
        const made = await insert(asked, input, code);
        if (made !== undefined) return { ...made, code };
      }
      throw new Error('no approval code is left to be drawn');
    },

    async get(caller, approvalCodeId) {
      const row = await store.find(caller.organizationId, approvalCodeId);
      if (row === undefined || !sees(caller, row)) refuseUnknown();
      return viewCode(row, clock.now());
    },

    async list(caller, query, { limit, after }) {
      const rows = await store.list({
        organizationId: caller.organizationId,
        merchantId: merchantOf(caller, query.merchantId),
        storeId: caller.storeId,
        revoked: query.includeRevoked ?? false,
        after,
        limit: limit + 1,
      });
      const items = rows.slice(0, limit);
      const next = rows.length > limit ? items.at(-1)?.approval_code_id : undefined;
      return { items: items.map((row) => viewCode(row, clock.now())), next };
    },

    async revoke(asked, approvalCodeId) {
      const { caller } = asked;
      const { organizationId } = caller;
      const standing = await this.get(caller, approvalCodeId);
      if (standing.status === 'Revoked') return standing;
      const at = isoTime(clock.now());
      const revoked = await database.transaction(async (trx) => {
        const merchantId = merchantOf(caller, undefined);
        const row = await store.revoke(trx, { organizationId, approvalCodeId, merchantId }, at);
        if (row === undefined) return undefined;
        const after = viewCode(row, clock.now());
        await audit.record(trx, { ...changed(asked, row, 'revoked'), before: standing, after });
        return after;
      });
      return revoked ?? this.get(caller, approvalCodeId);
    },
  };
}
