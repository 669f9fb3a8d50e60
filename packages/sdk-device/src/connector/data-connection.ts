/** The second connection: carries data of the point of sale both ways and sends heartbeats. */
import type { RegisteredMessage } from '@switchyard/contract';
import {
  type Clock,
  openWebsocket,
  sendOnWebsocket,
  type WebsocketClose,
} from '@switchyard/sdk-core';
import type { DeviceTls } from '../network/http-client.ts';
import { createDeviceError, websocketErrors } from '../support/device-error.ts';

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

/** @throws DeviceError if no connection is made */
export async function openDataConnection(
  settings: DataConnectionSettings,
  signal: AbortSignal,
): Promise<DataConnection> {
  const { registered, tls, timeoutMs, clock, onMessage } = settings;
  const { maxMessageBytes: maxBytes } = registered;
  let resolveEnded: (close: WebsocketClose) => void = () => {};
  const ended = new Promise<WebsocketClose>((resolve) => {
    resolveEnded = resolve;
  });
  const target = {
    url: registered.connectionUrl,
    tls,
    timeoutMs,
    clock,
    signal,
    closesOnAbort: true,
    headers: { authorization: `Bearer ${registered.token}` },
    maxMessageBytes: maxBytes,
    heartbeatMs: registered.heartbeatSeconds * secondMs,
    errors: websocketErrors,
  };
  const socket = await openWebsocket(target, {
    onMessage: (data, isBinary) => onMessage({ data, isBinary }),
    onClose: (close) => resolveEnded(close),
  });
  return {
    ended,
    send: (data) => sendOnWebsocket(socket, data, { maxBytes, createError: createDeviceError }),
  };
}
