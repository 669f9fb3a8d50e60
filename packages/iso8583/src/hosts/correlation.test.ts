// The member `correlation` of a table: which response belongs to a request, and which tables are refused.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  builtInHosts,
  compileHost,
  HostTableError,
  type Message,
  readHostTable,
} from '../index.ts';

const base = { name: 'toy', base: 'iso1987-ascii' };
const request: Message = {
  mti: '0200',
  fields: { 3: '000000', 11: '000001', 37: '633423000017', 41: 'TERM0001', 42: 'M1'.padEnd(15) },
};

const correlationOf = (members: object = {}) =>
  compileHost(readHostTable({ ...base, ...members }), { now: Date.now }).correlation;

function isEcho(fields: Message['fields'], echo: object = {}, mti = '0210'): boolean {
  // The numbers of the link let a response omit any other field.
  const { echoesRequest } = correlationOf({ correlation: { fields: [37], echo } });
  return echoesRequest(request, { mti, fields: { ...request.fields, ...fields } });
}

describe('correlation of responses', () => {
  it('a table without the member correlates by class, terminal and trace number', () => {
    const { keyOf } = correlationOf();
    const key = keyOf(request);
    assert.equal(keyOf({ mti: '0210', fields: { 11: '000001', 41: 'TERM0001' } }), key);
    assert.notEqual(keyOf({ mti: '0110', fields: request.fields }), key);
    assert.notEqual(keyOf({ mti: '0210', fields: { 11: '000001', 41: 'TERM0002' } }), key);
    assert.notEqual(keyOf({ mti: '0210', fields: { 11: '000002', 41: 'TERM0001' } }), key);
  });

  it('network messages correlate by trace number in each table', () => {
    for (const fields of [
      [37, 41],
      [11, 41],
    ]) {
      const { keyOf } = correlationOf({ correlation: { fields } });
      const sent = keyOf({ mti: '0800', fields: { 7: '1129120000', 11: '000001', 70: '001' } });
      assert.equal(keyOf({ mti: '0810', fields: { 11: '000001', 39: '00' } }), sent);
      assert.notEqual(keyOf({ mti: '0810', fields: { 11: '000002', 39: '00' } }), sent);
    }
  });

  it('the fields of a table without the member are compared as before', () => {
    assert.equal(isEcho({}), true);
    assert.equal(isEcho({ 42: 'M1' }), true);
    assert.equal(isEcho({ 37: undefined }), true);
    for (const fields of [
      { 3: undefined },
      { 3: '003000' },
      { 11: '000002' },
      { 37: '633423000018' },
      { 41: 'TERM' },
      { 42: undefined },
      { 42: 'M2' },
    ])
      assert.equal(isEcho(fields), false, JSON.stringify(fields));
    assert.equal(isEcho({}, {}, '0230'), false);
    assert.equal(isEcho({}, {}, '0212'), true);
  });

  it('each comparison accepts its values, and no others', () => {
    const cases: [echo: object, fields: Message['fields'], expected: boolean][] = [
      [{ '41': 'EqualTrimmed' }, { 41: '  TERM0001 ' }, true],
      [{ '41': 'EqualTrimmed' }, { 41: 'TERM' }, false],
      [{ '41': 'EqualTrimmed' }, { 41: undefined }, false],
      [{ '41': 'PrefixEqual' }, { 41: 'TERM    ' }, true],
      [{ '41': 'PrefixEqual' }, { 41: 'TERM0001AB' }, true],
      [{ '41': 'PrefixEqual' }, { 41: 'TERX' }, false],
      [{ '41': 'PrefixEqual' }, { 41: '    ' }, false],
      [{ '41': 'PrefixEqual' }, { 41: undefined }, false],
      [{ '41': 'EqualIfPresent' }, { 41: undefined }, true],
      [{ '41': 'EqualIfPresent' }, { 41: 'TERM0001 ' }, true],
      [{ '41': 'EqualIfPresent' }, { 41: 'TERM0002' }, false],
      [{ '41': 'Ignore' }, { 41: 'OTHER' }, true],
      [{ '3': 'PrefixEqual' }, { 3: '003000' }, true],
      [{ '3': 'PrefixEqual' }, { 3: '203000' }, false],
      [{ '3': 'PrefixEqual' }, { 3: undefined }, false],
      [{ '3': 'Ignore' }, { 3: undefined }, true],
    ];
    for (const [echo, fields, expected] of cases)
      assert.equal(isEcho(fields, echo), expected, JSON.stringify([echo, fields]));
  });

  it('the comparisons of a table are added to those of its base', () => {
    const { correlation } = readHostTable({ ...base, correlation: { echo: { '3': 'Ignore' } } });
    const standard = builtInHosts['iso1987-ascii'].correlation;
    assert.deepEqual(correlation, { ...standard, echo: { ...standard.echo, 3: 'Ignore' } });
  });

  it('refuses a table whose responses cannot be assigned to their requests', () => {
    const byHost = { assignedBy: 'Host' };
    const cases: [members: object, pointer: string, advice: RegExp][] = [
      [{ correlation: { fields: [11] } }, '/correlation/fields', /Use 41 with 11 or 37/],
      [{ correlation: { fields: [7, 11] } }, '/correlation/fields', /two terminals of the link/],
      [{ correlation: { fields: [] } }, '/correlation/fields', /must identify a request/],
      [
        { correlation: { fields: [37] }, retrievalReference: { pattern: 'hour:2 stan:10' } },
        '/correlation/fields',
        /number of six digits/,
      ],
      [
        { correlation: { fields: [11] }, traceNumber: { digits: 4, uniqueBy: 'Link' } },
        '/correlation/fields',
        /six digits or more/,
      ],
      [{ correlation: { fields: [11, 35] } }, '/correlation/fields/1', /must be one of/],
      [{ correlation: { echo: { '41': 'Ignore' } } }, '/correlation/fields/0', /"Ignore" in echo/],
      [
        { correlation: { fields: [41, 37], echo: { '37': 'Ignore' } }, retrievalReference: byHost },
        '/correlation/fields/1',
        /assigns its own number/,
      ],
      [
        { retrievalReference: byHost },
        '/correlation/echo/37',
        /must be "Ignore".*assigns its own number/,
      ],
      [
        { correlation: { echo: { '12': 'Equal' } }, omit: [12] },
        '/correlation/echo/12',
        /the table omits it/,
      ],
      [
        { correlation: { fields: [41, 11, 32] }, constants: { '32': '1' } },
        '/correlation/fields/2',
        /replaces it by a constant/,
      ],
      [{ correlation: { echo: { '41': 'Almost' } } }, '/correlation/echo/41', /must be one of/],
      [{ correlation: { echo: { '39': 'Equal' } } }, '/correlation/echo/39', /3, 7, 11, 12, 13/],
      [
        { retrievalReference: { inRequests: 'IfAssigned' } },
        '/retrievalReference/inRequests',
        /"Always"/,
      ],
      [
        { retrievalReference: { pattern: 'day:3 hour:2' } },
        '/retrievalReference/pattern',
        /number/,
      ],
      [
        { retrievalReference: { pattern: 'day:3 number:12' } },
        '/retrievalReference/pattern',
        /does not fit field 37/,
      ],
      [{ traceNumber: { digits: 4 } }, '/traceNumber/digits', /does not fit field 11/],
      [{ omit: [37] }, '/omit/0', /retrieval reference number/],
    ];
    for (const [members, pointer, advice] of cases)
      assert.throws(
        () => readHostTable({ ...base, ...members }),
        (error) =>
          error instanceof HostTableError &&
          error.pointer === pointer &&
          advice.test(error.message),
        JSON.stringify(members),
      );
  });

  it('accepts numbers that are unique on a link', () => {
    const uniqueTables = [
      { correlation: { fields: [37] } },
      { correlation: { fields: [11] }, traceNumber: { uniqueBy: 'Link' } },
      {
        correlation: { fields: [7, 11] },
        traceNumber: { digits: 4, uniqueBy: 'Link' },
        messages: { fields: { '11': { max: 4 } } },
      },
      {
        correlation: { echo: { '37': 'Ignore' } },
        retrievalReference: { assignedBy: 'Host', inRequests: 'IfAssigned' },
        omit: [37],
      },
    ];
    for (const members of uniqueTables) readHostTable({ ...base, ...members });
  });
});
