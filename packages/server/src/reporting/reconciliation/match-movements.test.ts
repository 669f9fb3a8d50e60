// Tests that an acquirer's file is paired with the platform's movements in any order.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import fc from 'fast-check';
import { type AcquirerLine, matchMovements, type PlatformMovement } from './match-movements.ts';

const commonMembers = {
  type: 'Capture',
  retrievalReferenceNumber: '000000000001',
  acquirerMerchantId: 'M1',
  amount: 1000,
  currency: 'EUR',
  settlementDate: '2026-03-01',
} as const;
const acquirerLine = (number: number, more: Partial<AcquirerLine> = {}): AcquirerLine => ({
  ...commonMembers,
  number,
  ...more,
});
const platformMovement = (
  transactionId: string,
  more: Partial<PlatformMovement> = {},
): PlatformMovement => ({
  ...commonMembers,
  transactionId,
  sequence: 2,
  merchantId: 'merchant',
  terminalId: '10000001',
  ...more,
});
const outcomes = (lines: AcquirerLine[], movements: PlatformMovement[]) =>
  matchMovements(lines, movements)
    .sort((one, other) => one.theirs.number - other.theirs.number)
    .map(({ outcome, differences, ours: movement }) => [
      outcome,
      ...differences,
      movement?.transactionId,
    ]);

