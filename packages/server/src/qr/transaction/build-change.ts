// Builds the change for a step: the new row, its event and the time of the next poll.
import { defined, type QrEventType } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import { providerTimeoutMs, statusPollMs, storeGraceMs } from './limits.ts';
import type {
  LoadedPayment,
  PaymentChange,
  QrEventData,
  QrRow,
  StoredOperation,
} from './records.ts';
import { applyChanges, isLive, type PositionChanges, statusOf } from './state-machine.ts';

export type PaymentStep = {
  /** Epoch ms. */
  at: number;
  type: QrEventType;
  changes: PositionChanges;
  data?: Omit<QrEventData, 'status' | 'changes'>;
  /** New and changed operations; the event shows the first one. */
  operations?: StoredOperation[];
  providerTransactionId?: string | undefined;
  /** The new time after which the consumer cannot pay, if it has changed. */
  expiresAt?: number | undefined;
  /** A time for the next poll before the expiry. */
  pollAt?: number | undefined;
  /** The poll had no result, so the next pause is longer. */
  unanswered?: true;
};

/** Pauses between polls without a result, ms; the last one repeats. */
const pausesMs = [1000, 2000, 3000, 5000, 10_000, 30_000, 60_000, 300_000, 900_000] as const;

/** How long one provider call has before other processes may poll the payment too, ms. */
export const leaseMs = providerTimeoutMs + storeGraceMs;

export const pauseMs = (pollAttempts: number): number =>
  pausesMs[Math.min(pollAttempts, pausesMs.length - 1)] ?? 900_000;

export const isOpen = ({ status }: StoredOperation): boolean => status === 'Pending';

export const openCancels = ({ operations }: Pick<LoadedPayment, 'operations'>): StoredOperation[] =>
  operations.filter((each) => each.kind === 'Cancel' && isOpen(each));

/** The time of the next poll; undefined if nothing is left to do. Pure. */
export function nextDueAt(
  row: Pick<QrRow, 'position' | 'expiresAt' | 'pollAttempts'>,
  operations: readonly StoredOperation[],
  {
    at,
    pollAt,
    heldUntil,
  }: Pick<PaymentStep, 'at' | 'pollAt'> & { heldUntil?: number | undefined },
): number | undefined {
  if (operations.some(isOpen)) return pollAt ?? heldUntil ?? at + pauseMs(row.pollAttempts);
  if (row.position.hold !== null || !isLive(row.position)) return undefined;
  return Math.min(row.expiresAt, pollAt ?? at + statusPollMs);
}

/** Adds the changed operations and replaces those with the same number. */
export function mergeOperations(
  before: readonly StoredOperation[],
  changed: readonly StoredOperation[],
): StoredOperation[] {
  const numbers = new Set(changed.map(({ number }) => number));
  return [...before.filter(({ number }) => !numbers.has(number)), ...changed].sort(
    (one, other) => one.number - other.number,
  );
}

function summaryOf({ operationId, number, kind, status, amount }: StoredOperation) {
  return { operationId, number, kind, status, amount };
}

/** Builds the change of a step, guarded by the version that it is based on. Pure. */
export function buildChange({ row, operations }: LoadedPayment, step: PaymentStep): PaymentChange {
  const position = applyChanges(row.position, step.changes);
  const status = statusOf(position);
  const at = isoTime(step.at);
  const changed = step.operations ?? [];
  const [first] = changed;
  const data: QrEventData = { status, changes: step.changes, ...step.data };
  if (first !== undefined) data.operation = summaryOf(first);
  // A provider event does not end the lease of a call that runs at this moment.
  const isProviderEvent = data.provider !== undefined;
  const pollAttempts =
    step.unanswered === true ? row.pollAttempts + 1 : isProviderEvent ? row.pollAttempts : 0;
  const keepsDueTime = isProviderEvent && row.dueAt !== undefined && row.dueAt > step.at;
  const heldUntil = keepsDueTime ? row.dueAt : undefined;
  const expiresAt = step.expiresAt ?? row.expiresAt;
  const after: QrRow = {
    ...row,
    position,
    status,
    providerTransactionId: row.providerTransactionId ?? step.providerTransactionId,
    version: row.version + 1,
    operationCount: Math.max(row.operationCount, ...changed.map(({ number }) => number)),
    providerEvents: row.providerEvents + (data.provider === undefined ? 0 : 1),
    pollAttempts,
    expiresAt,
    updatedAt: at,
    dueAt: undefined,
  };
  after.dueAt = nextDueAt(after, mergeOperations(operations, changed), { ...step, heldUntil });
  return {
    before: row,
    after,
    event: { sequence: row.version + 1, type: step.type, at, data },
    operations: changed,
  };
}

/** The payment after a durable change, without another read. */
export function afterChange(loaded: LoadedPayment, change: PaymentChange): LoadedPayment {
  const operations = mergeOperations(loaded.operations, change.operations);
  const { newEvents } = loaded;
  return {
    row: change.after,
    operations,
    ...defined({ newEvents: newEvents === undefined ? undefined : [...newEvents, change.event] }),
  };
}

/** Returns the operation with a new status. */
export function withStatus(
  operation: StoredOperation,
  status: StoredOperation['status'],
  at: number,
  details: Partial<StoredOperation['details']> = {},
): StoredOperation {
  return {
    ...operation,
    status,
    details: { ...operation.details, ...details },
    updatedAt: isoTime(at),
  };
}
