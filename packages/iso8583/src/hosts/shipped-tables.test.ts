// The tables of the platform: byte samples made by hand, and a second decoder.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { compileDialect } from '../compile-dialect.ts';
import { createDeframer } from '../deframer.ts';
import type { Message } from '../message.ts';
import { compileHost } from './compile-host.ts';
import { fitNumber, padIdentifier } from './identifiers.ts';
import { findHostTable, hostTableNames, readHostTable } from './read-host-table.ts';
import { createHostSamples, createPlatformSamples, sampleTime } from './sample-messages.ts';
import { decodeSecondly, type HostNotation } from './second-decoder.fixture.ts';
import { shippedTables } from './shipped-tables.ts';

const text1987 =
  '2:a2A 3:6A 4:12A 7:10A 11:6A 12:6A 13:4A 14:4A 18:4A 22:3A 23:3A 25:2A 32:a2A 35:a2A 37:12A 38:6A 39:2A 41:8A ' +
  '42:15A 48:a3A 49:3A 52:16A 53:16A 54:a3A 55:a3H 70:3A 90:42A 95:42A';
const packed1987 =
  '2:c1L 3:6P 4:12P 7:10P 11:6P 12:6P 13:4P 14:4P 18:4P 22:3P 23:3P 25:2P 32:c1L 35:c1Z 37:12A 38:6A 39:2A 41:8A ' +
  '42:15A 48:c2A 49:3A 52:8H 53:16P 54:c2A 55:c2H 70:3P 90:42P 95:42A';
const text1993 =
  '2:a2A 3:6A 4:12A 7:10A 11:6A 12:12A 14:4A 18:4A 22:12A 23:3A 24:3A 25:4A 30:24A 32:a2A 35:a2A 37:12A 38:6A 39:3A ' +
  '41:8A 42:15A 48:a3A 49:3A 52:16A 53:a2H 54:a3A 55:a3H 56:a2A';
const packed1993 =
  '2:c1L 3:6P 4:12P 7:10P 11:6P 12:12P 14:4P 18:4P 22:12A 23:3P 24:3P 25:4P 30:24P 32:c1L 35:c1Z 37:12A 38:6A 39:3P ' +
  '41:8A 42:15A 48:c2A 49:3A 52:8H 53:c1H 54:c2A 55:c2H 56:c1A';
const text2003 =
  '2:a2A 3:6A 4:16A 7:10A 11:12A 12:14A 14:4A 22:16H 23:3A 24:3A 25:4A 26:4A 30:32A 32:a2A 35:a2A 37:12A 38:6A ' +
  '39:4A 41:16A 42:a2A 48:a3A 52:8H 53:a2H 54:a3A 55:a4H 56:a2A';
const packed2003 =
  '2:c1L 3:6A 4:16P 7:10P 11:12P 12:14P 14:4P 22:16H 23:3P 24:3P 25:4P 26:4P 30:32P 32:c1L 35:c1A 37:12A 38:6A ' +
  '39:4P 41:16A 42:c1A 48:c2A 49:c2H 52:8H 53:c1H 54:c2A 55:c2H 56:c1L 62:c2A';
const ebcdic1987 =
  '2:b1L 3:6P 4:12P 7:10P 11:6P 12:6P 13:4P 14:4P 18:4P 22:3P 23:3P 25:2P 32:b1L 35:b1Z 37:12E 38:6E 39:2E 41:8E ' +
  '42:15E 48:b2E 49:3E 52:8H 53:16P 54:b2E 55:b2H 70:3P 90:42P 95:42E';

const notations: Readonly<Record<string, HostNotation>> = {
  'iso1987-binary': { before: 2, mti: 'P', bitmap: 'bytes', fields: packed1987 },
  'iso1987-ascii': { before: 4, mti: 'A', bitmap: 'text', fields: text1987 },
  'iso1993-ascii': { before: 2, mti: 'A', bitmap: 'text', fields: text1993 },
  'iso1993-binary': { before: 2, mti: 'P', bitmap: 'bytes', fields: packed1993 },
  iso2003: { before: 2, mti: 'A', bitmap: 'bytes', fields: text2003 },
  base24: {
    before: 14,
    after: 1,
    mti: 'A',
    bitmap: 'text',
    fields: `${text1987} 44:a2A 60:a3A 61:a3A 62:a3A 63:a3A 123:a3A`,
  },
  postilion: {
    before: 2,
    mti: 'A',
    bitmap: 'bytes',
    fields: `${text1987.replace('52:16A', '52:8H')} 56:a3A 123:a3A 125:a3A 127:a6H`,
  },
  'terminal-batch': {
    before: 7,
    mti: 'P',
    bitmap: 'bytes',
    fields: `${packed1987} 24:3P 60:c2A 62:c2A 63:c2A`,
  },
  'ebcdic-mainframe': { before: 24, mti: 'E', bitmap: 'bytes', fields: ebcdic1987 },
  'jpos-cmf': { before: 3, mti: 'P', bitmap: 'bytes', fields: packed2003 },
};

const terminalFields = { 32: '123456', 41: 'TERM0001', 42: 'MERCHANT0000001', 49: '978' };
const cardFields = {
  ...terminalFields,
  2: '4111111111111111',
  3: '000000',
  4: '000000012345',
  13: '0131',
  14: '3012',
  18: '5411',
  22: '051',
};
const original = {
  type: '0200',
  stan: '000123',
  sent: '0131120100',
  rrn: '603112000123',
  date: '0131',
  time: '130100',
  terminal: 'TERM0001',
  amount: '000000012345',
};

