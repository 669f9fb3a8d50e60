// Host tables: conversion of canonical messages to the host form and back.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileDialect, type TextErrorPolicy } from '../compile-dialect.ts';
import type { Message } from '../message.ts';
import { builtInHosts } from './built-in.ts';
import { type CompiledHost, compileHost } from './compile-host.ts';
import type { HostTable } from './host-table.ts';
import { HostTableError } from './host-table-error.ts';
import { readHostTable } from './read-host-table.ts';

const now = () => Date.UTC(2026, 10, 22, 2, 0, 0);
const hostOf = (table: HostTable) => compileHost(table, { now });
const builtIn = (name: keyof typeof builtInHosts) => hostOf(builtInHosts[name]);

const sale: Message = {
  mti: '0200',
  fields: {
    2: '4111111111111111',
    3: '000000',
    4: '000000001234',
    7: '1122020000',
    11: '000001',
    12: '030000',
    13: '1122',
    14: '3012',
    18: '5411',
    22: '051',
    23: '001',
    25: '00',
    32: '123456',
    37: '632602000001',
    41: 'TERM0001',
    42: 'M00000000000001',
    49: '978',
    52: '0123456789ABCDEF',
    53: '0001000000000000',
    55: '9F2608AABBCCDD11223344',
  },
};

const reversal: Message = {
  mti: '0420',
  fields: {
    2: '4111111111111111',
    3: '000000',
    4: '000000000234',
    7: '1122020005',
    11: '000002',
    12: '030005',
    13: '1122',
    25: '4021',
    32: '123456',
    41: 'TERM0001',
    42: 'M00000000000001',
    49: '978',
    90: '0200000001112203000000000123456'.padEnd(42, '0'),
    95: '000000001000'.padEnd(42, '0'),
  },
};

const echoed = (host: ReturnType<typeof hostOf>, message: Message) =>
  host.decode(host.encode(message));

describe('every built-in host', () => {
  for (const name of Object.keys(builtInHosts) as (keyof typeof builtInHosts)[]) {
    it(`${name} decodes an encoded message to the same content`, () => {
      const host = builtIn(name);
      assert.deepEqual(echoed(host, sale), sale);
      const network = { mti: '0800', fields: { 7: '1122020000', 11: '000001', 70: '301' } };
      assert.deepEqual(echoed(host, network), network);
      const key = `PT01A1B2C3${'0123456789ABCDEF'.repeat(2)}`;
      const change = { mti: '0800', fields: { 7: '1122020000', 11: '000002', 48: key, 70: '101' } };
      assert.deepEqual(echoed(host, change), change);
      const answer = { mti: '0210', fields: { 4: '000000001234', 11: '000001', 39: '51' } };
      assert.deepEqual(echoed(host, answer), answer);
    });
  }

  it('of 1987 has no words for a reason, and one of 1993 has', () => {
    const fields = { ...reversal.fields, 25: '00' };
    for (const name of ['iso1987-binary', 'iso1987-ascii'] as const) {
      assert.deepEqual(echoed(builtIn(name), reversal), { mti: '0420', fields });
    }
    assert.deepEqual(echoed(builtIn('iso1993-ascii'), reversal), reversal);
  });
});

