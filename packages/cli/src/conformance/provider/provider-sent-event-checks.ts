/** Checks of the events: delivery, content, order and repetition. Also of health and activation. */
import { randomUUID } from 'node:crypto';
import {
  type CreateQrPayment,
  displayFault,
  HealthAnswer,
  isProviderEventType,
  ProviderEvent,
  providerEventStatuses,
  providerPaths,
  ServiceMessageAnswer,
} from '@switchyard/contract';
import { Value } from 'typebox/value';
import { expectConformity } from '../nonconformity-error.ts';
import { createPaidPayment, expectStatus, type ProviderCheck } from './check-steps.ts';
import type { ReceivedEvent } from './event-receiver.ts';
import { expectShape, type ProviderTestClient } from './provider-test-client.ts';

const requires = 'paidAmount';
const completed = 'payment.completed';
const isTaken = ({ responseStatus }: ReceivedEvent) => responseStatus < 300;

/** Pays a payment and waits for its events up to payment.completed. */
async function payAndReceiveEvents(client: ProviderTestClient, failFirst = false) {
  const { payment, answer } = await createPaidPayment(client, failFirst);
  const events = () => client.receiver.eventsOf(payment.platformTransactionId);
  const limitMs = failFirst ? client.testData.retryMs : client.testData.waitMs;
  const isReceived = await client.receiver.waitUntil(
    () => events().some((received) => received.value['type'] === completed && isTaken(received)),
    limitMs,
  );
  const types = events().map(({ value }) => String(value['type']));
  expectConformity(
    isReceived,
    `no ${completed} came within ${limitMs / 1000} s; received: ${types.join(', ') || 'nothing'}`,
  );
  return { payment, answer, events };
}

function expectValidEvent({ body, value, contentType }: ReceivedEvent): void {
  expectConformity(
    /^application\/json\b/i.test(contentType),
    `it comes as ${contentType || 'nothing'}`,
  );
  const [fault] = Value.Errors(ProviderEvent, value);
  const where = `${fault?.instancePath.slice(1) || 'it'} ${fault?.message}`;
  expectConformity(fault === undefined, `${String(value['type'])} has another shape: ${where}`);
  const event = JSON.parse(body) as ProviderEvent;
  const { type, status, display, refundId } = event;
  if (!isProviderEventType(type)) return;
  const expected = providerEventStatuses[type];
  expectConformity(
    status === undefined || status === expected,
    `${type} says ${status}, not ${expected}`,
  );
  expectConformity(
    !type.startsWith('refund.') || refundId !== undefined,
    `${type} names no refund`,
  );
  const displayError = display === undefined ? undefined : displayFault(display);
  expectConformity(
    displayError === undefined,
    `the ${display?.type} of ${type} ${displayError ?? ''}`,
  );
}

function expectPaymentAmount(
  { value }: ReceivedEvent,
  payment: CreateQrPayment,
  providerId: string,
): void {
  const { amount, type, providerTransactionId } = value as Partial<ProviderEvent>;
  expectConformity(providerTransactionId === providerId, `${type} names ${providerTransactionId}`);
  if (amount === undefined || type?.startsWith('refund.')) return;
  const actual = `${amount.amount} ${amount.currency}`;
  const requested = `${payment.amount.amount} ${payment.amount.currency}`;
  expectConformity(
    actual === requested,
    `${type} has the amount ${actual}, but the request has ${requested}`,
  );
}

/** Each event has its own sequence number, and later events have higher ones. */
function expectIncreasingSequence(events: readonly ReceivedEvent[]): void {
  const numbers = new Map<unknown, unknown>();
  for (const { value } of events) {
    const { sequence, eventId } = value;
    const owner = numbers.get(sequence) ?? eventId;
    expectConformity(owner === eventId, `two events have the sequence ${String(sequence)}`);
    numbers.set(sequence, eventId);
  }
  const happened = events
    .map(({ value }) => ({
      at: Date.parse(String(value['occurredAt'])),
      sequence: Number(value['sequence']),
    }))
    .sort((one, other) => one.sequence - other.sequence);
  const isFalling = happened.some(({ at }, index) => at < (happened[index - 1]?.at ?? 0));
  expectConformity(!isFalling, 'a later event has a smaller sequence');
}

/** The event that was answered 503, and its repetition. */
function findRepeatedEvent(events: readonly ReceivedEvent[]) {
  const first = events.find(({ responseStatus }) => responseStatus >= 300);
  expectConformity(first !== undefined, 'no event came');
  const { type } = first.value;
  const repeated = events.find((received) => received !== first && received.value['type'] === type);
  return { first, repeated };
}

async function payAndFailFirstEvent(client: ProviderTestClient) {
  const { payment } = await createPaidPayment(client, true);
  const events = () => client.receiver.eventsOf(payment.platformTransactionId);
  await client.receiver.waitUntil(
    () =>
      events().some(({ responseStatus }) => responseStatus >= 300) &&
      findRepeatedEvent(events()).repeated !== undefined,
    client.testData.retryMs,
  );
  return findRepeatedEvent(events());
}

