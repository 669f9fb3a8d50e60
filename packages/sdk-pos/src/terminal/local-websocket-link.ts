/** A WebSocket to a terminal in the local network, with messages both ways as through the cloud. */
import { connectorLimits } from '@switchyard/contract';
import {
  type Clock,
  openWebsocket,
  requireSecureUrl,
  sendOnWebsocket,
  unlessAborted,
} from '@switchyard/sdk-core';
import type { WebSocket } from 'ws';
import { errorFromClose } from '../connector/control-messages.ts';
import type { PosTls } from '../network/http-post.ts';
import { heartbeatMs, sendOptions, websocketErrors } from '../network/websocket-options.ts';
import { closedError, createPosError } from '../support/pos-error.ts';
import type { LinkHandlers, TerminalLink } from './terminal-links.ts';

export type LocalWebsocketSettings = {
  /** For example `wss://10.0.0.17:8443/nexo`. */
  readonly url: string;
  readonly tls: PosTls;
  /** The time limit of the handshake. */
  readonly timeoutMs: number;
  readonly clock: Clock;
};

const normalClosure = 1000;

/** Connects at first use, and again after a break. */
export function localWebsocketLink(
  settings: LocalWebsocketSettings,
  handlers: LinkHandlers,
): TerminalLink {
  const { tls, timeoutMs, clock } = settings;
  const { href: url } = requireSecureUrl(
    settings.url,
    'the address of the terminal',
    'wss',
    createPosError,
  );
  const closeController = new AbortController();
  let socket: WebSocket | undefined;
  let opening: Promise<void> | undefined;

  async function connect(): Promise<void> {
    let openedSocket: WebSocket | undefined;
    const opened = await openWebsocket(
      {
        url,
        tls,
        timeoutMs,
        clock,
        signal: closeController.signal,
        heartbeatMs,
        errors: websocketErrors,
        maxMessageBytes: connectorLimits.messageMaxBytes,
      },
      {
        onMessage: (data) => handlers.onMessage(data.toString()),
        onClose(end) {
          if (openedSocket === undefined || socket !== openedSocket) return;
          socket = undefined;
          handlers.onLost(errorFromClose(end));
        },
      },
    );
    if (closeController.signal.aborted) {
      opened.close(normalClosure);
      throw closedError();
    }
    openedSocket = opened;
    socket = opened;
  }

  return {
    open(signal) {
      if (closeController.signal.aborted) return Promise.reject(closedError());
      if (socket !== undefined) return Promise.resolve();
      opening ??= connect().finally(() => {
        opening = undefined;
      });
      return unlessAborted(opening, signal, createPosError);
    },
    async send(text) {
      await sendOnWebsocket(socket, text, sendOptions);
      return 'Sent';
    },
    async close() {
      closeController.abort();
      const current = socket;
      socket = undefined;
      current?.close(normalClosure);
    },
  };
}
