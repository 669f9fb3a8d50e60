// Accepts the WebSockets of terminals in pages by session and ticket, and rechecks them regularly.
import { closeCodes, defined, errorCodes, ProblemError, throwProblem } from '@switchyard/contract';
import type { WebSocket } from 'ws';
import type { WebPageTerminals } from '../../connector/index.ts';
import { type Handshake, toProblemError, type WebSocketRoute } from '../../http/index.ts';
import { createPoller, type Log } from '../../platform/index.ts';
import type { PortalPage, SessionCaller } from '../sessions/session-caller.ts';
import type { Ticket, Tickets } from './connection-tickets.ts';

/**
 * The page offers this subprotocol and then its ticket, so the ticket is in no URL and in no log.
 */
export const terminalProtocol = 'switchyard-terminal';

const standingMost = 500;
const lookAgainMs = 15_000;

type Standing = { readonly page: PortalPage; readonly deviceId: string };

type Deps = {
  readonly callers: Pick<SessionCaller, 'pageOf' | 'knowsSessionOf' | 'standingAt'>;
  readonly tickets: Pick<Tickets, 'read'>;
  readonly pages: WebPageTerminals;
  readonly log: Log;
  /** The default is 15 s. */
  readonly lookAgainMs?: number | undefined;
};

function ticketIn({ request }: Handshake): string {
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',', 3);
  const [protocol, ticket = '', ...others] = offered.map((each) => each.trim());
  return protocol === terminalProtocol && others.length === 0 ? ticket : '';
}

/** @example const connections = createTerminalConnections(deps); upgrades.add(connections.route(path)); */
export function createTerminalConnections(deps: Deps) {
  const { callers, tickets, pages, log } = deps;
  const standing = new Map<WebSocket, Standing>();

  async function demand({ page, deviceId }: Standing): Promise<string> {
    const { permissions, organizationId } = await callers.standingAt(page, deviceId);
    if (!permissions.has('pay.sale')) throwProblem('permission_denied', 'A terminal sells.');
    return organizationId;
  }

  /**
   * The server repeats a check that failed by an internal fault; such a fault closes no connection.
   */
  async function look(socket: WebSocket, stands: Standing): Promise<void> {
    try {
      await demand(stands);
    } catch (error) {
      const refusal = toProblemError(error);
      if (refusal !== undefined && errorCodes[refusal.code].status < 500) {
        socket.close(closeCodes.unauthorized, 'unauthorized');
      } else onError(error);
    }
  }

  const onError = (error: unknown) =>
    log.error({ err: error }, 'a terminal in a page could not be looked at');

  const poller = createPoller({
    pollMs: deps.lookAgainMs ?? lookAgainMs,
    async poll() {
      for (const [socket, stands] of [...standing]) await look(socket, stands);
      return false;
    },
    onError,
  });

  async function connect(page: PortalPage, { deviceId, ...ticket }: Ticket, id: string) {
    const organizationId = await demand({ page, deviceId });
    const device = await pages.requireUsableDevice(organizationId, ticket.physicalDeviceId);
    // The assignment of the device may have changed since the ticket was issued.
    if (device.logicalDeviceId !== deviceId)
      throwProblem('device_unknown', 'It stands elsewhere now.');
    return pages.connect(device, ticket, id);
  }

  return {
    route: (path: string): WebSocketRoute => ({
      path: `${path}/:key`,
      bearer: 'page',
      maxMessageBytes: pages.maxMessageBytes,
      isOnDeviceListener: false,
      isVerified: ({ request }) => callers.knowsSessionOf(request),
      async accept(handshake) {
        const page = callers.pageOf(handshake.request);
        const ticket = tickets.read(page, ticketIn(handshake));
        if (ticket === undefined || ticket.connectionId !== handshake.key) {
          return throwProblem('token_invalid', 'The ticket is not good for this connection.');
        }
        if (standing.size >= standingMost) {
          throw new ProblemError('rate_limited', 'Too many terminals.', { retryAfterMs: 5000 });
        }
        const { onOpen, onAbort } = await connect(page, ticket, handshake.id);
        const { deviceId } = ticket;
        return {
          onOpen(socket) {
            standing.set(socket, { page, deviceId });
            socket.once('close', () => standing.delete(socket));
            onOpen(socket);
          },
          ...defined({ onAbort }),
        };
      },
    }),

    start: poller.start,
    /** Checks all terminals immediately, for example after a sign-out. */
    lookNow: poller.wake,
    stop: poller.stop,
  };
}
