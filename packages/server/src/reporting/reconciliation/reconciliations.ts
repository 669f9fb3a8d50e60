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
  type Ids,
  isoTime,
  type Jobs,
  withUnknownOutcome,
} from '../../platform/index.ts';
import { type RunQuery, runIn } from '../infrastructure/run-query.ts';
import { matchJob } from './compare-file-job.ts';
import { type FileLine, readSettlementFile } from './read-settlement-file.ts';
import {
  type ItemRow,
  insertText,
  type ReconciliationRow,
  type ReconciliationStore,
} from './reconciliation-sql.ts';
import { refuseCardNumber } from './require-no-card-number.ts';

const linesAtOnce = 1_000;
const itemsPerDelete = 5_000;
const daysMax = 31;
/** No settlement exists before this day. */
const firstDay = '1970-01-01';
const dayMs = 86_400_000;
/** An upload that is not complete after this time has failed. */
const receivingMs = 900_000;

export const abandonJob = 'reconciliation-abandon';

export type ReconciliationsDeps = {
  readonly database: Pick<Database, 'transaction'>;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly audit: Pick<AuditRecorder, 'record'>;
  readonly jobs: Pick<Jobs, 'enqueue' | 'wake'>;
  readonly store: ReconciliationStore;
  /** @throws Refusal if the organisation has no such acquirer link */
  demandLink(organizationId: string, linkId: string): Promise<void>;
};

export type Asked = {
  readonly acquirerLinkId: string;
  readonly from: string;
  readonly to: string;
  readonly name?: string;
};

export type Reconciliations = ReturnType<typeof createReconciliations>;

/** A file contains the movements of all merchants of a link. */
function organizationOf({ organizationId, merchantId, entityType }: Caller): string {
  if (merchantId !== undefined || entityType === 'merchant') {
    throwProblem('permission_denied', 'Only the organisation sees what its acquirers settle.');
  }
  return organizationId;
}

