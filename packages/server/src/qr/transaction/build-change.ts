// Builds the change for a step: the new row, its event and the time of the next poll.
import { defined, type QrEventType } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import { answerMs, graceMs } from './limits.ts';
import type { Change, EventData, LoadedQr, QrRow, StoredOperation } from './records.ts';
import { apply, type Changes, isLive, statusOf } from './state-machine.ts';

export type Step = {
  /** Epoch ms. */
  at: number;
  type: QrEventType;
  changes: Changes;
  data?: Omit<EventData, 'status' | 'changes'>;
  /** New and changed operations; the event shows the first one. */
  operations?: StoredOperation[];
  providerTransactionId?: string | undefined;
  /** The new time after which the consumer cannot pay, if it has changed. */
  expiresAt?: number | undefined;
  /** A time for the next poll before the expiry. */
  askAt?: number | undefined;
  /** The poll had no result, so the next pause is longer. */
  unanswered?: true;
};

/** Pauses between polls without a result, ms; the last one repeats. */
const pausesMs = [1000, 2000, 3000, 5000, 10_000, 30_000, 60_000, 300_000, 900_000] as const;

/** How long one provider call has before other processes may poll the payment too, ms. */
export const leaseMs = answerMs + graceMs;

export const pauseMs = (looks: number): number =>
  pausesMs[Math.min(looks, pausesMs.length - 1)] ?? 900_000;

export const isOpen = ({ status }: StoredOperation): boolean => status === 'Pending';

export const openCancels = ({ operations }: Pick<LoadedQr, 'operations'>): StoredOperation[] =>
  operations.filter((each) => each.kind === 'Cancel' && isOpen(each));

/** The time of the next poll; undefined if nothing is left to do. Pure. */
export function dueAfter(
  row: Pick<QrRow, 'position' | 'expiresAt' | 'looks'>,
  operations: readonly StoredOperation[],
  { at, askAt, heldUntil }: Pick<Step, 'at' | 'askAt'> & { heldUntil?: number | undefined },
): number | undefined {
  if (operations.some(isOpen)) return askAt ?? heldUntil ?? at + pauseMs(row.looks);
  if (row.position.hold !== null || !isLive(row.position)) return undefined;
  return Math.min(row.expiresAt, askAt ?? row.expiresAt);
}

/** Adds the changed operations and replaces those with the same number. */
export function merged(
  before: readonly StoredOperation[],
  changed: readonly StoredOperation[],
): StoredOperation[] {
  const numbers = new Set(changed.map(({ number }) => number));
  return [...before.filter(({ number }) => !numbers.has(number)), ...changed].sort(
    (one, other) => one.number - other.number,
  );
}

function seen({ operationId, number, kind, status, amount }: StoredOperation) {
  return { operationId, number, kind, status, amount };
}

/** Builds the change of a step, guarded by the version that it is based on. Pure. */
export function changeOf({ row, operations }: LoadedQr, step: Step): Change {
  const position = apply(row.position, step.changes);
  const status = statusOf(position);
  const at = isoTime(step.at);
  const changed = step.operations ?? [];
  const [first] = changed;
  const data: EventData = { status, changes: step.changes, ...step.data };
  if (first !== undefined) data.operation = seen(first);
  // A provider event does not end the lease of a call that runs at this moment.
  const isTold = data.provider !== undefined;
  const looks = step.unanswered === true ? row.looks + 1 : isTold ? row.looks : 0;
  const isHeld = isTold && row.dueAt !== undefined && row.dueAt > step.at;
  const heldUntil = isHeld ? row.dueAt : undefined;
  const expiresAt = step.expiresAt ?? row.expiresAt;
  const after: QrRow = {
    ...row,
    position,
    status,
    providerTransactionId: row.providerTransactionId ?? step.providerTransactionId,
    version: row.version + 1,
    operationCount: Math.max(row.operationCount, ...changed.map(({ number }) => number)),
    providerEvents: row.providerEvents + (data.provider === undefined ? 0 : 1),
    looks,
    expiresAt,
    updatedAt: at,
    dueAt: undefined,
  };
  after.dueAt = dueAfter(after, merged(operations, changed), { ...step, heldUntil });
  return {
    before: row,
    after,
    event: { sequence: row.version + 1, type: step.type, at, data },
    operations: changed,
  };
}

/** The payment after a durable change, without another read. */
export function after(loaded: LoadedQr, change: Change): LoadedQr {
  const operations = merged(loaded.operations, change.operations);
  const { news } = loaded;
  return {
    row: change.after,
    operations,
    ...defined({ news: news === undefined ? undefined : [...news, change.event] }),
  };
}

/** Returns the operation with a new status. */
export function ended(
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
