// Creates, lists and revokes the approval codes of a merchant.
import {
  type ApprovalCode,
  type ApprovalCodeInput,
  type ApprovalCodeStatus,
  defined,
  type NewApprovalCode,
  throwFieldProblem,
  throwProblem,
} from '@switchyard/contract';
import { isActiveCurrency } from '@switchyard/money';
import { type AuditRecorder, actorOf } from '../../audit/index.ts';
import type { Caller, FoundPage, PageRequest } from '../../http/index.ts';
import { type Clock, type Database, type Ids, isoTime } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import { resolveMerchantScope, resolveStoreScope } from '../runtime/find-transaction.ts';
import type { ApprovalStore, CodeRow } from './approval-code-sql.ts';

function approvalCodeStatus(row: CodeRow, now: number): ApprovalCodeStatus {
  if (row.revokedAt !== null) return 'Revoked';
  if (row.oneTime && row.uses > 0) return 'Used';
  return row.validUntil !== null && row.validUntil.getTime() <= now ? 'Expired' : 'Active';
}

function viewApprovalCode(row: CodeRow, now: number): ApprovalCode {
  const { approvalCodeId, name, oneTime, uses, createdBy } = row;
  return {
    approvalCodeId,
    name,
    oneTime,
    status: approvalCodeStatus(row, now),
    uses,
    createdBy,
    createdAt: row.createdAt.toISOString(),
    ...defined({
      merchantId: row.merchantId ?? undefined,
      storeId: row.storeId ?? undefined,
      maxAmount: row.maxAmount ?? undefined,
      currency: row.currency ?? undefined,
      validUntil: row.validUntil?.toISOString(),
      lastUsedAt: row.lastUsedAt?.toISOString(),
      revokedAt: row.revokedAt?.toISOString(),
    }),
  };
}

type Ports = {
  database: Database;
  store: Pick<ApprovalStore, 'insert' | 'find' | 'list' | 'revoke'>;
  audit: Pick<AuditRecorder, 'record'>;
  clock: Clock;
  ids: Ids;
  provisioning: Pick<Provisioning, 'merchants' | 'stores'>;
  hashCode: (organizationId: string, code: string) => string;
};

/** `id` is the identifier of the request. */
type RequestIdentity = { readonly caller: Caller; readonly id: string };

const codeDigits = 8;
const codeCount = 10n ** BigInt(codeDigits);
const maxDraws = 20;

/** 128 random bits make the remainder uniform over all codes. */
function drawCode(ids: Ids): string {
  const drawn = BigInt(`0x${Buffer.from(ids.secret(16), 'base64url').toString('hex')}`);
  return String(drawn % codeCount).padStart(codeDigits, '0');
}

function validateInput({ maxAmount, currency, validUntil }: ApprovalCodeInput, now: number): void {
  if ((maxAmount === undefined) !== (currency === undefined)) {
    const missing = maxAmount === undefined ? '/maxAmount' : '/currency';
    throwFieldProblem('field_invalid', missing, 'maxAmount and currency must be sent together.');
  }
  if (currency !== undefined && !isActiveCurrency(currency)) {
    throwFieldProblem(
      'currency_unknown',
      '/currency',
      'The currency is not an active code of ISO 4217.',
    );
  }
  if (validUntil !== undefined && !(Date.parse(validUntil) > now)) {
    throwFieldProblem('field_invalid', '/validUntil', 'validUntil is in the past.');
  }
}

/** Locations outside the caller's scope are refused as unknown. */
async function resolveLocation(
  { provisioning }: Pick<Ports, 'provisioning'>,
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

/** @example const codes = createApprovalCodeManager(ports); await codes.create(request, { name: 'Shift lead' }); */
export function createApprovalCodeManager(ports: Ports) {
  const { database, store, audit, clock, ids } = ports;

  const auditEntry = ({ caller, id }: RequestIdentity, row: CodeRow, actionName: string) => ({
    ...actorOf(caller, id),
    organizationId: caller.organizationId,
    action: `approvalCode.${actionName}`,
    entity: {
      type: 'approvalCode',
      id: row.approvalCodeId,
      ...defined({ merchantId: row.merchantId ?? undefined }),
    },
  });

  async function insert(source: RequestIdentity, input: ApprovalCodeInput, code: string) {
    const { organizationId, subject } = source.caller;
    const { name, oneTime = false, maxAmount = null, currency = null, validUntil = null } = input;
    const location = await resolveLocation(ports, source.caller, input);
    const now = clock.now();
    return database.transaction(async (trx) => {
      const row = await store.insert(trx, {
        organizationId,
        approvalCodeId: ids.uuid(),
        ...location,
        name,
        codeHash: ports.hashCode(organizationId, code),
        oneTime,
        maxAmount,
        currency,
        validUntil,
        createdBy: subject,
        createdAt: new Date(now),
      });
      if (row === undefined) return undefined;
      const view = viewApprovalCode(row, now);
      await audit.record(trx, { ...auditEntry(source, row, 'created'), after: view });
      return view;
    });
  }

  async function get(caller: Caller, approvalCodeId: string): Promise<ApprovalCode> {
    const row = await store.find(caller.organizationId, approvalCodeId);
    const { merchantId = row?.merchantId, storeId = row?.storeId } = caller;
    const isVisible = merchantId === row?.merchantId && storeId === row?.storeId;
    if (row !== undefined && isVisible) return viewApprovalCode(row, clock.now());
    return throwProblem(
      'resource_not_found',
      'No approval code that you may see has this identifier.',
    );
  }

  return {
    async create(source: RequestIdentity, input: ApprovalCodeInput): Promise<NewApprovalCode> {
      validateInput(input, clock.now());
      for (let draw = 0; draw < maxDraws; draw += 1) {
        const code = drawCode(ids);
        const createdCode = await insert(source, input, code);
        if (createdCode !== undefined) return { ...createdCode, code };
      }
      throw new Error(`no unused approval code was found in ${maxDraws} draws`);
    },

    get,

    async list(
      caller: Caller,
      query: { merchantId?: string; includeRevoked?: boolean },
      { limit, after }: PageRequest,
    ): Promise<FoundPage<ApprovalCode>> {
      const { organizationId, storeId } = caller;
      const merchantId = resolveMerchantScope(caller, query.merchantId);
      const { includeRevoked = false } = query;
      const filters = { organizationId, merchantId, storeId, includeRevoked };
      const rows = await store.list({ ...filters, after, limit: limit + 1 });
      const items = rows.slice(0, limit);
      const next = rows.length > limit ? items.at(-1)?.approvalCodeId : undefined;
      return { items: items.map((row) => viewApprovalCode(row, clock.now())), next };
    },

    async revoke(source: RequestIdentity, approvalCodeId: string): Promise<ApprovalCode> {
      const { caller } = source;
      const { organizationId, merchantId } = caller;
      const current = await get(caller, approvalCodeId);
      if (current.status === 'Revoked') return current;
      const now = clock.now();
      const revoked = await database.transaction(async (trx) => {
        const key = { organizationId, approvalCodeId, merchantId };
        const row = await store.revoke(trx, key, isoTime(now));
        if (row === undefined) return undefined;
        const after = viewApprovalCode(row, now);
        await audit.record(trx, { ...auditEntry(source, row, 'revoked'), before: current, after });
        return after;
      });
      return revoked ?? get(caller, approvalCodeId);
    },
  };
}

export type ApprovalCodeManager = ReturnType<typeof createApprovalCodeManager>;
