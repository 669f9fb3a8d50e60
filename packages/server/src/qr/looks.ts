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
/** How long what was claimed is left to whoever claimed it, ms: some questions one after another. */
const claimMs = 60_000;
const refundsPerLook = 5;

const openRefunds = ({ operations }: LoadedQr) =>
  operations.filter((each) => each.kind === 'Refund' && isOpen(each)).slice(0, refundsPerLook);

/** One payment: whatever is open is asked for, and one that is live is asked how it stands. */
export async function lookAt(deps: QrDeps, key: QrKey): Promise<void> {
  let loaded = await deps.store.find(key);
  if (loaded === undefined) return;
  const refunds = openRefunds(loaded);
  if (openCancels(loaded).length > 0) {
    loaded = await askCancel(deps, loaded);
  } else if (isLive(loaded.row.position) && loaded.row.position.hold === null) {
    const isOver = deps.clock.now() >= loaded.row.expiresAt;
    loaded = isOver ? await expire(deps, loaded) : await askStatus(deps, loaded);
  }
  for (const refund of refunds) loaded = await askRefund(deps, loaded, refund);
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
  const running = new Set<Promise<void>>();

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
    const now = deps.clock.now();
    const names = full.map(([providerId]) => providerId);
    const keys = await deps.store.claim(now, now + claimMs, free, names);
    for (const key of keys) {
      busy.set(key.providerId, (busy.get(key.providerId) ?? 0) + 1);
      const work = look(key);
      running.add(work);
      void work.then(() => {
        running.delete(work);
        if (running.size <= placesMax / 2) poller.poke();
      });
    }
    return keys.length === free;
  }

  const poller = createPoller({
    pollMs: lookEveryMs,
    turn,
    onError: (error) => deps.log.warn({ err: error }, 'due QR payments cannot be claimed'),
  });
  return {
    start: poller.start,
    poke: poller.poke,
    async stop() {
      await poller.stop();
      await Promise.all(running);
    },
  };
}
