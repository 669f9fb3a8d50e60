// Sends commands to payShield HSMs over TCP or TLS, with pooled connections.
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { HsmError } from './hsm-types.ts';

export type PayShieldAddress = {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
};

export type PayShieldConnectionOptions = {
  /** HSMs with the same keys; if one is unreachable, the link tries the next. */
  readonly addresses: readonly PayShieldAddress[];
  readonly tls?: Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>;
  /** The number of header characters before each command; the HSM has the same setting. */
  readonly headerLength: number;
  readonly timeoutMs: number;
  /** The maximum number of idle connections. */
  readonly connections: number;
};

export type PayShieldConnections = {
  /**
   * Sends one command and returns its reply, both without header.
   *
   * @throws HsmError `HsmUnavailable`
   */
  send(command: Buffer): Promise<Buffer>;
  /** The number of HSMs that accepted the last connection, and the number of all. */
  countReachable(): { up: number; total: number };
  close(): void;
};

const lengthBytes = 2;
const frameMax = 0xffff;
const headerRadix = 36;
const timeoutDetail = 'no reply in time';

type Connection = { socket: Socket; received: Buffer; waiting: PendingReply | undefined };
type PendingReply = { resolve(frame: Buffer): void; reject(error: Error): void };

function buildFrame(header: string, command: Buffer): Buffer {
  const length = header.length + command.length;
  if (length > frameMax) throw new HsmError('DataInvalid', 'longer than a frame');
  const frame = Buffer.alloc(lengthBytes + length);
  frame.writeUInt16BE(length);
  frame.write(header, lengthBytes, 'latin1');
  command.copy(frame, lengthBytes + header.length);
  return frame;
}

/** An IP address cannot be a TLS server name. */
const toServerName = (host: string): { servername?: string } =>
  isIP(host) === 0 ? { servername: host } : {};

/** A connection has one command at a time; data without a command ends the connection. */
function handleSocketEvents(connection: Connection): void {
  const { socket } = connection;
  const end = (): void => {
    const { waiting } = connection;
    connection.waiting = undefined;
    socket.destroy();
    waiting?.reject(new HsmError('HsmUnavailable', 'the connection ended'));
  };
  socket.on('data', (chunk: Buffer) => {
    const received = Buffer.concat([connection.received, chunk]);
    connection.received = received;
    if (connection.waiting === undefined) return end();
    if (received.length < lengthBytes) return;
    const whole = lengthBytes + received.readUInt16BE();
    if (received.length < whole) return;
    if (received.length > whole) return end();
    const { waiting } = connection;
    connection.waiting = undefined;
    connection.received = Buffer.alloc(0);
    waiting.resolve(received.subarray(lengthBytes));
  });
  socket.on('error', end);
  socket.on('close', end);
}

/** @example const connections = createPayShieldConnections({ addresses, headerLength: 4, timeoutMs: 2000, connections: 4 }); */
export function createPayShieldConnections(
  options: PayShieldConnectionOptions,
): PayShieldConnections {
  const { addresses, headerLength, timeoutMs, connections } = options;
  const idle: Connection[] = [];
  const unreachable = new Set<PayShieldAddress>();
  const open = new Set<Connection>();
  let count = 0;
  let nextAddress = 0;
  let closed = false;

  /** Counts up, so that the link notices a reply to another command. */
  function nextHeader(): string {
    count += 1;
    const text = count.toString(headerRadix).toUpperCase();
    return text.padStart(headerLength, '0').slice(text.length > headerLength ? -headerLength : 0);
  }

  function connectTo({ host, port, tls }: PayShieldAddress, limitMs: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = tls
        ? connectTls({ host, port, minVersion: 'TLSv1.2', ...toServerName(host), ...options.tls })
        : connectTcp({ host, port });
      const timer = setTimeout(() => fail(), limitMs);
      const fail = (): void => {
        clearTimeout(timer);
        socket.destroy();
        reject(new HsmError('HsmUnavailable', 'no connection'));
      };
      socket.once('error', fail);
      socket.once(tls ? 'secureConnect' : 'connect', () => {
        clearTimeout(timer);
        socket.off('error', fail);
        socket.setNoDelay(true);
        const connection: Connection = { socket, received: Buffer.alloc(0), waiting: undefined };
        handleSocketEvents(connection);
        open.add(connection);
        socket.once('close', () => open.delete(connection));
        resolve(connection);
      });
    });
  }

  /** Connects to the HSMs in turn, to balance their load, and skips unreachable ones. */
  async function connectToNext(limitMs: number): Promise<Connection> {
    nextAddress += 1;
    for (let attempt = 0; attempt < addresses.length; attempt += 1) {
      const address = addresses[(nextAddress + attempt) % addresses.length];
      if (address === undefined) break;
      try {
        const connection = await connectTo(address, Math.ceil(limitMs / addresses.length));
        unreachable.delete(address);
        return connection;
      } catch {
        unreachable.add(address);
      }
    }
    throw new HsmError('HsmUnavailable', 'no HSM is reachable');
  }

  function sendFrame(connection: Connection, frame: Buffer, limitMs: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        connection.waiting = undefined;
        // A late reply must not reach the next command, so the timeout closes the connection.
        connection.socket.destroy();
        reject(new HsmError('HsmUnavailable', timeoutDetail));
      }, limitMs);
      connection.waiting = {
        resolve(reply) {
          clearTimeout(timer);
          resolve(reply);
        },
        reject(error) {
          clearTimeout(timer);
          reject(error);
        },
      };
      connection.socket.write(frame);
    });
  }

  /**
   * The HSM may have closed an idle connection, so the link retries once over a new one. Every
   * command may be repeated.
   */
  async function sendWithRetry(frame: Buffer): Promise<{ connection: Connection; reply: Buffer }> {
    const idleConnection = takeIdle();
    if (idleConnection !== undefined) {
      try {
        return {
          connection: idleConnection,
          reply: await sendFrame(idleConnection, frame, timeoutMs),
        };
      } catch (error) {
        if (!(error instanceof HsmError) || error.message.endsWith(timeoutDetail)) throw error;
      }
    }
    const connection = await connectToNext(timeoutMs);
    return { connection, reply: await sendFrame(connection, frame, timeoutMs) };
  }

  function takeIdle(): Connection | undefined {
    for (;;) {
      const connection = idle.pop();
      if (connection === undefined || !connection.socket.destroyed) return connection;
    }
  }

  return {
    async send(command) {
      if (closed) throw new HsmError('HsmUnavailable', 'it is closed');
      const header = nextHeader();
      const frame = buildFrame(header, command);
      const { connection, reply } = await sendWithRetry(frame);
      if (reply.toString('latin1', 0, headerLength) !== header) {
        connection.socket.destroy();
        throw new HsmError('HsmUnavailable', 'a reply to another command');
      }
      if (idle.length < connections && !closed) idle.push(connection);
      else connection.socket.destroy();
      return reply.subarray(headerLength);
    },
    countReachable: () => ({ up: addresses.length - unreachable.size, total: addresses.length }),
    close() {
      closed = true;
      for (const { socket } of open) socket.destroy();
    },
  };
}
