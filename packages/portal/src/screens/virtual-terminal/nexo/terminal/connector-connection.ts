/** The WebSocket between the terminal and the Cloud Connector: opened with a ticket, and again whenever it breaks. */
import type { PortalTerminalConnection } from '@switchyard/contract';
import { isProblem, SignedOutError } from '../../../../api/api-errors.ts';
import { api } from '../../../../api/client.ts';

export type LinkState =
  | { readonly state: 'Connecting' | 'Online' | 'Waiting' | 'Unplugged' | 'Replaced' | 'Ended' }
  /** The platform says why not. */
  | { readonly state: 'Refused'; readonly fault: unknown };

export type Socket = Pick<WebSocket, 'send' | 'close' | 'readyState'> & {
  onopen: (() => void) | null;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onclose: ((event: { readonly code: number }) => void) | null;
};

export type LinkDeps = {
  /** A ticket and where to go with it; each is good once. */
  readonly requestTicket: () => Promise<Pick<PortalTerminalConnection, 'connectionUrl' | 'protocols'>>;
  readonly open: (url: string, protocols: readonly string[]) => Socket;
  /** Calls back after a while; @returns ends that. */
  readonly after: (ms: number, then: () => void) => () => void;
  readonly heard: (text: string) => void;
  readonly onState: (state: LinkState) => void;
};

export type Link = {
  /** False where nobody hears it. */
  send(text: string): boolean;
  plugIn(): void;
  /** As if the cable were pulled. */
  unplug(): void;
};

/** Of the connector: a newer connection of the same terminal, and a right or a session that is gone. */
const replaced = 4001;
const unauthorized = 4401;
const done = 1000;
const firstPauseMs = 1_000;
const longestPauseMs = 15_000;
/** `WebSocket.OPEN`. */
const isOpen = 1;

/** What is said again by itself may be otherwise then; a refusal of the platform is not. */
function refusedFor(error: unknown): LinkState | undefined {
  if (error instanceof SignedOutError) return { state: 'Ended' };
  return isProblem(error) && !error.problem.retryable
    ? { state: 'Refused', fault: error }
    : undefined;
}

/** @example const link = createLink(deps); link.plugIn(); */
export function createLink(deps: LinkDeps): Link {
  const { requestTicket, open, after, heard, onState } = deps;
  let socket: Socket | undefined;
  /** Counts the times that it was plugged in: what belongs to an earlier one is over. */
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
    plugIn() {
      unplug();
      pauseMs = firstPauseMs;
      void connect(attempt);
    },
    unplug() {
      unplug();
      onState({ state: 'Unplugged' });
    },
  };
}

/** @example createLink({ ask: () => askForTicket(deviceId), … }) */
export const askForTicket = (deviceId: string): Promise<PortalTerminalConnection> =>
  api.post('/portal/terminal-connections', {
    headers: { 'x-switchyard-device': deviceId },
    isBackground: true,
  });
