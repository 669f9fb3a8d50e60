/** What makes the events of QR payments happen in the demo: its provider tells a story by the amount. */
import { randomUUID } from 'node:crypto';
import { membersOf } from '../http/problem-details.ts';
import { fail } from '../runtime/command-error.ts';
import { type Actors, made, type Recipe } from './event-trigger.ts';

const payments = '/qrcode-payment/v1/transactions';
/** A bar code of a wallet: what a terminal scans from a consumer. */
const scannedCode = '281234567890123456';
/** The last four digits say what becomes of a payment, or of a refund; see the reference provider. */
const usual = 1050;
const paidAtOnce = 30_000;
const stories = {
  authorized: 19_001,
  declined: 19_005,
  failed: 19_006,
  cancelledByConsumer: 19_007,
  neverConfirmed: 19_010,
  oneUnitLess: 19_064,
  paidAfterCancel: 19_066,
} as const;
const refundDeclined = 9081;
const waitSeconds = 10;
const waitsMax = 6;

async function begin({ terminal }: Actors, amount: number = usual, scan = false): Promise<string> {
  const { api, paymentType } = await terminal();
  const body = {
    paymentType,
    clientTransactionId: randomUUID(),
    paymentAmount: { amount, currency: 'EUR' },
    ...(scan
      ? { paymentScenario: 'merchantscan', scannedPaymentId: scannedCode }
      : { paymentScenario: 'consumerscan' }),
  };
  return made(api, payments, body, 'transactionId');
}

async function then(
  { terminal }: Actors,
  transactionId: string,
  operation: 'cancel' | 'refund',
  body: Record<string, unknown> = {},
): Promise<string> {
  const { api } = await terminal();
  await api.call('POST', `${payments}/${transactionId}/${operation}`, { body });
  return transactionId;
}

async function refunded(actors: Actors, body: Record<string, unknown> = {}): Promise<string> {
  return then(actors, await begin(actors, paidAtOnce, true), 'refund', body);
}

/** Waits until a type stands among its events. */
async function until({ terminal }: Actors, transactionId: string, type: string): Promise<void> {
  const { api } = await terminal();
  const path = `${payments}/${transactionId}/events`;
  let after = 0;
  for (let waits = 0; waits < waitsMax; waits += 1) {
    const { body } = await api.call('GET', path, { query: { after, wait: waitSeconds } });
    const { events, nextAfter } = membersOf(body);
    const found = Array.isArray(events) ? events.map(membersOf) : [];
    if (found.some((event) => event['type'] === type)) return;
    after = typeof nextAfter === 'number' ? nextAfter : after;
  }
  fail('unreachable', `${type} did not come.`);
}

async function resolved(actors: Actors): Promise<string> {
  const transactionId = await begin(actors, stories.oneUnitLess);
  await until(actors, transactionId, 'qr.held');
  const body = { resolution: 'Refund' };
  await actors.merchant.call('POST', `${payments}/${transactionId}/resolve`, { body });
  return transactionId;
}

const story = (does: string, amount: number = usual): Recipe => ({
  does,
  run: (on) => begin(on, amount),
});

/** By type of event; those that take minutes or a day have none. */
export const qrRecipes: Readonly<Record<string, Recipe>> = {
  'qr.pending': story('a QR payment'),
  'qr.scanned': story('a QR payment that is scanned'),
  'qr.completed': story('a QR payment that is paid'),
  'qr.authorized': story('a QR payment that is promised before it is paid', stories.authorized),
  'qr.declined': story('a QR payment that is declined', stories.declined),
  'qr.failed': story('a QR payment whose wallet fails', stories.failed),
  'qr.cancelled': story('a QR payment that its consumer cancels', stories.cancelledByConsumer),
  'qr.cancel_pending': {
    does: 'a QR payment, and its cancellation',
    run: async (on) => then(on, await begin(on, stories.neverConfirmed), 'cancel'),
  },
  'qr.refund_pending': { does: 'a paid QR payment, and its refund', run: (on) => refunded(on) },
  'qr.refunded': { does: 'a paid QR payment, and its refund', run: (on) => refunded(on) },
  'qr.refund_failed': {
    does: 'a paid QR payment, and a refund that the provider declines',
    run: (on) => refunded(on, { amount: refundDeclined }),
  },
  'qr.late_completion': {
    does: 'a QR payment that is paid after its cancellation',
    run: async (on) => then(on, await begin(on, stories.paidAfterCancel), 'cancel'),
  },
  'qr.held': story('a QR payment of which one unit less is paid', stories.oneUnitLess),
  'qr.resolved': { does: 'a QR payment of which one unit less is paid, given back', run: resolved },
};
