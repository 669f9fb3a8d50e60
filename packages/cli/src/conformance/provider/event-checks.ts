/** Events: that they come, what they say, and that none is lost or sent for ever. Health and activation. */
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
import { demand } from '../acquirer/acquirer-test-client.ts';
import type { Heard } from './event-receiver.ts';
import { type ProviderCheck, paid, refused } from './provider-check.ts';
import { type ProviderBench, shaped } from './provider-test-client.ts';

const needs = 'paidAmount';
const completed = 'payment.completed';
const isTaken = ({ answered }: Heard) => answered < 300;

/** A paid payment, and the tries of its events up to the one that says so. */
async function told(bench: ProviderBench, failFirst = false) {
  const { payment, answer } = await paid(bench, failFirst);
  const tries = () => bench.listener.of(payment.platformTransactionId);
  const limitMs = failFirst ? bench.terms.retryMs : bench.terms.waitMs;
  const came = await bench.listener.until(
    () => tries().some((each) => each.value['type'] === completed && isTaken(each)),
    limitMs,
  );
  const types = tries().map(({ value }) => String(value['type']));
  demand(
    came,
    `no ${completed} came within ${limitMs / 1000} s; what came: ${types.join(', ') || 'nothing'}`,
  );
  return { payment, answer, tries };
}

function demandEvent({ body, value, contentType }: Heard): void {
  demand(/^application\/json\b/i.test(contentType), `it comes as ${contentType || 'nothing'}`);
  const [fault] = Value.Errors(ProviderEvent, value);
  const where = `${fault?.instancePath.slice(1) || 'it'} ${fault?.message}`;
  demand(fault === undefined, `${String(value['type'])} has another shape: ${where}`);
  const event = JSON.parse(body) as ProviderEvent;
  const { type, status, display, refundId } = event;
  if (!isProviderEventType(type)) return;
  const right = providerEventStatuses[type];
  demand(status === undefined || status === right, `${type} says ${status}, not ${right}`);
  demand(!type.startsWith('refund.') || refundId !== undefined, `${type} names no refund`);
  const shown = display === undefined ? undefined : displayFault(display);
  demand(shown === undefined, `the ${display?.type} of ${type} ${shown ?? ''}`);
}

function demandAmount({ value }: Heard, payment: CreateQrPayment, providerId: string): void {
  const { amount, type, providerTransactionId } = value as Partial<ProviderEvent>;
  demand(providerTransactionId === providerId, `${type} names ${providerTransactionId}`);
  if (amount === undefined || type?.startsWith('refund.')) return;
  const said = `${amount.amount} ${amount.currency}`;
  const asked = `${payment.amount.amount} ${payment.amount.currency}`;
  demand(said === asked, `${type} says ${said}, and was asked for ${asked}`);
}

/** Each sequence number once, but for repetitions of the same event. */
function demandOrder(tries: readonly Heard[]): void {
  const numbers = new Map<unknown, unknown>();
  for (const { value } of tries) {
    const { sequence, eventId } = value;
    const owner = numbers.get(sequence) ?? eventId;
    demand(owner === eventId, `two events have the sequence ${String(sequence)}`);
    numbers.set(sequence, eventId);
  }
  const happened = tries
    .map(({ value }) => ({
      at: Date.parse(String(value['occurredAt'])),
      sequence: Number(value['sequence']),
    }))
    .sort((one, other) => one.sequence - other.sequence);
  const isFalling = happened.some(({ at }, place) => at < (happened[place - 1]?.at ?? 0));
  demand(!isFalling, 'a later event has a smaller sequence');
}

/** The try that was answered 503, and the one that followed it. */
function repetition(tries: readonly Heard[]) {
  const first = tries.find(({ answered }) => answered >= 300);
  demand(first !== undefined, 'no event came');
  const { type } = first.value;
  const again = tries.find((each) => each !== first && each.value['type'] === type);
  return { first, again };
}

async function failed(bench: ProviderBench) {
  const { payment } = await paid(bench, true);
  const tries = () => bench.listener.of(payment.platformTransactionId);
  await bench.listener.until(
    () =>
      tries().some(({ answered }) => answered >= 300) && repetition(tries()).again !== undefined,
    bench.terms.retryMs,
  );
  return repetition(tries());
}

