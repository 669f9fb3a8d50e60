/** A WebSocket to a terminal in the local network, with messages both ways as through the cloud. */
import { connectorLimits } from '@switchyard/contract';
import type { WebSocket } from 'ws';
import { errorOfEnd } from '../connector/control-messages.ts';
import type { PosTls } from '../network/http-post.ts';
import { demandUrl } from '../network/secure-url.ts';
import { openSocket } from '../network/websocket.ts';
import { sendThrough } from '../network/websocket-send.ts';
import { type Clock, unlessAborted } from '../support/clock.ts';
import { closed } from '../support/pos-error.ts';
import type { Link, LinkEvents } from './terminal-links.ts';

export type LocalSocketSettings = {
  /** For example `wss://10.0.0.17:8443/nexo`. */
  readonly url: string;
  readonly tls: PosTls;
  /** The time limit of the handshake. */
  readonly timeoutMs: number;
  readonly clock: Clock;
};

const orderly = 1000;

/** Connects at first use, and again after a break. */
export function localSocketLink(settings: LocalSocketSettings, events: LinkEvents): Link {
  const { tls, timeoutMs, clock } = settings;
  const { href: url } = demandUrl(settings.url, 'the address of the terminal', 'wss');
  const over = new AbortController();
  let socket: WebSocket | undefined;
  let opening: Promise<void> | undefined;

  async function connect(): Promise<void> {
    let made: WebSocket | undefined;
    const opened = await openSocket(
      {
        url,
        tls,
        timeoutMs,
        clock,
        signal: over.signal,
        maxMessageBytes: connectorLimits.messageMaxBytes,
      },
      {
        message: (data) => events.message(data.toString()),
        closed(end) {
          if (made === undefined || socket !== made) return;
          socket = undefined;
          events.lost(errorOfEnd(end));
        },
      },
    );
    if (over.signal.aborted) {
      opened.close(orderly);
      throw closed();
    }
    made = opened;
    socket = opened;
  }

  return {
    open(signal) {
      if (over.signal.aborted) return Promise.reject(closed());
      if (socket !== undefined) return Promise.resolve();
      opening ??= connect().finally(() => {
        opening = undefined;
      });
      return unlessAborted(opening, signal);
    },
    async send(text) {
      await sendThrough(socket, text);
      return 'Sent';
    },
    async close() {
      over.abort();
      const current = socket;
      socket = undefined;
      current?.close(orderly);
    },
  };
}
