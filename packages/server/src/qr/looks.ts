// Looks at payments that something is left to do with: unanswered, to be asked for, over their time.
import { createPoller, type Poller } from '../platform/index.ts';
import { askCancel, askRefund, askStatus, endingStep } from './ask.ts';
import type { QrDeps } from './deps.ts';
import type { LoadedQr, QrKey } from './model.ts';
import { settle } from './settle.ts';
import { isLive } from './state.ts';
import { isOpen, openCancels } from './step.ts';
import type { DueKey } from './store.ts';

const lookEveryMs = 250;
/** Looks under way at once; a provider that is silent keeps each of its own for ten seconds. */
const placesMax = 128;
/**
 * A provider with so many under way is left out of the next claim, which takes as many at most: it
 * keeps less than twice of them, however many services it has.
 */
const placesPerProvider = 8;
/**
 * How long what was claimed is left to whoever claimed it, ms. A look asks one question, and whatever
 * is asked behind its first call has a lease of its own.
 */
const claimMs = 60_000;

type Question = (loaded: LoadedQr) => Promise<LoadedQr>;

/** What there is to ask about a payment: its cancel or how it stands, and each refund that is open. */
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

/** One question about one payment, another one each time: what it brings says when the next one is due. */
export async function lookAt(deps: QrDeps, key: QrKey): Promise<void> {
  const loaded = await deps.store.find(key);
  if (loaded === undefined) return;
  const questions = questionsOf(deps, loaded);
  await questions[loaded.row.looks % questions.length]?.(loaded);
}

/** The time to pay is over: the answer to the cancel says whether somebody has paid. */
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
      // It stays claimed for a while, and is looked at again then.
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
      // Due again by what was heard meanwhile: whoever asks already says when to ask next.
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
