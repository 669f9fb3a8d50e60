// Creates the terminals in portal pages, whose routes exist only in the demo (ADR 0068).
import type { FastifyInstance } from 'fastify';
import type { WebSocketUpgrades } from '../../http/index.ts';
import type { Clock, Log } from '../../platform/index.ts';
import type { SessionCaller } from '../sessions/session-caller.ts';
import { createTerminalConnections } from './accept-terminal-connections.ts';
import { createConnectionTickets } from './connection-tickets.ts';
import {
  connectionsPath,
  registerTerminalRoutes,
  type TerminalRouteDeps,
} from './terminal-routes.ts';

export type { TerminalRouteDeps } from './terminal-routes.ts';

type Deps = Omit<TerminalRouteDeps, 'callers' | 'tickets'> & {
  readonly callers: SessionCaller;
  readonly clock: Clock;
  readonly log: Log;
  readonly masterKey: Buffer;
};

/** @example const terminals = createPortalTerminals(deps); terminals.register(app, upgrades); */
export function createPortalTerminals(deps: Deps) {
  const tickets = createConnectionTickets(deps);
  const connections = createTerminalConnections({ ...deps, tickets });
  return {
    register(app: FastifyInstance, upgrades: Pick<WebSocketUpgrades, 'add'>): void {
      registerTerminalRoutes(app, { ...deps, tickets });
      upgrades.add(connections.route(connectionsPath));
    },
    start: connections.start,
    recheckNow: connections.recheckNow,
    stop: connections.stop,
  };
}
