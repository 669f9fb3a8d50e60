import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileHost, readHostTable } from '@switchyard/iso8583';
import { buildReference, formatStan } from './message-reference.ts';

const numbers = { terminalId: 'TERM0001', terminalNumber: 1, linkNumber: 70_001 };

const referenceOf = (now: number, timeZone: string, linkNumber = numbers.linkNumber) =>
  buildReference({ kind: 'Sale', timeZone }, { ...numbers, linkNumber }, now);

/** The formats of a host table with these members. */
function formatsOf(members: object) {
  const document = { name: 'toy', base: 'iso1987-ascii', ...members };
  const host = compileHost(readHostTable(document), { now: Date.now });
  return { ...host, traceNumber: host.table.traceNumber };
}

test('cached times match the second and time zone of each call', () => {
  const now = Date.parse('2026-12-31T23:30:59.400Z');
  for (let round = 0; round < 2; round += 1) {
    const berlin = referenceOf(now, 'Europe/Berlin');
    assert.equal(`${berlin.localDate} ${berlin.localTime}`, '0101 003059');
    const newYork = referenceOf(now + 599, 'America/New_York');
    assert.equal(`${newYork.localDate} ${newYork.localTime}`, '1231 183059');
    assert.equal(berlin.transmittedAt, '1231233059');
    assert.deepEqual([newYork.stan, newYork.rrn], ['000001', '636523070001']);
    const later = referenceOf(now + 600, 'Europe/Berlin');
    assert.equal(later.transmittedAt, '1231233100');
    assert.equal(`${later.localDate} ${later.localTime}`, '0101 003100');
    assert.equal(referenceOf(now + 1_800_000, 'Europe/Berlin').rrn, '700100070001');
  }
});

test('the retrieval reference number follows the pattern of the host table', () => {
  const now = Date.parse('2026-02-03T04:05:06Z');
  const rrnOf = (pattern: string) =>
    buildReference(
      { kind: 'Sale', timeZone: 'UTC' },
      numbers,
      now,
      formatsOf({
        retrievalReference: { pattern },
        messages: { fields: { '37': { size: 'LL' } } },
      }),
    ).rrn;
  assert.equal(rrnOf('year:1 day:3 number:8'), '603400070001');
  assert.equal(rrnOf('year:2 day:3 hour:2 number:5'), '260340470001');
  assert.equal(rrnOf('number:6'), '070001');
  assert.equal(rrnOf('zeros:6 stan:6'), '000000000001');
});

test('a trace number has the digits of the table, and counts the link if the table says so', () => {
  const { table } = compileHost(
    readHostTable({ name: 'toy', base: 'iso1987-ascii', traceNumber: { uniqueBy: 'Link' } }),
    { now: Date.now },
  );
  assert.equal(formatStan(70_001, table), '070001');
  const now = Date.parse('2026-02-03T04:05:06Z');
  const message = { kind: 'Sale', timeZone: 'UTC' } as const;
  const onLink = buildReference(
    message,
    numbers,
    now,
    formatsOf({ traceNumber: { uniqueBy: 'Link' } }),
  );
  assert.equal(onLink.stan, '070001');
  const fourDigits = { traceNumber: { ...table.traceNumber, digits: 4 } };
  assert.deepEqual(
    [1, 9999, 10_000].map((number) => formatStan(number, fourDigits)),
    ['0001', '9999', '0001'],
  );
});