describe('a file and our movements', () => {
  test('a line that agrees with a movement in all members is matched', () => {
    assert.deepEqual(outcomes([acquirerLine(1)], [platformMovement('a')]), [['Matched', 'a']]);
  });

  test('each member that differs is named', () => {
    const lines = [acquirerLine(1, { amount: 900, settlementDate: '2026-03-02' })];
    assert.deepEqual(outcomes(lines, [platformMovement('a')]), [
      ['Different', 'amount', 'settlementDate', 'a'],
    ]);
    assert.deepEqual(outcomes([acquirerLine(1, { currency: 'USD' })], [platformMovement('a')]), [
      ['Different', 'currency', 'a'],
    ]);
    assert.deepEqual(outcomes([acquirerLine(1, { type: 'Refund' })], [platformMovement('a')]), [
      ['Different', 'type', 'a'],
    ]);
  });

  test('another merchant, or another reference, is another movement', () => {
    assert.deepEqual(
      outcomes([acquirerLine(1, { acquirerMerchantId: 'M2' })], [platformMovement('a')]),
      [['MissingHere', undefined]],
    );
    const other = [acquirerLine(1, { retrievalReferenceNumber: '000000000002' })];
    assert.deepEqual(outcomes(other, [platformMovement('a')]), [['MissingHere', undefined]]);
  });

  test('a refund line with another amount is not matched with the capture', () => {
    const lines = [acquirerLine(1, { type: 'Refund', amount: 300 })];
    assert.deepEqual(outcomes(lines, [platformMovement('a')]), [['MissingHere', undefined]]);
  });

  test('of lines with the same reference, an exact match comes before a match with a different amount', () => {
    const lines = [acquirerLine(1, { amount: 200 }), acquirerLine(2, { amount: 100 })];
    const movements = [
      platformMovement('a', { amount: 100 }),
      platformMovement('b', { amount: 200 }),
    ];
    assert.deepEqual(outcomes(lines, movements), [
      ['Matched', 'b'],
      ['Matched', 'a'],
    ]);
    assert.deepEqual(outcomes([acquirerLine(1), acquirerLine(2)], [platformMovement('a')]), [
      ['Matched', 'a'],
      ['MissingHere', undefined],
    ]);
  });

  test('of two movements with the same reference and amount, each line matches the movement of its terminal', () => {
    const movements = [platformMovement('a'), platformMovement('b', { terminalId: '10000002' })];
    const lines = [
      acquirerLine(1, { terminalId: '10000002' }),
      acquirerLine(2, { terminalId: '10000001' }),
    ];
    assert.deepEqual(outcomes(lines, movements), [
      ['Matched', 'b'],
      ['Matched', 'a'],
    ]);
    const other = [acquirerLine(1, { terminalId: '10000002', amount: 900 })];
    assert.deepEqual(outcomes(other, movements), [['Different', 'amount', 'b']]);
    assert.deepEqual(outcomes([acquirerLine(1, { terminalId: '10000003' })], movements), [
      ['MissingHere', undefined],
    ]);
  });

  test('a line without a terminal matches a movement that no line with a terminal matches', () => {
    const movements = [platformMovement('a', { terminalId: '10000002' }), platformMovement('b')];
    const lines = [acquirerLine(1), acquirerLine(2, { terminalId: '10000002' })];
    assert.deepEqual(outcomes(lines, movements), [
      ['Matched', 'b'],
      ['Matched', 'a'],
    ]);
  });

  test('a line without a terminal does not take a movement that a line with its terminal matches later', () => {
    const movements = [platformMovement('a'), platformMovement('b', { terminalId: '10000002' })];
    const lines = [
      acquirerLine(1),
      acquirerLine(2, { terminalId: '10000001', settlementDate: '2026-03-02' }),
    ];
    assert.deepEqual(outcomes(lines, movements), [
      ['Matched', 'b'],
      ['Different', 'settlementDate', 'a'],
    ]);
    // A movement is not reserved for a line that cannot match it.
    const refund = acquirerLine(2, { terminalId: '10000001', type: 'Refund', amount: 5 });
    assert.deepEqual(outcomes([acquirerLine(1), refund], [platformMovement('a')]), [
      ['Matched', 'a'],
      ['MissingHere', undefined],
    ]);
  });

  // Spec: REP-14
  test('a terminal ID in another format is reported as a difference if only one movement can match', () => {
    const padded = acquirerLine(1, { terminalId: '00001234' });
    const movement = platformMovement('a', { terminalId: '1234' });
    assert.deepEqual(outcomes([padded], [movement]), [['Different', 'terminalId', 'a']]);
    const later = platformMovement('b', { terminalId: '1235', settlementDate: '2026-03-02' });
    const two = [padded, acquirerLine(2, { terminalId: '00001235', settlementDate: '2026-03-03' })];
    assert.deepEqual(outcomes(two, [movement, later]), [
      ['Different', 'terminalId', 'a'],
      ['Different', 'settlementDate', 'terminalId', 'b'],
    ]);
    const twin = platformMovement('b', { terminalId: '1235' });
    assert.deepEqual(outcomes([padded], [movement, twin]), [['MissingHere', undefined]]);
    assert.deepEqual(outcomes([padded, { ...padded, number: 2 }], [movement]), [
      ['MissingHere', undefined],
      ['MissingHere', undefined],
    ]);
    assert.deepEqual(outcomes([{ ...padded, amount: 7 }], [movement]), [
      ['MissingHere', undefined],
    ]);
  });

  // Spec: REP-13
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
    const namesTerminal = fc.infiniteStream(fc.boolean());
    fc.assert(
      fc.property(shuffled, namesTerminal, ([first, second], isNamed) => {
        const lines = first.map(({ terminalId, ...each }, index) => ({
          ...each,
          number: index + 1,
          ...(isNamed.next().value ? { terminalId } : {}),
        })) as AcquirerLine[];
        const movements = second.map((each, index) =>
          platformMovement(`${index}`, each as Partial<PlatformMovement>),
        );
        const matches = matchMovements(lines, movements);
        assert.equal(matches.length, lines.length);
        assert.ok(matches.every(({ outcome }) => outcome === 'Matched'));
        assert.equal(new Set(matches.map((each) => each.ours)).size, movements.length);
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
      acquirerLine(index + 1, { ...each, ...defined({ terminalId }) }),
    );
  const movementsOf = (records: { terminalId: string | undefined }[]) =>
    records.map(({ terminalId = '10000003', ...each }, index) =>
      platformMovement(`${index}`, { ...each, terminalId }),
    );

  // Spec: REP-14
  test('lines that name no terminal take nothing from those that do', () => {
    const ofOwn = (lines: AcquirerLine[], movements: PlatformMovement[]) =>
      matchMovements(lines, movements)
        .filter(
          ({ theirs: { terminalId }, ours: movement }) =>
            movement && movement.terminalId === terminalId,
        )
        .map(({ theirs: { number }, ours: movement }) => [number, movement?.transactionId] as const)
        .sort(([one], [other]) => one - other);
    fc.assert(
      fc.property(side, side, (file, records) => {
        const [lines, movements] = [linesOf(file), movementsOf(records)];
        const linesWithTerminal = lines.filter(({ terminalId }) => terminalId !== undefined);
        assert.deepEqual(ofOwn(lines, movements), ofOwn(linesWithTerminal, movements));
      }),
    );
  });

  test('for random files and movements, each line has one result and each movement is used at most once', () => {
    fc.assert(
      fc.property(side, side, (file, records) => {
        const [lines, movements] = [linesOf(file), movementsOf(records)];
        const matches = matchMovements(lines, movements);
        assert.deepEqual(
          new Set(matches.map(({ theirs: { number } }) => number)).size,
          lines.length,
        );
        const used = matches.flatMap((each) => each.ours ?? []);
        assert.equal(new Set(used).size, used.length);
        for (const { outcome, differences, theirs: line, ours: mine } of matches) {
          const isOther = line.terminalId !== undefined && line.terminalId !== mine?.terminalId;
          if (mine !== undefined) assert.equal(differences.includes('terminalId'), isOther);
          assert.equal(outcome === 'MissingHere', mine === undefined);
          assert.equal(outcome === 'Matched', mine !== undefined && differences.length === 0);
        }
      }),
    );
  });
});
