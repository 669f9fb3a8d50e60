/** The second connection: carries data of the point of sale both ways and sends heartbeats. */
import type { RegisteredMessage } from '@switchyard/contract';
import type { WebSocket } from 'ws';
import type { DeviceTls } from '../network/tls-settings.ts';
import { openSocket } from '../network/websocket.ts';
import type { SocketEnd } from '../network/websocket-close.ts';
import type { Clock } from '../support/clock.ts';
import { DeviceError, invalid, textOf } from '../support/device-error.ts';

/**
 * A message of the point of sale; `isBinary` says whether it was sent as bytes or as text.
 *
 * @example
 * client.on('message', (message: PeerMessage) => {
 *   if (!message.isBinary) handle(JSON.parse(message.data.toString('utf8')));
 * });
 */
export type PeerMessage = { readonly data: Buffer; readonly isBinary: boolean };

export type DataConnection = {
  send(data: string | Uint8Array): Promise<void>;
  /** Resolves with the reason of the end. */
  readonly ended: Promise<SocketEnd>;
};

export type DataConnectionSettings = {
  readonly registered: RegisteredMessage;
  readonly tls: DeviceTls;
  readonly timeoutMs: number;
  readonly clock: Clock;
  onMessage(message: PeerMessage): void;
};

const secondMs = 1000;
const missedPingsMax = 2;
/** The most bytes that may wait for a slow network; `send` then refuses more. */
const queuedBytesMax = 4_194_304;
const binary = (data: string | Uint8Array): boolean => typeof data !== 'string';

async function beat(socket: WebSocket, pulse: Pulse, everyMs: number, clock: Clock): Promise<void> {
  for (;;) {
    await clock.wait(everyMs, pulse.over);
    if (pulse.over.aborted) return;
    if (pulse.missed >= missedPingsMax) {
      socket.terminate();
      return;
    }
    pulse.missed += 1;
    socket.ping();
  }
}

type Pulse = { missed: number; readonly over: AbortSignal };

function send(socket: WebSocket, maxBytes: number, data: string | Uint8Array): Promise<void> {
  const length = Buffer.byteLength(data);
  if (length > maxBytes) {
    throw invalid('message_too_large', `a message of ${length} bytes; ${maxBytes} at most`);
  }
  if (socket.bufferedAmount + length > queuedBytesMax) {
    throw new DeviceError('NotSent', 'the connection takes no more for now', {
      code: 'slow_connection',
      retryable: true,
    });
  }
  return new Promise((resolve, reject) => {
    socket.send(data, { binary: binary(data) }, (error) => {
      if (error === undefined || error === null) resolve();
      else reject(new DeviceError('Unknown', textOf(error), { code: 'connection_lost' }));
    });
  });
}

/** @throws DeviceError if no connection is made */
export async function connectData(
  settings: DataConnectionSettings,
  signal: AbortSignal,
): Promise<DataConnection> {
  const { registered, tls, timeoutMs, clock, onMessage } = settings;
  const over = new AbortController();
  const pulse: Pulse = { missed: 0, over: over.signal };
  let end: (end: SocketEnd) => void = () => {};
  const ended = new Promise<SocketEnd>((resolve) => {
    end = resolve;
  });
  const target = {
    url: registered.connectionUrl,
    tls,
    timeoutMs,
    signal,
    headers: { authorization: `Bearer ${registered.token}` },
    maxMessageBytes: registered.maxMessageBytes,
  };
  const socket = await openSocket(target, {
    message: (data, isBinary) => onMessage({ data, isBinary }),
    alive() {
      pulse.missed = 0;
    },
    closed(why) {
      over.abort();
      end(why);
    },
  });
  void beat(socket, pulse, registered.heartbeatSeconds * secondMs, clock);
  return {
    ended,
    send: async (data) => send(socket, registered.maxMessageBytes, data),
  };
}
