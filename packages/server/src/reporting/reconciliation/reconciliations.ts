// Receives acquirers' files, shows the results of the comparison, and records users' decisions.
import type { Readable } from 'node:stream';
import {
  defined,
  type Reconciliation,
  type ReconciliationDecision,
  type ReconciliationDetail,
  type ReconciliationItem,
  throwProblem,
  waysToResolve,
} from '@switchyard/contract';
import { type AuditRecorder, actorOf } from '../../audit/index.ts';
import type { Caller, FoundPage, PageRequest } from '../../http/index.ts';
import {
  type Clock,
  type Database,
  dayMs,
  type Ids,
  isoTime,
  type Jobs,
  type Queries,
  withUnknownOutcome,
} from '../../platform/index.ts';
import { compareFileJobKind } from './compare-file-job.ts';
import { type FileLine, readSettlementFile } from './read-settlement-file.ts';
import {
  type ItemRow,
  insertReconciliationSql,
  type ReconciliationRow,
  type ReconciliationStore,
} from './reconciliation-sql.ts';
import { requireNoCardNumber } from './require-no-card-number.ts';

const linesPerStatement = 1_000;
const itemsPerDelete = 5_000;
const daysMax = 31;
/** No settlement exists before this day. */
const firstDay = '1970-01-01';
/** An upload that is not complete after this time has failed. */
const uploadTimeoutMs = 900_000;

export const incompleteUploadJobKind = 'reconciliation-abandon';

export type ReconciliationsDeps = {
  readonly database: Pick<Database, 'transaction'>;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly audit: Pick<AuditRecorder, 'record'>;
  readonly jobs: Pick<Jobs, 'enqueue' | 'wake'>;
  readonly store: ReconciliationStore;
  /** @throws ProblemError if the organisation has no such acquirer link */
  requireLink(organizationId: string, linkId: string): Promise<void>;
};

export type ReconciliationRequest = {
  readonly acquirerLinkId: string;
  readonly from: string;
  readonly to: string;
  readonly name?: string;
};

export type Reconciliations = ReturnType<typeof createReconciliations>;

/** A file contains the movements of all merchants of a link. */
function requireWholeOrganization({ organizationId, merchantId, entityType }: Caller): string {
  if (merchantId !== undefined || entityType === 'merchant') {
    throwProblem(
      'permission_denied',
      'Only a token of the organisation may use reconciliations; your token belongs to a merchant or a store.',
    );
  }
  return organizationId;
}

function toReconciliationView(row: ReconciliationRow): Reconciliation {
  return {
    reconciliationId: row.reconciliationId,
    acquirerLinkId: row.linkId,
    from: row.fromDay,
    to: row.toDay,
    ...(row.name === null ? {} : { name: row.name }),
    state: row.state,
    lines: row.lines,
    matched: row.matched,
    different: row.different,
    missingHere: row.missingHere,
    missingThere: row.missingThere,
    open: row.open,
    ...(row.failure === null ? {} : { failure: row.failure }),
    createdAt: isoTime(row.createdAt.getTime()),
    ...(row.completedAt === null ? {} : { completedAt: isoTime(row.completedAt.getTime()) }),
  };
}

const toReconciliationDetail = (row: ReconciliationRow): ReconciliationDetail => ({
  ...toReconciliationView(row),
  balances: row.balances.map((balance) => ({
    ...balance,
    isBalanced: balance.theirs === balance.operations && balance.operations === balance.ledger,
  })),
});

function toItemView(row: ItemRow): ReconciliationItem {
  const {
    number,
    outcome,
    differences,
    theirs: acquirerLine,
    ours: movement,
    resolution,
    note,
    resolvedBy,
  } = row;
  return {
    number,
    outcome,
    differences,
    ...(acquirerLine === null ? {} : { theirs: toAcquirerLineView(acquirerLine) }),
    ...(movement === null ? {} : { ours: toPlatformMovementView(movement) }),
    waysToResolve: resolution === null ? [...waysToResolve[outcome]] : [],
    ...(resolution === null || row.resolvedAt === null
      ? {}
      : {
          resolution: {
            resolution,
            by: resolvedBy ?? '',
            at: isoTime(row.resolvedAt.getTime()),
            ...(note === null ? {} : { note }),
          },
        }),
  };
}

