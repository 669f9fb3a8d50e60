// A WebSocket of the load: as little work as can be, so that it is the server that is measured.
import { randomBytes } from 'node:crypto';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import { loopback, serverName, type Target } from '../environment/send-single-request.ts';
import { createFrameReader, encodeFrame, opcodes } from './websocket-frames.ts';

export type LoadSocket = {
  readonly raw: Socket;
  write(frame: Buffer): boolean;
  /** Closes in good order. */
  close(code?: number): void;
  onMessage: (bytes: number, text: string) => void;
  /** Once: with the code of the server, or 1006 where the connection broke. */
  onClose: (code: number) => void;
};

type SocketOptions = {
  token?: string | undefined;
  /** The address that it comes from: each has its own ports. */
  from?: string;
  keepsText?: boolean;
};

/** As terminals in the field have them: key shares of post-quantum schemes are longer, and kept. */
const curves = 'X25519:P-256';
const headEnd = '\r\n\r\n';
const brokenCode = 1006;

/** Made once for all connections of a process, which costs a device of its own nothing. */
const contexts = new Map<string, SecureContext>();

function contextOf(ca: string): SecureContext {
  const secureContext = contexts.get(ca) ?? createSecureContext({ ca, ecdhCurve: curves });
  contexts.set(ca, secureContext);
  return secureContext;
}

function connect({ port, ca }: Target, from: string): Socket {
  const address = { host: loopback, port, localAddress: from };
  return ca === undefined
    ? connectPlain(address)
    : connectTls({ ...address, secureContext: contextOf(ca), servername: serverName });
}

function requestOf({ authority }: Target, path: string, token: string | undefined): string {
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: ${authority}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
  ];
  return `${lines.join('\r\n')}${headEnd}`;
}

/** Rejects with the first line of an answer that is no upgrade. */
export function openSocket(
  target: Target,
  path: string,
  { token, from = loopback, keepsText = false }: SocketOptions = {},
): Promise<LoadSocket> {
  return new Promise((resolve, reject) => {
    const raw = connect(target, from);
    raw.setNoDelay(true);
    let code = brokenCode;
    let head: string | undefined = '';
    const socket: LoadSocket = {
      raw,
      write: (frame) => raw.write(frame),
      close(with_ = 1000) {
        const body = Buffer.alloc(2);
        body.writeUInt16BE(with_);
        raw.write(encodeFrame(opcodes.close, body));
      },
      onMessage: () => {},
      onClose: () => {},
    };
    const read = createFrameReader(keepsText, {
      message: (bytes, text) => socket.onMessage(bytes, text),
      ping: (payload) => raw.write(encodeFrame(opcodes.pong, payload)),
      close(closeCode) {
        code = closeCode;
        socket.close();
        raw.end();
      },
    });
    raw.once(target.ca === undefined ? 'connect' : 'secureConnect', () => {
      raw.write(requestOf(target, path, token));
    });
    raw.on('data', (chunk: Buffer) => {
      if (head === undefined) {
        read(chunk);
        return;
      }
      head += chunk.toString('latin1');
      const end = head.indexOf(headEnd);
      if (end < 0) return;
      const rest = Buffer.from(head.slice(end + headEnd.length), 'latin1');
      const line = head.slice(0, head.indexOf('\r\n'));
      head = undefined;
      if (!line.startsWith('HTTP/1.1 101')) {
        reject(new Error(`${path.split('/', 4).join('/')}: ${line}`));
        raw.destroy();
        return;
      }
      resolve(socket);
      if (rest.length > 0) queueMicrotask(() => read(rest));
    });
    raw.on('error', (error) => reject(error));
    raw.on('close', () => {
      reject(new Error('the connection broke'));
      socket.onClose(code);
    });
  });
}
