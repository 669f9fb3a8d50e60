// Accepts the WebSockets of terminals in pages by session and ticket, and rechecks them regularly.
import { closeCodes, defined, errorCodes, ProblemError, throwProblem } from '@switchyard/contract';
import type { WebSocket } from 'ws';
import type { WebPageTerminals } from '../../connector/index.ts';
import { type Handshake, toProblemError, type WebSocketRoute } from '../../http/index.ts';
import { createPoller, type Log } from '../../platform/index.ts';
import type { PortalPage, SessionCaller } from '../sessions/session-caller.ts';
import type { ConnectionTicket, ConnectionTickets } from './connection-tickets.ts';

/**
 * The page offers this subprotocol and then its ticket, so the ticket is in no URL and in no log.
 */
export const terminalProtocol = 'switchyard-terminal';

const maxTerminals = 500;
const recheckMs = 15_000;

type ConnectedTerminal = { readonly page: PortalPage; readonly deviceId: string };

type Deps = {
  readonly callers: Pick<SessionCaller, 'pageOfHandshake' | 'hasKnownSession' | 'callerAtDevice'>;
  readonly tickets: Pick<ConnectionTickets, 'read'>;
  readonly pages: WebPageTerminals;
  readonly log: Log;
  /** The default is 15 s. */
  readonly recheckMs?: number | undefined;
};

function ticketIn({ request }: Handshake): string {
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',', 3);
  const [protocol, ticket = '', ...others] = offered.map((each) => each.trim());
  return protocol === terminalProtocol && others.length === 0 ? ticket : '';
}

/** @example const connections = createTerminalConnections(deps); upgrades.add(connections.route(path)); */
export function createTerminalConnections(deps: Deps) {
  const { callers, tickets, pages, log } = deps;
  const connectedTerminals = new Map<WebSocket, ConnectedTerminal>();

  async function requireSeller({ page, deviceId }: ConnectedTerminal): Promise<string> {
    const { permissions, organizationId } = await callers.callerAtDevice(page, deviceId);
    if (!permissions.has('pay.sale'))
      throwProblem('permission_denied', 'You need the permission pay.sale to open a terminal.');
    return organizationId;
  }

  /**
   * The server repeats a check that failed by an internal fault; such a fault closes no connection.
   */
  async function recheck(socket: WebSocket, terminal: ConnectedTerminal): Promise<void> {
    try {
      await requireSeller(terminal);
    } catch (error) {
      const refusal = toProblemError(error);
      if (refusal !== undefined && errorCodes[refusal.code].status < 500) {
        socket.close(closeCodes.unauthorized, 'unauthorized');
      } else onError(error);
    }
  }

  const onError = (error: unknown) =>
    log.error({ err: error }, 'the check of a terminal in a page failed; the server repeats it');

  const poller = createPoller({
    pollMs: deps.recheckMs ?? recheckMs,
    async poll() {
      for (const [socket, terminal] of [...connectedTerminals]) await recheck(socket, terminal);
      return false;
    },
    onError,
  });

  async function connect(page: PortalPage, { deviceId, ...ticket }: ConnectionTicket, id: string) {
    const organizationId = await requireSeller({ page, deviceId });
    const device = await pages.requireUsableDevice(organizationId, ticket.physicalDeviceId);
    // The assignment of the device may have changed since the ticket was issued.
    if (device.logicalDeviceId !== deviceId)
      throwProblem(
        'device_unknown',
        'The terminal was linked to another logical device. Open the page again.',
      );
    return pages.connect(device, ticket, id);
  }

  return {
    route: (path: string): WebSocketRoute => ({
      path: `${path}/:key`,
      bearer: 'page',
      maxMessageBytes: pages.maxMessageBytes,
      isOnDeviceListener: false,
      isVerified: ({ request }) => callers.hasKnownSession(request),
      async accept(handshake) {
        const page = callers.pageOfHandshake(handshake.request);
        const ticket = tickets.read(page, ticketIn(handshake));
        if (ticket === undefined || ticket.connectionId !== handshake.key) {
          return throwProblem('token_invalid', 'The ticket is not valid for this connection.');
        }
        if (connectedTerminals.size >= maxTerminals) {
          throw new ProblemError(
            'rate_limited',
            'Too many terminals are connected. Try again later.',
            { retryAfterMs: 5000 },
          );
        }
        const { onOpen, onAbort } = await connect(page, ticket, handshake.id);
        const { deviceId } = ticket;
        return {
          onOpen(socket) {
            connectedTerminals.set(socket, { page, deviceId });
            socket.once('close', () => connectedTerminals.delete(socket));
            onOpen(socket);
          },
          ...defined({ onAbort }),
        };
      },
    }),

    start: poller.start,
    /** Checks all terminals immediately, for example after a sign-out. */
    recheckNow: poller.wake,
    stop: poller.stop,
  };
}