function toAcquirerLineView(acquirerLine: NonNullable<ItemRow['theirs']>) {
  const { line, type, acquirerMerchantId, retrievalReferenceNumber, amount, currency } =
    acquirerLine;
  const { settlementDate, terminalId, fee, acquirerReference } = acquirerLine;
  return {
    line,
    type,
    acquirerMerchantId,
    retrievalReferenceNumber,
    amount,
    currency,
    settlementDate,
    ...defined({ terminalId, fee, acquirerReference }),
  };
}

function toPlatformMovementView(movement: NonNullable<ItemRow['ours']>) {
  const { type, retrievalReferenceNumber, amount, currency, settlementDate } = movement;
  const { transactionId, merchantId, terminalId } = movement;
  return {
    type,
    retrievalReferenceNumber,
    amount,
    currency,
    settlementDate,
    transactionId,
    merchantId,
    ...defined({ terminalId }),
  };
}

function throwDayProblem(name: 'from' | 'to', text: string): never {
  return throwProblem('field_invalid', `${name}: ${text}`, {
    errors: [{ pointer: `?${name}`, code: 'field_invalid', detail: text }],
  });
}

/** @throws ProblemError field_invalid */
function requireValidDays({ from, to }: ReconciliationRequest): void {
  // PostgreSQL has no year 0 either.
  if (from < firstDay) throwDayProblem('from', `Is before ${firstDay}.`);
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
  if (days < 1) throwDayProblem('to', 'Is before from.');
  if (days > daysMax) throwDayProblem('to', `Is more than ${daysMax} days from the first.`);
}

