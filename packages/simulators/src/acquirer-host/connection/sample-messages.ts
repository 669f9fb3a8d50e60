// Prints the sample messages of a host table: their bytes, and the fields as the host receives them.
import {
  compileDialect,
  compileHost,
  createPlatformSamples,
  encodeFrame,
  type HostTable,
  hostSamples,
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
    ...formatSamples(tableOfHost, hostSamples),
  ];
  return `The host table ${table.name} is valid.\n${lines.join('')}`;
}

function formatSamples(table: HostTable, samples: Readonly<Record<string, Message>>): string[] {
  const host = compileHost(table, { now: () => sampleTime });
  const hostForm = compileDialect(table.messages);
  const { framing } = host;
  const tpdu = Buffer.from(table.framing.tpdu ?? '', 'hex');
  const extra = (framing.tpduBytes ?? 0) === 0 ? {} : { tpdu };
  const bytesOf = (message: Message): Buffer => {
    if (table.mac === undefined || !host.requiresMac(message.mti)) return host.encode(message);
    const { over, seal } = host.encodeWithoutMac(message);
    return seal(computeMac(table.mac.algorithm, sampleKey, over));
  };
  const fieldLines = ({ mti, fields }: Message) => {
    const lines = Object.entries(fields).map(([field, value]) => {
      const name = table.messages.fields[Number(field)]?.name ?? '';
      return `  ${field.padStart(3)}  ${name}: ${value}\n`;
    });
    return [`  MTI  ${mti}\n`, ...lines].join('');
  };
  const linesOf = ([name, message]: [string, Message]): string => {
    try {
      const payload = bytesOf(message);
      const frame = encodeFrame(framing, payload, extra).toString('hex').toUpperCase();
      return `${name.padEnd(9)} ${frame}\n${fieldLines(hostForm.decode(payload))}`;
    } catch (error) {
      if (!(error instanceof Iso8583Error)) throw error;
      return `${name.padEnd(9)} cannot be encoded: ${error.message}\n`;
    }
  };
  return Object.entries(samples).map(linesOf);
}
