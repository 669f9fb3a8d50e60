// What the terminal still owes the platform: reversals of sales without an outcome, and offline sales.
import type { Keeper, OfflineSale, Reversal } from './memory.ts';
import type { Inside } from './work.ts';

const notFound = 404;

/** Whether the platform has dealt with it, one way or another. */
async function isReversed(
  { platform, now }: Inside,
  { clientTransactionId, reason, until }: Reversal,
): Promise<boolean> {
  const asked = await platform.operate(clientTransactionId, 'cancel', {
    cancelReason: 'Technical',
    reversalReason: reason,
    clientOperationId: `${clientTransactionId}-reversal`,
  });
  if (asked.outcome === 'Answered') return true;
  if (asked.outcome !== 'Refused') return false;
  // What is not there may still come, for a while; what is there and cannot be reversed took nothing.
  return asked.status !== notFound || now() > until;
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
