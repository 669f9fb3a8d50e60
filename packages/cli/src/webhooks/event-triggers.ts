/** What makes an event really happen in the demo environment: a few requests of the applications that it has. */
import { randomUUID } from 'node:crypto';
import { membersOf } from '../http/problem-details.ts';
import { type Actors, made, type Recipe } from './event-trigger.ts';
import { qrRecipes } from './qr-event-triggers.ts';

const payments = '/payment/v1/transactions';
const provisioning = '/provisioning/v2';
const testCard = '4111111111111111';
const cardYears = 3;
/** Amounts by which the simulated acquirer answers: the last digits are its response code. */
const usual = 1050;
const declined = 19_051;
const unanswered = 19_091;
const answeredLate = 19_092;
const large = 30_000;

type Sale = { amount?: number; captureMode?: 'Immediate' | 'Deferred' };

function sell({ merchant, clock }: Actors, { amount = usual, ...sale }: Sale = {}) {
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
  return made(merchant, `${payments}/process`, body, 'transactionId');
}

async function then(
  actors: Actors,
  transactionId: string,
  operation: 'capture' | 'refund' | 'cancel',
  body: Record<string, unknown> = {},
): Promise<string> {
  const path = `${payments}/${transactionId}/${operation}`;
  await actors.merchant.call('POST', path, { body });
  return transactionId;
}

const authorize = (actors: Actors, amount = usual) =>
  sell(actors, { amount, captureMode: 'Deferred' });

async function batch(actors: Actors): Promise<string> {
  const transactionId = await authorize(actors);
  const body = { items: [{ transactionId }], clientOperationId: randomUUID() };
  return made(actors.merchant, `${payments}/captureall`, body, 'batchId');
}

type Thing = { readonly path: string; readonly id: string };

async function merchant({ acquirer }: Actors): Promise<Thing> {
  const body = {
    name: 'Event trial',
    country: 'FR',
    mcc: '5411',
    timeZone: 'Europe/Paris',
    externalId: `trial-${randomUUID()}`,
  };
  const path = `${provisioning}/merchants`;
  return { path, id: await made(acquirer, path, body, 'merchantId') };
}

async function store(actors: Actors): Promise<Thing> {
  const { id: merchantId } = await merchant(actors);
  const path = `${provisioning}/stores`;
  const body = { merchantId, name: 'Event trial' };
  return { path, id: await made(actors.acquirer, path, body, 'storeId') };
}

async function device(actors: Actors): Promise<Thing> {
  const { id: storeId } = await store(actors);
  const path = `${provisioning}/logical-devices`;
  const body = { storeId, name: 'Event trial' };
  return { path, id: await made(actors.acquirer, path, body, 'logicalDeviceId') };
}

const created = (make: (actors: Actors) => Promise<Thing>) => async (actors: Actors) =>
  (await make(actors)).id;

const updated = (make: (actors: Actors) => Promise<Thing>) => async (actors: Actors) => {
  const { path, id } = await make(actors);
  const { acquirer } = actors;
  const { body, etag } = await acquirer.call('GET', `${path}/${id}`);
  const renamed = { ...membersOf(body), name: 'Event trial, renamed' };
  await acquirer.call('PUT', `${path}/${id}`, { body: renamed, etag });
  return id;
};

const removed = (make: (actors: Actors) => Promise<Thing>) => async (actors: Actors) => {
  const { path, id } = await make(actors);
  await actors.acquirer.call('DELETE', `${path}/${id}`);
  return id;
};

const estate = (name: string, shown: string, make: (actors: Actors) => Promise<Thing>) => ({
  [`${name}.created`]: { does: `makes a ${shown}`, run: created(make) },
  [`${name}.updated`]: { does: `renames a new ${shown}`, run: updated(make) },
  [`${name}.removed`]: { does: `removes a new ${shown}`, run: removed(make) },
});

/** By type of event; the others have none, and are sent as a test. */
export const recipes: Readonly<Record<string, Recipe>> = {
  'transaction.authorized': { does: 'a sale that is captured later', run: (on) => authorize(on) },
  'transaction.captured': { does: 'a sale', run: (on) => sell(on) },
  'transaction.declined': {
    does: 'a sale that the acquirer declines',
    run: (on) => sell(on, { amount: declined }),
  },
  'transaction.refunded': {
    does: 'a sale, and its refund',
    run: async (on) => then(on, await sell(on), 'refund'),
  },
  'transaction.refund_failed': {
    does: 'a sale, and a refund that the acquirer declines',
    run: async (on) => then(on, await sell(on, { amount: large }), 'refund', { amount: declined }),
  },
  'transaction.cancelled': {
    does: 'a sale that is captured later, and its cancellation',
    run: async (on) => then(on, await authorize(on), 'cancel', { cancelReason: 'Functional' }),
  },
  'transaction.capture_failed': {
    does: 'a sale, and a capture that the acquirer declines',
    run: async (on) => then(on, await authorize(on, large), 'capture', { amount: declined }),
  },
  'transaction.reversal_queued': {
    does: 'a sale without an answer of the acquirer',
    run: (on) => sell(on, { amount: unanswered }),
  },
  'transaction.reversed': {
    does: 'a sale without an answer of the acquirer, and its reversal',
    run: (on) => sell(on, { amount: unanswered }),
  },
  'transaction.late_response': {
    does: 'a sale that the acquirer answers too late',
    run: (on) => sell(on, { amount: answeredLate }),
  },
  'batch.completed': { does: 'a capture of several, with one in it', run: batch },
  ...estate('merchant', 'merchant', merchant),
  ...estate('store', 'store', store),
  ...estate('logical_device', 'device', device),
  ...qrRecipes,
};
