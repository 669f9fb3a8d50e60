// An acquirer host that follows the script of a test: it answers, stays silent, sends wrong data or
// closes the connection.
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
const echoedFields = [3, 4, 7, 11, 37, 41, 42, 49, 70] as const;

export type ReceivedMessage = { message: Message; socket: Socket };

export type ScriptedHost = {
  port: number;
  /** The received messages, oldest first. */
  received: ReceivedMessage[];
  /** The message type of each received message, with DE70 for a network message. */
  receivedTypes(): string[];
  /** The number of connections so far. */
  connections(): number;
  /**
   * Sets the reaction to each message from now on; without a script the host approves every
   * message.
   */
  script(next: (received: ReceivedMessage) => void): void;
  stop(): Promise<void>;
};

/** A response that approves the message; the caller can change its fields. */
export function approvalResponse(
  { mti, fields }: Message,
  changedFields: Message['fields'] = {},
): Message {
  const responseFields: Message['fields'] = { 39: '00' };
  for (const field of echoedFields)
    if (fields[field] !== undefined) responseFields[field] = fields[field];
  return {
    mti: `${mti.slice(0, 2)}${Number(mti[2]) + 1}0`,
    fields: { ...responseFields, ...changedFields },
  };
}

export function encodeMessageFrame(message: Message): Buffer {
  return encodeFrame(framing, dialect.encode(message));
}

/** Sends no response to a message that is a response itself. */
export function approve({ message, socket }: ReceivedMessage): void {
  if (Number(message.mti[2]) % 2 === 0) socket.write(encodeMessageFrame(approvalResponse(message)));
}

/** Answers network messages; the test answers all other messages. */
export function approveNetworkMessages(received: ReceivedMessage): void {
  if (received.message.mti === '0800') approve(received);
}

/** @example const host = await startScriptedHost(); host.script(networkOnly); */
export async function startScriptedHost(): Promise<ScriptedHost> {
  const received: ReceivedMessage[] = [];
  const sockets = new Set<Socket>();
  let connectionCount = 0;
  let currentScript = approve;
  const server = createServer((socket) => {
    connectionCount += 1;
    sockets.add(socket);
    const deframer = createDeframer(framing, { maxBytes: frameBytesMax });
    socket.on('data', (chunk: Buffer) => {
      for (const { payload } of deframer.push(chunk)) {
        const receivedMessage = { message: dialect.decode(payload), socket };
        received.push(receivedMessage);
        currentScript(receivedMessage);
      }
    });
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  // The link reconnects for a while after the host stops, so no other server may get this port.
  const [port = 0] = await freePorts(1);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    port,
    received,
    receivedTypes: () => received.map(({ message }) => message.mti + (message.fields[70] ?? '')),
    connections: () => connectionCount,
    script(next) {
      currentScript = next;
    },
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
