// Tests that an acquirer's file is paired with the platform's movements in any order.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import fc from 'fast-check';
import { type AcquirerLine, matchMovements, type PlatformMovement } from './match-movements.ts';

const said = {
  type: 'Capture',
  retrievalReferenceNumber: '000000000001',
  acquirerMerchantId: 'M1',
  amount: 1000,
  currency: 'EUR',
  settlementDate: '2026-03-01',
} as const;
const theirs = (number: number, more: Partial<AcquirerLine> = {}): AcquirerLine => ({
  ...said,
  number,
  ...more,
});
const ours = (transactionId: string, more: Partial<PlatformMovement> = {}): PlatformMovement => ({
  ...said,
  transactionId,
  sequence: 2,
  merchantId: 'merchant',
  terminalId: '10000001',
  ...more,
});
const outcomes = (lines: AcquirerLine[], movements: PlatformMovement[]) =>
  matchMovements(lines, movements)
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

  test('a line that names no terminal leaves what a line that does finds in a later pass', () => {
    const movements = [ours('a'), ours('b', { terminalId: '10000002' })];
    const lines = [theirs(1), theirs(2, { terminalId: '10000001', settlementDate: '2026-03-02' })];
    assert.deepEqual(outcomes(lines, movements), [
      ['Matched', 'b'],
      ['Different', 'settlementDate', 'a'],
    ]);
    // A movement is not reserved for a line that cannot match it.
    const refund = theirs(2, { terminalId: '10000001', type: 'Refund', amount: 5 });
    assert.deepEqual(outcomes([theirs(1), refund], [ours('a')]), [
      ['Matched', 'a'],
      ['MissingHere', undefined],
    ]);
  });

  test('a terminal that is written another way is told, where no other may be meant', () => {
    const padded = theirs(1, { terminalId: '00001234' });
    const own = ours('a', { terminalId: '1234' });
    assert.deepEqual(outcomes([padded], [own]), [['Different', 'terminalId', 'a']]);
    const later = ours('b', { terminalId: '1235', settlementDate: '2026-03-02' });
    const two = [padded, theirs(2, { terminalId: '00001235', settlementDate: '2026-03-03' })];
    assert.deepEqual(outcomes(two, [own, later]), [
      ['Different', 'terminalId', 'a'],
      ['Different', 'settlementDate', 'terminalId', 'b'],
    ]);
    const twin = ours('b', { terminalId: '1235' });
    assert.deepEqual(outcomes([padded], [own, twin]), [['MissingHere', undefined]]);
    assert.deepEqual(outcomes([padded, { ...padded, number: 2 }], [own]), [
      ['MissingHere', undefined],
      ['MissingHere', undefined],
    ]);
    assert.deepEqual(outcomes([{ ...padded, amount: 7 }], [own]), [['MissingHere', undefined]]);
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
    const named = fc.infiniteStream(fc.boolean());
    fc.assert(
      fc.property(shuffled, named, ([first, second], isNamed) => {
        const lines = first.map(({ terminalId, ...each }, index) => ({
          ...each,
          number: index + 1,
          ...(isNamed.next().value ? { terminalId } : {}),
        })) as AcquirerLine[];
        const movements = second.map((each, index) =>
          ours(`${index}`, each as Partial<PlatformMovement>),
        );
        const found = matchMovements(lines, movements);
        assert.equal(found.length, lines.length);
        assert.ok(found.every(({ outcome }) => outcome === 'Matched'));
        assert.equal(new Set(found.map((each) => each.ours)).size, movements.length);
      }),
    );
  });

  const moved = fc.record({
    type: fc.constantFrom('Capture', 'Refund'),
    retrievalReferenceNumber: fc.constantFrom('1', '2'),
    amount: fc.integer({ min: 1, max: 3 }),
    settlementDate: fc.constantFrom('2026-03-01', '2026-03-02'),
    terminalId: fc.constantFrom('10000001', '10000002', undefined),
  });
  const side = fc.array(moved, { maxLength: 20 });
  const linesOf = (file: { terminalId: string | undefined }[]) =>
    file.map(({ terminalId, ...each }, index) =>
      theirs(index + 1, { ...each, ...defined({ terminalId }) }),
    );
  const movementsOf = (own: { terminalId: string | undefined }[]) =>
    own.map(({ terminalId = '10000003', ...each }, index) =>
      ours(`${index}`, { ...each, terminalId }),
    );

  test('lines that name no terminal take nothing from those that do', () => {
    const ofOwn = (lines: AcquirerLine[], movements: PlatformMovement[]) =>
      matchMovements(lines, movements)
        .filter(({ theirs: { terminalId }, ours: own }) => own && own.terminalId === terminalId)
        .map(({ theirs: { number }, ours: own }) => [number, own?.transactionId] as const)
        .sort(([one], [other]) => one - other);
    fc.assert(
      fc.property(side, side, (file, own) => {
        const [lines, movements] = [linesOf(file), movementsOf(own)];
        const named = lines.filter(({ terminalId }) => terminalId !== undefined);
        assert.deepEqual(ofOwn(lines, movements), ofOwn(named, movements));
      }),
    );
  });

  test('whatever both sides hold, a line is told once and a movement is used once', () => {
    fc.assert(
      fc.property(side, side, (file, own) => {
        const [lines, movements] = [linesOf(file), movementsOf(own)];
        const found = matchMovements(lines, movements);
        assert.deepEqual(new Set(found.map(({ theirs: { number } }) => number)).size, lines.length);
        const used = found.flatMap((each) => each.ours ?? []);
        assert.equal(new Set(used).size, used.length);
        for (const { outcome, differences, theirs: line, ours: mine } of found) {
          const isOther = line.terminalId !== undefined && line.terminalId !== mine?.terminalId;
          if (mine !== undefined) assert.equal(differences.includes('terminalId'), isOther);
          assert.equal(outcome === 'MissingHere', mine === undefined);
          assert.equal(outcome === 'Matched', mine !== undefined && differences.length === 0);
        }
      }),
    );
  });
});