describe('1993', () => {
  const { messages } = builtInHosts['iso1993-ascii'];
  const wire = hostOf({ ...builtInHosts['iso1987-ascii'], messages, version: '1' });
  /** As it is on the wire: read by the fields alone, without any meaning. */
  const rawOf = (message: Message) => {
    const raw = wire.decode(builtIn('iso1993-ascii').encode(message));
    return { ...raw.fields };
  };

  it('has one field for date and time, function codes and codes of its own for the rest', () => {
    const raw = rawOf(sale);
    assert.equal(raw[12], '261122030000');
    assert.equal(raw[13], undefined);
    assert.equal(raw[24], '200');
    assert.equal(raw[22], '510101511344');
    const answer = rawOf({ mti: '0210', fields: { 11: '000001', 39: '00' } });
    assert.equal(answer[39], '000');
    const refused = rawOf({ mti: '0210', fields: { 11: '000001', 39: '51' } });
    assert.equal(refused[39], '116');
    const unknown = rawOf({ mti: '0210', fields: { 11: '000001', 39: '77' } });
    assert.equal(unknown[39], '909');
    const reversalAnswer = rawOf({ mti: '0430', fields: { 11: '000001', 39: '00' } });
    assert.equal(reversalAnswer[39], '400');
  });

  it('does not read an approval code of a reversal or network message as an approval of a sale', () => {
    const host = builtIn('iso1993-ascii');
    const read = (mti: string, code: string) =>
      host.decode(wire.encode({ mti, fields: { 11: '000001', 39: code } })).fields[39];
    for (const mti of ['0110', '0210', '0230']) {
      assert.deepEqual([read(mti, '400'), read(mti, '800')], ['400', '800'], mti);
      assert.deepEqual([read(mti, '000'), read(mti, '116')], ['00', '51'], mti);
    }
    // Out of order, still at work: no decision was made.
    const faults = ['903', '906', '907', '908', '909', '910', '911', '912', '923'];
    const meant = ['19', '90', '91', '92', '96', '91', '68', '91', '09'];
    assert.deepEqual(
      faults.map((code) => read('0230', code)),
      meant,
    );
    // An advice whose money somebody answers for is taken; one for whose money nobody does stays open.
    assert.deepEqual([read('0230', '901'), read('0230', '900')], ['00', '900']);
    assert.deepEqual([read('0210', '905'), read('0230', '915')], ['58', '96']);
    for (const code of ['916', '917', '918', '919', '920', '921', '922']) {
      assert.equal(read('0230', code), '96', code);
    }
    assert.equal(rawOf({ mti: '0210', fields: { 11: '000001', 39: '96' } })[39], '909');
    assert.deepEqual([read('0430', '400'), read('0430', '000')], ['00', '00']);
    assert.deepEqual([read('0430', '800'), read('0430', '914')], ['800', '25']);
    assert.deepEqual([read('0810', '800'), read('0810', '400')], ['00', '400']);
  });

  it('reads a response code by the message type if a table contains the code for both types', () => {
    const host = hostOf({
      ...builtInHosts['iso1993-ascii'],
      responseCodes: { financial: { '000': '00', '400': '05' }, reversal: { '400': '00' } },
    });
    const read = (mti: string) =>
      host.decode(wire.encode({ mti, fields: { 11: '000001', 39: '400' } })).fields[39];
    assert.deepEqual([read('0210'), read('0430')], ['05', '00']);
  });

  it('has a function code for an advice of an offline sale, and another for a capture', () => {
    const offlineSale = { mti: '0220', fields: { ...sale.fields, 39: '00' } };
    assert.equal(rawOf(offlineSale)[24], '200');
    assert.equal(rawOf({ ...offlineSale, mti: '0221' })[24], '200');
    assert.equal(rawOf({ mti: '0220', fields: sale.fields })[24], '201');
    assert.equal(rawOf({ mti: '0230', fields: { 11: '000001', 39: '00' } })[24], '201');
  });

  it('says of a mail or telephone order that the cardholder is absent, and not which of both', () => {
    const order = { mti: '0200', fields: { ...sale.fields, 22: '012', 25: '08' } };
    const raw = rawOf(order);
    assert.deepEqual([raw[22], raw[25]], ['600110600340', '1808']);
    assert.deepEqual(echoed(builtIn('iso1993-ascii'), order), order);
  });

  it('has the original in DE56, the old and remaining amounts in DE30 and DE4, and the reason in DE25', () => {
    const raw = rawOf(reversal);
    assert.equal(raw[56], '120000000126112203000006123456');
    assert.equal(raw[90], undefined);
    assert.deepEqual([raw[4], raw[30]], ['000000001000', '000000001234'.padEnd(24, '0')]);
    assert.deepEqual([raw[24], raw[25]], ['401', '4021']);
  });

  it('reads the response to a partial reversal with and without the original amount', () => {
    const host = builtIn('iso1993-ascii');
    const read = (fields: Message['fields'], selectedHost = host) =>
      selectedHost.decode(
        wire.encode({ mti: '0430', fields: { 11: '000002', 39: '400', ...fields } }),
      ).fields;
    const stays = '000000001000';
    const converted = read({ 4: stays, 30: '000000001234'.padEnd(24, '0') });
    assert.deepEqual([converted[4], converted[95]], ['000000000234', stays.padEnd(42, '0')]);
    const convertedWithoutOriginal = read({ 4: stays });
    assert.deepEqual(
      [convertedWithoutOriginal[4], convertedWithoutOriginal[95]],
      [stays, undefined],
    );
    // A host that never says what was there before.
    const { replacement } = builtInHosts['iso1993-ascii'];
    const layout = { ...replacement, layout: 'remaining:12 zeros:12' };
    const terse = hostOf({ ...builtInHosts['iso1993-ascii'], replacement: layout });
    const repeated = read({ 4: stays, 30: stays.padEnd(24, '0') }, terse);
    assert.deepEqual([repeated[4], repeated[30], repeated[95]], [stays, undefined, undefined]);
  });

  it('gives a date of December the year that is over', () => {
    const january = compileHost(builtInHosts['iso1993-ascii'], {
      now: () => Date.UTC(2027, 0, 1, 0, 30),
    });
    const late = { mti: '0200', fields: { 11: '000001', 12: '235900', 13: '1231' } };
    const raw = wire.decode(january.encode(late));
    assert.equal(raw.fields[12], '261231235900');
    const early = { mti: '0200', fields: { 11: '000001', 12: '003000', 13: '0102' } };
    assert.equal(wire.decode(january.encode(early)).fields[12], '270102003000');
  });
});

