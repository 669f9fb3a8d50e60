// The operations of a host table: messages by hand, and the tables that the check refuses.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Fields, Message } from '../message.ts';
import { compileHost } from './compile-host.ts';
import { readHostTable } from './read-host-table.ts';

const now = () => Date.UTC(2026, 10, 22, 2, 0, 0);

const hostOf = (members: object) =>
  compileHost(readHostTable({ name: 'toy', base: 'iso1987-ascii', ...members }), { now });

const terminal = { 4: '000000001234', 11: '000002', 41: 'TERM0001' };
const original90 = '0200000001112203000000000123456'.padEnd(42, '0');
const original = {
  type: '0200',
  stan: '000001',
  rrn: '632602000001',
  approval: 'A1B2C3',
  date: '1122',
  time: '040000',
  terminal: 'TERM0001',
  amount: '000000005000',
};

const followUp = (mti: string, fields: Fields): Message => ({
  mti,
  fields: { 3: '000000', ...terminal, 90: original90, ...fields },
  original,
});

/** A host without field 90 that finds the original by its own numbers. */
const numbers = {
  originalData: null,
  operations: {
    sale: { processingCode: '003000' },
    capture: { type: '0200', processingCode: '903000' },
    void: { type: '0200', processingCode: '023000', omit: [25] },
    reversal: { type: '0400', fromOriginal: [11, 37], constants: { 60: '1' }, omit: [25] },
  },
};

describe('the bytes of an operation', () => {
  // Bits: 3, 4, 11 and 41, so 30 20 00 00 00 80 00 00.
  const bitmap = '3020000000800000';

  it('void as 0200 with its own processing code and without field 90', () => {
    const message = followUp('0420', { 25: '4000' });
    const host = hostOf(numbers);
    const expected = `0200${bitmap}023000000000001234000002TERM0001`;
    assert.equal(host.encode(message).toString('latin1'), expected);
    const repeated = host.encode({ ...message, mti: '0421' }).toString('latin1');
    assert.equal(repeated, `0201${bitmap}023000000000001234000002TERM0001`);
    const { mti, fields, operation } = host.decode(Buffer.from(expected, 'latin1'));
    assert.deepEqual({ mti, ...fields }, { mti: '0420', 3: '000000', ...terminal });
    assert.deepEqual(operation, { name: 'void', processingCode: '023000' });
  });

  it('reversal as 0400 with the numbers of the original, and 0401 for a repetition', () => {
    const host = hostOf(numbers);
    const message = host.takeOriginalNumbers(followUp('0420', { 25: '4021', 37: '632602000002' }));
    // Bits: 3, 4, 11, 37, 41, 60.
    const rest = '3020000008800010003000000000001234000001632602000001TERM00010011';
    assert.equal(host.encode(message).toString('latin1'), `0400${rest}`);
    assert.equal(host.encode({ ...message, mti: '0421' }).toString('latin1'), `0401${rest}`);
    const decoded = host.decode(Buffer.from(`0401${rest}`, 'latin1'));
    assert.equal(decoded.mti, '0421');
    assert.deepEqual(decoded.original, { stan: '000001', rrn: '632602000001' });
    assert.equal(decoded.fields[60], undefined);
  });

  it('an indicator field distinguishes a repetition, and another field names the original', () => {
    const host = hostOf({
      originalData: { field: 61, layout: 'approval:6 rrn:12 amount:12' },
      repeatIndicator: { field: 63, first: '0', repeat: '1' },
      operations: { capture: { type: '0100', omit: [25] } },
    });
    // Bits: 3, 4, 11, 41, 61, 63.
    const sent = (mti: string) => host.encode(followUp(mti, { 25: '00' })).toString('latin1');
    const body =
      '302000000080000A000000000000001234000002TERM0001030A1B2C3632602000001000000005000001';
    assert.equal(sent('0220'), `0100${body}0`);
    assert.equal(sent('0221'), `0100${body}1`);
    const decoded = host.decode(Buffer.from(`0100${body}1`, 'latin1'));
    assert.equal(decoded.mti, '0221');
    const { approval, rrn, amount } = original;
    assert.deepEqual(decoded.original, { approval, rrn, amount });
  });

  it('the original has a trace number of four digits, as field 11', () => {
    const host = hostOf({
      messages: { fields: { 11: { max: 4 } } },
      traceNumber: { digits: 4 },
      originalData: { field: 61, layout: 'stan:4 date:4' },
    });
    const message = followUp('0420', { 11: '0002', 25: '4000' });
    const bytes = host.encode({ ...message, original: { ...original, stan: '0001' } });
    assert.ok(bytes.toString('latin1').endsWith('00800011122'));
    assert.deepEqual(host.decode(bytes).original, { stan: '0001', date: '1122' });
  });

  it('the reason of a reversal is in field 39', () => {
    const host = hostOf({
      reversalReasons: { field: 39, codes: { 4021: '68' }, otherwise: '17' },
      operations: { reversal: { type: '0400' } },
    });
    const { fields } = host.decode(host.encode(followUp('0420', { 25: '4021' })));
    assert.equal(fields[25], '4021');
    const text = host.encode(followUp('0420', { 25: '4000' })).toString('latin1');
    assert.ok(text.includes(`${terminal[11]}0017${terminal[41]}`), text);
  });
});

