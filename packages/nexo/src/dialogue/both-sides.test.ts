import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { defined } from '../defined.ts';
import { answerTo, failureTo } from '../messages/build-message.ts';
import { type AnyMessage, type Header, isMessage } from '../messages/message.ts';
import { type Reading, readMessage } from '../messages/read-message.ts';
import { writeMessage } from '../messages/write-message.ts';
import { resultOf } from './error-condition-advice.ts';
import { createPoiDialogue, type PoiDialogue } from './poi-dialogue.ts';
import { createSaleDialogue, type SaleDialogue, type SaleStep } from './sale-dialogue.ts';
import { createServiceIds } from './service-ids.ts';

const start = Date.parse('2026-03-01T10:00:00.000Z');
const names = { saleId: 'till-3', poiId: 'terminal-1' };

/** What the network does with one message; a slow one is under way for less than two questions. */
type Fate = 'through' | 'lost' | 'twice' | 'slow';
const fates = fc.constantFrom<Fate>('through', 'through', 'lost', 'twice', 'slow');
const steps = fc.constantFrom(
  'pay',
  'pay',
  'drop',
  'drop',
  'tick',
  'tick',
  'card',
  'card',
  'abort',
  'restart-till',
  'restart-terminal',
);

type Way = 'down' | 'up';
type Packet = { text: string; way: Way; at: number };

/** A till and a terminal with a bad network between them, and a terminal that counts the money. */
function createWorld(fate: () => Fate) {
  let now = start;
  const clock = () => now;
  const nextServiceId = createServiceIds({ now: clock, randomBelow: () => 7 });
  let poi: PoiDialogue = createPoiDialogue({ poiId: names.poiId, now: clock });
  let sale: SaleDialogue = createSaleDialogue({ ...names, now: clock, nextServiceId });
  let network: Packet[] = [];
  const chargeCounts = new Map<string, number>();
  const outcomes = new Map<string, string>();
  const begun: string[] = [];

  function put(way: Way, message: AnyMessage): void {
    const text = writeMessage(message);
    const how = fate();
    if (how === 'lost') return;
    const packet = { text, way, at: how === 'slow' ? now + 3_000 : now };
    network.push(packet);
    if (how === 'twice') network.push({ ...packet, at: now + 2_000 });
  }

  function act(step: SaleStep): void {
    if (step.do === 'Send') put('down', step.message);
    if (step.do !== 'Finish') return;
    const id = String(step.request.ServiceID);
    assert.equal(outcomes.get(id), undefined, 'a service ends once');
    const resultText = step.outcome === 'Answered' ? resultOf(step.message)?.Result : step.outcome;
    outcomes.set(id, String(resultText));
  }

  function arrive({ text, way }: Packet): void {
    const reading = readMessage(text);
    assert.ok(reading.kind === 'Message');
    if (way === 'up') act(sale.receive(reading));
    else decide(reading, text);
  }

  function decide(reading: Extract<Reading, { kind: 'Message' }>, text: string): void {
    const decision = poi.receive(reading, text);
    if (decision.do === 'Answer' || decision.do === 'Notify') put('up', decision.message);
    if (decision.do === 'Abort') end(decision.running, failureOf(decision.running, 'Aborted'));
  }

  function failureOf(header: Header, condition: string): AnyMessage {
    const failure = failureTo(header, condition, { at: new Date(now).toISOString() });
    assert.ok(failure);
    return failure;
  }

  /** Kept first, then sent: a terminal that forgets its answer has taken money without a record. */
  function end(header: Header, answer: AnyMessage): void {
    if (resultOf(answer)?.Result === 'Success') {
      const id = String(header.ServiceID);
      chargeCounts.set(id, (chargeCounts.get(id) ?? 0) + 1);
    }
    poi.finish(answer);
    put('up', answer);
  }

  function pay(): void {
    const at = new Date(now).toISOString();
    const step = sale.begin('Payment', {
      SaleData: { SaleTransactionID: { TransactionID: 'x', TimeStamp: at } },
      PaymentTransaction: { AmountsReq: { Currency: 'EUR', RequestedAmount: 1 } },
    });
    if (step.do !== 'Send') return;
    begun.push(String(step.message.header.ServiceID));
    act(step);
  }

  function presentCard(): void {
    const running = poi.running();
    if (running === undefined) return;
    const request = { header: running, body: {} };
    if (!isMessage(request, 'Payment', 'Request')) return;
    const at = new Date(now).toISOString();
    const id = { TransactionID: 'x', TimeStamp: at };
    end(
      running,
      answerTo(request, {
        Response: { Result: 'Success' },
        SaleData: { SaleTransactionID: id },
        POIData: { POITransactionID: id },
        PaymentResult: {},
      }),
    );
  }

  /** A terminal that comes back undoes what it had begun, and says so. */
  function restartTerminal(): void {
    const running = poi.running();
    const memory = JSON.parse(JSON.stringify(poi.memory())) as ReturnType<PoiDialogue['memory']>;
    poi = createPoiDialogue({ poiId: names.poiId, now: clock, memory });
    if (running !== undefined) end(running, failureOf(running, 'DeviceOut'));
  }

  function restartTill(): void {
    const journal = sale.journal();
    sale = createSaleDialogue({
      ...names,
      now: clock,
      nextServiceId,
      ...defined({ journal }),
    });
  }

  function pass(ms: number): void {
    for (let remainingMs = ms; remainingMs >= 0; remainingMs -= 500) {
      now += Math.min(remainingMs, 500);
      const due = network.filter(({ at }) => at <= now).toSorted((one, other) => one.at - other.at);
      network = network.filter(({ at }) => at > now);
      for (const packet of due) arrive(packet);
      act(sale.tick());
    }
  }

  const steps: Record<string, () => void> = {
    pay,
    abort: () => act(sale.abort('why not')),
    card: presentCard,
    tick: () => undefined,
    drop: () => act(sale.lost()),
    'restart-till': restartTill,
    'restart-terminal': restartTerminal,
  };

  /** Until the till knows, and nothing is on its way. */
  function settle(): void {
    for (let each = 0; each < 400 && (sale.journal() ?? network[0]) !== undefined; each += 1) {
      pass(1_000);
    }
  }

  return {
    step: (name: string) => steps[name]?.(),
    pass,
    settle,
    chargeCounts,
    outcomes,
    begun,
  };
}