describe('a field with invalid characters', () => {
  const table = readHostTable({
    name: 'toy',
    base: 'iso1987-binary',
    replacement: { field: 120 },
    messages: { fields: { '120': { content: 'an', size: 'fixed', max: 42 } } },
  });
  const lenient = Object.entries(table.messages.fields).map(([field, format]) => [
    field,
    format.content === 'an' ? { ...format, content: 'ans' } : format,
  ]);
  const sender = compileDialect({ ...table.messages, fields: Object.fromEntries(lenient) });
  const answer = { 11: '000001', 39: '00', 41: 'TERM0001', 49: '978' };
  const policyOf = (host: CompiledHost, ignored: (number | undefined)[] = []): TextErrorPolicy => ({
    canIgnore: host.canIgnoreField,
    onIgnored: ({ field }) => ignored.push(field),
  });
  /** Decodes an answer with one field that has an invalid hyphen. */
  const decode = (members: object) => {
    const ignored: (number | undefined)[] = [];
    const bytes = sender.encode({ mti: '0210', fields: { ...answer, ...members } });
    const host = hostOf(table);
    const { fields } = host.decode(bytes, policyOf(host, ignored));
    return { fields, ignored };
  };

  it('is left out if no decision depends on it, and the fields after it are read', () => {
    assert.deepEqual(decode({ 91: '-', 102: 'A' }), {
      fields: { ...answer, 102: 'A' },
      ignored: [91],
    });
    const bytes = Buffer.from(
      sender.encode({ mti: '0210', fields: { ...answer, 48: 'XXXXXXXX' } }),
    );
    bytes.set([0xdf, 0x01, 0x04, 0x41], bytes.indexOf('XXXXXXXX'));
    const host = hostOf(table);
    assert.deepEqual(host.decode(bytes, policyOf(host)).fields, answer);
    assert.throws(() => host.decode(bytes), /content_invalid in DE48/);
  });

  it('refuses the message if a decision depends on the field', () => {
    const wrong = { 38: '-'.repeat(6), 39: '-0', 49: '97-', 120: '-'.repeat(42) };
    for (const [field, value] of Object.entries(wrong)) {
      assert.throws(() => decode({ [field]: value }), new RegExp(`content_invalid in DE${field} `));
    }
  });

  it('refuses a message whose authentication code covers the whole message', () => {
    const mac = {
      algorithm: 'AesCmac',
      place: 128,
      over: 'WholeMessage',
      messages: 'All',
    } as const;
    const bytes = sender.encode({
      mti: '0210',
      fields: { ...answer, 91: '-', 128: '0'.repeat(16) },
    });
    const read = (over: 'WholeMessage' | 'BeforeField') => {
      const host = hostOf({ ...table, mac: { ...mac, over } });
      return host.decodeWithMac(bytes, policyOf(host));
    };
    assert.throws(() => read('WholeMessage'), /content_invalid in DE91/);
    assert.deepEqual(read('BeforeField').message.fields, answer);
  });
});