export const eventChecks: readonly ProviderCheck[] = [
  {
    group: 'events',
    fault: 'sends-no-events',
    requires,
    name: 'a paid payment sends payment.completed (--paid-amount)',
    run: async (client) => void (await payAndReceiveEvents(client)),
  },
  {
    group: 'events',
    fault: 'wrong-event',
    requires,
    name: 'each event matches the schema of the SPI, and its status fits its type',
    async run(client) {
      const { events } = await payAndReceiveEvents(client);
      for (const received of events()) expectValidEvent(received);
    },
  },
  {
    group: 'events',
    fault: 'event-without-token',
    requires,
    name: 'each event carries a token of the provider',
    async run(client) {
      const { events } = await payAndReceiveEvents(client);
      expectConformity(
        events().every(({ hasToken }) => hasToken),
        'an event came without Authorization: Bearer …',
      );
    },
  },
  {
    group: 'events',
    fault: 'event-other-amount',
    requires,
    name: 'each event names the payment and its amount',
    async run(client) {
      const { events, payment, answer } = await payAndReceiveEvents(client);
      for (const received of events())
        expectPaymentAmount(received, payment, answer.providerTransactionId);
    },
  },
  {
    group: 'events',
    fault: 'event-out-of-sequence',
    requires,
    name: 'the sequence grows with each event',
    async run(client) {
      const { events } = await payAndReceiveEvents(client);
      expectIncreasingSequence(events());
      expectConformity(
        new Set(events().map(({ value }) => value['eventId'])).size > 0,
        'no event came',
      );
    },
  },
  {
    group: 'events',
    fault: 'gives-up',
    requires,
    name: 'an event that was answered 503 is sent again',
    async run(client) {
      const { repeated } = await payAndFailFirstEvent(client);
      expectConformity(
        repeated !== undefined,
        `it did not come again within ${client.testData.retryMs / 1000} s`,
      );
    },
  },
  {
    group: 'events',
    fault: 'changes-repeated-event',
    requires,
    name: 'an event that is sent again is the same, byte by byte',
    async run(client) {
      const { first, repeated } = await payAndFailFirstEvent(client);
      expectConformity(
        repeated !== undefined,
        `it did not come again within ${client.testData.retryMs / 1000} s`,
      );
      const isSame = repeated.value['eventId'] === first.value['eventId'];
      expectConformity(isSame, 'the repeated event has another eventId');
      expectConformity(repeated.body === first.body, 'the repeated event has a different body');
    },
  },
  {
    group: 'events',
    fault: 'repeats-acknowledged',
    requires,
    name: 'an event that was answered 202 is not sent again',
    async run(client) {
      const { events } = await payAndReceiveEvents(client);
      const repeated = () => events().find(({ responseStatus }) => responseStatus === 200);
      await client.receiver.waitUntil(() => repeated() !== undefined, client.testData.settleMs);
      const type = String(repeated()?.value['type']);
      expectConformity(repeated() === undefined, `${type} was sent again after it was accepted`);
    },
  },
  {
    group: 'events',
    fault: 'contradicts-events',
    requires,
    name: 'the status agrees with the events',
    async run(client) {
      const { paidAmount = client.testData.amount, currency } = client.testData;
      const payment = client.payment({ amount: { amount: paidAmount, currency } });
      await client.createPayment(payment);
      const events = () => client.receiver.eventsOf(payment.platformTransactionId);
      const isPaid = () => events().some(({ value }) => value['type'] === completed);
      expectConformity(
        await client.receiver.waitUntil(isPaid, client.testData.waitMs),
        `no ${completed} came`,
      );
      const { status } = await client.status(payment);
      expectConformity(status === 'Completed', `${completed} came, and the status is ${status}`);
    },
  },
];

export const serviceChecks: readonly ProviderCheck[] = [
  {
    group: 'service',
    fault: 'no-health',
    name: 'the health path answers Up',
    async run(client) {
      const answer = await client.get(providerPaths.health);
      expectShape(answer, HealthAnswer, 'it');
      expectConformity(
        answer.value['status'] === 'Up',
        `it says ${String(answer.value['status'])}`,
      );
    },
  },
  {
    group: 'service',
    fault: 'no-activation',
    name: 'an activation of the service is answered',
    async run(client) {
      const organizationId = randomUUID();
      const timestamp = new Date(client.clock.now()).toISOString();
      const data = {
        handshakeId: randomUUID(),
        organizationId,
        activationId: randomUUID(),
        serviceId: randomUUID(),
        release: 1,
        level: 'Organization',
        entityId: organizationId,
        parameters: {},
        answerUrl: `${client.receiver.urlOf(randomUUID())}/answer`,
      };
      const message = { type: 'service.activation_requested', timestamp, data };
      const answer = await client.post('', message);
      expectStatus(answer, [200, 202], 'it');
      if (answer.status === 200) expectShape(answer, ServiceMessageAnswer, 'it');
    },
  },
];