function requests(localOriginal: boolean): { readonly [kind: string]: Message } {
  const sent = localOriginal ? '0131130100' : '0131120100';
  return {
    sale: {
      mti: '0200',
      fields: {
        ...cardFields,
        7: '0131120100',
        11: '000123',
        12: '130100',
        25: '00',
        37: '603112000123',
      },
    },
    reversal: {
      mti: '0420',
      original,
      fields: {
        ...cardFields,
        7: '0131120200',
        11: '000124',
        12: '130200',
        25: '4021',
        37: '603112000124',
        90: `0200000123${sent}00000123456`.padEnd(42, '0'),
      },
    },
  };
}

/** The blocks of a sample file: each line has the bytes of one part, and its meaning. */
function readSamples(name: string): ReadonlyMap<string, Buffer> {
  const file = new URL(`../../vectors/hosts/${name}.txt`, import.meta.url);
  return new Map(
    readFileSync(file, 'utf8')
      .split('# ')
      .slice(1)
      .map((block) => {
        const [kind = '', ...lines] = block.trim().split('\n');
        return [
          kind,
          Buffer.from(lines.map((line) => line.split(' ')[0]).join(''), 'hex'),
        ] as const;
      }),
  );
}

for (const name of hostTableNames) {
  describe(name, () => {
    const table = findHostTable(name);
    const notation = notations[name];
    assert.ok(table);
    assert.ok(notation);
    const host = compileHost(table, { now: () => sampleTime });
    const dialect = compileDialect(table.messages);
    const samples = readSamples(name);
    const payloadOf = (kind: string): Buffer => {
      const frame = samples.get(kind) ?? Buffer.alloc(0);
      const [received] = createDeframer(host.framing, { maxBytes: 2000 }).push(frame);
      assert.ok(received);
      return received.payload;
    };

    it('writes the sample requests byte for byte', () => {
      const isLocal = table.originalData?.time === 'Local' && table.version === '0';
      for (const [kind, { fields, ...message }] of Object.entries(requests(isLocal))) {
        const fitted = {
          ...fields,
          11: fitNumber(fields[11] ?? '', table.messages.fields[11]),
          37: table.retrievalReference.inRequests === 'Always' ? fields[37] : undefined,
          41: padIdentifier(fields[41] ?? '', table.messages.fields[41]),
        };
        const encoded = host.encode(host.takeOriginalNumbers({ ...message, fields: fitted }));
        assert.equal(encoded.toString('hex'), payloadOf(kind).toString('hex'), kind);
      }
    });

    it('reads the sample response', () => {
      const { mti, fields } = host.decode(payloadOf('response'));
      assert.equal(mti, '0210');
      const {
        3: code,
        4: amount,
        11: stan = '',
        38: approval,
        39: response,
        49: currency,
      } = fields;
      assert.deepEqual(
        [code, amount, stan.slice(-6), approval, response, currency],
        ['000000', '000000012345', '000123', 'A1B2C3', '00', '978'],
      );
      assert.equal(fields[41]?.trimEnd(), 'TERM0001');
    });

    it('agrees with a second decoder about the samples', () => {
      for (const [kind, frame] of samples)
        assert.deepEqual(decodeSecondly(notation, frame), dialect.decode(payloadOf(kind)), kind);
    });

    it('agrees with a second decoder about every message of the platform', () => {
      const messages = {
        ...createPlatformSamples(table.messages),
        ...createHostSamples(table.messages),
      };
      for (const [kind, message] of Object.entries<Message>(messages)) {
        const bytes = host.encode(message);
        const second = decodeSecondly({ ...notation, before: 0, after: 0 }, bytes);
        assert.deepEqual(second, dialect.decode(bytes), kind);
      }
    });
  });
}

it('each JSON table passes the check of a table', () => {
  for (const name of Object.keys(shippedTables)) {
    const file = new URL(`../../tables/${name}.json`, import.meta.url);
    assert.deepEqual(readHostTable(JSON.parse(readFileSync(file, 'utf8'))), findHostTable(name));
  }
});

describe('the security code and the address check of a keyed sale', () => {
  const fieldOf = (name: string, field: number) => {
    const table = findHostTable(name);
    assert.ok(table);
    const { keyed } = createPlatformSamples(table.messages);
    const bytes = compileHost(table, { now: () => sampleTime }).encode(keyed);
    return compileDialect(table.messages).decode(bytes).fields[field];
  };
  const hex = (text: string) => Buffer.from(text).toString('hex').toUpperCase();
  const address = '1234567890';

  it('are tokens of base24', () => {
    const securityCode = `! C000026 ${'1234'.padEnd(26)}`;
    const verification = `! 0100029 ${address.padEnd(20)}123456789`;
    assert.equal(fieldOf('base24', 63), `& 0000300087${securityCode}${verification}`);
  });

  it('are parts of 127 of postilion, one with parts of its own', () => {
    const parts = hex(`12603112900008123429123456789${address.padEnd(20)}`);
    assert.equal(fieldOf('postilion', 127), `4042000000000000${parts}`);
  });

  it('are packed and text parts of 49 of jpos-cmf', () => {
    const texts = hex(`123456789 ${address.padEnd(40)}`);
    assert.equal(fieldOf('jpos-cmf', 49), `58000000000000001234${texts}`);
  });
});
