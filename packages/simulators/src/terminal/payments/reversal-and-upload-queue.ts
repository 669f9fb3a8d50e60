// What the terminal still owes the platform: reversals of sales without an outcome, and offline sales.

import type { Inside, ServiceFault } from '../context/service-context.ts';
import { faultOf } from '../context/terminal-events.ts';
import type { Asked } from '../platform/payments-api.ts';
import type { Keeper, OfflineSale, Reversal } from '../storage/terminal-store.ts';
import { isAbsent } from './sale-outcome.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;
/** Nothing of the sale is held or taken; every other refusal leaves the customer charged. */
const nothingLeft: readonly string[] = [
  'already_cancelled',
  'already_refunded',
  'not_captured',
  'nothing_to_cancel',
  'transaction_declined',
  'transaction_failed',
  'transaction_reversed',
];

/** What of it was captured is not reversed any more. */
const refundable: readonly string[] = ['already_captured', 'authorization_expired'];

/** `NotNow`: the platform cannot be asked. `Later`: it can, and this is not the time for it. */
type Ended =
  | { readonly ended: 'Done' | 'NotNow' | 'Later' }
  | { readonly ended: 'Refused'; readonly code: string; readonly isSpent?: boolean };

/** A refund that the acquirer declined, or that was never sent, gives nothing back under its identifier. */
function refundEnded(asked: Asked): Asked | (Ended & { ended: 'Refused' }) {
  if (asked.outcome === 'Refused' && asked.code === 'not_sent') {
    return { ended: 'Refused', code: asked.code, isSpent: true };
  }
  if (asked.outcome !== 'Answered') return asked;
  const status = asked.transaction.operation?.status;
  if (status !== 'Declined' && status !== 'Failed') return asked;
  return { ended: 'Refused', code: `refund ${status}`, isSpent: true };
}

/** A sale that was captured at once is no longer reversed: its money goes back by a refund. */
async function takeBack(
  { platform }: Inside,
  { clientTransactionId, reason, spent = 0 }: Reversal,
): Promise<Asked | (Ended & { ended: 'Refused' })> {
  const asked = await platform.operate(clientTransactionId, 'cancel', {
    cancelReason: 'Technical',
    reversalReason: reason,
    clientOperationId: `${clientTransactionId}-reversal`,
  });
  const mayBeCaptured = asked.outcome === 'Refused' && refundable.includes(asked.code);
  if (!mayBeCaptured) return asked;
  const clientOperationId = `${clientTransactionId}-refund${spent === 0 ? '' : `-${spent}`}`;
  return refundEnded(await platform.operate(clientTransactionId, 'refund', { clientOperationId }));
}

/** Whether the platform has dealt with it. */
async function reversed(inside: Inside, reversal: Reversal): Promise<Ended> {
  const asked = await takeBack(inside, reversal);
  if ('ended' in asked) return asked;
  if (asked.outcome === 'Answered') return { ended: 'Done' };
  if (asked.outcome !== 'Refused') return { ended: 'NotNow' };
  if (asked.isPassing === true) return { ended: 'Later' };
  // What nobody has heard of may still come, for a while. What was approved is there, though not for a terminal
  // that another merchant has now. Whoever may not ask, asks in a wrong way or lacks an approval, still owes it.
  if (reversal.reason === 'Timeout' && isAbsent(asked, reversal)) {
    return { ended: inside.now() > reversal.until ? 'Done' : 'Later' };
  }
  if (nothingLeft.includes(asked.code)) return { ended: 'Done' };
  return { ended: 'Refused', code: asked.code };
}

