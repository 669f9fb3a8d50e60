// Sample messages of a host table: the bytes of a sale, its reversal and an echo.
import { compileHost, encodeFrame, type HostTable, type Message } from '@switchyard/iso8583';
import { computeMac } from './exchange-keys.ts';

const sampleCardNumber = '0'.repeat(16);
const sampleFields = { 32: '123456', 41: 'TERM0001', 42: 'M00000000000001', 49: '978' };

const samples: Readonly<Record<string, Message>> = {
  sale: {
    mti: '0200',
    fields: {
      ...sampleFields,
      2: sampleCardNumber,
      3: '000000',
      4: '000000001234',
      7: '0131120000',
      11: '000001',
      12: '130000',
      13: '0131',
      14: '3012',
      18: '5411',
      22: '051',
      25: '00',
      37: '103112000001',
    },
  },
  reversal: {
    mti: '0420',
    fields: {
      ...sampleFields,
      2: sampleCardNumber,
      3: '000000',
      4: '000000001234',
      7: '0131120010',
      11: '000002',
      12: '130010',
      13: '0131',
      25: '4021',
      37: '103112000002',
      90: '0200000001013112000000000123456'.padEnd(42, '0'),
    },
  },
  echo: { mti: '0800', fields: { 7: '0131120020', 11: '000003', 70: '301' } },
};

/** Fixed date of the samples, so that their bytes never change. */
const sampleDay = Date.UTC(2026, 0, 31, 12);
/** Samples use a key of zeros for message authentication. */
const sampleKey = Buffer.alloc(16);

/** A line for each sample: its name, and its bytes in hexadecimal with frame and authentication code. */
export function sampleLines(table: HostTable): string {
  const host = compileHost(table, { now: () => sampleDay });
  const { framing } = host;
  const tpdu = Buffer.from(table.framing.tpdu ?? '', 'hex');
  const extra = (framing.tpduBytes ?? 0) === 0 ? {} : { tpdu };
  const bytesOf = (message: Message): Buffer => {
    if (table.mac === undefined || !host.requiresMac(message.mti)) return host.encode(message);
    const { over, seal } = host.encodeWithoutMac(message);
    return seal(computeMac(table.mac.algorithm, sampleKey, over));
  };
  const lines = Object.entries(samples).map(([name, message]) => {
    const frame = encodeFrame(framing, bytesOf(message), extra);
    return `${name.padEnd(9)} ${frame.toString('hex').toUpperCase()}\n`;
  });
  return `${table.name} can be spoken.\n${lines.join('')}`;
}
