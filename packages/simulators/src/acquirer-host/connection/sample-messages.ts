// Prints the sample messages of a host table: their bytes, and the fields as the host receives them.
import {
  compileDialect,
  compileHost,
  createDeframer,
  createHostSamples,
  createPlatformSamples,
  encodeFrame,
  type HostTable,
  Iso8583Error,
  type Message,
  sampleTime,
} from '@switchyard/iso8583';
import { computeMac } from './exchange-keys.ts';

/** Samples use a key of zeros for message authentication. */
const sampleKey = Buffer.alloc(16);

/**
 * For each sample a line with its name and its bytes in hexadecimal, with frame and authentication
 * code, and a line for each field. Constants and omissions apply only to messages of the platform.
 */
export function sampleLines(table: HostTable): string {
  const { constants: _constants, omit: _omit, ...tableOfHost } = table;
  const lines = [
    ...formatSamples(table, createPlatformSamples(table.messages)),
    'Messages of the host:\n',
    ...formatSamples(tableOfHost, createHostSamples(table.messages)),
  ];
  return `The host table ${table.name} is valid.\n${lines.join('')}`;
}

const hexPattern = /^(?:[0-9a-f]{2})+$/i;

/**
 * The fields of recorded messages in the form of the host, without conversion to canonical messages.
 *
 * @throws Error for bytes that are not complete messages of the table
 */
export function recordedLines(table: HostTable, hex: string): string {
  const digits = hex.replaceAll(/\s/g, '');
  if (!hexPattern.test(digits))
    throw new Error('the bytes are not an even number of hexadecimal digits');
  const { framing } = compileHost(table, { now: () => sampleTime });
  const deframer = createDeframer(framing, { maxBytes: digits.length });
  const frames = deframer.push(Buffer.from(digits, 'hex'));
  if (deframer.heldBytes() > 0)
    throw new Error('the last message has fewer bytes than its length states');
  const dialect = compileDialect(table.messages);
  return frames.map(({ payload }) => fieldLines(table, dialect.decode(payload))).join('');
}

function fieldLines(table: HostTable, { mti, fields }: Message): string {
  const lines = Object.entries(fields).map(([field, value]) => {
    const name = table.messages.fields[Number(field)]?.name ?? '';
    return `  ${field.padStart(3)}  ${name}: ${value}\n`;
  });
  return [`  MTI  ${mti}\n`, ...lines].join('');
}

function formatSamples(table: HostTable, samples: Readonly<Record<string, Message>>): string[] {
  const host = compileHost(table, { now: () => sampleTime });
  const hostForm = compileDialect(table.messages);
  const { framing, headers } = host;
  const bytesOf = (message: Message): Buffer => {
    if (table.mac === undefined || !host.requiresMac(message.mti)) return host.encode(message);
    const { over, seal } = host.encodeWithoutMac(message);
    return seal(computeMac(table.mac.algorithm, sampleKey, over));
  };
  const linesOf = ([name, message]: [string, Message]): string => {
    try {
      const payload = bytesOf(message);
      const header = headers.request(payload.length);
      const frame = encodeFrame(framing, payload, { header }).toString('hex').toUpperCase();
      return `${name.padEnd(9)} ${frame}\n${fieldLines(table, hostForm.decode(payload))}`;
    } catch (error) {
      if (!(error instanceof Iso8583Error)) throw error;
      return `${name.padEnd(9)} cannot be encoded: ${error.message}\n`;
    }
  };
  return Object.entries(samples).map(linesOf);
}
