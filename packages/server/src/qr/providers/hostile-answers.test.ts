// Tests that hostile provider answers give a bounded outcome without card numbers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  defined,
  displayFault,
  ProviderPaymentStatus,
  ProviderRefundStatus,
} from '@switchyard/contract';
import { hideCardNumbers } from '@switchyard/emv';
import fc from 'fast-check';
import { Value } from 'typebox/value';
import { sizeOfRun } from '../../../test/faults/fault-size.ts';
import { redactText } from '../../platform/index.ts';
import {
  readCancelAnswer,
  readCreateAnswer,
  readHealthAnswer,
  readRefundAnswer,
  readStatusAnswer,
} from './read-answers.ts';

const now = Date.parse('2026-03-01T12:00:00.000Z');
const begins = { expiresAt: new Date(now + 180_000) };
const refundId = '0198c0de-0000-7000-8000-00000000000a';
const seed = Number(process.env['SWITCHYARD_TEST_SEED'] ?? Date.now() % 2 ** 31);
const pan = '4111111111111111';
const outcomes = new Set(['Answered', 'Refused', 'NotFound', 'Unknown', 'NotSent']);

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    pan,
    `card ${pan}`,
    '4111 1111 1111 1111',
    '4111.1111_1111~1111',
    '\u0000',
    '\ud800',
    '__proto__',
  ),
  fc.string({ minLength: 600, maxLength: 1200 }),
);
const money = fc.record({
  amount: fc.oneof(fc.integer(), fc.double(), text, fc.constantFrom(1234, 1, 0, 2 ** 53, -0)),
  currency: fc.oneof(fc.constantFrom('EUR', 'eur', 'XXXX'), text),
});
const display = fc.record({
  type: fc.oneof(fc.constantFrom('url', 'image/png', 'image/svg+xml', 'text/emvqr'), text),
  data: fc.oneof(fc.webUrl(), fc.base64String({ maxLength: 100 }), text),
});
const statuses = fc.constantFrom(
  'Created',
  'Pending',
  'Scanned',
  'Authorized',
  'Completed',
  'Declined',
  'Cancelled',
  'Expired',
  'Failed',
  'Refunded',
  'Up',
  'Down',
  'paid',
);
const anything = fc.oneof(fc.jsonValue({ maxDepth: 6 }), text);
const member = <Value>(likely: fc.Arbitrary<Value>) =>
  fc.option(fc.oneof({ arbitrary: likely, weight: 4 }, { arbitrary: anything, weight: 1 }), {
    nil: undefined,
  });

const answers = fc.record({
  providerTransactionId: member(
    fc.constantFrom('P-1', 'P-2', pan.slice(0, 8), '../x', '4111-1111-1111-1111', `P${pan}`),
  ),
  status: member(statuses),
  paymentStatus: member(statuses),
  amount: member(money),
  display: member(display),
  expiresAt: member(fc.date({ noInvalidDate: true }).map((date) => date.toISOString())),
  pollAfterMs: member(fc.double()),
  payer: member(fc.record({ maskedId: text })),
  failure: member(fc.record({ code: text, text })),
  code: member(
    fc.constantFrom('payment_not_found', 'refund_not_found', 'other', 'c_4111_1111_1111_1111'),
  ),
  detail: member(text),
  refundId: member(fc.constantFrom(refundId, refundId.toUpperCase(), 'x')),
  providerRefundId: member(fc.constantFrom('R-1', 'a b', 'R:4111.1111.1111.1111')),
  more: member(fc.dictionary(text, anything, { maxKeys: 30 })),
  [pan]: member(text),
});

const bodies = fc.oneof(
  { arbitrary: answers.map((answer) => JSON.stringify(answer)), weight: 8 },
  { arbitrary: text, weight: 1 },
  {
    arbitrary: fc.tuple(answers, fc.nat({ max: 400 }), text).map(([answer, at, other]) => {
      const whole = JSON.stringify(answer);
      return `${whole.slice(0, at)}${other}${whole.slice(at + 1)}`;
    }),
    weight: 1,
  },
);

