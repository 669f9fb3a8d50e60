// An operation in memory that was sent, the job that repeats it, and the answers of its host in their order.
import { refuse } from '@switchyard/contract';
import type { AcquirerOutcome, AcquirerRequest } from '../src/acquiring/index.ts';
import type { PaymentsDeps } from '../src/payments/deps.ts';
import { resolutionTransition } from '../src/payments/operations/resolve-manually.ts';
import { settleOperation } from '../src/payments/operations/run-operation.ts';
import { createOperationRetry } from '../src/payments/recovery/retry-operations.ts';
import { recordLateResponse } from '../src/payments/reversals/late-response.ts';
import { zeroAmounts } from '../src/payments/transaction/state-machine.ts';
import type {
  TransactionChange,
  TransactionRecord,
} from '../src/payments/transaction/transaction.ts';
import { applyTransition, withChange } from '../src/payments/transaction/transition.ts';
import type { Job } from '../src/platform/index.ts';

export const declined = (responseCode: string): AcquirerOutcome => ({
  outcome: 'Declined',
  responseCode,
});
export const duplicate = declined('94');
export const silence: AcquirerOutcome = { outcome: 'Unknown', reason: 'Timeout' };
export const approval: AcquirerOutcome = { outcome: 'Approved', responseCode: '00', amount: 60 };

const now = 1_000_000;
const positions = {
  Refund: { phase: 'Approved', authorized: 100, captured: 100, refundReserved: 60 },
  Reversal: { phase: 'Reversing' },
} as const;

export const numbers = (stan: number) => ({ stan: String(stan) });

function standingWith(
  kind: keyof typeof positions,
  request: Record<string, unknown>,
): TransactionRecord {
  const position = { ...zeroAmounts, ...positions[kind] };
  const facts = { linkId: 'link', timeZone: 'UTC', card: {}, request };
  const createdAt = new Date(0).toISOString();
  return {
    row: {
      organizationId: 'o',
      transactionId: 't',
      merchantId: 'm',
      amount: 100,
      version: 1,
      position,
      operationCount: 1,
      deadline: 0,
    },
    events: [{ sequence: 1, type: 'transaction.received', at: '', data: { facts } }],
    operations: [
      {
        kind,
        status: 'Sent',
        amount: 60,
        number: 1,
        createdAt,
        details: { reference: numbers(0) },
      },
    ],
  } as unknown as TransactionRecord;
}

/** @example const { answered, repeated, status } = oneOperation('Refund'); */
export function oneOperation(kind: keyof typeof positions, request = {}) {
  let standing = standingWith(kind, request);
  let stan = 0;
  const sent: unknown[] = [];
  const requests: AcquirerRequest[] = [];
  const alarms: unknown[] = [];
  const jobs: TransactionChange['job'][] = [];
  let next: AcquirerOutcome = silence;
  let whileHeld: () => unknown = () => {};
  let underWay: () => unknown = () => {};
  let refusals = 0;
  function refused(): void {
    if (refusals === 0) return;
    refusals -= 1;
    refuse('database_unavailable', 'It restarts.');
  }
  function made(change: TransactionChange): void {
    if (change.job !== undefined) jobs.push(change.job);
    standing = withChange(standing, change);
  }
  const deps = {
    clock: { now: () => now },
    ids: { uuid: () => 'id' },
    acquirerTimeoutMs: 10_000,
    failPoints: { hit() {} },
    running: { changed() {}, inTurn: (_key: string, work: () => unknown) => work() },
    jobs: { poke() {} },
    log: { error: (of: unknown) => alarms.push(of) },
    vault: { reveal: async () => ({ pan: '', expiry: '' }) },
    acquiring: {
      available: () => true,
      async nextReference() {
        stan += 1;
        return numbers(stan);
      },
      async send(asked: AcquirerRequest) {
        requests.push(asked);
        sent.push([asked.reference, asked.repeat]);
        await underWay();
        return next;
      },
    },
    store: {
      async findById() {
        refused();
        return standing;
      },
      async commit(change: TransactionChange) {
        refused();
        if (change.before.version !== standing.row.version) return false;
        made(change);
        return true;
      },
    },
  } as unknown as PaymentsDeps;
  const repeat = createOperationRetry(deps, {
    async isBlocked() {
      await whileHeld();
      return false;
    },
  });
  return {
    alarms,
    jobs,
    sent,
    requests,
    answered: (outcome: AcquirerOutcome) => settleOperation(deps, standing, 1, outcome),
    async repeated(outcome: AcquirerOutcome, attempts = 0) {
      next = outcome;
      const { payload } = jobs[0] ?? {};
      return repeat({ organizationId: 'o', jobId: 'j', lane: 'l', attempts, payload } as Job);
    },
    /** Somebody ends it by hand. */
    resolve(outcome: 'Succeeded' | 'Failed') {
      const decision = { number: 1, outcome, note: 'Says their help desk.' };
      const step = resolutionTransition(standing, decision, { at: now, actor: 'somebody' });
      if (step !== 'Done') made(applyTransition(standing.row, step));
    },
    late(lateKind: 'Sale' | 'Refund' | 'Capture', responseCode: string) {
      const of = { organizationId: 'o', transactionId: 't' };
      recordLateResponse(deps, { ...of, kind: lateKind, responseCode });
    },
    /** What happens between the look of the job and its turn, or while its message is under way. */
    onHeld: (does: () => unknown) => {
      whileHeld = does;
    },
    onSend: (does: () => unknown) => {
      underWay = does;
    },
    /** As often the database is away. */
    refuses: (times: number) => {
      refusals = times;
    },
    operation: () => standing.operations[0],
    status: () => standing.operations[0]?.status,
    refunded: () => standing.row.position.refunded,
    phase: () => standing.row.position.phase,
    changes: () => standing.row.version - 1,
  };
}

/** Until what was begun in memory is over. */
export async function settled(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
}
