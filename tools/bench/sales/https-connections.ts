// Keeps TLS connections to the server open; each carries one request at a time.
import { connect, type TLSSocket } from 'node:tls';
import { loopback, serverName, type Target } from '../environment/send-single-request.ts';
import { createResponseReader, HttpProtocolError, type HttpResponse } from './http-text.ts';

/** Of one connection: the address that it comes from, and a certificate with its key, PEM. */
export type ConnectionOptions = { localAddress?: string; cert?: string; key?: string };

/** Called once: with the answer, or with the reason why there is none. */
export type OnResponse = (answer: HttpResponse | undefined, lost?: string) => void;

export type HttpsConnections = {
  /** False where every connection is busy. */
  send(text: string, onAnswer: OnResponse): boolean;
  idle(): number;
  close(): void;
};

type Connection = {
  socket: TLSSocket;
  port: number;
  waiting: OnResponse | undefined;
  isClosed: boolean;
};

const reconnectAfterMs = 20;
const answerLimitMs = 30_000;

function dial(options: ConnectionOptions & { port: number; ca?: string | undefined }) {
  return new Promise<TLSSocket>((resolve, reject) => {
    const server = { host: loopback, servername: serverName };
    const socket = connect({ ...server, ...options, ALPNProtocols: ['http/1.1'] });
    socket.setNoDelay(true);
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

/** @example const connections = await openHttpsConnections(target, 64); */
export async function openHttpsConnections(
  { port, otherPorts = [], ca }: Target,
  connections: number,
  options: ConnectionOptions = {},
): Promise<HttpsConnections> {
  const ports = [port, ...otherPorts];
  const free: Connection[] = [];
  let closed = false;

  function lose(connection: Connection, why: string): void {
    if (connection.isClosed) return;
    connection.isClosed = true;
    connection.socket.destroy();
    const at = free.indexOf(connection);
    if (at >= 0) free.splice(at, 1);
    const { waiting } = connection;
    connection.waiting = undefined;
    replace(connection.port);
    waiting?.(undefined, why);
  }

  function replace(lostPort: number): void {
    if (closed) return;
    dial({ port: lostPort, ca, ...options }).then(
      (socket) => adopt(socket, lostPort),
      () => setTimeout(replace, reconnectAfterMs, lostPort).unref(),
    );
  }

  function adopt(socket: TLSSocket, socketPort: number): void {
    const connection: Connection = {
      socket,
      port: socketPort,
      waiting: undefined,
      isClosed: false,
    };
    const readChunk = createResponseReader((answer) => {
      const { waiting } = connection;
      if (waiting === undefined) throw new HttpProtocolError('an answer without a request');
      connection.waiting = undefined;
      // Free first, so that the caller can send the next request from inside the callback.
      if (!answer.isLast) free.push(connection);
      waiting(answer);
      if (answer.isLast) lose(connection, 'closed');
    });
    socket.on('data', (chunk: Buffer) => {
      try {
        readChunk(chunk);
      } catch (error) {
        if (!(error instanceof HttpProtocolError)) throw error;
        lose(connection, error.message);
      }
    });
    socket.on('error', (error) => lose(connection, `connection: ${error.message}`));
    socket.on('close', () => lose(connection, 'connection closed'));
    if (closed) socket.destroy();
    else free.push(connection);
  }

  const chosen = Array.from({ length: connections }, (_, index) => ports[index % ports.length]);
  await Promise.all(
    chosen.map(async (each = port) => adopt(await dial({ port: each, ca, ...options }), each)),
  );

  return {
    send(text, onAnswer) {
      // In turns: the server ends a connection that was opened and has asked for nothing.
      const connection = free.shift();
      if (connection === undefined) return false;
      connection.waiting = onAnswer;
      connection.socket.write(text, 'latin1');
      return true;
    },
    idle: () => free.length,
    close() {
      closed = true;
      for (const { socket } of free) socket.destroy();
    },
  };
}

/** @throws Error where there is no answer in time */
export function askOnce(
  connections: HttpsConnections,
  text: string,
): Promise<{ status: number; body: string; isLast: boolean }> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error('no answer in time')), answerLimitMs);
    const isSent = connections.send(text, (answer, lost = 'lost') => {
      clearTimeout(limit);
      if (answer === undefined) return reject(new Error(lost));
      const { status, isLast, bytes, bodyStart, bodyEnd } = answer;
      resolve({ status, isLast, body: bytes.toString('utf8', bodyStart, bodyEnd) });
    });
    if (!isSent) reject(new Error('every connection is busy'));
  });
}