export const eventChecks: readonly ProviderCheck[] = [
  {
    group: 'events',
    fault: 'sends-no-events',
    needs,
    name: 'a paid payment is told of (--paid-amount)',
    run: async (bench) => void (await told(bench)),
  },
  {
    group: 'events',
    fault: 'wrong-event',
    needs,
    name: 'each event has the shape of the SPI, and says what its type says',
    async run(bench) {
      const { tries } = await told(bench);
      for (const each of tries()) demandEvent(each);
    },
  },
  {
    group: 'events',
    fault: 'event-without-token',
    needs,
    name: 'each event carries a token of the provider',
    async run(bench) {
      const { tries } = await told(bench);
      demand(
        tries().every(({ hasToken }) => hasToken),
        'one came without Authorization: Bearer …',
      );
    },
  },
  {
    group: 'events',
    fault: 'event-other-amount',
    needs,
    name: 'each event names the payment and its amount',
    async run(bench) {
      const { tries, payment, answer } = await told(bench);
      for (const each of tries()) demandAmount(each, payment, answer.providerTransactionId);
    },
  },
  {
    group: 'events',
    fault: 'event-out-of-sequence',
    needs,
    name: 'the sequence grows with each event',
    async run(bench) {
      const { tries } = await told(bench);
      demandOrder(tries());
      demand(new Set(tries().map(({ value }) => value['eventId'])).size > 0, 'no event came');
    },
  },
  {
    group: 'events',
    fault: 'gives-up',
    needs,
    name: 'an event that was answered 503 is sent again',
    async run(bench) {
      const { again } = await failed(bench);
      demand(again !== undefined, `it did not come again within ${bench.terms.retryMs / 1000} s`);
    },
  },
  {
    group: 'events',
    fault: 'changes-repeated-event',
    needs,
    name: 'an event that is sent again is the same, byte by byte',
    async run(bench) {
      const { first, again } = await failed(bench);
      demand(again !== undefined, `it did not come again within ${bench.terms.retryMs / 1000} s`);
      const isSame = again.value['eventId'] === first.value['eventId'];
      demand(isSame, 'it has another eventId');
      demand(again.body === first.body, 'its bytes are others');
    },
  },
  {
    group: 'events',
    fault: 'repeats-acknowledged',
    needs,
    name: 'an event that was answered 202 is not sent again',
    async run(bench) {
      const { tries } = await told(bench);
      const twice = () => tries().find(({ answered }) => answered === 200);
      await bench.listener.until(() => twice() !== undefined, bench.terms.settleMs);
      const type = String(twice()?.value['type']);
      demand(twice() === undefined, `${type} came again after it was taken`);
    },
  },
  {
    group: 'events',
    fault: 'contradicts-events',
    needs,
    name: 'the status says what the events said',
    async run(bench) {
      const { paidAmount = bench.terms.amount, currency } = bench.terms;
      const payment = bench.payment({ amount: { amount: paidAmount, currency } });
      await bench.begin(payment);
      const tries = () => bench.listener.of(payment.platformTransactionId);
      const isPaid = () => tries().some(({ value }) => value['type'] === completed);
      demand(await bench.listener.until(isPaid, bench.terms.waitMs), `no ${completed} came`);
      const { status } = await bench.status(payment);
      demand(status === 'Completed', `${completed} came, and the status is ${status}`);
    },
  },
];

export const serviceChecks: readonly ProviderCheck[] = [
  {
    group: 'service',
    fault: 'no-health',
    name: 'its health is told',
    async run(bench) {
      const answer = await bench.get(providerPaths.health);
      shaped(answer, HealthAnswer, 'it');
      demand(answer.value['status'] === 'Up', `it says ${String(answer.value['status'])}`);
    },
  },
  {
    group: 'service',
    fault: 'no-activation',
    name: 'an activation of the service is answered',
    async run(bench) {
      const organizationId = randomUUID();
      const timestamp = new Date(bench.clock.now()).toISOString();
      const data = {
        handshakeId: randomUUID(),
        organizationId,
        activationId: randomUUID(),
        serviceId: randomUUID(),
        release: 1,
        level: 'Organization',
        entityId: organizationId,
        parameters: {},
        answerUrl: `${bench.listener.urlOf(randomUUID())}/answer`,
      };
      const message = { type: 'service.activation_requested', timestamp, data };
      const answer = await bench.post('', message);
      refused(answer, [200, 202], 'it');
      if (answer.status === 200) shaped(answer, ServiceMessageAnswer, 'it');
    },
  },
];
