/** The second connection: carries data of the point of sale both ways and sends heartbeats. */
import type { RegisteredMessage } from '@switchyard/contract';
import type { WebSocket } from 'ws';
import type { DeviceTls } from '../network/tls-settings.ts';
import { openWebsocket } from '../network/websocket.ts';
import type { WebsocketClose } from '../network/websocket-close.ts';
import type { Clock } from '../support/clock.ts';
import { DeviceError, errorText, invalidError } from '../support/device-error.ts';

/**
 * A message of the point of sale; `isBinary` says whether it was sent as bytes or as text.
 *
 * @example
 * client.on('message', (message: ReceivedMessage) => {
 *   if (!message.isBinary) handle(JSON.parse(message.data.toString('utf8')));
 * });
 */
export type ReceivedMessage = { readonly data: Buffer; readonly isBinary: boolean };

export type DataConnection = {
  send(data: string | Uint8Array): Promise<void>;
  /** Resolves with the reason of the end. */
  readonly ended: Promise<WebsocketClose>;
};

export type DataConnectionSettings = {
  readonly registered: RegisteredMessage;
  readonly tls: DeviceTls;
  readonly timeoutMs: number;
  readonly clock: Clock;
  onMessage(message: ReceivedMessage): void;
};

const secondMs = 1000;
const missedPingsMax = 2;
/** The most bytes that may wait for a slow network; `send` then refuses more. */
const queuedBytesMax = 4_194_304;
const isBinary = (data: string | Uint8Array): boolean => typeof data !== 'string';

async function sendHeartbeats(
  socket: WebSocket,
  heartbeat: HeartbeatState,
  everyMs: number,
  clock: Clock,
): Promise<void> {
  for (;;) {
    await clock.wait(everyMs, heartbeat.stopped);
    if (heartbeat.stopped.aborted) return;
    if (heartbeat.missed >= missedPingsMax) {
      socket.terminate();
      return;
    }
    heartbeat.missed += 1;
    socket.ping();
  }
}

type HeartbeatState = { missed: number; readonly stopped: AbortSignal };

function send(socket: WebSocket, maxBytes: number, data: string | Uint8Array): Promise<void> {
  const length = Buffer.byteLength(data);
  if (length > maxBytes) {
    throw invalidError('message_too_large', `a message of ${length} bytes; ${maxBytes} at most`);
  }
  if (socket.bufferedAmount + length > queuedBytesMax) {
    throw new DeviceError('NotSent', 'the connection is too slow: its send buffer is full', {
      code: 'slow_connection',
      retryable: true,
    });
  }
  return new Promise((resolve, reject) => {
    socket.send(data, { binary: isBinary(data) }, (error) => {
      if (error === undefined || error === null) resolve();
      else reject(new DeviceError('Unknown', errorText(error), { code: 'connection_lost' }));
    });
  });
}

/** @throws DeviceError if no connection is made */
export async function openDataConnection(
  settings: DataConnectionSettings,
  signal: AbortSignal,
): Promise<DataConnection> {
  const { registered, tls, timeoutMs, clock, onMessage } = settings;
  const closedController = new AbortController();
  const heartbeat: HeartbeatState = { missed: 0, stopped: closedController.signal };
  let resolveEnded: (close: WebsocketClose) => void = () => {};
  const ended = new Promise<WebsocketClose>((resolve) => {
    resolveEnded = resolve;
  });
  const target = {
    url: registered.connectionUrl,
    tls,
    timeoutMs,
    signal,
    headers: { authorization: `Bearer ${registered.token}` },
    maxMessageBytes: registered.maxMessageBytes,
  };
  const socket = await openWebsocket(target, {
    onMessage: (data, isBinary) => onMessage({ data, isBinary }),
    onActivity() {
      heartbeat.missed = 0;
    },
    onClose(close) {
      closedController.abort();
      resolveEnded(close);
    },
  });
  void sendHeartbeats(socket, heartbeat, registered.heartbeatSeconds * secondMs, clock);
  return {
    ended,
    send: async (data) => send(socket, registered.maxMessageBytes, data),
  };
}