/** @example const reconciliations = createReconciliations(deps); await reconciliations.createReconciliation(caller, id, request, body); */
export function createReconciliations(deps: ReconciliationsDeps) {
  const { database, clock, ids, audit, jobs, store } = deps;
  const auditEntity = (id: string) => ({ type: 'reconciliation', id });
  const toKey = (organizationId: string, reconciliationId: string) => ({
    organizationId,
    reconciliationId,
  });

  async function requireReconciliation(caller: Caller, id: string): Promise<ReconciliationRow> {
    const row = await store.find(requireWholeOrganization(caller), id);
    return (
      row ?? throwProblem('resource_not_found', 'There is no reconciliation with this identifier.')
    );
  }

  async function deleteItems(organizationId: string, id: string): Promise<void> {
    while ((await store.deleteItems(organizationId, id, itemsPerDelete)) === itemsPerDelete);
  }

  /** In chunks, because a file is too large for one statement. */
  async function storeLines(key: ReturnType<typeof toKey>, body: Readable): Promise<void> {
    let lines: FileLine[] = [];
    const flush = async () => {
      if (lines.length > 0 && !(await store.addLines(key, lines))) {
        throwProblem('reconciliation_state', 'The upload took too long; upload the file again.');
      }
      lines = [];
    };
    for await (const line of readSettlementFile(body)) {
      lines.push(line);
      if (lines.length === linesPerStatement) await flush();
    }
    await flush();
  }

  async function insertReconciliation(
    caller: Caller,
    requestId: string,
    request: ReconciliationRequest,
    id: string,
  ) {
    const { organizationId } = caller;
    const now = clock.now();
    await database.transaction(async (trx) => {
      const { acquirerLinkId, from, to, name } = request;
      await trx.query(insertReconciliationSql, [
        organizationId,
        id,
        acquirerLinkId,
        from,
        to,
        name ?? null,
        isoTime(now),
      ]);
      const payload = { reconciliationId: id };
      const dueAt = now + uploadTimeoutMs;
      await jobs.enqueue({ organizationId, kind: incompleteUploadJobKind, payload, dueAt }, trx);
      await audit.record(trx, {
        organizationId,
        ...actorOf(caller, requestId),
        action: 'reconciliation.begun',
        entity: auditEntity(id),
        after: { ...request },
      });
    });
  }

  return {
    /** @throws ProblemError field_invalid, resource_not_found, malformed_csv, field_unknown, field_required */
    async createReconciliation(
      caller: Caller,
      requestId: string,
      request: ReconciliationRequest,
      body: Readable,
    ) {
      const organizationId = requireWholeOrganization(caller);
      requireValidDays(request);
      requireNoCardNumber(request.name, '?name');
      await deps.requireLink(organizationId, request.acquirerLinkId);
      const id = ids.uuid();
      const key = toKey(organizationId, id);
      await insertReconciliation(caller, requestId, request, id);
      try {
        await storeLines(key, body);
      } catch (error) {
        await database.transaction((trx) => store.delete(trx, key));
        await deleteItems(organizationId, id);
        throw error;
      }
      await database.transaction(async (trx) => {
        await store.changeState(trx, key, { from: 'Receiving', to: 'Matching' });
        const payload = { reconciliationId: id };
        await jobs.enqueue({ organizationId, kind: compareFileJobKind, payload }, trx);
      });
      jobs.wake();
      return toReconciliationView(
        await withUnknownOutcome(() => requireReconciliation(caller, id)),
      );
    },

    async listReconciliations(
      caller: Caller,
      filters: { acquirerLinkId?: string | undefined; state?: string | undefined },
      page: PageRequest,
    ): Promise<FoundPage<Reconciliation>> {
      const pageWithOneMore = { ...page, limit: page.limit + 1 };
      const rows = await store.list(requireWholeOrganization(caller), filters, pageWithOneMore);
      const listItems = rows.slice(0, page.limit).map(toReconciliationView);
      const next = rows.length > page.limit ? listItems.at(-1)?.reconciliationId : undefined;
      return { items: listItems, next };
    },

    getReconciliation: async (caller: Caller, id: string) =>
      toReconciliationDetail(await requireReconciliation(caller, id)),

    async listItems(
      caller: Caller,
      id: string,
      filters: { outcome?: string | undefined; isOpen?: boolean | undefined },
      page: PageRequest,
    ): Promise<FoundPage<ReconciliationItem>> {
      const row = await requireReconciliation(caller, id);
      const rows = await store.listItems(row, filters, { ...page, limit: page.limit + 1 });
      const listItems = rows.slice(0, page.limit).map(toItemView);
      const last = listItems.at(-1)?.number;
      return {
        items: listItems,
        next: rows.length > page.limit && last !== undefined ? String(last) : undefined,
      };
    },

    /** @throws ProblemError resource_not_found, reconciliation_state, resolution_not_allowed */
    async resolveItem(
      caller: Caller,
      requestId: string,
      at: { readonly reconciliationId: string; readonly number: number },
      { resolution, note }: ReconciliationDecision,
    ): Promise<ReconciliationItem> {
      requireNoCardNumber(note, '/note');
      const row = await requireReconciliation(caller, at.reconciliationId);
      const item = await store.findItem(row, at.number);
      if (item === undefined) {
        return throwProblem(
          'resource_not_found',
          'The reconciliation has no item with this number.',
        );
      }
      if (row.state !== 'Completed') {
        throwProblem('reconciliation_state', `The reconciliation is ${row.state}.`);
      }
      const allowedResolutions: readonly string[] = toItemView(item).waysToResolve;
      if (!allowedResolutions.includes(resolution)) {
        throwProblem(
          'resolution_not_allowed',
          `The item allows these resolutions: ${allowedResolutions.join(', ') || 'none'}.`,
        );
      }
      const author = actorOf(caller, requestId);
      await database.transaction(async (trx) => {
        const to = {
          resolution,
          note: note ?? null,
          resolvedBy: caller.userId ?? caller.clientId,
          at: isoTime(clock.now()),
        };
        if (!(await store.resolveItem(trx, row, at.number, to))) {
          throwProblem('resolution_not_allowed', 'Another request has resolved this item.');
        }
        await audit.record(trx, {
          organizationId: row.organizationId,
          ...author,
          action: 'reconciliation.resolved',
          entity: auditEntity(at.reconciliationId),
          after: { number: at.number, resolution, ...defined({ note }) },
        });
      });
      const resolved = await store.findItem(row, at.number);
      return toItemView(resolved ?? item);
    },

    /** @throws ProblemError resource_not_found */
    async deleteReconciliation(caller: Caller, requestId: string, id: string): Promise<void> {
      const row = await requireReconciliation(caller, id);
      await database.transaction(async (trx) => {
        await store.delete(trx, row);
        await audit.record(trx, {
          organizationId: row.organizationId,
          action: 'reconciliation.deleted',
          ...actorOf(caller, requestId),
          entity: auditEntity(id),
          before: { ...toReconciliationView(row) },
        });
      });
      await deleteItems(row.organizationId, id);
    },

    /** Fails the incomplete file of a process that stopped during the upload. */
    async failIncompleteUpload({
      organizationId,
      payload,
    }: {
      organizationId: string;
      payload: object;
    }) {
      const id = String(Reflect.get(payload, 'reconciliationId'));
      const key = toKey(organizationId, id);
      const failed = { from: 'Receiving', to: 'Failed', failure: 'file_incomplete' } as const;
      const markFailed = (queries: Queries) => store.changeState(queries, key, failed);
      if (await database.transaction((trx) => markFailed(trx)))
        await deleteItems(organizationId, id);
    },
  };
}
