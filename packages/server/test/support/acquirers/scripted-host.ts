// An acquirer host that does what a test tells it to: answers, keeps silent, lies, hangs up.
import { createServer, type Socket } from 'node:net';
import {
  compileDialect,
  createDeframer,
  encodeFrame,
  iso1987BinaryEmv,
  type Message,
} from '@switchyard/iso8583';
import { freePorts } from '../free-ports.ts';

const dialect = compileDialect(iso1987BinaryEmv);
const framing = { length: 'binary2' } as const;
const frameBytesMax = 8192;
const echoed = [3, 4, 7, 11, 37, 41, 42, 49, 70] as const;

export type Asked = { message: Message; socket: Socket };

export type ScriptedHost = {
  port: number;
  /** What came in, oldest first. */
  asked: Asked[];
  /** The same in short: message type, and DE70 of a network message. */
  heard(): string[];
  /** How many connections were made so far. */
  connections(): number;
  /** What to do with each message from now on; it answers and approves until told otherwise. */
  script(next: (asked: Asked) => void): void;
  stop(): Promise<void>;
};

/** The answer that approves; members can be changed. */
export function answerTo({ mti, fields }: Message, changed: Message['fields'] = {}): Message {
  const answer: Message['fields'] = { 39: '00' };
  for (const field of echoed) if (fields[field] !== undefined) answer[field] = fields[field];
  return { mti: `${mti.slice(0, 2)}${Number(mti[2]) + 1}0`, fields: { ...answer, ...changed } };
}

export function frameOf(message: Message): Buffer {
  return encodeFrame(framing, dialect.encode(message));
}

/** What is an answer itself needs none. */
export function approve({ message, socket }: Asked): void {
  if (Number(message.mti[2]) % 2 === 0) socket.write(frameOf(answerTo(message)));
}

/** Answers network messages, and leaves all others to the test. */
export function networkOnly(asked: Asked): void {
  if (asked.message.mti === '0800') approve(asked);
}

/** @example const host = await startScriptedHost(); host.script(networkOnly); */
export async function startScriptedHost(): Promise<ScriptedHost> {
  const asked: Asked[] = [];
  const sockets = new Set<Socket>();
  let made = 0;
  let act = approve;
  const server = createServer((socket) => {
    made += 1;
    sockets.add(socket);
    const deframer = createDeframer(framing, { maxBytes: frameBytesMax });
    socket.on('data', (chunk: Buffer) => {
      for (const { payload } of deframer.push(chunk)) {
        const one = { message: dialect.decode(payload), socket };
        asked.push(one);
        act(one);
      }
    });
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  // A link knocks at it for a while once it is gone: at a port that the system gives to nobody else.
  const [port = 0] = await freePorts(1);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    port,
    asked,
    heard: () => asked.map(({ message }) => message.mti + (message.fields[70] ?? '')),
    connections: () => made,
    script(next) {
      act = next;
    },
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