describe('message authentication', () => {
  const mac = { algorithm: 'AesCmac', messages: 'Financial' } as const;
  const code = Buffer.from('A1A2A3A4A5A6A7A8FFFF', 'hex');

  it('is the last field and covers the fields before it', () => {
    const table = {
      ...builtInHosts['iso1987-binary'],
      mac: { ...mac, place: 'Last', over: 'BeforeField' },
    } as const;
    const host = hostOf(table);
    for (const message of [sale, { mti: '0420', fields: { ...reversal.fields, 25: '00' } }]) {
      const { over, seal } = host.encodeWithoutMac(message);
      const bytes = seal(code);
      assert.equal(bytes.subarray(-8).toString('hex'), 'a1a2a3a4a5a6a7a8');
      assert.deepEqual(bytes.subarray(0, -8), over);
      const opened = host.decodeWithMac(bytes);
      assert.deepEqual(opened.message, message);
      assert.deepEqual(opened.over, over);
      assert.equal(opened.code?.toString('hex'), 'a1a2a3a4a5a6a7a8');
    }
    assert.equal(host.requiresMac('0200'), true);
    assert.equal(host.requiresMac('0800'), false);
    assert.equal(host.decodeWithMac(host.encode(sale)).code, undefined);
  });

  it('is in DE64 of a longer message and covers the whole message with zeros in DE64', () => {
    const table = {
      ...builtInHosts['iso1987-ascii'],
      mac: { ...mac, place: 64, over: 'WholeMessage' },
    } as const;
    const host = hostOf(table);
    const plain = { mti: '0420', fields: { ...reversal.fields, 25: '00' } };
    const { over, seal } = host.encodeWithoutMac(plain);
    const bytes = seal(code);
    assert.equal(bytes.length, over.length);
    assert.ok(over.includes('0'.repeat(16)));
    assert.ok(bytes.includes('A1A2A3A4A5A6A7A8'));
    const opened = host.decodeWithMac(bytes);
    assert.deepEqual(opened.over, over);
    assert.deepEqual(opened.message, plain);
  });
});

