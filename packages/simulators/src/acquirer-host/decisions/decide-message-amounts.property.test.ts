// Random operations against a model: amounts keep their order, sums add up, repeats change nothing.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Message } from '@switchyard/iso8583';
import fc from 'fast-check';
import { createTerminalRequests, repeatMessage } from '../iso8583-client.fixture.ts';
import { openLedger } from '../ledger/ledger.ts';
import { readLedger } from '../ledger/read-ledger.ts';
import { createMessageDecider } from './decide-message.ts';

const runs = { numRuns: 200, seed: randomInt(2 ** 31) } as const;
const segmentEntries = 8;

type Operation = {
  kind: 'hold' | 'sale' | 'capture' | 'refund' | 'reversal' | 'restart';
  amount: number;
  target: number;
  partial: boolean;
  repeated: boolean;
};

type Model = {
  sale: boolean;
  approved: number;
  captured: number;
  refunded: number;
  /** Minor units that captures can exceed the approved amount by. */
  allowance: number;
};

const amounts = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 50 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(9000, 9010, 9051, 9091, 9092, 9093, 9094, 9095, 9098),
  },
  { weight: 1, arbitrary: fc.nat(999_999_999_999) },
);
const operations: fc.Arbitrary<Operation> = fc.record({
  kind: fc.constantFrom('hold', 'sale', 'capture', 'refund', 'reversal', 'restart'),
  amount: amounts,
  target: fc.nat(),
  partial: fc.boolean(),
  repeated: fc.boolean(),
});

function applyTo(model: Model, operation: Operation, code: string | undefined): void {
  const { kind, amount, partial } = operation;
  if (code !== '00') return;
  if (kind === 'capture') {
    if (model.captured + amount > model.approved) accepted.overCapture++;
    assert.ok(model.captured < model.approved);
    model.captured += amount;
    assert.ok(model.captured <= model.approved + model.allowance);
    model.approved = Math.max(model.approved, model.captured);
  }
  if (kind === 'refund') model.refunded += amount;
  if (kind !== 'reversal') return;
  model.approved = partial ? amount : 0;
  if (model.sale) model.captured = model.approved;
}

function assertOrdered({ refunded, captured, approved: approvedAmount }: Model): void {
  assert.ok(0 <= refunded && refunded <= captured && captured <= approvedAmount);
}

/** How many of each kind took effect: a test that only saw refusals has proved nothing. */
const accepted = { capture: 0, overCapture: 0, refund: 0, reversal: 0 };

function play(directory: string, script: Operation[], overCapturePercent: number): void {
  const clock = { now: () => 0 };
  let ledger = openLedger({ directory, segmentEntries });
  let host = createMessageDecider({ ledger, clock, overCapturePercent });
  const till = createTerminalRequests();
  const originals: { message: Message; model: Model }[] = [];
  let last: Message | undefined;

  function decide(message: Message): Message['fields'] {
    const decision = host.decide(message, { isSignedOn: true });
    ledger.flush();
    return decision?.answer.fields ?? {};
  }

  function step(operation: Operation): void {
    const { kind, amount, partial } = operation;
    if (kind === 'restart') {
      ledger.close();
      ledger = openLedger({ directory, segmentEntries });
      host = createMessageDecider({ ledger, clock, overCapturePercent });
      return;
    }
    if (kind === 'hold' || kind === 'sale') {
      const message = till[kind](amount);
      const { 39: code = '', 4: answered } = decide(message);
      const approved = ['00', '08', '10', '11'].includes(code) ? Number(answered) : 0;
      const captured = kind === 'sale' ? approved : 0;
      const allowance = Math.floor((approved * overCapturePercent) / 100);
      const model = { sale: kind === 'sale', approved, captured, refunded: 0, allowance };
      originals.push({ message, model });
      last = message;
      return;
    }
    const target = originals[operation.target % originals.length];
    if (target === undefined) return;
    last =
      kind === 'reversal'
        ? till.reversal(target.message, partial ? amount : undefined)
        : till[kind](target.message, amount);
    const { 39: code } = decide(last);
    applyTo(target.model, operation, code);
    if (code === '00') accepted[kind]++;
    assertOrdered(target.model);
  }

  for (const operation of script) {
    step(operation);
    if (!operation.repeated || last === undefined) continue;
    const before = ledger.snapshot();
    decide(repeatMessage(last));
    assert.deepEqual(ledger.snapshot().totals, before.totals);
  }
  const [totals] = ledger.snapshot().totals;
  ledger.close();
  const report = readLedger(directory);
  assert.deepEqual(report.faults, []);
  assert.deepEqual(report.totals[0], totals);
  const models = originals.map(({ model }) => model);
  const sum = (amountOf: (model: Model) => number) =>
    models.reduce((total, model) => total + amountOf(model), 0);
  assert.equal(
    totals?.captured ?? 0,
    sum(({ captured }) => captured),
  );
  assert.equal(
    totals?.refunded ?? 0,
    sum(({ refunded }) => refunded),
  );
  assert.equal(
    totals?.openHolds ?? 0,
    sum(({ sale, approved: approvedAmount, captured }) => (sale ? 0 : approvedAmount - captured)),
  );
}

describe(`random operations, seed ${runs.seed}`, () => {
  it('keep 0 <= refunded <= captured <= held, and match the sums of a model', () => {
    const scripts = fc.array(operations, { maxLength: 80, size: 'max' });
    fc.assert(
      fc.property(scripts, fc.constantFrom(0, 20, 100), (script, overCapturePercent) => {
        const directory = mkdtempSync(join(tmpdir(), 'ledger-'));
        try {
          play(directory, script, overCapturePercent);
        } finally {
          rmSync(directory, { recursive: true });
        }
      }),
      runs,
    );
    const { overCapture, ...others } = accepted;
    for (const [kind, times] of Object.entries(others)) assert.ok(times > 100, kind);
    assert.ok(overCapture > 3, 'over-capture');
  });
});
