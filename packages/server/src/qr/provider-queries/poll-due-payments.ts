// Polls due payments: unanswered calls, open operations and payments after their time to pay.
import { createConcurrencyCounter, createPoller, type Poller } from '../../platform/index.ts';
import type { DueKey } from '../repository/qr-store.ts';
import { commitWithRetry } from '../runtime/commit-steps.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { isOpen, openCancels } from '../transaction/build-change.ts';
import type { LoadedPayment, QrKey } from '../transaction/records.ts';
import { isLive } from '../transaction/state-machine.ts';
import { beginCancelStep, queryStatus, sendCancel, sendRefund } from './query-provider.ts';

const pollEveryMs = 250;
/** The maximum number of parallel polls; each call to a silent provider takes ten seconds. */
const parallelPollsMax = 128;
/**
 * A provider with this number of running polls is excluded from the next claim. A claim takes this
 * number at most, so one provider has fewer than twice as many polls for all its services.
 */
const pollsPerProviderMax = 8;
/**
 * How long a claimed payment belongs to the process that claimed it, ms. A poll sends one call, and
 * a second call after it has its own lease.
 */
const claimMs = 60_000;

type ProviderCall = (loaded: LoadedPayment) => Promise<LoadedPayment>;

/** The possible calls for a payment: its cancel or its status, and each open refund. */
function providerCallsFor(deps: QrDeps, loaded: LoadedPayment): ProviderCall[] {
  const { position, expiresAt, createdAt } = loaded.row;
  const refunds = loaded.operations.filter((each) => each.kind === 'Refund' && isOpen(each));
  const calls = refunds.map(
    (refund): ProviderCall =>
      (current) =>
        sendRefund(deps, current, refund),
  );
  if (openCancels(loaded).length > 0) return [(each) => sendCancel(deps, each), ...calls];
  if (!isLive(position) || position.hold !== null) return calls;
  const isOver = deps.dueClock.hasPassed(expiresAt, Date.parse(createdAt));
  return [(each) => (isOver ? cancelExpired(deps, each) : queryStatus(deps, each)), ...calls];
}

/** Sends one call for a payment and alternates between calls; the answer sets the next due time. */
export async function pollPayment(deps: QrDeps, key: QrKey): Promise<void> {
  const loaded = await deps.store.find(key);
  if (loaded === undefined) return;
  const calls = providerCallsFor(deps, loaded);
  await calls[loaded.row.pollAttempts % calls.length]?.(loaded);
}

/** The time to pay is over: the answer to the cancel shows whether the consumer has paid. */
async function cancelExpired(deps: QrDeps, loaded: LoadedPayment): Promise<LoadedPayment> {
  const stepOptions = { at: deps.clock.now(), newId: deps.ids.uuid, cause: 'Expiry' as const };
  const current = await commitWithRetry(deps, loaded, (each) => beginCancelStep(each, stepOptions));
  return openCancels(current).length > 0 ? sendCancel(deps, current) : current;
}

export type PaymentPoller = Poller;

/** @example const poller = createPaymentPoller(deps); poller.start(); */
export function createPaymentPoller(deps: QrDeps): PaymentPoller {
  const pollsByProvider = createConcurrencyCounter();
  const running = new Map<string, Promise<void>>();

  async function pollAndRelease(key: DueKey): Promise<void> {
    const { providerId, transactionId } = key;
    const endPoll = pollsByProvider.begin(providerId);
    try {
      await pollPayment(deps, key);
    } catch (error) {
      // The claim expires later, and then the server polls the payment again.
      deps.log.warn({ err: error, transactionId }, 'the server could not poll a QR payment');
    } finally {
      endPoll();
    }
  }

  async function pollDue(): Promise<boolean> {
    const free = Math.min(parallelPollsMax - running.size, pollsPerProviderMax);
    if (free <= 0) return false;
    const busyProviders = pollsByProvider.keysWith(pollsPerProviderMax);
    const keys = await deps.store.claim(claimMs, free, busyProviders);
    for (const key of keys) {
      // The payment became due again during its poll; the running poll sets the next due time.
      if (running.has(key.transactionId)) continue;
      const work = pollAndRelease(key);
      running.set(key.transactionId, work);
      void work.then(() => {
        running.delete(key.transactionId);
        if (running.size <= parallelPollsMax / 2) poller.wake();
      });
    }
    return keys.length === free;
  }

  const poller = createPoller({
    pollMs: pollEveryMs,
    poll: pollDue,
    onError: (error) => deps.log.warn({ err: error }, 'the server could not claim due QR payments'),
  });
  return {
    start: poller.start,
    wake: poller.wake,
    async stop() {
      await poller.stop();
      await Promise.all(running.values());
    },
  };
}