function view(row: ReconciliationRow): Reconciliation {
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

const detail = (row: ReconciliationRow): ReconciliationDetail => ({
  ...view(row),
  balances: row.balances.map((balance) => ({
    ...balance,
    isBalanced: balance.theirs === balance.operations && balance.operations === balance.ledger,
  })),
});

function viewItem(row: ItemRow): ReconciliationItem {
  const { number, outcome, differences, theirs, ours, resolution, note, resolvedBy } = row;
  return {
    number,
    outcome,
    differences,
    ...(theirs === null ? {} : { theirs: shownTheirs(theirs) }),
    ...(ours === null ? {} : { ours: shownOurs(ours) }),
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

function shownTheirs(theirs: NonNullable<ItemRow['theirs']>) {
  const { line, type, acquirerMerchantId, retrievalReferenceNumber, amount, currency } = theirs;
  const { settlementDate, terminalId, fee, acquirerReference } = theirs;
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

function shownOurs(ours: NonNullable<ItemRow['ours']>) {
  const { type, retrievalReferenceNumber, amount, currency, settlementDate } = ours;
  const { transactionId, merchantId, terminalId } = ours;
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

function refuseDay(name: 'from' | 'to', text: string): never {
  return throwProblem('field_invalid', `${name}: ${text}`, {
    errors: [{ pointer: `?${name}`, code: 'field_invalid', detail: text }],
  });
}

/** @throws Refusal field_invalid */
function demandDays({ from, to }: Asked): void {
  // PostgreSQL has no year 0 either.
  if (from < firstDay) refuseDay('from', `Is before ${firstDay}.`);
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
  if (days < 1) refuseDay('to', 'Is before from.');
  if (days > daysMax) refuseDay('to', `Is more than ${daysMax} days from the first.`);
}

/** @example const all = createReconciliations(deps); await all.receive(caller, id, asked, body); */
export function createReconciliations(deps: ReconciliationsDeps) {
  const { database, clock, ids, audit, jobs, store } = deps;
  const entityOf = (id: string) => ({ type: 'reconciliation', id });
  const key = (organizationId: string, reconciliationId: string) => ({
    organizationId,
    reconciliationId,
  });

  async function demand(caller: Caller, id: string): Promise<ReconciliationRow> {
    const row = await store.find(organizationOf(caller), id);
    return (
      row ?? throwProblem('resource_not_found', 'There is no reconciliation with this identifier.')
    );
  }

  async function erase(organizationId: string, id: string): Promise<void> {
    while ((await store.removeItems(organizationId, id, itemsPerDelete)) === itemsPerDelete);
  }

  /** In chunks, because a file is too large for one statement. */
  async function takeIn(of: ReturnType<typeof key>, body: Readable): Promise<void> {
    let lines: FileLine[] = [];
    const flush = async () => {
      if (lines.length > 0 && !(await store.addLines(of, lines))) {
        throwProblem('reconciliation_state', 'The file has taken too long to come.');
      }
      lines = [];
    };
    for await (const line of readSettlementFile(body)) {
      lines.push(line);
      if (lines.length === linesAtOnce) await flush();
    }
    await flush();
  }

  async function begin(caller: Caller, requestId: string, asked: Asked, id: string) {
    const { organizationId } = caller;
    const now = clock.now();
    await database.transaction(async (trx) => {
      const { acquirerLinkId, from, to, name } = asked;
      await runIn(trx)(insertText, [
        organizationId,
        id,
        acquirerLinkId,
        from,
        to,
        name ?? null,
        isoTime(now),
      ]);
      const payload = { reconciliationId: id };
      const dueAt = now + receivingMs;
      await jobs.enqueue({ organizationId, kind: abandonJob, payload, dueAt }, trx);
      await audit.record(trx, {
        organizationId,
        ...actorOf(caller, requestId),
        action: 'reconciliation.begun',
        entity: entityOf(id),
        after: { ...asked },
      });
    });
  }

  return {
    /** @throws Refusal field_invalid, resource_not_found, malformed_csv, field_unknown, field_required */
    async receive(caller: Caller, requestId: string, asked: Asked, body: Readable) {
      const organizationId = organizationOf(caller);
      demandDays(asked);
      refuseCardNumber(asked.name, '?name');
      await deps.demandLink(organizationId, asked.acquirerLinkId);
      const id = ids.uuid();
      const of = key(organizationId, id);
      await begin(caller, requestId, asked, id);
      try {
        await takeIn(of, body);
      } catch (error) {
        await database.transaction((trx) => store.remove(runIn(trx), of));
        await erase(organizationId, id);
        throw error;
      }
      await database.transaction(async (trx) => {
        await store.turn(runIn(trx), of, { from: 'Receiving', to: 'Matching' });
        const payload = { reconciliationId: id };
        await jobs.enqueue({ organizationId, kind: matchJob, payload }, trx);
      });
      jobs.wake();
      return view(await withUnknownOutcome(() => demand(caller, id)));
    },

    async list(
      caller: Caller,
      filters: { acquirerLinkId?: string | undefined; state?: string | undefined },
      page: PageRequest,
    ): Promise<FoundPage<Reconciliation>> {
      const more = { ...page, limit: page.limit + 1 };
      const rows = await store.list(organizationOf(caller), filters, more);
      const items = rows.slice(0, page.limit).map(view);
      const next = rows.length > page.limit ? items.at(-1)?.reconciliationId : undefined;
      return { items, next };
    },

    get: async (caller: Caller, id: string) => detail(await demand(caller, id)),

    async items(
      caller: Caller,
      id: string,
      filters: { outcome?: string | undefined; isOpen?: boolean | undefined },
      page: PageRequest,
    ): Promise<FoundPage<ReconciliationItem>> {
      const row = await demand(caller, id);
      const rows = await store.items(row, filters, { ...page, limit: page.limit + 1 });
      const items = rows.slice(0, page.limit).map(viewItem);
      const last = items.at(-1)?.number;
      return {
        items,
        next: rows.length > page.limit && last !== undefined ? String(last) : undefined,
      };
    },

    /** @throws Refusal resource_not_found, reconciliation_state, resolution_not_allowed */
    async resolve(
      caller: Caller,
      requestId: string,
      at: { readonly reconciliationId: string; readonly number: number },
      { resolution, note }: ReconciliationDecision,
    ): Promise<ReconciliationItem> {
      refuseCardNumber(note, '/note');
      const row = await demand(caller, at.reconciliationId);
      const item = await store.item(row, at.number);
      if (item === undefined) {
        return throwProblem('resource_not_found', 'The reconciliation has no item of this number.');
      }
      if (row.state !== 'Completed') {
        throwProblem('reconciliation_state', `The reconciliation is ${row.state}.`);
      }
      const ways: readonly string[] = viewItem(item).waysToResolve;
      if (!ways.includes(resolution)) {
        throwProblem(
          'resolution_not_allowed',
          `The item allows ${ways.join(', ') || 'nothing more'}.`,
        );
      }
      const author = actorOf(caller, requestId);
      await database.transaction(async (trx) => {
        const to = {
          resolution,
          note: note ?? null,
          by: caller.userId ?? caller.clientId,
          at: isoTime(clock.now()),
        };
        if (!(await store.resolve(runIn(trx), row, at.number, to))) {
          throwProblem('resolution_not_allowed', 'Somebody else has just resolved it.');
        }
        await audit.record(trx, {
          organizationId: row.organizationId,
          ...author,
          action: 'reconciliation.resolved',
          entity: entityOf(at.reconciliationId),
          after: { number: at.number, resolution, ...defined({ note }) },
        });
      });
      const resolved = await store.item(row, at.number);
      return viewItem(resolved ?? item);
    },

    /** @throws Refusal resource_not_found */
    async remove(caller: Caller, requestId: string, id: string): Promise<void> {
      const row = await demand(caller, id);
      await database.transaction(async (trx) => {
        await store.remove(runIn(trx), row);
        await audit.record(trx, {
          organizationId: row.organizationId,
          action: 'reconciliation.deleted',
          ...actorOf(caller, requestId),
          entity: entityOf(id),
          before: { ...view(row) },
        });
      });
      await erase(row.organizationId, id);
    },

    /** Fails the incomplete file of a process that stopped during the upload. */
    async abandon({ organizationId, payload }: { organizationId: string; payload: object }) {
      const id = String(Reflect.get(payload, 'reconciliationId'));
      const of = key(organizationId, id);
      const failed = { from: 'Receiving', to: 'Failed', failure: 'file_incomplete' } as const;
      const fail = (run: RunQuery) => store.turn(run, of, failed);
      if (await database.transaction((trx) => fail(runIn(trx)))) await erase(organizationId, id);
    },
  };
}
