// A test client of the acquirer host; it keeps every answer.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import {
  compileDialect,
  createDeframer,
  encodeFrame,
  type Fields,
  Iso8583Error,
  iso1987BinaryEmv,
  type Message,
} from '@switchyard/iso8583';

export type Iso8583Client = {
  /** All received answers. */
  answers: Message[];
  /** Number of frames that were not messages. */
  garbled: number;
  closed: boolean;
  write(bytes: Buffer): void;
  send(message: Message): void;
  /** Sends a message and waits for the next answer to its trace number. */
  sendAndWait(message: Message): Promise<Message>;
  close(): Promise<void>;
};

const dialect = compileDialect(iso1987BinaryEmv);
const framing = { length: 'binary2' } as const;

/** Polls until a condition holds; fails after five seconds. */
export async function waitUntil(condition: () => boolean, description: string): Promise<void> {
  for (let attempt = 0; !condition(); attempt++) {
    if (attempt > 2500) throw new Error(`timeout: ${description}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export function encodeMessageFrame(message: Message): Buffer {
  return encodeFrame(framing, dialect.encode(message));
}

export function networkMessage(code: string, trace = '999999'): Message {
  return { mti: '0800', fields: { 7: '0101120000', 11: trace, 70: code } };
}

/** @param tls for a host that requires TLS */
export async function connectClient(port: number, tls?: ConnectionOptions): Promise<Iso8583Client> {
  const address = { host: '127.0.0.1', port, noDelay: true };
  const socket: Socket =
    tls === undefined
      ? connect(address)
      : connectTls({ ...address, servername: 'localhost', ...tls });
  const deframer = createDeframer(framing, { maxBytes: 8192 });
  const client: Iso8583Client = {
    answers: [],
    garbled: 0,
    closed: false,
    write: (bytes) => void socket.write(bytes),
    send: (message) => void socket.write(encodeMessageFrame(message)),
    async sendAndWait(message) {
      const from = client.answers.length;
      const answer = () =>
        client.answers.slice(from).find((each) => each.fields[11] === message.fields[11]);
      client.send(message);
      await waitUntil(() => answer() !== undefined, `an answer to ${message.mti}`);
      return answer() as Message;
    },
    async close() {
      socket.destroy();
      await waitUntil(() => client.closed, 'the connection to close');
    },
  };
  socket.on('data', (chunk: Buffer) => {
    for (const { payload } of deframer.push(chunk)) {
      try {
        client.answers.push(dialect.decode(payload));
      } catch (error) {
        if (!(error instanceof Iso8583Error)) throw error;
        client.garbled++;
      }
    }
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    client.closed = true;
  });
  await once(socket, 'connect');
  return client;
}

/** A client that is signed on. */
export async function connectAndSignOn(
  port: number,
  tls?: ConnectionOptions,
): Promise<Iso8583Client> {
  const client = await connectClient(port, tls);
  await client.sendAndWait(networkMessage('001'));
  return client;
}

export type TerminalMessages = {
  hold(amount: number, fields?: Fields): Message;
  sale(amount: number, fields?: Fields): Message;
  capture(original: Message, amount: number, fields?: Fields): Message;
  refund(original: Message, amount: number, fields?: Fields): Message;
  /** Reverses all, or all except the remaining amount. */
  reversal(original: Message, remaining?: number, fields?: Fields): Message;
};

const digits = (value: number, length: number): string => String(value).padStart(length, '0');

/** Writes the messages of one terminal, each with a trace number of its own. */
export function createTerminalRequests(
  terminal = 'TERM0001',
  merchant = 'MERCHANT0000001',
): TerminalMessages {
  let trace = 0;

  function message(mti: string, code: string, amount: number, fields: Fields): Message {
    trace++;
    return {
      mti,
      fields: {
        2: '5413330089010012',
        3: code,
        4: digits(amount, 12),
        7: `0102${digits(trace, 6)}`,
        11: digits(trace, 6),
        12: '080000',
        13: '1121',
        14: '2812',
        32: '123456',
        37: `RRN${digits(trace, 9)}`,
        41: terminal,
        42: merchant,
        49: '978',
        ...fields,
      },
    };
  }

  function withOriginal(original: Message, extra: Fields): Fields {
    const { mti, fields } = original;
    return { 90: `${mti}${fields[11]}${fields[7]}${'0'.repeat(22)}`, ...extra };
  }

  return {
    hold: (amount, fields = {}) => message('0100', '000000', amount, fields),
    sale: (amount, fields = {}) => message('0200', '000000', amount, fields),
    capture: (original, amount, fields = {}) =>
      message('0220', '000000', amount, withOriginal(original, fields)),
    refund: (original, amount, fields = {}) =>
      message('0200', '200000', amount, withOriginal(original, fields)),
    reversal: (original, remaining, fields = {}) => {
      const partial = remaining === undefined ? {} : { 95: digits(remaining, 12).padEnd(42, '0') };
      const amount = Number(original.fields[4]);
      return message('0420', '000000', amount, withOriginal(original, { ...partial, ...fields }));
    },
  };
}

/** The same message, sent again. */
export function repeatMessage(message: Message): Message {
  return { ...message, mti: `${message.mti.slice(0, 3)}1` };
}
