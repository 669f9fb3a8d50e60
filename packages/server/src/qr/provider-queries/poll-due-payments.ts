// Polls due payments: unanswered calls, open operations and payments after their time to pay.
import { createPoller, type Poller } from '../../platform/index.ts';
import type { DueKey } from '../repository/qr-store.ts';
import { settle } from '../runtime/commit-steps.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { isOpen, openCancels } from '../transaction/build-change.ts';
import type { LoadedQr, QrKey } from '../transaction/records.ts';
import { isLive } from '../transaction/state-machine.ts';
import { askCancel, askRefund, askStatus, endingStep } from './query-provider.ts';

const lookEveryMs = 250;
/** The maximum number of parallel polls; each call to a silent provider takes ten seconds. */
const placesMax = 128;
/**
 * A provider with this number of running polls is excluded from the next claim. A claim takes this
 * number at most, so one provider has fewer than twice as many polls for all its services.
 */
const placesPerProvider = 8;
/**
 * How long a claimed payment belongs to the process that claimed it, ms. A poll sends one call, and
 * a second call after it has its own lease.
 */
const claimMs = 60_000;

type Question = (loaded: LoadedQr) => Promise<LoadedQr>;

/** The possible calls for a payment: its cancel or its status, and each open refund. */
function questionsOf(deps: QrDeps, loaded: LoadedQr): Question[] {
  const { position, expiresAt, createdAt } = loaded.row;
  const refunds = loaded.operations.filter((each) => each.kind === 'Refund' && isOpen(each));
  const questions = refunds.map(
    (refund): Question =>
      (standing) =>
        askRefund(deps, standing, refund),
  );
  if (openCancels(loaded).length > 0) return [(each) => askCancel(deps, each), ...questions];
  if (!isLive(position) || position.hold !== null) return questions;
  const isOver = deps.dueClock.hasPassed(expiresAt, Date.parse(createdAt));
  return [(each) => (isOver ? expire(deps, each) : askStatus(deps, each)), ...questions];
}

/** Sends one call for a payment and alternates between calls; the answer sets the next due time. */
export async function lookAt(deps: QrDeps, key: QrKey): Promise<void> {
  const loaded = await deps.store.find(key);
  if (loaded === undefined) return;
  const questions = questionsOf(deps, loaded);
  await questions[loaded.row.looks % questions.length]?.(loaded);
}

/** The time to pay is over: the answer to the cancel shows whether the consumer has paid. */
async function expire(deps: QrDeps, loaded: LoadedQr): Promise<LoadedQr> {
  const how = { at: deps.clock.now(), newId: deps.ids.uuid, cause: 'Expiry' as const };
  const standing = await settle(deps, loaded, (each) => endingStep(each, how));
  return openCancels(standing).length > 0 ? askCancel(deps, standing) : standing;
}

export type Looks = Poller;

/** @example const looks = createLooks(deps); looks.start(); */
export function createLooks(deps: QrDeps): Looks {
  const busy = new Map<string, number>();
  const running = new Map<string, Promise<void>>();

  async function look(key: DueKey): Promise<void> {
    const { providerId, transactionId } = key;
    try {
      await lookAt(deps, key);
    } catch (error) {
      // The claim expires later, and then the server polls the payment again.
      deps.log.warn({ err: error, transactionId }, 'a QR payment could not be looked at');
    } finally {
      const left = (busy.get(providerId) ?? 1) - 1;
      if (left === 0) busy.delete(providerId);
      else busy.set(providerId, left);
    }
  }

  async function turn(): Promise<boolean> {
    const free = Math.min(placesMax - running.size, placesPerProvider);
    if (free <= 0) return false;
    const full = [...busy].filter(([, count]) => count >= placesPerProvider);
    const names = full.map(([providerId]) => providerId);
    const keys = await deps.store.claim(claimMs, free, names);
    for (const key of keys) {
      // The payment became due again during its poll; the running poll sets the next due time.
      if (running.has(key.transactionId)) continue;
      busy.set(key.providerId, (busy.get(key.providerId) ?? 0) + 1);
      const work = look(key);
      running.set(key.transactionId, work);
      void work.then(() => {
        running.delete(key.transactionId);
        if (running.size <= placesMax / 2) poller.wake();
      });
    }
    return keys.length === free;
  }

  const poller = createPoller({
    pollMs: lookEveryMs,
    poll: turn,
    onError: (error) => deps.log.warn({ err: error }, 'due QR payments cannot be claimed'),
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
