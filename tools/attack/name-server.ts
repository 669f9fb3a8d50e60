// A DNS server of an attacker: its answers change between the check of a name and a connection.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';

export type NameServer = {
  /** For the variable ATTACK_NAME_SERVER of a platform that loads `use-name-server.ts`. */
  readonly address: string;
  /** From now on the name has these addresses; a name without an entry does not exist. */
  setAddresses(name: string, addresses: readonly string[]): void;
  /** How many queries about the name were answered. */
  countQueries(name: string): number;
  close(): Promise<void>;
};

const headerBytes = 12;
const typeBytes = { 1: 4, 28: 16 } as const;
const nameError = 3;

function readName(message: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = headerBytes;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

function encodeAddress(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const { hostname } = new URL(`http://[${address}]`);
  const [head = '', tail] = hostname.slice(1, -1).split('::');
  const groups = (text = '') => (text === '' ? [] : text.split(':'));
  const [before, after] = [groups(head), groups(tail)];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return Buffer.from(
    [before, zeros, after]
      .flat()
      .map((group) => group.padStart(4, '0'))
      .join(''),
    'hex',
  );
}

/** An answer to an A or AAAA question, with a time to live of 0 s. */
function buildAnswer(
  message: Buffer,
  end: number,
  knownAddresses: readonly string[] | undefined,
): Buffer {
  const question = message.subarray(headerBytes, end + 4);
  const type = message.readUInt16BE(end) as 1 | 28;
  const addresses = (knownAddresses ?? []).filter((address) => isIPv4(address) === (type === 1));
  const header = Buffer.alloc(headerBytes);
  message.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | (knownAddresses === undefined ? nameError : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses.length, 6);
  const records = addresses.map((address) => {
    const record = Buffer.alloc(12);
    record.writeUInt16BE(0xc000 | headerBytes, 0);
    record.writeUInt16BE(type, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt16BE(typeBytes[type], 10);
    return Buffer.concat([record, encodeAddress(address)]);
  });
  return Buffer.concat([header, question, ...records]);
}

export async function startNameServer(): Promise<NameServer> {
  const names = new Map<string, readonly string[]>();
  const queries = new Map<string, number>();
  const socket = createSocket('udp4');
  socket.on('message', (message, { port, address }) => {
    const { name, end } = readName(message);
    queries.set(name, (queries.get(name) ?? 0) + 1);
    socket.send(buildAnswer(message, end, names.get(name)), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    setAddresses: (name, addresses) => void names.set(name, addresses),
    countQueries: (name) => queries.get(name) ?? 0,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}
