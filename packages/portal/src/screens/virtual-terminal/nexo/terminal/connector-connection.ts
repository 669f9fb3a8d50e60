/**
 * The WebSocket of the terminal to the Cloud Connector. It reconnects with a new ticket after a
 * loss.
 */
import type { PortalTerminalConnection } from '@switchyard/contract';
import { isProblem, SignedOutError } from '../../../../api/api-errors.ts';
import { api } from '../../../../api/client.ts';

export type ConnectionState =
  | { readonly state: 'Connecting' | 'Online' | 'Waiting' | 'Unplugged' | 'Replaced' | 'Ended' }
  /** The platform rejected the connection. */
  | { readonly state: 'Refused'; readonly fault: unknown };

export type Socket = Pick<WebSocket, 'send' | 'close' | 'readyState'> & {
  onopen: (() => void) | null;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onclose: ((event: { readonly code: number }) => void) | null;
};

export type ConnectionOptions = {
  /** Requests a connection ticket, which is valid once. */
  readonly requestTicket: () => Promise<
    Pick<PortalTerminalConnection, 'connectionUrl' | 'protocols'>
  >;
  readonly open: (url: string, protocols: readonly string[]) => Socket;
  /** Runs a callback later. @returns a function that cancels it */
  readonly after: (ms: number, then: () => void) => () => void;
  readonly onMessage: (text: string) => void;
  readonly onState: (state: ConnectionState) => void;
};

export type ConnectorConnection = {
  /** Returns false if the socket is not open. */
  send(text: string): boolean;
  connect(): void;
  /** Disconnects like an unplugged cable. */
  disconnect(): void;
};

/**
 * Close codes of the connector: a newer connection of this terminal, and a lost permission or
 * session.
 */
const replaced = 4001;
const unauthorized = 4401;
const done = 1000;
const firstPauseMs = 1_000;
const longestPauseMs = 15_000;
/** `WebSocket.OPEN`. */
const isOpen = 1;

/** Only a rejection by the platform is final; other errors are retried. */
function refusedFor(error: unknown): ConnectionState | undefined {
  if (error instanceof SignedOutError) return { state: 'Ended' };
  return isProblem(error) && !error.problem.retryable
    ? { state: 'Refused', fault: error }
    : undefined;
}

/** @example const connection = createConnectorConnection(options); connection.connect(); */
export function createConnectorConnection(deps: ConnectionOptions): ConnectorConnection {
  const { requestTicket, open, after, onMessage: heard, onState } = deps;
  let socket: Socket | undefined;
  /** The number of the connection attempt; events of earlier attempts are ignored. */
  let attempt = 0;
  let pauseMs = firstPauseMs;
  let stopWaiting = () => {};

  function drop(): void {
    const dropped = socket;
    socket = undefined;
    if (dropped === undefined) return;
    dropped.onopen = null;
    dropped.onmessage = null;
    dropped.onclose = null;
    dropped.close(done);
  }

  function reconnectLater(ownAttempt: number): void {
    onState({ state: 'Waiting' });
    stopWaiting = after(pauseMs, () => void connect(ownAttempt));
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }

  function closed(ownAttempt: number, code: number): void {
    if (ownAttempt !== attempt) return;
    socket = undefined;
    if (code === replaced) onState({ state: 'Replaced' });
    else if (code === unauthorized) onState({ state: 'Ended' });
    else reconnectLater(ownAttempt);
  }

  async function connect(ownAttempt: number): Promise<void> {
    onState({ state: 'Connecting' });
    try {
      const { connectionUrl, protocols } = await requestTicket();
      if (ownAttempt !== attempt) return;
      const opened = open(connectionUrl, protocols);
      socket = opened;
      opened.onopen = () => {
        pauseMs = firstPauseMs;
        onState({ state: 'Online' });
      };
      opened.onmessage = ({ data }) => {
        if (typeof data === 'string') heard(data);
      };
      opened.onclose = ({ code }) => closed(ownAttempt, code);
    } catch (error) {
      if (ownAttempt !== attempt) return;
      const refused = refusedFor(error);
      if (refused === undefined) reconnectLater(ownAttempt);
      else onState(refused);
    }
  }

  function unplug(): void {
    attempt += 1;
    stopWaiting();
    drop();
  }

  return {
    send(text) {
      if (socket?.readyState !== isOpen) return false;
      socket.send(text);
      return true;
    },
    connect() {
      unplug();
      pauseMs = firstPauseMs;
      void connect(attempt);
    },
    disconnect() {
      unplug();
      onState({ state: 'Unplugged' });
    },
  };
}

/**
 * @example createConnectorConnection({ requestTicket: () => requestConnectionTicket(deviceId), … })
 */
export const requestConnectionTicket = (deviceId: string): Promise<PortalTerminalConnection> =>
  api.post('/portal/terminal-connections', {
    headers: { 'x-switchyard-device': deviceId },
    isBackground: true,
  });
