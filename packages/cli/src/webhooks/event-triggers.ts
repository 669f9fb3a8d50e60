/** Triggers events in the demo with requests of the demo's applications. */
import { randomUUID } from 'node:crypto';
import { membersOf } from '../http/problem-details.ts';
import { createAndReadId, type DemoClients, type EventTrigger } from './event-trigger.ts';
import { qrEventTriggers } from './qr-event-triggers.ts';

const payments = '/payment/v1/transactions';
const provisioning = '/provisioning/v2';
const testCard = '4111111111111111';
const cardYears = 3;
/** The last two digits of the amount select the response code of the simulated acquirer. */
const defaultAmount = 1050;
const declinedAmount = 19_051;
const unansweredAmount = 19_091;
const lateAmount = 19_092;
const largeAmount = 30_000;

type Sale = { amount?: number; captureMode?: 'Immediate' | 'Deferred' };

function createSale(
  { merchant, clock }: DemoClients,
  { amount = defaultAmount, ...sale }: Sale = {},
) {
  const expiryYear = new Date(clock.now()).getUTCFullYear() + cardYears;
  const card = { number: testCard, expiryMonth: 12, expiryYear };
  const body = {
    clientTransactionId: randomUUID(),
    amount,
    currency: 'EUR',
    ...sale,
    entryMode: 'Keyed',
    instrument: { card },
  };
  return createAndReadId(merchant, `${payments}/process`, body, 'transactionId');
}

async function runOperation(
  clients: DemoClients,
  transactionId: string,
  operation: 'capture' | 'refund' | 'cancel',
  body: Record<string, unknown> = {},
): Promise<string> {
  const path = `${payments}/${transactionId}/${operation}`;
  await clients.merchant.call('POST', path, { body });
  return transactionId;
}

const createAuthorization = (clients: DemoClients, amount = defaultAmount) =>
  createSale(clients, { amount, captureMode: 'Deferred' });

async function captureBatch(clients: DemoClients): Promise<string> {
  const transactionId = await createAuthorization(clients);
  const body = { items: [{ transactionId }], clientOperationId: randomUUID() };
  return createAndReadId(clients.merchant, `${payments}/captureall`, body, 'batchId');
}

type Resource = { readonly path: string; readonly id: string };

async function createMerchant({ acquirer }: DemoClients): Promise<Resource> {
  const body = {
    name: 'Event trial',
    country: 'FR',
    mcc: '5411',
    timeZone: 'Europe/Paris',
    externalId: `trial-${randomUUID()}`,
  };
  const path = `${provisioning}/merchants`;
  return { path, id: await createAndReadId(acquirer, path, body, 'merchantId') };
}

async function createStore(clients: DemoClients): Promise<Resource> {
  const { id: merchantId } = await createMerchant(clients);
  const path = `${provisioning}/stores`;
  const body = { merchantId, name: 'Event trial' };
  return { path, id: await createAndReadId(clients.acquirer, path, body, 'storeId') };
}

async function createDevice(clients: DemoClients): Promise<Resource> {
  const { id: storeId } = await createStore(clients);
  const path = `${provisioning}/logical-devices`;
  const body = { storeId, name: 'Event trial' };
  return { path, id: await createAndReadId(clients.acquirer, path, body, 'logicalDeviceId') };
}

const createResource =
  (create: (clients: DemoClients) => Promise<Resource>) => async (clients: DemoClients) =>
    (await create(clients)).id;

const updateResource =
  (create: (clients: DemoClients) => Promise<Resource>) => async (clients: DemoClients) => {
    const { path, id } = await create(clients);
    const { acquirer } = clients;
    const { body, etag } = await acquirer.call('GET', `${path}/${id}`);
    const renamed = { ...membersOf(body), name: 'Event trial, renamed' };
    await acquirer.call('PUT', `${path}/${id}`, { body: renamed, etag });
    return id;
  };

const removeResource =
  (create: (clients: DemoClients) => Promise<Resource>) => async (clients: DemoClients) => {
    const { path, id } = await create(clients);
    await clients.acquirer.call('DELETE', `${path}/${id}`);
    return id;
  };

const provisioningTriggers = (
  name: string,
  label: string,
  create: (clients: DemoClients) => Promise<Resource>,
) => ({
  [`${name}.created`]: { description: `creates a ${label}`, run: createResource(create) },
  [`${name}.updated`]: { description: `renames a new ${label}`, run: updateResource(create) },
  [`${name}.removed`]: { description: `removes a new ${label}`, run: removeResource(create) },
});

/** By event type; an event without a trigger is sent as a test event. */
export const eventTriggers: Readonly<Record<string, EventTrigger>> = {
  'transaction.authorized': {
    description: 'a sale that is captured later',
    run: (clients) => createAuthorization(clients),
  },
  'transaction.captured': { description: 'a sale', run: (clients) => createSale(clients) },
  'transaction.declined': {
    description: 'a sale that the acquirer declines',
    run: (clients) => createSale(clients, { amount: declinedAmount }),
  },
  'transaction.refunded': {
    description: 'a sale, and its refund',
    run: async (clients) => runOperation(clients, await createSale(clients), 'refund'),
  },
  'transaction.refund_failed': {
    description: 'a sale, and a refund that the acquirer declines',
    run: async (clients) =>
      runOperation(clients, await createSale(clients, { amount: largeAmount }), 'refund', {
        amount: declinedAmount,
      }),
  },
  'transaction.cancelled': {
    description: 'a sale that is captured later, and its cancellation',
    run: async (clients) =>
      runOperation(clients, await createAuthorization(clients), 'cancel', {
        cancelReason: 'Functional',
      }),
  },
  'transaction.capture_failed': {
    description: 'a sale, and a capture that the acquirer declines',
    run: async (clients) =>
      runOperation(clients, await createAuthorization(clients, largeAmount), 'capture', {
        amount: declinedAmount,
      }),
  },
  'transaction.reversal_queued': {
    description: 'a sale without a response of the acquirer',
    run: (clients) => createSale(clients, { amount: unansweredAmount }),
  },
  'transaction.reversed': {
    description: 'a sale without a response of the acquirer, and its reversal',
    run: (clients) => createSale(clients, { amount: unansweredAmount }),
  },
  'transaction.late_response': {
    description: 'a sale that the acquirer answers too late',
    run: (clients) => createSale(clients, { amount: lateAmount }),
  },
  'batch.completed': { description: 'a batch capture with one transaction', run: captureBatch },
  ...provisioningTriggers('merchant', 'merchant', createMerchant),
  ...provisioningTriggers('store', 'store', createStore),
  ...provisioningTriggers('logical_device', 'device', createDevice),
  ...qrEventTriggers,
};
