import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { FinancialRequest } from '../decisions/read-financial-request.ts';
import { createClearingProcessor } from './process-clearing-file.ts';

const fileId = '01890000-0000-7000-8000-000000000001';
const amounts = [1000, 250];

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'switchyard-clearing-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function lineOf(number: number, amount: number): string {
  const message = `0220|T0000001|${String(number).padStart(6, '0')}|1122013000|63260100000${number}`;
  const sale = `0100|T0000001|${String(number + 50).padStart(6, '0')}|1121120000|63250100005${number}`;
  return `C|${number}|2026-11-21|M1|${amount}|978|F|${message}|${sale}|ABC123|411111******1111\n`;
}

/** A file as it should be, unless a part of it is replaced. */
function fileOf(sequence: number, change: { total?: string; count?: string } = {}): string {
  const header = `H|SWITCHYARD-CLEARING|1|100001|L1|${String(sequence).padStart(6, '0')}|${fileId}|2026-11-22T00:00:01.000Z|${sequence - 1}\n`;
  const body = header + amounts.map((amount, index) => lineOf(index + 1, amount)).join('');
  const hash = 632601000001n + 632601000002n;
  const digest = createHash('sha256').update(body).digest('hex');
  return `${body}T|${change.count ?? 2}|${change.total ?? '978:1250'}|${hash}|${digest}\n`;
}

function desk(code: (request: FinancialRequest) => string = () => '00') {
  const captured: FinancialRequest[] = [];
  const capture = (request: FinancialRequest) => {
    captured.push(request);
    return code(request);
  };
  return { captured, ...createClearingProcessor({ directory, capture, flush() {} }) };
}

const answer = (sequence: number, outcome: string) =>
  `A|SWITCHYARD-CLEARING-ACK|1|${String(sequence).padStart(6, '0')}|${fileId}|${outcome}\n`;

describe('a clearing file at the host', () => {
  it('captures by its lines, and names those that it does not take', () => {
    const { captured, process: take } = desk(({ amount }) => (amount === 250 ? '61' : '00'));
    assert.equal(take(fileOf(1)), `${answer(1, 'Accepted')}R|2|632601000002|61\nT|1|1\n`);
    const [first] = captured;
    assert.equal(first?.key, '022.M1.T0000001.000001.1122013000');
    assert.deepEqual(first?.originalKeys, ['010.M1.T0000001.000051.1121120000']);
    assert.deepEqual([first?.amount, first?.currency, first?.final], [1000, '978', true]);
  });

  it('gets the same answer when it is sent again after a restart, and its captures are marked as repeats', () => {
    const result = desk().process(fileOf(1));
    const later = desk();
    assert.equal(later.process(fileOf(1)), result);
    assert.ok(later.captured.every(({ repeat }) => repeat));
  });

  for (const [what, file, reason] of [
    ['another sum', fileOf(1, { total: '978:1251' }), 'AMOUNT'],
    ['another count', fileOf(1, { count: '3' }), 'COUNT'],
    ['a changed line', fileOf(1).replace('ABC123', 'ABC124'), 'HASH'],
    ['a line that is cut off', fileOf(1).replace('|411111******1111\nT', '\nT'), 'FORMAT'],
    ['a number to come later', fileOf(2), 'SEQUENCE'],
  ] as const) {
    it(`with ${what} is refused as a whole, and captures nothing`, () => {
      const { captured, process: take } = desk();
      assert.match(take(file), new RegExp(`\\|Rejected\\|${reason}\nT\\|0\\|0\n$`));
      assert.deepEqual(captured, []);
      assert.match(take(fileOf(1)), /\|Accepted\n/);
    });
  }

  it('is refused where another file had its number', () => {
    const { process: take } = desk();
    take(fileOf(1));
    const other = fileOf(1).replaceAll('411111******1111', '555555******4444');
    const digest = createHash('sha256')
      .update(other.slice(0, other.lastIndexOf('T|')))
      .digest('hex');
    assert.match(take(other.replace(/[0-9a-f]{64}/, digest)), /Rejected\|DUPLICATE/);
  });

  it('is nothing else', () => {
    assert.throws(() => desk().process('hello'), /not a clearing file/);
  });
});
