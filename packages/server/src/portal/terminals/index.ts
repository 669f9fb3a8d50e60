// Creates the simulated terminals of portal pages, whose routes exist only in the demo (ADR 0094).
import type { FastifyInstance } from 'fastify';
import type { EventStreams } from '../../http/index.ts';
import type { ChangeNotifier, Log } from '../../platform/index.ts';
import { createControlledTerminals } from './controlled-terminals.ts';
import type { StartSimulatedTerminal } from './simulated-terminal.ts';
import { registerTerminalRoutes, type TerminalRoutePorts } from './terminal-routes.ts';

export type { StartSimulatedTerminal } from './simulated-terminal.ts';
export type { TerminalRoutePorts } from './terminal-routes.ts';

type Ports = Pick<TerminalRoutePorts, 'callers' | 'provisioning'> & {
  readonly live: Pick<ChangeNotifier, 'publish'>;
  readonly log: Log;
};

/** @example const terminals = createPortalTerminals(startTerminal, ports); */
export function createPortalTerminals(start: StartSimulatedTerminal, ports: Ports) {
  const terminals = createControlledTerminals({ ...ports, start });
  return {
    register: (app: FastifyInstance, streams: EventStreams): void =>
      registerTerminalRoutes(app, { ...ports, terminals, streams }),
    stop: terminals.stop,
  };
}