// Spec: NEXO-37
test('with any network fault the payment is made once and the reported outcome is never wrong', () => {
  const outcomeCounts = new Map<string, number>();
  fc.assert(
    fc.property(
      fc.array(fc.tuple(steps, fc.integer({ min: 0, max: 7_000 })), {
        minLength: 5,
        maxLength: 40,
      }),
      fc.infiniteStream(fates),
      (script, stream) => {
        const { step, pass, settle, chargeCounts, outcomes, begun } = createWorld(
          () => stream.next().value as Fate,
        );
        for (const [name, ms] of script) {
          step(name);
          pass(ms);
        }
        settle();
        assert.deepEqual([...outcomes.keys()].toSorted(), begun.toSorted(), 'each one ends, once');
        for (const times of chargeCounts.values()) assert.equal(times, 1, 'money is taken once');
        for (const [id, outcome] of outcomes) {
          outcomeCounts.set(outcome, (outcomeCounts.get(outcome) ?? 0) + 1);
          if (outcome === 'Success') assert.ok(chargeCounts.has(id), 'paid, and no money');
          if (outcome === 'Failure') assert.ok(!chargeCounts.has(id), 'refused, and money');
          if (outcome === 'NotProcessed')
            assert.ok(!chargeCounts.has(id), 'never there, and money');
        }
      },
    ),
    { numRuns: 250 },
  );
  assert.ok((outcomeCounts.get('Success') ?? 0) > 20, JSON.stringify([...outcomeCounts]));
  assert.ok((outcomeCounts.get('Failure') ?? 0) > 20, JSON.stringify([...outcomeCounts]));
});
