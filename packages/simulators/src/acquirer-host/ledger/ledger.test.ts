// The ledger across restarts, segments and torn files.
import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { defined } from '@switchyard/contract';
import type { Message } from '@switchyard/iso8583';
import { createMessageDecider } from '../decisions/decide-message.ts';
import { createTerminalRequests, repeatMessage } from '../iso8583-client.fixture.ts';
import { formatLedger } from './format-ledger.ts';
import { type Ledger, openLedger } from './ledger.ts';
import { readLedger } from './read-ledger.ts';

describe('the ledger', () => {
  let directory: string;
  let ledger: Ledger;
  let decide: (message: Message) => string | undefined;

  function open(segmentEntries?: number): void {
    ledger = openLedger({ directory, ...defined({ segmentEntries }) });
    const host = createMessageDecider({ ledger, clock: { now: () => 0 } });
    decide = (message) => {
      const decision = host.decide(message, { isSignedOn: true });
      ledger.flush();
      return decision?.answer.fields[39];
    };
  }

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'ledger-'));
    open();
  });
  afterEach(() => {
    ledger.close();
    rmSync(directory, { recursive: true });
  });

  const lastFile = () => join(directory, readdirSync(directory).sort().at(-1) as string);

  it('is the same after a restart', () => {
    const till = createTerminalRequests();
    const [hold, sale] = [till.hold(1000), till.sale(500)];
    const capture = till.capture(hold, 400);
    for (const message of [hold, sale, capture, till.refund(hold, 100), till.sale(9051)]) {
      decide(message);
    }
    const before = ledger.snapshot();
    ledger.close();
    open();
    assert.deepEqual(ledger.snapshot(), before);
    assert.equal(decide(repeatMessage(capture)), '00');
    assert.deepEqual(ledger.snapshot(), before);
    assert.equal(decide(till.capture(hold, 601)), '61');
    assert.equal(decide(till.capture(hold, 600)), '00');
    const [totals] = readLedger(directory).totals;
    assert.deepEqual(totals, {
      merchant: 'MERCHANT0000001',
      currency: '978',
      openHolds: 0,
      captured: 1500,
      refunded: 100,
      reversed: 0,
      net: 1400,
      approvals: 2,
      declines: 2,
      captures: 2,
      refunds: 1,
      reversals: 0,
    });
  });

  it('contains only masked card numbers and no other card data', () => {
    const till = createTerminalRequests();
    decide(
      till.sale(1000, {
        35: '5413330089010012=28122010000000000000',
        48: '9203737',
        52: '1B9C1845EB993A7A',
        55: '9F2608584FD385FA234BCC',
      }),
    );
    const text = readFileSync(lastFile(), 'utf8');
    assert.match(text, /541333\*{6}0012/);
    assert.doesNotMatch(text, /5413330089010012|2812201|9203737|1B9C1845|9F2608/);
  });

  it('survives a torn last line and a segment that was only begun', () => {
    const till = createTerminalRequests();
    decide(till.sale(1000));
    ledger.close();
    appendFileSync(lastFile(), '{"at":"1970-01-01T00:00:00.000Z","key":"02');
    open();
    decide(till.sale(2000));
    ledger.close();
    writeFileSync(join(directory, 'ledger-000002.jsonl'), '{"segment":2,');
    assert.equal(readLedger(directory).totals[0]?.captured, 3000);
    open();
    decide(till.sale(4000));
    const { totals, faults } = readLedger(directory);
    assert.equal(totals[0]?.captured, 7000);
    assert.deepEqual(faults, []);
  });

  it('says where a line cannot be read', () => {
    decide(createTerminalRequests().sale(1000));
    ledger.close();
    appendFileSync(lastFile(), 'nonsense\n');
    assert.throws(() => openLedger({ directory }), /ledger-000001\.jsonl: line 3 is not JSON/);
  });

  it('holds two segments in memory and finds older messages on disk', () => {
    ledger.close();
    open(10);
    const till = createTerminalRequests();
    const [hold, sale, declined] = [till.hold(1000), till.sale(500), till.sale(9051)];
    const refund = till.refund(sale, 200);
    for (const message of [hold, sale, declined, refund]) decide(message);
    for (let iteration = 0; iteration < 100; iteration++) decide(till.sale(1));
    assert.equal(readdirSync(directory).length, 11);
    const { complete, originals, entries } = ledger.snapshot();
    assert.equal(complete, false);
    assert.ok(originals.length <= 20);
    assert.equal(entries, 104);
    ledger.close();
    open(10);
    assert.equal(decide(repeatMessage(refund)), '00', 'answered as before');
    assert.equal(decide(repeatMessage(declined)), '51');
    assert.equal(decide(till.refund(sale, 301)), '61');
    assert.equal(decide(till.refund(sale, 300)), '00');
    assert.equal(decide(till.capture(hold, 400)), '00');
    for (let iteration = 0; iteration < 30; iteration++) decide(till.sale(1));
    assert.equal(decide(till.reversal(hold)), '61');
    assert.equal(decide(till.reversal(hold, 400)), '00');
    assert.equal(decide(till.reversal(till.sale(1))), '25');
    const report = readLedger(directory);
    assert.deepEqual(report.faults, []);
    assert.deepEqual(report.totals, ledger.snapshot().totals);
    assert.deepEqual(report.totals[0]?.captured, 500 + 400 + 130);
    assert.deepEqual(report.totals[0]?.refunded, 500);
    assert.deepEqual(report.totals[0]?.reversed, 600);
    const few = readLedger(directory, { originalsMax: 5 });
    assert.equal(few.originals.length, 5);
    assert.equal(few.originalsLeftOut, report.originals.length - 5);
    assert.deepEqual(few.totals, report.totals);
    assert.deepEqual(few.faults, []);
  });

  it('reports faults after its file is edited', () => {
    ledger.close();
    open(2);
    const till = createTerminalRequests();
    for (let iteration = 0; iteration < 3; iteration++) decide(till.sale(1000));
    const path = join(directory, 'ledger-000001.jsonl');
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace('"held":1000,"captured":1000', '"held":1000,"captured":2000'));
    const { faults } = readLedger(directory);
    assert.equal(faults.length, 2);
    assert.match(faults.join(), /amounts above their limits.*not the change of the original/);
    writeFileSync(path, text.split('\n').toSpliced(1, 1).join('\n'));
    assert.match(readLedger(directory).faults.join(), /opening sums differ/);
  });

  it('prints itself as a table', () => {
    const till = createTerminalRequests();
    decide(till.sale(123_456));
    decide(till.hold(500, { 49: '392' }));
    decide(till.sale(9051, { 49: '000' }));
    const lines = formatLedger(readLedger(directory), 2).split('\n');
    assert.match(lines[0] ?? '', /^terminal +rrn +kind +card/);
    assert.match(lines.join('\n'), /TERM0001 .* hold .* 541333\*{6}0012 .* 500 JPY/);
    assert.match(lines.join('\n'), /1 older ones left out/);
    assert.match(lines.join('\n'), /MERCHANT0000001 .* 1234\.56 EUR/);
    assert.match(lines.join('\n'), /3 entries, in balance/);
    const widths = lines.filter((line) => /^-/.test(line)).map((line) => line.length);
    assert.equal(widths.length, 2);
  });
});