describe('a table in JSON', () => {
  it('contains only the differences from its base table', () => {
    const table = readHostTable({
      name: 'toy',
      base: 'iso1987-binary',
      framing: { length: 'bcd2', inclusive: true, tpduBytes: 5, tpdu: '6000010000' },
      messages: {
        bitmap: 'hex',
        fields: { '62': null, '60': { content: 'n', size: 'fixed', max: 4 } },
      },
      reversalReasons: { field: 60, codes: { '4021': '0068' }, otherwise: '0017' },
      constants: { '24': '001' },
      omit: [18],
      network: { codes: { echo: '303' } },
    });
    assert.equal(table.messages.bitmap, 'hex');
    assert.equal(table.messages.fields[62], undefined);
    assert.equal(table.messages.fields[60]?.name, 'Reserved, private');
    assert.deepEqual(table.framing, {
      length: 'bcd2',
      inclusive: true,
      tpduBytes: 5,
      tpdu: '6000010000',
    });
    assert.equal(table.network.codes.echo, '303');
    assert.equal(table.network.codes.signOn, '001');
    const host = hostOf(table);
    assert.deepEqual(echoed(host, reversal), reversal);
    const other = { mti: '0420', fields: { 11: '000001', 25: '4351' } };
    assert.deepEqual(echoed(host, other).fields, { 11: '000001', 25: '00', 60: '0017' });
  });

  const reasonIn60 = {
    name: 'toy',
    base: 'iso1987-binary',
    messages: { fields: { '60': { content: 'n', size: 'fixed', max: 4 } } },
    reversalReasons: { field: 60, codes: { '4021': '0068' }, otherwise: '0017' },
  };
  const remoteReversal = { mti: '0420', fields: { ...reversal.fields, 22: '012' } };
  /** DE25 and DE60 as the host reads them. */
  const rawFields = (document: unknown, message: Message) => {
    const { reversalReasons: _reasons, ...plain } = readHostTable(document);
    const { fields } = hostOf(plain).decode(hostOf(readHostTable(document)).encode(message));
    return [fields[25], fields[60]];
  };

  it('encodes the condition code of a remote order in addition to the reason of its reversal', () => {
    assert.deepEqual(rawFields(reasonIn60, remoteReversal), ['08', '0068']);
    assert.deepEqual(rawFields(reasonIn60, reversal), ['00', '0068']);
    const silent = { name: 'toy', base: 'iso1987-binary' };
    assert.deepEqual(rawFields(silent, remoteReversal), ['08', undefined]);
    assert.deepEqual(echoed(hostOf(readHostTable(reasonIn60)), remoteReversal), remoteReversal);
  });

  it('says why although DE25 is left out, or its field has a constant', () => {
    assert.deepEqual(rawFields({ ...reasonIn60, omit: [25] }, reversal), [undefined, '0068']);
    const host = hostOf(readHostTable({ ...reasonIn60, constants: { '60': '0000' } }));
    assert.equal(echoed(host, reversal).fields[25], '4021');
  });

  it('removes a member or a field of its base table with the value null', () => {
    const table = readHostTable({
      name: 'bare',
      base: 'iso1993-ascii',
      reversalReasons: null,
      securityControl: null,
      messages: { fields: { '55': null } },
      omit: [55],
    });
    assert.equal('reversalReasons' in table, false);
    const { 53: _control, 55: _chip, ...fields } = sale.fields;
    assert.deepEqual(echoed(hostOf(table), sale).fields, fields);
  });

  it('is refused with the place of its fault', () => {
    const base = { name: 'toy', base: 'iso1987-binary' };
    const faults: [unknown, string][] = [
      [{ base: 'iso1987-binary' }, '/name'],
      [{ name: 'toy' }, '/base'],
      [{ ...base, name: 'Toy' }, '/name'],
      [{ ...base, base: 'iso2021' }, '/base'],
      [{ ...base, colour: 'red' }, '/colour'],
      [{ ...base, messages: { bitmap: 'octal' } }, '/messages/bitmap'],
      [{ ...base, messages: { fields: { '65': { max: 1 } } } }, '/messages/fields/65'],
      [{ ...base, messages: { fields: { '200': { max: 1 } } } }, '/messages/fields/200'],
      [
        { ...base, messages: { fields: { '4': { content: 'ans', encoding: 'bcd' } } } },
        '/messages/fields/4',
      ],
      [{ ...base, framing: { tpduBytes: 5 } }, '/framing/tpdu'],
      [{ ...base, originalData: { layout: 'type:4 colour:3' } }, '/originalData/layout'],
      [{ ...base, originalData: { layout: 'type:* stan:6' } }, '/originalData/layout'],
      [{ ...base, mac: { algorithm: 'AesCmac' } }, '/mac/place'],
      [{ ...base, omit: [1] }, '/omit/0'],
      [[], ''],
      ['toy', ''],
    ];
    for (const [document, pointer] of faults) {
      assert.throws(
        () => readHostTable(document),
        (error) => error instanceof HostTableError && error.pointer === pointer,
        JSON.stringify(document),
      );
    }
    const early = { algorithm: 'AesCmac', place: 64, over: 'BeforeField', messages: 'All' };
    assert.throws(() => readHostTable({ ...base, mac: early }), /\/mac\/over must be WholeMessage/);
  });

  it('is refused if a constant or an omitted field removes a required field', () => {
    const base = { name: 'toy', base: 'iso1987-binary' };
    const problemOf = (members: object, from = base) => {
      try {
        readHostTable({ ...from, ...members });
      } catch (error) {
        if (error instanceof HostTableError) return error.message;
        throw error;
      }
      return undefined;
    };
    for (const field of [2, 3, 4, 7, 11, 37, 41, 42, 49, 90]) {
      const constant = problemOf({ constants: { [field]: '1' } });
      assert.match(constant ?? '', new RegExp(`^/constants/${field} is not allowed: field`));
      const omitted = problemOf({ omit: [18, 13, field] });
      assert.match(omitted ?? '', new RegExp(`^/omit/2 must not be ${field}: this field contains`));
    }
    assert.throws(
      () => readHostTable({ ...base, omit: [49, 95] }),
      (error: HostTableError) =>
        error.mistakes.map(({ pointer }) => pointer).join() === '/omit/0,/omit/1',
    );
    assert.equal(
      problemOf({ omit: [90], originalData: null }),
      '/omit/0 must not be 90: the platform does not send it with this originalData. Remove it from omit',
    );
    assert.equal(problemOf({ constants: { '43': 'Northgate Bank'.padEnd(40) } }), undefined);
    assert.match(problemOf({ constants: { '43': 'Northgate Bank' } }) ?? '', /fixed length 40/);
    assert.equal(
      problemOf({ constants: { '48': '0102PO0203ABC' } }),
      '/constants/48 is not allowed: field 48 contains the security code, the address check and new keys. ' +
        'Remove this constant',
    );
    const moved = { keyChange: { field: 120 }, constants: { '120': '1' } };
    assert.match(problemOf(moved) ?? '', /^\/constants\/120 .* keyChange writes field 120/);
    const for1993 = { ...base, base: 'iso1993-ascii' };
    for (const [field, member] of [
      [24, 'network'],
      [30, 'replacement'],
      [56, 'originalData'],
    ] as const) {
      const problem = problemOf({ constants: { [field]: '1' } }, for1993);
      assert.match(problem ?? '', new RegExp(`${member} writes field ${field}`));
    }
    assert.equal(problemOf({ constants: { '24': '001' }, omit: [18, 48] }), undefined);
    assert.equal(problemOf({ omit: [7] }), undefined, 'the local time replaces it');
  });

  const host1987 = { name: 'toy', base: 'iso1987-binary' };
  const host1993 = { name: 'toy', base: 'iso1993-ascii' };
  const wrongTables: [string, object, RegExp][] = [
    [
      'a replacement in the amount',
      { ...host1987, replacement: { field: 4, layout: 'remaining:12' } },
      /^\/replacement\/field must not be 4: this field contains the amount$/,
    ],
    [
      'a reversal reason in the amount',
      {
        ...host1987,
        reversalReasons: { field: 4, codes: { '4021': '000000000001' }, otherwise: '000000000000' },
      },
      /^\/reversalReasons\/field must not be 4: this field contains the amount$/,
    ],
    [
      'original data in the reference number',
      { ...host1987, originalData: { field: 37, layout: 'stan:6 zeros:6' } },
      /^\/originalData\/field must not be 37: this field contains the retrieval reference number$/,
    ],
    [
      'a reversal reason in the field of the original data',
      { ...host1993, reversalReasons: { field: 56, codes: {}, otherwise: '4000' } },
      /^\/reversalReasons\/field must not be 56: originalData writes this field$/,
    ],
    [
      'original data in the field of the function code',
      { ...host1993, originalData: { field: 24 } },
      /^\/originalData\/field must not be 24: functionCodes writes this field$/,
    ],
    [
      'a network code in the trace number',
      { ...host1987, network: { field: 11 } },
      /^\/network\/field must not be 11: this field contains the trace number$/,
    ],
    [
      'a new key in the field of the network code',
      { ...host1987, keyChange: { field: 70 } },
      /^\/keyChange\/field must not be 70: network writes this field$/,
    ],
    [
      'no original data',
      { ...host1987, messages: { fields: { '90': null } } },
      /^\/messages\/fields\/90 does not allow the sample message "capture": the table has no such field$/,
    ],
    [
      'no replacement amounts',
      { ...host1987, messages: { fields: { '95': null } } },
      /^\/messages\/fields\/95 does not allow the sample message "partial": the table has no such field$/,
    ],
    [
      'no amount',
      { ...host1987, messages: { fields: { '4': null } } },
      /^\/messages\/fields\/4 does not allow the sample message "sale": the table has no such field$/,
    ],
    [
      'a short amount',
      { ...host1987, messages: { fields: { '4': { max: 6 } } } },
      /^\/messages\/fields\/4 does not allow the sample message "sale": the field has the fixed length 6$/,
    ],
    [
      'original data without all digits of the trace number',
      { ...host1987, originalData: { layout: 'type:4 stan:3 sent:10 zeros:25' } },
      /^\/originalData changes the original message: field 90 of the sample message "capture" is 02000000010131120000 after .* must be 02009000010131120000$/,
    ],
    [
      'a remaining amount without all digits',
      { ...host1987, replacement: { layout: 'remaining:6 zeros:36' } },
      /^\/replacement changes the remaining amount of a partial reversal: field 95 of the sample message "partial" is 0000000010000/,
    ],
    [
      'response codes that replace the approval of an offline sale',
      { ...host1987, responseCodes: { financial: { '91': '96' } } },
      /^\/responseCodes changes the response code, .*: field 39 of the sample message "offline" is 96 after encoding and decoding, and must be 00$/,
    ],
    [
      'binary data in field 48, without omitting the security code',
      { ...host1987, messages: { fields: { '48': { content: 'b', size: 'LLL', max: 200 } } } },
      /^\/messages\/fields\/48 does not allow the sample message "keyed": the field does not allow these characters\. Change its format, or add it to omit$/,
    ],
    [
      'no chip data, without omitting it',
      { ...host1987, messages: { fields: { '55': null } } },
      /^\/messages\/fields\/55 does not allow the sample message "chip": the table has no such field\. Change its format, or add it to omit$/,
    ],
    [
      'too little space for track 2',
      { ...host1987, messages: { fields: { '35': { max: 36 } } } },
      /^\/messages\/fields\/35 does not allow the sample message "chip": the field has the maximum length 36\. Change its format, or add it to omit$/,
    ],
    [
      'too little space for a new key',
      { ...host1987, keyChange: { field: 44 } },
      /^\/messages\/fields\/44 does not allow the sample message "key": the field has the maximum length 25\. Change its format, or add it to omit$/,
    ],
    [
      'neither the card number nor track 2',
      { ...host1993, omit: [35] },
      /^\/messages\/fields\/2 changes the card number: field 2 of the sample message "chip" is missing/,
    ],
    [
      'no entry mode of a magnetic stripe',
      { ...host1993, entryModes: { '051': '510101511344' } },
      /^\/messages\/fields\/22 does not allow the sample message "chip": the field has the fixed length 12\. Change its format, or add it to omit$/,
    ],
    [
      'an omitted function code',
      { ...host1993, omit: [24] },
      /^\/omit\/0 must not be 24: network writes this field$/,
    ],
    [
      'an omitted reversal reason',
      { ...host1993, omit: [18, 25] },
      /^\/omit\/1 must not be 25: reversalReasons writes this field$/,
    ],
    [
      'no function codes',
      { ...host1993, functionCodes: null },
      /^\/functionCodes is missing: a host with ISO 8583:1993 distinguishes messages by field 24/,
    ],
    [
      'no function code of a partial reversal',
      {
        ...host1993,
        functionCodes: {
          '0100': '100',
          '0200': '200',
          '0220': '201',
          '0220 offline': '200',
          '0420': '400',
        },
      },
      /^\/functionCodes\/0420 partial is missing: a host with ISO 8583:1993/,
    ],
  ];
  for (const [content, document, message] of wrongTables) {
    it(`is refused with ${content}`, () => {
      assert.throws(() => readHostTable(document), { name: 'HostTableError', message });
    });
  }

  it('can have no field for a PIN block', () => {
    const table = readHostTable({ ...host1987, messages: { fields: { '52': null } } });
    assert.equal(table.messages.fields[52], undefined);
  });

  it('can have a PIN block of 8 or 16 bytes, and no other length', () => {
    const withPinBlock = (max: number) =>
      readHostTable({ ...host1987, messages: { fields: { '52': { max } } } });
    for (const max of [8, 16]) assert.equal(withPinBlock(max).messages.fields[52]?.max, max);
    assert.throws(() => withPinBlock(12), /"chip": the field has the fixed length 12/);
  });

  it('can read field 48 as bytes if it omits that field in requests', () => {
    const fields = { '48': { content: 'b', size: 'LLL', max: 200 } };
    const host = hostOf(readHostTable({ ...host1987, messages: { fields }, omit: [48] }));
    const answer = { mti: '0210', fields: { 11: '000001', 39: '00' } };
    const bytes = compileDialect(host.table.messages).encode({
      ...answer,
      fields: { ...answer.fields, 48: 'DF010441434D45' },
    });
    assert.equal(host.decode(bytes).fields[39], '00');
  });

  it('can move the network code to field 3, omit institutions of the original, and use one code for two functions', () => {
    readHostTable({
      ...host1987,
      network: {
        field: 3,
        codes: {
          signOn: '920000',
          signOff: '930000',
          echo: '920000',
          keyChange: '940000',
          keyRequest: '940000',
        },
      },
      originalData: { layout: 'type:4 stan:6 sent:10 zeros:22' },
      messages: { fields: { '18': null, '48': null, '55': null } },
      omit: [18, 48, 55],
    });
    readHostTable({ ...host1993, replacement: { layout: 'remaining:12 zeros:12' } });
  });

  it('is refused if a code does not fit its field or has no meaning', () => {
    const faults: [object, RegExp][] = [
      [
        { responseCodes: { financial: { '961': '68' } } },
        /^\/responseCodes\/financial\/961 has the value 961, which does not fit field 39: the field has the fixed length 2$/,
      ],
      [
        { responseCodes: { financial: { '96': 'Unknown' } } },
        /^\/responseCodes\/financial\/96 must be a response code of two characters .* such as 05 or 68$/,
      ],
      [{ responseCodes: { reversal: { '00': '0' } } }, /^\/responseCodes\/reversal\/00 must be/],
      [
        { responseCodes: { '96': '68' } },
        /^\/responseCodes\/96 is not a member here; the members are financial, reversal, network$/,
      ],
      [{ constants: { '24': '1' } }, /^\/constants\/24 .* does not fit field 24/],
      [{ network: { codes: { echo: '30A' } } }, /^\/network\/codes\/echo .* does not allow these/],
      [
        { network: { signOn: '001' } },
        /^\/network\/signOn is not a member here; the members are field, codes, signOnBy, echoSeconds$/,
      ],
      [{ conditions: { '08': '8' } }, /^\/conditions\/08 .* does not fit field 25/],
      [
        { reversalReasons: { field: 60, codes: { '4021': '0068' } } },
        /^\/reversalReasons\/otherwise is missing$/,
      ],
      [
        { mac: { algorithm: 'AesCmac', place: '64' } },
        /^\/mac\/place must be one of "Last", 64, 128$/,
      ],
      [
        { keyChange: { layout: 'use:1 cipher:1' } },
        /^\/keyChange\/layout must be parts .* Parts: usage, algorithm, index, check, wrapped, zeros/,
      ],
    ];
    for (const [members, problem] of faults) {
      const document = { name: 'toy', base: 'iso1987-binary', ...members };
      assert.throws(() => readHostTable(document), { message: problem });
    }
    const table = {
      name: 'toy',
      base: 'iso1987-binary',
      responseCodes: { financial: { '96': '68' } },
    };
    const answer = { mti: '0210', fields: { 11: '000001', 39: '96' } };
    const bytes = builtIn('iso1987-binary').encode(answer);
    assert.equal(hostOf(readHostTable(table)).decode(bytes).fields[39], '68');
  });
});