describe('the response of a host with one message type for several operations', () => {
  const host = hostOf(numbers);
  const sale = { mti: '0200', fields: { 3: '000000', ...terminal } };
  const cancel = followUp('0420', { 25: '4000' });
  /** The host answers with 00 in field 39, and with the processing code, if it repeats it. */
  const answer = (code: string) =>
    Buffer.from(
      `0210${code === '' ? '1' : '3'}020000002800000${code}00000000123400000200TERM0001`,
      'latin1',
    );
  const find = (request: Message) => (response: Message) =>
    response.mti[1] === request.mti[1] ? request : undefined;

  it('belongs to the operation of its processing code, without and with a pending request', () => {
    assert.equal(host.decode(answer('023000')).mti, '0430');
    assert.equal(host.decode(answer('003000')).mti, '0210');
    const { mti, fields } = host.decode(answer('023000'), undefined, find(cancel));
    assert.deepEqual([mti, fields[3], fields[39]], ['0430', '000000', '00']);
  });

  it('belongs to the pending request, if it does not repeat the processing code', () => {
    assert.equal(host.decode(answer(''), undefined, find(cancel)).mti, '0430');
    assert.equal(host.decode(answer(''), undefined, find(sale)).mti, '0210');
  });

  it('keeps the account type that the host filled in', () => {
    const { fields } = host.decode(answer('003020'), undefined, find(sale));
    assert.deepEqual(fields[3], '003020');
  });
});

describe('the check refuses', () => {
  const refusal = (members: object): string => {
    try {
      readHostTable({ name: 'toy', base: 'iso1987-ascii', ...members });
      return '';
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };

  for (const [title, members, message] of [
    [
      'a capture that the host reads as a sale',
      {
        originalData: null,
        operations: { reversal: { fromOriginal: [11] }, capture: { type: '0200' } },
      },
      /^\/operations\/capture cannot be distinguished from sale: .* type 0200 .* 000000 as sale\. Give it another type/,
    ],
    [
      'a reversal without the numbers of its original',
      { originalData: null },
      /^\/operations\/reversal does not identify its original: add stan or rrn to the layout/,
    ],
    [
      'a reversal with a number that the host assigns in its response',
      {
        originalData: { field: 61, layout: 'rrn:12' },
        retrievalReference: { assignedBy: 'Host' },
        correlation: { echo: { 37: 'Ignore' } },
      },
      /^\/operations\/reversal does not identify its original: add stan to the layout/,
    ],
    [
      'a refund without the numbers and the approval code of its original',
      { operations: { refund: { omit: [38, 90] } } },
      /^\/operations\/refund does not identify its original: add stan or rrn or approval/,
    ],
    [
      'a part of the original that is cut',
      { originalData: { field: 61, layout: 'stan:4 rrn:12' } },
      /^\/originalData\/layout changes the part stan: it is 0001 .* must be 900001/,
    ],
    [
      'numbers of the original in a sale',
      { operations: { sale: { fromOriginal: [11] } } },
      /^\/operations\/sale\/fromOriginal is not allowed/,
    ],
    [
      'a constant in the amount',
      { operations: { sale: { constants: { 4: '0'.repeat(12) } } } },
      /^\/operations\/sale\/constants\/4 is not allowed: field 4 contains the amount/,
    ],
    [
      'a message without the terminal',
      { operations: { reversal: { omit: [41] } } },
      /^\/operations\/reversal\/omit\/0 must not be 41/,
    ],
    [
      'a repeat indicator without a value for repetitions',
      { repeatIndicator: { field: 63 } },
      /^\/repeatIndicator\/repeat is missing/,
    ],
    [
      'an unknown operation',
      { operations: { tip: {} } },
      /^\/operations\/tip is not a member here; the members are authorization, /,
    ],
    [
      'the type of a repetition',
      { operations: { void: { type: '0401' } } },
      /^\/operations\/void\/type must be the type of a first copy/,
    ],
  ] as const)
    it(title, () => assert.match(refusal(members), message));
});