function assertBounded(outcome: Readonly<Record<string, unknown>>): void {
  assert.ok(outcomes.has(String(outcome['outcome'])));
  const texts: string[] = [];
  const json = JSON.stringify(outcome, (name, value: unknown) => {
    // A provider's identifier may be a long number that is no card number; the test checks other
    // text whole.
    const isId = /^provider(?:Transaction|Refund)Id$/.test(name);
    texts.push(name, ...(typeof value === 'string' && !isId ? [value] : []));
    const isStoredText = typeof value === 'string' && name !== 'data';
    if (isStoredText) assert.equal(hideCardNumbers(value), value.normalize('NFKC'), name);
    return value;
  });
  for (const each of texts) assert.equal(redactText(each), each);
  assert.ok(texts.every((each) => each.isWellFormed() && !each.includes('\u0000')));
  assert.ok(json.length < 70_000);
}

function assertPayment(outcome: Readonly<Record<string, unknown>>): void {
  if (outcome['outcome'] !== 'Answered') return;
  assert.ok(Value.Check(ProviderPaymentStatus, outcome['status']));
  assert.match(String(outcome['providerTransactionId']), /^[A-Za-z0-9][A-Za-z0-9._~:-]{0,127}$/);
  const { amount, currency, pollAfterMs, display: shown } = outcome;
  assert.equal(amount === undefined, currency === undefined);
  assert.ok(amount === undefined || (Number.isInteger(amount) && Number(amount) > 0));
  assert.ok(
    pollAfterMs === undefined || (Number(pollAfterMs) >= 500 && Number(pollAfterMs) <= 60_000),
  );
  if (shown !== undefined) {
    assert.equal(displayFault(shown as Parameters<typeof displayFault>[0]), undefined);
  }
}

test('an answer of any kind becomes an outcome, and nothing else', () => {
  console.log(`seed ${seed}`);
  const status = fc.oneof(
    { arbitrary: fc.constantFrom(200, 201, 202), weight: 6 },
    { arbitrary: fc.constantFrom(204, 302, 400, 401, 404, 409, 422, 429, 500, 503), weight: 3 },
    { arbitrary: fc.integer({ min: 0, max: 999 }), weight: 1 },
  );
  const header = fc.option(fc.oneof(fc.constantFrom('7', '-1', '1e9'), text), { nil: undefined });
  fc.assert(
    fc.property(status, bodies, header, (code, body, retryAfter) => {
      const headers = defined({ 'retry-after': retryAfter });
      const heard = { status: code, headers, body, ms: 1 };
      const created = readCreateAnswer(heard, { newPayment: begins }, now);
      const statusAnswer = readStatusAnswer(heard, { providerTransactionId: 'P-1' }, now);
      for (const outcome of [created, statusAnswer]) assertPayment(outcome);
      if (statusAnswer.outcome === 'Answered')
        assert.equal(statusAnswer.providerTransactionId, 'P-1');
      if (created.outcome === 'Answered' && created.expiresAt !== undefined) {
        assert.ok(created.expiresAt <= begins.expiresAt);
      }
      const refund = readRefundAnswer(heard, { refundId }, now);
      assert.ok(refund.outcome !== 'Answered' || Value.Check(ProviderRefundStatus, refund.status));
      const cancel = readCancelAnswer(heard, { providerTransactionId: 'P-1' }, now);
      assert.ok(cancel.outcome !== 'Answered' || Value.Check(ProviderPaymentStatus, cancel.status));
      for (const outcome of [created, statusAnswer, refund, cancel, readHealthAnswer(heard, now)]) {
        assertBounded(outcome);
      }
    }),
    { numRuns: sizeOfRun({ small: 300, whole: 2_000, full: 2_000 }), seed },
  );
});
