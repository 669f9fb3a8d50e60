// Ends the asking for a refund that nobody answers: it is held for somebody, who asks, retries or settles (ADR 0044).
import { isoTime } from '../platform/index.ts';
import { refundForMs, refundWorkForMs } from './deps.ts';
import type { LoadedQr, StoredOperation } from './model.ts';
import type { Changes } from './state.ts';
import { ended, isOpen, type Step } from './step.ts';

const isUnanswered = ({ kind, status }: StoredOperation): boolean =>
  kind === 'Refund' && status === 'Unanswered';

/** Nobody has said yet what became of it, whether or not it is still asked for. */
export const isUndecided = (operation: StoredOperation): boolean =>
  isOpen(operation) || isUnanswered(operation);

export const unansweredRefunds = ({ operations }: Pick<LoadedQr, 'operations'>) =>
  operations.filter(isUnanswered);

/** Minor units whose whereabouts nobody knows: a part of what is reserved. */
export const unansweredSum = (loaded: Pick<LoadedQr, 'operations'>): number =>
  unansweredRefunds(loaded).reduce((sum, { amount }) => sum + amount, 0);

/** Whether it was asked for long enough: longer where the provider has said that it works on it. */
export function isStale({ createdAt, details }: StoredOperation, now: number): boolean {
  const since = Date.parse(details.askedSince ?? createdAt);
  return now >= since + (details.acknowledged === true ? refundWorkForMs : refundForMs);
}

/** Its amount stays reserved: it may have been paid back. Nothing where it has ended meanwhile. Pure. */
export function unansweredStep(
  standing: LoadedQr,
  operationId: string,
  at: number,
): Step | undefined {
  const operation = standing.operations.find((each) => each.operationId === operationId);
  if (operation === undefined || !isOpen(operation)) return undefined;
  const { hold } = standing.row.position;
  return {
    at,
    type: 'qr.refund_unanswered',
    changes: hold === null ? { hold: 'RefundUnanswered' } : {},
    operations: [ended(operation, 'Unanswered', at)],
    data: { reason: 'Unanswered', amount: operation.amount },
  };
}

/** What becomes of the hold once this refund is decided: the last one of them ends it. Pure. */
export function releasedBy({ row, operations }: LoadedQr, decided: StoredOperation): Changes {
  if (row.position.hold !== 'RefundUnanswered') return {};
  const others = operations.filter((each) => isUnanswered(each) && each.number !== decided.number);
  return others.length === 0 ? { hold: null } : {};
}

/** Each of them is asked for again, under the name by which the provider may know it. Pure. */
export const retried = (loaded: LoadedQr, at: number): StoredOperation[] =>
  unansweredRefunds(loaded).map((each) => ended(each, 'Pending', at, { askedSince: isoTime(at) }));

/** What was to go back was settled elsewhere: nobody asks for it any more. Pure. */
export function settledElsewhere(
  loaded: LoadedQr,
  at: number,
): { changes: Changes; operations: StoredOperation[] } {
  const sum = unansweredSum(loaded);
  return {
    changes: { hold: null, refundReserved: -sum, settled: sum },
    operations: unansweredRefunds(loaded).map((each) => ended(each, 'Failed', at)),
  };
}
