// What the terminal still owes the platform: reversals of sales without an outcome, and offline sales.
import type { Keeper, OfflineSale, Reversal } from './memory.ts';
import type { Asked } from './platform.ts';
import type { Inside } from './work.ts';

const notFound = 404;
/** The platform knows the sale, and its state says no. */
const ofTheState: readonly number[] = [409, 422];

/** A sale that was captured at once is no longer reversed: its money goes back by a refund. */
async function takeBack(
  { platform }: Inside,
  { clientTransactionId, reason }: Reversal,
): Promise<Asked> {
  const asked = await platform.operate(clientTransactionId, 'cancel', {
    cancelReason: 'Technical',
    reversalReason: reason,
    clientOperationId: `${clientTransactionId}-reversal`,
  });
  const isCaptured = asked.outcome === 'Refused' && asked.code === 'already_captured';
  if (!isCaptured) return asked;
  const clientOperationId = `${clientTransactionId}-refund`;
  return platform.operate(clientTransactionId, 'refund', { clientOperationId });
}

/** Whether the platform has dealt with it, one way or another. */
async function isReversed(inside: Inside, reversal: Reversal): Promise<boolean> {
  const asked = await takeBack(inside, reversal);
  if (asked.outcome === 'Answered') return true;
  if (asked.outcome !== 'Refused' || asked.code === 'transaction_in_progress') return false;
  // What is not there may still come, for a while; what has nothing to give back took nothing. Whoever
  // may not ask, or asks in a wrong way, still owes it.
  if (asked.status === notFound) return inside.now() > reversal.until;
  return ofTheState.includes(asked.status);
}

async function isUploaded({ platform, tell }: Inside, { body }: OfflineSale): Promise<boolean> {
  const asked = await platform.sell(body);
  if (asked.outcome === 'Refused') tell({ type: 'Fault', fault: `offline sale: ${asked.code}` });
  return asked.outcome === 'Answered' || asked.outcome === 'Refused';
}

/** One at a time of each terminal: whoever comes meanwhile waits, and then looks anew. */
const working = new WeakMap<Keeper, Promise<void>>();

/** Works off what can be worked off now, oldest first. */
export function workOff(inside: Inside): Promise<void> {
  const before = working.get(inside.keeper) ?? Promise.resolve();
  const next = before.then(() => workThrough(inside));
  working.set(
    inside.keeper,
    next.catch(() => undefined),
  );
  return next;
}

async function workThrough(inside: Inside): Promise<void> {
  const { keeper, moment } = inside;
  if (!moment.isReachable) return;
  for (const reversal of keeper.read().reversals) {
    if (!(await isReversed(inside, reversal))) break;
    const { clientTransactionId } = reversal;
    const reversals = keeper
      .read()
      .reversals.filter((each) => each.clientTransactionId !== clientTransactionId);
    keeper.keep({ reversals });
  }
  for (const sale of keeper.read().uploads) {
    if (!(await isUploaded(inside, sale))) return;
    keeper.keep({ uploads: keeper.read().uploads.filter((each) => each !== sale) });
  }
}

/** Has a sale reversed, now or as soon as the platform can be reached. */
export async function reverse(inside: Inside, reversal: Reversal): Promise<void> {
  const { keeper } = inside;
  keeper.keep({ reversals: [...keeper.read().reversals, reversal] });
  await workOff(inside);
}
