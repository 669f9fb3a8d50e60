/** Triggers QR payment events in the demo: the amount selects what the demo provider does. */
import { randomUUID } from 'node:crypto';
import { listOf, membersOf } from '../http/problem-details.ts';
import { fail } from '../runtime/command-error.ts';
import { createAndReadId, type DemoClients, type EventTrigger } from './event-trigger.ts';

const payments = '/qrcode-payment/v1/transactions';
/** A bar code of a consumer's wallet, as a terminal scans it. */
const scannedCode = '281234567890123456';
/** The last four digits select the outcome; see the reference provider in packages/simulators. */
const defaultAmount = 1050;
const paidAtOnce = 30_000;
const amountsByOutcome = {
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
const waitAttemptsMax = 6;

async function startPayment(
  { terminal }: DemoClients,
  amount: number = defaultAmount,
  isMerchantScan = false,
): Promise<string> {
  const { api, paymentType } = await terminal();
  const body = {
    paymentType,
    clientTransactionId: randomUUID(),
    paymentAmount: { amount, currency: 'EUR' },
    ...(isMerchantScan
      ? { paymentScenario: 'merchantscan', scannedPaymentId: scannedCode }
      : { paymentScenario: 'consumerscan' }),
  };
  return createAndReadId(api, payments, body, 'transactionId');
}

async function runOperation(
  { terminal }: DemoClients,
  transactionId: string,
  operation: 'cancel' | 'refund',
  body: Record<string, unknown> = {},
): Promise<string> {
  const { api } = await terminal();
  await api.call('POST', `${payments}/${transactionId}/${operation}`, { body });
  return transactionId;
}

async function refundPaidPayment(
  clients: DemoClients,
  body: Record<string, unknown> = {},
): Promise<string> {
  return runOperation(clients, await startPayment(clients, paidAtOnce, true), 'refund', body);
}

/** Waits for an event of this type. */
async function waitForEvent(
  { terminal }: DemoClients,
  transactionId: string,
  type: string,
): Promise<void> {
  const { api } = await terminal();
  const path = `${payments}/${transactionId}/events`;
  let after = 0;
  for (let waits = 0; waits < waitAttemptsMax; waits += 1) {
    const { body } = await api.call('GET', path, { query: { after, wait: waitSeconds } });
    const { events, nextAfter } = membersOf(body);
    if (listOf(events).some((event) => event['type'] === type)) return;
    after = typeof nextAfter === 'number' ? nextAfter : after;
  }
  fail('unreachable', `The event ${type} did not arrive in time. Check that the demo runs.`);
}

async function resolveHeldPayment(clients: DemoClients): Promise<string> {
  const transactionId = await startPayment(clients, amountsByOutcome.oneUnitLess);
  await waitForEvent(clients, transactionId, 'qr.held');
  const body = { resolution: 'Refund' };
  await clients.merchant.call('POST', `${payments}/${transactionId}/resolve`, { body });
  return transactionId;
}

const paymentTrigger = (description: string, amount: number = defaultAmount): EventTrigger => ({
  description,
  run: (clients) => startPayment(clients, amount),
});

/** By event type; events that take minutes or a day have none. */
export const qrEventTriggers: Readonly<Record<string, EventTrigger>> = {
  'qr.pending': paymentTrigger('a QR payment'),
  'qr.scanned': paymentTrigger('a QR payment that is scanned'),
  'qr.completed': paymentTrigger('a QR payment that is paid'),
  'qr.authorized': paymentTrigger(
    'a QR payment that is authorised before it is paid',
    amountsByOutcome.authorized,
  ),
  'qr.declined': paymentTrigger('a QR payment that is declined', amountsByOutcome.declined),
  'qr.failed': paymentTrigger('a QR payment whose wallet fails', amountsByOutcome.failed),
  'qr.cancelled': paymentTrigger(
    'a QR payment that its consumer cancels',
    amountsByOutcome.cancelledByConsumer,
  ),
  'qr.cancel_pending': {
    description: 'a QR payment, and its cancellation',
    run: async (clients) =>
      runOperation(clients, await startPayment(clients, amountsByOutcome.neverConfirmed), 'cancel'),
  },
  'qr.refund_pending': {
    description: 'a paid QR payment, and its refund',
    run: (clients) => refundPaidPayment(clients),
  },
  'qr.refunded': {
    description: 'a paid QR payment, and its refund',
    run: (clients) => refundPaidPayment(clients),
  },
  'qr.refund_failed': {
    description: 'a paid QR payment, and a refund that the provider declines',
    run: (clients) => refundPaidPayment(clients, { amount: refundDeclined }),
  },
  'qr.late_completion': {
    description: 'a QR payment that is paid after its cancellation',
    run: async (clients) =>
      runOperation(
        clients,
        await startPayment(clients, amountsByOutcome.paidAfterCancel),
        'cancel',
      ),
  },
  'qr.held': paymentTrigger(
    'a QR payment that is paid one unit short',
    amountsByOutcome.oneUnitLess,
  ),
  'qr.resolved': {
    description: 'a QR payment that is paid one unit short, and its refund',
    run: resolveHeldPayment,
  },
};
