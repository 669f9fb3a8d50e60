// Lets holds lapse whose time is over: in small steps, each guarded, found by an index of open holds.
import type { PaymentsDeps } from '../deps.ts';
import type { TransactionKey } from '../repository/transaction-repository.ts';
import { createSweep, type Sweep } from '../runtime/periodic-task.ts';
import { isShared, openAmount } from '../transaction/state-machine.ts';
import type { LoadedTransaction } from '../transaction/transaction.ts';
import { changeOf, type Step } from '../transaction/transition.ts';

const sweepEveryMs = 2000;
/** Few at a time: nobody waits for it, and sales do not feel it. */
const sweepMax = 50;

/**
 * What lapses: a sale of which nothing was captured has expired; else the rest is given back. None
 * where part of it awaits an answer, which decides first. Nothing is sent: the issuer lets a hold
 * go by itself.
 */
export function expiredStep({ row }: LoadedTransaction, at: number): Step | undefined {
  const { position } = row;
  const open = openAmount(position);
  if (position.phase !== 'Approved' || open === 0 || isShared(position)) return undefined;
  return {
    at,
    type: 'transaction.expired',
    changes: position.captured === 0 ? { phase: 'Expired' } : { cancelled: open },
    data: { amount: open },
  };
}

async function expire(deps: PaymentsDeps, key: TransactionKey): Promise<boolean> {
  const loaded = await deps.store.findById(key.organizationId, key.transactionId);
  const step = loaded === undefined ? undefined : expiredStep(loaded, deps.clock.now());
  if (loaded === undefined || step === undefined) return false;
  // Whoever was faster has captured or cancelled it, or did the same.
  const done = await deps.store.commit(changeOf(loaded.row, step));
  if (done) deps.running.changed(key.transactionId);
  return done;
}

/** @example const expiry = createExpiry(deps); expiry.start(); */
export function createExpiry(deps: PaymentsDeps): Sweep {
  async function look(): Promise<number> {
    let expired = 0;
    for (;;) {
      const keys = await deps.store.lapsedHolds(deps.clock.now(), sweepMax);
      const done = await Promise.all(keys.map((key) => expire(deps, key)));
      const count = done.filter(Boolean).length;
      expired += count;
      // What could not lapse now would be found again at once.
      if (keys.length < sweepMax || count === 0 || deps.running.isStopping()) return expired;
    }
  }

  const onFault = (error: unknown) => deps.log.warn({ err: error }, 'holds did not lapse');
  return createSweep({ everyMs: sweepEveryMs, look, onFault });
}