async function uploaded({ platform }: Inside, { body, merchant }: OfflineSale): Promise<Ended> {
  if (merchant !== undefined) {
    // The platform books a sale for whoever has the terminal when it comes.
    const holder = await platform.merchant();
    if (holder === undefined) return { ended: 'NotNow' };
    if (holder !== merchant) return { ended: 'Refused', code: 'made for another merchant' };
  }
  const asked = await platform.sell(body);
  if (asked.outcome === 'Answered') return { ended: 'Done' };
  if (asked.outcome !== 'Refused') return { ended: 'NotNow' };
  return asked.isPassing === true ? { ended: 'Later' } : { ended: 'Refused', code: asked.code };
}

/** The same, to be asked again later: each time twice as late, up to an hour. */
function putOff<Of extends Reversal | OfflineSale>(
  { now, tell }: Inside,
  one: Of,
  what: string,
  code: string,
): Of {
  if (one.refused !== code) tell({ type: 'Fault', fault: `${what}: ${code}` });
  const refusals = (one.refusals ?? 0) + 1;
  const againAt = now() + Math.min(minuteMs * 2 ** (refusals - 1), hourMs);
  return { ...one, refused: code, refusals, againAt };
}

/** One turn at a time of each terminal, and at most one more behind it: that one looks anew for all who came. */
const turns = new WeakMap<Keeper, 'Running' | 'OnceMore'>();

/** Begins to work off what can be worked off now, oldest first. Nobody waits for it: it may take minutes. */
export function workOff(inside: Inside): void {
  const { keeper } = inside;
  if (turns.has(keeper)) turns.set(keeper, 'OnceMore');
  else void workOn(inside);
}

async function workOn(inside: Inside): Promise<void> {
  const { keeper, tell } = inside;
  try {
    do {
      turns.set(keeper, 'Running');
      await workThrough(inside);
    } while (turns.get(keeper) === 'OnceMore');
  } catch (error) {
    tell(faultOf(error));
  } finally {
    turns.delete(keeper);
  }
}

async function workThrough(inside: Inside): Promise<void> {
  const { keeper, moment, now } = inside;
  if (!moment.isReachable) return;
  const isDue = ({ againAt = 0 }: Reversal | OfflineSale) => againAt <= now();
  for (const reversal of keeper.read().reversals.filter(isDue)) {
    const told = await reversed(inside, reversal);
    if (told.ended === 'NotNow') break;
    if (told.ended === 'Later') continue;
    const left = told.ended === 'Refused' ? [reversalLeft(inside, reversal, told)] : [];
    const { clientTransactionId: id } = reversal;
    const reversals = keeper
      .read()
      .reversals.flatMap((each) => (each.clientTransactionId === id ? left : [each]));
    keeper.keep({ reversals });
  }
  for (const sale of keeper.read().uploads.filter(isDue)) {
    const told = await uploaded(inside, sale);
    if (told.ended === 'NotNow') return;
    if (told.ended === 'Later') continue;
    const left = told.ended === 'Refused' ? [putOff(inside, sale, 'offline sale', told.code)] : [];
    const uploads = keeper.read().uploads.flatMap((each) => (each === sale ? left : [each]));
    keeper.keep({ uploads });
  }
}

function reversalLeft(
  inside: Inside,
  reversal: Reversal,
  { code, isSpent }: Ended & { ended: 'Refused' },
): Reversal {
  const spent = (reversal.spent ?? 0) + (isSpent === true ? 1 : 0);
  return putOff(inside, { ...reversal, spent }, 'reversal', code);
}

/**
 * Has a sale reversed, from now on or as soon as the platform can be reached; its till is answered meanwhile. In the
 * same moment it is written down
 * what its till is told, which is no longer asked of the platform after a restart.
 */
export function reverse(
  inside: Inside,
  reversal: Reversal,
  { condition, additional }: ServiceFault,
): void {
  const { keeper } = inside;
  const { pending, reversals } = keeper.read();
  const isPending = pending?.clientTransactionId === reversal.clientTransactionId;
  keeper.keep({
    reversals: [...reversals, reversal],
    ...(isPending
      ? { pending: { ...pending, givenBack: { condition, why: additional ?? '' } } }
      : {}),
  });
  workOff(inside);
}
