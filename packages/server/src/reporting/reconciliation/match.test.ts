// Pairing an acquirer's file with our movements: what is alike is found, whatever the order.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { compare, type Ours, type Theirs } from './match.ts';

const said = {
  type: 'Capture',
  retrievalReferenceNumber: '000000000001',
  acquirerMerchantId: 'M1',
  amount: 1000,
  currency: 'EUR',
  settlementDate: '2026-03-01',
} as const;
const theirs = (number: number, more: Partial<Theirs> = {}): Theirs => ({
  ...said,
  number,
  ...more,
});
const ours = (transactionId: string, more: Partial<Ours> = {}): Ours => ({
  ...{ ...said, transactionId, sequence: 2, merchantId: 'merchant', terminalId: '10000001' },
  ...more,
});
const outcomes = (lines: Theirs[], movements: Ours[]) =>
  compare(lines, movements)
    .sort((one, other) => one.theirs.number - other.theirs.number)
    .map(({ outcome, differences, ours: own }) => [outcome, ...differences, own?.transactionId]);

describe('a file and our movements', () => {
  test('what agrees in everything is matched', () => {
    assert.deepEqual(outcomes([theirs(1)], [ours('a')]), [['Matched', 'a']]);
  });

  test('each member that differs is named', () => {
    const lines = [theirs(1, { amount: 900, settlementDate: '2026-03-02' })];
    assert.deepEqual(outcomes(lines, [ours('a')]), [
      ['Different', 'amount', 'settlementDate', 'a'],
    ]);
    assert.deepEqual(outcomes([theirs(1, { currency: 'USD' })], [ours('a')]), [
      ['Different', 'currency', 'a'],
    ]);
    assert.deepEqual(outcomes([theirs(1, { type: 'Refund' })], [ours('a')]), [
      ['Different', 'type', 'a'],
    ]);
  });

  test('another merchant, or another reference, is another movement', () => {
    assert.deepEqual(outcomes([theirs(1, { acquirerMerchantId: 'M2' })], [ours('a')]), [
      ['MissingHere', undefined],
    ]);
    const other = [theirs(1, { retrievalReferenceNumber: '000000000002' })];
    assert.deepEqual(outcomes(other, [ours('a')]), [['MissingHere', undefined]]);
  });

  test('a refund of another amount is not taken for the capture', () => {
    const lines = [theirs(1, { type: 'Refund', amount: 300 })];
    assert.deepEqual(outcomes(lines, [ours('a')]), [['MissingHere', undefined]]);
  });

  test('of two with one reference each finds its own before one takes what is left', () => {
    const lines = [theirs(1, { amount: 200 }), theirs(2, { amount: 100 })];
    const movements = [ours('a', { amount: 100 }), ours('b', { amount: 200 })];
    assert.deepEqual(outcomes(lines, movements), [
      ['Matched', 'b'],
      ['Matched', 'a'],
    ]);
    assert.deepEqual(outcomes([theirs(1), theirs(2)], [ours('a')]), [
      ['Matched', 'a'],
      ['MissingHere', undefined],
    ]);
  });

  test('two terminals with one reference and amount: each line finds what its terminal did', () => {
    const movements = [ours('a'), ours('b', { terminalId: '10000002' })];
    const lines = [theirs(1, { terminalId: '10000002' }), theirs(2, { terminalId: '10000001' })];
    assert.deepEqual(outcomes(lines, movements), [
      ['Matched', 'b'],
      ['Matched', 'a'],
    ]);
    const other = [theirs(1, { terminalId: '10000002', amount: 900 })];
    assert.deepEqual(outcomes(other, movements), [['Different', 'amount', 'b']]);
    assert.deepEqual(outcomes([theirs(1, { terminalId: '10000003' })], movements), [
      ['MissingHere', undefined],
    ]);
  });

  test('a line that names no terminal takes what the lines that do have left', () => {
    const movements = [ours('a', { terminalId: '10000002' }), ours('b')];
    const lines = [theirs(1), theirs(2, { terminalId: '10000002' })];
    assert.deepEqual(outcomes(lines, movements), [
      ['Matched', 'b'],
      ['Matched', 'a'],
    ]);
  });

  test('the same movements in any order match, and nothing is paired twice', () => {
    const movement = fc.record({
      type: fc.constantFrom('Capture', 'Refund', 'Reversal'),
      retrievalReferenceNumber: fc.constantFrom('1', '2', '3'),
      acquirerMerchantId: fc.constantFrom('M1', 'M2'),
      amount: fc.integer({ min: 1, max: 4 }),
      currency: fc.constantFrom('EUR', 'USD'),
      settlementDate: fc.constantFrom('2026-03-01', '2026-03-02'),
      terminalId: fc.constantFrom('10000001', '10000002'),
    });
    const all = fc.array(movement, { maxLength: 30 });
    const shuffled = all.chain((movements) =>
      fc.tuple(
        fc.constant(movements),
        fc.shuffledSubarray(movements, {
          minLength: movements.length,
          maxLength: movements.length,
        }),
      ),
    );
    fc.assert(
      fc.property(shuffled, ([first, second]) => {
        const lines = first.map((each, index) => ({ ...each, number: index + 1 })) as Theirs[];
        const movements = second.map((each, index) => ours(`${index}`, each as Partial<Ours>));
        const found = compare(lines, movements);
        assert.equal(found.length, lines.length);
        assert.ok(found.every(({ outcome }) => outcome === 'Matched'));
        assert.equal(new Set(found.map((each) => each.ours)).size, movements.length);
      }),
    );
  });

  test('whatever both sides hold, a line is told once and a movement is used once', () => {
    const amount = fc.integer({ min: 1, max: 3 });
    const side = fc.array(fc.tuple(fc.constantFrom('1', '2'), amount), { maxLength: 20 });
    fc.assert(
      fc.property(side, side, (file, own) => {
        const lines = file.map(([retrievalReferenceNumber, each], index) =>
          theirs(index + 1, { retrievalReferenceNumber, amount: each }),
        );
        const movements = own.map(([retrievalReferenceNumber, each], index) =>
          ours(`${index}`, { retrievalReferenceNumber, amount: each }),
        );
        const found = compare(lines, movements);
        assert.deepEqual(new Set(found.map(({ theirs: { number } }) => number)).size, lines.length);
        const used = found.flatMap((each) => each.ours ?? []);
        assert.equal(new Set(used).size, used.length);
        for (const { outcome, differences, ours: mine } of found) {
          assert.equal(outcome === 'MissingHere', mine === undefined);
          assert.equal(outcome === 'Matched', mine !== undefined && differences.length === 0);
        }
      }),
    );
  });
});
